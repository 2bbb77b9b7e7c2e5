import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createLogger } from '../../src/base/telemetry.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { createDatabase, freePort, reached, reachedBy } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { fatal, startRefusingPostgres } from '../support/refusing-postgres.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The length of a field, as it stands before it. */
const field = (length: number): string => String.fromCharCode(0, 0, 0, length);
/** The row of refuseUnfit: a version of six digits, and not being a standby. */
const NO_STANDBY = new RegExp(`${field(6)}\\d{6}${field(1)}f`);

let storage: TestStorage;
const ends: (() => unknown)[] = [];
const lines: string[] = [];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  storage = await createStorage('postgresql');
  await storage.open();
}, 60_000);

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  lines.length = 0;
}, 60_000);

afterAll(async () => {
  await storage?.remove();
}, 60_000);

async function lineTo(
  answers?: (bytes: Buffer) => Buffer,
  { url }: { url: string | null } = storage,
): Promise<LineCutter> {
  const line = await LineCutter.start(reached(url ?? '').url, answers === undefined ? {} : { answers: () => answers });
  ends.push(() => line.close());
  return line;
}

async function start(
  where: { url: string; directUrl?: string | null },
  env: Record<string, string>,
): Promise<RunningUsher> {
  const log = createLogger('info', { write: (text) => void lines.push(text) });
  const usher = await startUsher({ ...where, dataDir: storage.dataDir }, { env, parts: { log } });
  ends.push(() => usher.close());
  return usher;
}

const waiting = () => lines.filter((text) => text.includes('"waiting for the database"'));

async function untilWaiting(): Promise<void> {
  for (let n = 0; waiting().length === 0; n++) {
    if (n > 1000) throw new Error('does not wait');
    await pause(10);
  }
}

test('a start waits for a database that is away, alive and not ready meanwhile', async () => {
  const line = await lineTo();
  line.down();
  const port = `${await freePort()}`;
  const starting = start(reachedBy(line, storage.url ?? ''), { DATABASE_WAIT_MS: '30000', OPS_PORT: port });
  await untilWaiting();
  const ask = async (path: string) => await fetch(`http://127.0.0.1:${port}${path}`);
  // The listener opens just after the line in the log.
  while ((await ask('/healthz').catch(() => null)) === null) await pause(10);
  expect((await ask('/healthz')).status).toBe(200);
  for (const path of ['/readyz', '/readyz/checks']) {
    const answer = await ask(path);
    expect([path, answer.status]).toEqual([path, 503]);
    expect(await answer.json()).toMatchObject({ message: 'The start waits for the database.' });
  }
  expect(await (await ask('/metrics')).text()).toContain('process_start_time_seconds');
  expect((await ask('/api/languages')).status).toBe(404);
  await pause(1500);
  line.up();
  const usher = await starting;
  expect((await fetch(`${usher.ops}/readyz`)).status).toBe(200);
  expect(waiting()).toHaveLength(1);
  expect(waiting()[0]).toContain('closed the connection without an answer');
  expect(lines.some((text) => text.includes('"database reached"'))).toBe(true);
}, 60_000);

test('a start waits for a standby without migrations to be promoted', async () => {
  const empty = await createDatabase({ empty: true });
  ends.push(() => empty.drop());
  let isStandby = true;
  const line = await lineTo((bytes) => {
    const text = bytes.toString('latin1');
    const at = text.search(NO_STANDBY);
    return isStandby && at >= 0 ? Buffer.from(`${text.slice(0, at + 14)}t${text.slice(at + 15)}`, 'latin1') : bytes;
  }, empty);
  const starting = start(reachedBy(line, empty.url), { DATABASE_WAIT_MS: '30000' });
  await untilWaiting();
  expect(waiting()[0]).toContain('is a standby');
  isStandby = false;
  await starting;
  expect(lines.some((text) => text.includes('"database migrated"'))).toBe(true);
}, 60_000);

test('the wait is bounded, and ends with the reason; a developer does not wait', async () => {
  const line = await lineTo();
  const where = reachedBy(line, storage.url ?? '');
  line.down();
  const took = async (env: Record<string, string>): Promise<number> => {
    const since = performance.now();
    await expect(start(where, env)).rejects.toThrow(/cannot be used: .* closed the connection/);
    return performance.now() - since;
  };
  expect(await took({ DATABASE_WAIT_MS: '2000' })).toBeGreaterThanOrEqual(2000);
  expect(waiting()).toHaveLength(1);
  expect(await took({})).toBeLessThan(2000);
  expect(waiting()).toHaveLength(1);
}, 60_000);

test.each(['28P01', '3D000', '08P01'])('what does not pass by itself (%s) ends the start at once', async (code) => {
  const server = await startRefusingPostgres(fatal(code));
  ends.push(() => server.close());
  await expect(start({ url: server.url }, { DATABASE_WAIT_MS: '30000' })).rejects.toThrow('cannot be used');
  expect([server.connections, waiting()]).toEqual([1, []]);
});

test('a pooler without a server is waited for', async () => {
  const server = await startRefusingPostgres(fatal('08P01', 'server login has been failing, try again later'));
  ends.push(() => server.close());
  await expect(start({ url: server.url }, { DATABASE_WAIT_MS: '1000' })).rejects.toThrow(
    'the pooler in front of it has no connection to the server (08P01)',
  );
  expect(waiting()).toHaveLength(1);
}, 60_000);

test('a server that is starting is asked again, less and less often', async () => {
  const server = await startRefusingPostgres(fatal('57P03'));
  ends.push(() => server.close());
  await expect(start({ url: server.url }, { DATABASE_WAIT_MS: '3000' })).rejects.toThrow(
    'starting, stopping or recovering',
  );
  // 0.25, 0.5, 1, 2 s apart, and once at the end.
  expect(server.connections).toBeGreaterThan(3);
  expect(server.connections).toBeLessThan(9);
}, 60_000);

test('a process that waits stays alive, and a signal ends it with 0', async () => {
  const url = `postgresql://usher@127.0.0.1:${await freePort()}/usher`;
  const env = { PATH: process.env.PATH, DATABASE_URL: url, DATABASE_WAIT_MS: '60000', HTTP_PORT: '0', GRPC_PORT: '0' };
  const child = spawn(process.execPath, [join(ROOT, 'src/main.ts'), 'serve'], { cwd: ROOT, env });
  ends.push(() => child.kill('SIGKILL'));
  const exited = new Promise((resolve) => child.once('close', resolve));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  while (!output.includes('waiting for the database') && child.exitCode === null) await pause(20);
  await pause(2000);
  expect([child.exitCode, output]).toEqual([null, expect.stringContaining('nothing listens at')]);
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(output).toContain('closed before the database was there');
}, 60_000);
