import { describe, expect, test } from '@jest/globals';
import { MAX_ISSUES, UsherError, validationFailed } from '../../src/base/errors.ts';
import { BODY_LIMIT } from '../../src/gateway/route/limits.ts';
import { errorDetails } from '../../src/rpc/error-details.ts';
import { ask, CHECK_KEY, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const headers = { 'x-internal-api-key': CHECK_KEY };

describe('the bound on issues', () => {
  const world = useWorld({ fill: fillShop });

  test.each([
    ['/api/check', BODY_LIMIT.record],
    ['/api/check/bulk', BODY_LIMIT.list],
  ])('any number of unknown fields is bounded where %s is sent', async (path, limit) => {
    const fields: Record<string, number> = {};
    const count = Math.floor(limit / 14);
    for (let n = 0; n < count; n++) fields[`f${n}`] = 1;
    const answer = await ask(`${world.url}${path}`, { body: fields, headers });
    expect(answer.status).toBe(400);
    const { issues, more } = answer.json.details;
    expect(issues).toHaveLength(MAX_ISSUES);
    expect(issues.length + more).toBeGreaterThanOrEqual(count);
    expect(answer.text.length).toBeLessThan(20_000);
  });

  test('few issues are all listed, without a count', async () => {
    const answer = await ask(`${world.url}/api/check`, { body: { a: 1, b: 2 }, headers });
    expect(answer.json.details.more).toBeUndefined();
    expect(answer.json.details.issues.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(['a', 'b']),
    );
  });

  test('the bound applies to every kind of error, and to RPC', () => {
    const issues = Array.from({ length: 250 }, (_, n) => ({ path: `f${n}`, message: 'is not known' }));
    for (const error of [
      validationFailed(issues),
      new UsherError('GLOBAL_PERMISSION', 'No.', { details: { issues } }),
    ]) {
      expect(error.details).toMatchObject({ code: error.reason, more: 150 });
      expect(error.details?.issues).toEqual(issues.slice(0, MAX_ISSUES));
      const violations = errorDetails(error).badRequest?.fieldViolations ?? [];
      expect(violations.at(-1)?.description).toBe(`and ${250 - violations.length + 1} more`);
    }
  });
});
