import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '../../src/base/telemetry.ts';
import type { Database } from '../../src/persistence/database.ts';
import { SHOP } from '../faults/shop.ts';
import { askHealth, watchHealth } from '../grpc/health-client.ts';
import { call } from '../grpc/support.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { reached, reachedBy } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const TTL_MS = 2500;
const HOLDER = 'holder@example.com';
const KEY = 'the-internal-key-of-a-backend';

let storage: TestStorage;
let direct: Database;
let line: LineCutter;
let usher: RunningUsher | undefined;
let client: Client | undefined;
const lines: string[] = [];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  storage = await createStorage('postgresql');
  direct = await storage.open();
  for (const operation of SHOP) await direct.change((tx) => carryOut(tx, operation));
  await direct.change((tx) => carryOut(tx, { kind: 'roles-of-user', app: 'shop', email: HOLDER, roles: ['reader'] }));
  line = await LineCutter.start(reached(storage.url ?? '').url);
}, 60_000);

afterEach(async () => {
  client?.close();
  client = undefined;
  line.up();
  await usher?.close();
  usher = undefined;
}, 60_000);

afterAll(async () => {
  await line?.close();
  await storage?.remove();
}, 60_000);

async function start(env: Record<string, string>): Promise<RunningUsher> {
  lines.length = 0;
  usher = await startUsher(
    { ...reachedBy(line, storage.url ?? ''), dataDir: storage.dataDir },
    {
      env: { OPS_PORT: '0', INTERNAL_API_KEY: KEY, CACHE_TTL_MS: `${TTL_MS}`, LOG_LEVEL: 'fatal', ...env },
      parts: { log: createLogger('info', { write: (text) => void lines.push(text) }) },
    },
  );
  client = new Client(usher.grpc || 'localhost:1', credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  return usher;
}

async function check(): Promise<string> {
  const metadata = { 'x-internal-api-key': KEY };
  try {
    const question = { email: HOLDER, app: 'shop', permission: 'read' };
    const { message } = await call(client as Client, 'Check', question, { metadata });
    return message.allowed ? 'allowed' : 'denied';
  } catch (error) {
    return status[(error as ServiceError).code];
  }
}

const ready = async (path: string): Promise<number> => (await fetch(`${usher?.ops}${path}`)).status;

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const since = performance.now();
  while (!(await condition())) {
    if (performance.now() - since > 20_000) throw new Error(`never ${what}`);
    await pause(20);
  }
}

describe.each([
  ['the front', { GRPC_FRONT: 'true' }],
  ['grpc-js', { GRPC_FRONT: 'false' }],
  ['two processes', { GRPC_PROCESSES: '2' }],
])('the readiness of a process that answers gRPC by %s', (_, env) => {
  test('follows what it can answer while its database is away', async () => {
    await start({ USHER_ROLES: 'rpc', ...env });
    const health = watchHealth(client as Client, '');
    expect(await check()).toBe('allowed');
    line.down();
    // As the contract has it: this one says whether the database is reachable.
    await until('unready', async () => (await ready('/readyz')) === 503);
    expect(await check()).toBe('allowed');
    expect([await ready('/readyz/checks'), health.said, await ready('/healthz')]).toEqual([200, ['SERVING'], 200]);

    await until('not serving', () => health.said.length > 1);
    expect(health.said).toEqual(['SERVING', 'NOT_SERVING']);
    expect(await check()).toBe('UNAVAILABLE');
    expect(await askHealth(client as Client, 'usher.permission.v1.PermissionService')).toEqual({
      status: 'NOT_SERVING',
    });
    // Of several processes, each has its own moment.
    await until('unready for checks', async () => (await ready('/readyz/checks')) === 503);

    line.up();
    await until('serving again', () => health.said.length > 2);
    expect(health.said).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
    expect(await check()).toBe('allowed');
    await until('ready again', async () => (await ready('/readyz')) === 200);
    await until('ready for checks again', async () => (await ready('/readyz/checks')) === 200);
    health.stream.cancel();
  }, 60_000);
});

test('each turn of health is one line in the log', async () => {
  await start({ USHER_ROLES: 'rpc' });
  line.down();
  await until('not answered', () => lines.some((text) => text.includes('NOT_SERVING')));
  line.up();
  await until('answered', () => lines.some((text) => text.includes('health is SERVING')));
  expect(lines.filter((text) => text.includes('health is'))).toHaveLength(2);
}, 60_000);

test('a process that only delivers is ready while its loop reaches the database', async () => {
  await start({ USHER_ROLES: 'worker' });
  expect([await ready('/readyz'), await ready('/healthz')]).toEqual([200, 200]);
  line.down();
  await until('unready', async () => (await ready('/readyz')) === 503);
  expect(await ready('/healthz')).toBe(200);
  line.up();
  await until('ready again', async () => (await ready('/readyz')) === 200);
}, 60_000);

test('a process that only delivers is not ready while its loop stands still, though the database answers', async () => {
  await start({ USHER_ROLES: 'worker' });
  const holder = new pg.Client({ connectionString: storage.url ?? '' });
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('lock table delivery in access exclusive mode');
    await until('unready', async () => (await ready('/readyz')) === 503);
    expect(await (await fetch(`${usher?.ops}/readyz`)).json()).toMatchObject({
      message: expect.stringContaining('worker'),
    });
    await holder.query('rollback');
  } finally {
    await holder.end();
  }
  await until('ready again', async () => (await ready('/readyz')) === 200);
}, 60_000);
