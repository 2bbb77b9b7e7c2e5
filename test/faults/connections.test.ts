import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { createLogger } from '../../src/base/telemetry.ts';
import type { ErrorBody } from '../../src/gen/api.ts';
import type { Database } from '../../src/persistence/database.ts';
import { accept, insertType, settled, stateOf, until } from '../delivery/rows.ts';
import { call } from '../grpc/support.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { isPooled, SERVER_VARIABLE, straight } from '../support/postgres.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

let storage: TestStorage;
let usher: RunningUsher;
/** One connection, made before the server refuses new ones. */
let direct: Database;
let maintenance: pg.Client;
let grpc: Client;
const lines: string[] = [];

beforeAll(async () => {
  storage = await createStorage('postgresql');
  direct = await storage.open({ ...straight(storage.url), poolSize: 1 });
  maintenance = new pg.Client({ connectionString: process.env[SERVER_VARIABLE] });
  await maintenance.connect();
  const log = createLogger('info', { write: (line) => void lines.push(line) });
  usher = await startUsher(storage, { env: { CACHE_TTL_MS: '200' }, parts: { log } });
  grpc = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
}, 60_000);

afterAll(async () => {
  grpc?.close();
  await usher?.close();
  await maintenance?.end();
  await storage?.remove();
}, 60_000);

/** `ALTER DATABASE … ALLOW_CONNECTIONS`; without them the service's own are ended, too. */
async function allowConnections(allowed: boolean): Promise<void> {
  const name = new URL(storage.url ?? '').pathname.slice(1);
  const own = await direct.read((tx) => sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.kysely));
  await maintenance.query(`alter database ${name} allow_connections ${allowed}`);
  if (allowed) return;
  await maintenance.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> $2', [
    name,
    own.rows[0]?.pid,
  ]);
}

const key = () => ({ 'x-internal-api-key': usher.app.localKey ?? '' });
const question = { email: 'cold@example.com', app: 'shop', permission: 'read' };

async function overGrpc(): Promise<string> {
  try {
    await call(grpc, 'Check', question, { metadata: key() });
    return 'answered';
  } catch (error) {
    return status[(error as ServiceError).code];
  }
}

async function overConnect(): Promise<string> {
  const response = await fetch(`${usher.rest}/usher.permission.v1.PermissionService/Check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...key() },
    body: JSON.stringify(question),
  });
  return `${response.status} ${((await response.json()) as Partial<ErrorBody>).code ?? 'answered'}`;
}

/** A pooler takes connections all the same, and says at the first statement what it was told. */
const [AWAY, BACK] = isPooled()
  ? [/^change log not readable/, 'change log readable again']
  : [/^database unreachable/, 'database reachable again'];

describe('a database that refuses new connections', () => {
  test('refused connections are UNAVAILABLE on every transport, logged once, and deliveries resume afterwards', async () => {
    const type = await insertType(direct, 'shop');
    const ada = await Rest.as(usher, 'ada@example.com');
    expect((await ada.get('/api/profile/me')).status).toBe(200);
    lines.length = 0;
    await allowConnections(false);
    // What is cached may still be used for its time.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const [delivery = 0] = await accept(direct, type, [{ to: 'ada@example.com', email: {} }]);
    for (let round = 0; round < 3; round++) {
      for (const path of ['/api/profile/me', '/api/profile/me/apps/shop', '/api/languages', '/readyz']) {
        expect([path, await ada.get(path)]).toMatchObject([path, { status: 503, body: { code: 'UNAVAILABLE' } }]);
      }
      const put = await ada.put('/api/profile/me', { displayName: 'Ada' });
      expect(put).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
      expect(await overGrpc()).toBe('UNAVAILABLE');
      expect(await overConnect()).toBe('503 unavailable');
    }
    // Two looks of the worker.
    await new Promise((resolve) => setTimeout(resolve, 2200));
    const causes = lines.filter((line) => line.includes('SQLSTATE 55000'));
    expect(causes).toHaveLength(1);
    expect(JSON.parse(causes[0] ?? '{}')).toMatchObject({
      level: 'warn',
      msg: expect.stringMatching(AWAY),
    });
    expect(lines.filter((line) => line.includes('claiming deliveries failed'))).toHaveLength(1);
    await allowConnections(true);
    expect((await until(() => stateOf(direct, delivery), settled)).status).toBe('sent');
    expect((await ada.get('/api/profile/me')).status).toBe(200);
    expect(await overGrpc()).toBe('answered');
    expect(lines.filter((line) => line.includes(BACK))).toHaveLength(1);
  }, 60_000);
});
