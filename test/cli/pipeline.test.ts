import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Double, refusal } from './double.ts';
import { type Outcome, type RunningService, startService, usher } from './harness.ts';

/** What a pipeline does (docs/guides/policies-in-ci.md): with a key and nothing else, from a machine that holds no data directory. */

const KEY = 'a-key-for-manifests-and-nothing-else';
const CHECK_KEY = 'a-key-for-checks-and-nothing-else';
const folder = mkdtempSync(join(tmpdir(), 'usher-pipeline-'));
const manifest = join(folder, 'billing.yaml');
const BILLING = 'application: {code: billing, name: Billing}\npermissions: [{code: invoice.access, type: tiered}]\n';

/** A job's environment: the URL, and the key as the pipeline's secret. */
function job(url: string, key: string): { env: Record<string, string> } {
  return { env: { USHER_URL: url, USHER_API_KEY: key, DATA_DIR: join(folder, 'nothing') } };
}

describe('pipelines with a key', () => {
  const double = new Double();
  beforeAll(() => double.start());
  afterAll(() => double.stop());

  test('the key is the only credential sent by dry runs, applies and exports', async () => {
    writeFileSync(manifest, BILLING);
    double.answer = () => refusal(403, 'FORBIDDEN', 'KEY_SCOPE');
    for (const argv of [
      ['apply', manifest, '--dry-run'],
      ['apply', manifest],
      ['export', 'billing'],
    ]) {
      expect((await usher(argv, job(double.url, KEY))).code).toBe(1);
      expect(double.received.at(-1)?.headers).toMatchObject({ 'x-internal-api-key': KEY });
      expect(double.received.at(-1)?.headers.authorization).toBeUndefined();
    }
  });
});

describe('over a service', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService({ INTERNAL_API_KEY: `ci:manifest:${KEY},checks:check:${CHECK_KEY}` });
    writeFileSync(manifest, BILLING);
  }, 120_000);
  afterAll(() => service.remove(), 30_000);

  function run(...argv: string[]): Promise<Outcome> {
    return usher(argv, job(service.url, KEY));
  }

  test('a dry run by key exits with 2 while changes are pending, and with 0 afterwards', async () => {
    expect(await run('apply', manifest, '--dry-run')).toMatchObject({ code: 2, stderr: '' });
    expect(await run('apply', manifest)).toMatchObject({ code: 0, stderr: '' });
    expect(await run('apply', manifest, '--dry-run')).toMatchObject({ code: 0, stderr: '' });
  });

  test('an export by key contains manual changes', async () => {
    expect(await run('apply', manifest, '--prune')).toMatchObject({ code: 0 });
    const before = await run('export', 'billing');
    expect(before).toMatchObject({ code: 0, stderr: '' });
    const drift = join(folder, 'drift.yaml');
    writeFileSync(drift, before.stdout);
    expect((await run('apply', drift, '--dry-run', '--prune')).code).toBe(0);
    const local = { ...service.env, INTERNAL_API_KEY: `checks:check:${CHECK_KEY}` };
    const byHand =
      'application: {code: billing, name: Billing}\nroles: [{code: clerk, permissions: {invoice.access: edit}}]\n';
    expect((await usher(['apply', '-'], { env: local, stdin: byHand })).code).toBe(0);
    const after = await run('apply', drift, '--dry-run', '--prune');
    expect(after.code).toBe(2);
    expect(after.stdout).toContain('- role clerk');
  });

  test('a key with another scope, and an unknown key, change nothing', async () => {
    for (const [key, code] of [
      [CHECK_KEY, 'KEY_SCOPE'],
      ['unknown', 'UNAUTHENTICATED'],
    ] as const) {
      const { code: exit, stderr } = await usher(['apply', manifest, '--json'], job(service.url, key));
      expect(exit).toBe(1);
      expect(JSON.parse(stderr)).toMatchObject({ code });
    }
  });

  test('apply --max-lost applies up to that number of losses, and exits with 3 and no change beyond it', async () => {
    const path = join(folder, 'press.yaml');
    const write = (roles: string) =>
      writeFileSync(
        path,
        `application: {code: press, name: Press}\npermissions: [{code: page.print, type: binary}]\nroles: [{code: printer, permissions: {${roles}}}]\nassignments: [{email: pia@example.com, roles: [printer]}]\n`,
      );
    write('page.print: allowed');
    expect((await run('apply', path, '--max-lost', '0')).code).toBe(0);
    write('');
    const dry = await run('apply', path, '--dry-run', '--impact');
    expect([dry.code, dry.stdout]).toEqual([2, expect.stringContaining('pia@example.com page.print: allowed → none')]);
    const stopped = await run('apply', path, '--max-lost', '0');
    expect([stopped.code, stopped.stderr]).toEqual([3, expect.stringContaining('nothing was applied')]);
    expect((await run('apply', path, '--dry-run', '--max-lost', '0')).code).toBe(3);
    const still = await run('apply', path, '--dry-run', '--impact', '--json');
    expect([still.code, JSON.parse(still.stdout)]).toMatchObject([2, { impact: { people: 1, gained: 0, lost: 1 } }]);
    expect((await run('apply', path, '--max-lost', '1')).code).toBe(0);
    expect((await run('apply', path, '--dry-run')).code).toBe(0);
    expect((await run('apply', path, '--max-lost', 'none')).stderr).toContain('whole number');
  });
});
