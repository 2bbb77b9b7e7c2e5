import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { usherProcess } from '../cli/harness.ts';
import { createDatabase } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { onServer } from './synchronous-pair.ts';

/**
 * A new history for a log of millions of rows on a server that flushes, in a process of its own that is killed once on the way. Not
 * part of `npm test`: it takes minutes. `USHER_ROWS`, by default 3,000,000: a week of five policy writes a second.
 */
const ROWS = Number(process.env.USHER_ROWS ?? 3_000_000);
const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'usher-long-log-'));
let server: PostgresServer;
let env: Record<string, string>;
let url: string;

beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' } });
  ({ url } = await createDatabase({ server, empty: true }));
  env = { DATABASE_URL: url, DATA_DIR: folder };
  expect(await usherProcess(['migrate'], env)).toMatchObject({ code: 0 });
  await onServer(url, async (client) => {
    await client.query('delete from policy_change');
    await client.query(
      `insert into policy_change (revision, nonce, scopes) select n, 'old' || n, array['m:shop:person' || n || '@example.com']
       from generate_series(1, $1::int) n`,
      [ROWS],
    );
    await client.query('vacuum analyze policy_change');
  });
}, 600_000);

afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

async function old(): Promise<{ rows: number; newest: boolean }> {
  const { rows } = await onServer(url, (client) =>
    client.query<{ rows: number; newest: boolean }>(
      `select count(*) filter (where nonce like 'old%')::int as rows,
         (select nonce like 'old%' from policy_change order by revision desc limit 1) as newest from policy_change`,
    ),
  );
  return rows[0] as { rows: number; newest: boolean };
}

test('killed on the way, the newest revisions are what they were', async () => {
  const words = [join(ROOT, 'src/main.ts'), 'reincarnate', '--yes'];
  const child = spawn(process.execPath, words, { cwd: ROOT, env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
  for (const end = performance.now() + 120_000; (await old()).rows === ROWS; ) {
    expect(child.exitCode).toBeNull();
    expect(performance.now()).toBeLessThan(end);
  }
  child.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
  const left = await old();
  expect(left.rows).toBeGreaterThan(0);
  expect(left.newest).toBe(true);
}, 300_000);

test('repeated, it leaves no row as it was', async () => {
  const begun = performance.now();
  const { code, stdout, stderr } = await usherProcess(['reincarnate', '--yes', '--json'], env);
  console.info(`${ROWS} rows in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(JSON.parse(stdout)).toMatchObject({ done: true, revisions: ROWS });
  expect(await old()).toEqual({ rows: 0, newest: false });
}, 600_000);
