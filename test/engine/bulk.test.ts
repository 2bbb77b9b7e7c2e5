import { describe, expect, test } from '@jest/globals';
import { answerBulk, peekBulk, reached, readPermissions } from '../../src/engine/bulk.ts';
import { DENIED } from '../../src/engine/evaluate.ts';
import { Level } from '../../src/engine/types.ts';
import { ADA, at, ELSEWHERE, fixture, said } from './fakes.ts';

const NOWHERE = { resourceType: '', resourceId: '' };
const SUBJECT = { email: ADA, app: 'shop', ...NOWHERE };
const read = (codes: string[]) => readPermissions(codes, (index) => `permissions.${index}`);

describe('the codes of a bulk question', () => {
  test('each code counts once, in the order of first mention, and malformed ones do not reach the engine', () => {
    expect(read(['b', 'a::x', 'a', 'b', 'a::x', 'constructor'])).toEqual({
      all: ['b', 'a::x', 'a', 'constructor'],
      known: ['b', 'a', 'constructor'],
    });
  });

  test('an unreadable code is refused with its index as sent', () => {
    expect(() => read(['a', 'a', 'b\u0007'])).toThrow(
      expect.objectContaining({
        reason: 'VALIDATION_FAILED',
        details: expect.objectContaining({ issues: [expect.objectContaining({ path: 'permissions.2' })] }),
      }),
    );
  });
});

describe('the answer to a bulk question', () => {
  test.each([
    [['read', 'no::code', 'pay']],
    [['no::code', 'read', 'pay']],
    [['pay', 'read', 'no::code']],
    [['no::code', 'other:', 'read', 'Also Malformed', 'pay', 'x:']],
    [['read', 'pay']],
  ])(
    "malformed codes of %j are denied beside the engine's decisions on the others, at once and after a wait",
    async (asked) => {
      const { engine } = await fixture();
      const codes = read(asked);
      expect(peekBulk(engine, SUBJECT, codes)).toBeNull();
      const waited = await answerBulk(engine, SUBJECT, codes, {});
      expect(Object.fromEntries(codes.all.map((code, index) => [code, waited.decisions[index]?.level]))).toEqual(
        Object.fromEntries(codes.all.map((code) => [code, code === 'read' ? Level.VIEW : Level.NONE])),
      );
      expect(peekBulk(engine, SUBJECT, codes)).toEqual(waited);
      await engine.close();
    },
  );

  test('a malformed subject, or only malformed codes, are denied without data', async () => {
    const { engine, source } = await fixture();
    const before = source.calls.length;
    for (const [subject, codes] of [
      [null, read(['read', 'no::code'])],
      [SUBJECT, read(['no::code', 'other:'])],
    ] as const) {
      const all = { decisions: [DENIED, DENIED], revision: said(0) };
      expect(peekBulk(engine, subject, codes)).toEqual(all);
      expect(await answerBulk(engine, subject, codes, {})).toEqual(all);
    }
    expect(source.calls).toHaveLength(before);
    await engine.close();
  });

  test('a denial without data is as fresh as requested, and never of an unknown revision', async () => {
    const { engine, source } = await fixture();
    const revision = source.database.write([ELSEWHERE]);
    const codes = read(['no::code']);
    expect(peekBulk(engine, null, codes, at(revision))).toBeNull();
    expect(await answerBulk(engine, null, codes, { minRevision: at(revision) })).toEqual({
      decisions: [DENIED],
      revision: said(revision),
    });
    expect(await reached(engine, at(revision))).toEqual(said(revision));
    for (const subject of [null, SUBJECT]) {
      const asked = answerBulk(engine, subject, read(['no::code', 'read']), { minRevision: at(revision + 1) });
      await expect(asked).rejects.toMatchObject({ reason: 'UNKNOWN_REVISION' });
    }
    await expect(reached(engine, at(revision + 1))).rejects.toMatchObject({ reason: 'UNKNOWN_REVISION' });
    await engine.close();
  });

  test("a missing decision is an error, never another permission's answer", () => {
    const engine = { revision: '1.n', isReached: () => true, peekBulk: () => [DENIED] };
    expect(() => peekBulk(engine, SUBJECT, read(['read', 'pay']))).toThrow();
  });
});
