import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import type { CheckResult, ErrorBody } from '../../src/gen/api.ts';
import { migrate, openDatabase } from '../../src/persistence/open.ts';
import { call } from '../grpc/support.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { createDatabase } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { numberOf } from '../support/revisions.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { SHOP } from './shop.ts';

/** A primary and a hot standby that streams from it, with a service on each, and an edge of the one on the standby. */
const ADA = 'ada@example.com';
const BOB = 'bob@example.com';
const ROOT = 'root@example.com';
const GRANT: Operation = { kind: 'roles-of-user', app: 'shop', email: BOB, roles: ['reader'] };
const REVOKE: Operation = { kind: 'roles-of-user', app: 'shop', email: BOB, roles: [] };

const directories: string[] = [];
const silent = { clock: systemClock, log: createLogger('silent') };
let primary: PostgresServer;
let standby: PostgresServer;
let writing: RunningUsher;
let answering: RunningUsher;
let edge: RunningEdge;
let client: Client;
/** Of the same databases there: that of the services, and one that nobody has migrated. */
let urlThere: string;
let emptyThere: string;
let admin: pg.Client;

async function instance(url: string): Promise<RunningUsher> {
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-standby-'));
  directories.push(dataDir);
  return await startUsher({ url, dataDir }, { env: { SUPERADMINS: ROOT } });
}

async function write(operation: Operation, { app } = writing): Promise<string> {
  return (await app.database.change((tx) => carryOut(tx, operation))).revision;
}

/** A request to the service on the standby, by a backend or, with a token, by a person. */
async function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const key = answering.app.localKey ?? '';
  const response = await fetch(`${answering.rest}${path}`, {
    method,
    headers: {
      ...(headers.authorization === undefined ? { 'x-internal-api-key': key } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Partial<ErrorBody> & { data?: CheckResult };
  return { ...answer, status: response.status, revision: response.headers.get('usher-revision') };
}

function check(email: string, minRevision?: string, path = '/api/check') {
  const headers: Record<string, string> = minRevision === undefined ? {} : { 'usher-min-revision': minRevision };
  return request('POST', path, { email, app: 'shop', permission: 'read' }, headers);
}

/** The statement on the standby itself. */
const there = async (statement: string): Promise<void> => void (await admin.query(statement));

beforeAll(async () => {
  primary = await startPostgres({ maxConnections: 100 });
  const { url, name } = await createDatabase({ server: primary, empty: true });
  const { url: empty } = await createDatabase({ server: primary, empty: true });
  writing = await instance(url);
  for (const operation of SHOP) await write(operation);
  await write({ kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'] });
  standby = await startPostgres({ maxConnections: 100, standbyOf: primary });
  const moved = (at: string) => at.replace(`:${primary.port}/`, `:${standby.port}/`);
  [urlThere, emptyThere] = [moved(url), moved(empty)];
  expect(urlThere).toContain(name);
  admin = new pg.Client({ connectionString: urlThere });
  await admin.connect();
  answering = await instance(urlThere);
  const key = answering.app.localKey ?? '';
  edge = await startEdge(answering.grpc, {
    env: { UPSTREAM_KEY: key, INTERNAL_API_KEY: 'checks:check:edge-key-edge-key-edge' },
  });
  client = new Client(edge.grpc, credentials.createInsecure());
}, 150_000);

afterAll(async () => {
  client?.close();
  await edge?.close();
  await answering?.close();
  await writing?.close();
  await admin?.end();
  await standby?.close();
  await primary?.close();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}, 60_000);

describe('a service on a standby', () => {
  test('is ready, and answers as the primary does', async () => {
    expect((await request('GET', '/readyz')).status).toBe(200);
    const revision = await write(GRANT);
    for (const email of [ADA, BOB]) {
      expect(await check(email, revision)).toMatchObject({ status: 200, data: { allowed: true }, revision });
    }
    const mine = await fetch(`${writing.rest}/api/profile/me`, {
      headers: { authorization: `Bearer ${await writing.token(ROOT)}` },
    });
    expect(mine.status).toBe(200);
    await check(ADA, await write(GRANT));
    const authorization = `Bearer ${await answering.token(ROOT)}`;
    const listed = await request('GET', '/api/applications', undefined, { authorization });
    expect(listed).toMatchObject({
      status: 200,
      data: expect.arrayContaining([expect.objectContaining({ code: 'shop' })]),
    });
  });

  test('waits for the revision that a question names, at every door', async () => {
    await there('select pg_wal_replay_pause()');
    const revision = await write(REVOKE);
    const edgeQuestion = { email: BOB, app: 'shop', permission: 'read', minRevision: revision };
    const metadata = { 'x-internal-api-key': 'edge-key-edge-key-edge' };
    let answered = 0;
    const asked = [
      check(BOB, revision),
      check(BOB, revision, '/api/check/explain'),
      call(client, 'Check', edgeQuestion, { metadata, deadline: Date.now() + 10_000 }).then(({ message }) => ({
        status: 200,
        data: message,
        revision: message.revision,
      })),
    ].map((question) => question.finally(() => answered++));
    const settled = Promise.all(asked);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(answered).toBe(0);
    // What names no revision is answered meanwhile, as of an older one.
    const older = await check(BOB);
    expect(older).toMatchObject({ status: 200, data: { allowed: true } });
    expect(numberOf(older.revision ?? '')).toBeLessThan(numberOf(revision));
    await there('select pg_wal_replay_resume()');
    for (const answer of await settled) {
      expect(answer).toMatchObject({ status: 200, data: { allowed: false }, revision });
    }
  });

  test('says that a revision which does not arrive is not here, and not that it is unknown', async () => {
    await there('select pg_wal_replay_pause()');
    try {
      const revision = await write(GRANT);
      const [plain, explained] = await Promise.all([check(BOB, revision), check(BOB, revision, '/api/check/explain')]);
      expect(plain).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
      expect(explained).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
    } finally {
      await there('select pg_wal_replay_resume()');
    }
  });

  test('refuses writes with 503 and changes nothing', async () => {
    const authorization = `Bearer ${await answering.token(ROOT)}`;
    const newcomer = `Bearer ${await answering.token('new@example.com')}`;
    const before = writing.app.engine.revision;
    const refusals = await Promise.all([
      request('POST', '/api/applications', { code: 'desk', name: 'Desk' }, { authorization }),
      request('GET', '/api/profile/me', undefined, { authorization: newcomer }),
      request('POST', '/api/check/cache/clear?everywhere=true'),
    ]);
    for (const [which, refusal] of refusals.entries()) {
      expect({ which, ...refusal }).toMatchObject({
        which,
        status: 503,
        code: 'UNAVAILABLE',
        message: expect.stringMatching(/takes no writes/),
      });
    }
    expect(writing.app.engine.revision).toBe(before);
    expect((await check(ADA)).status).toBe(200);
  });

  test('is refused where its primary was never migrated, and cannot migrate it', async () => {
    const options = { url: emptyThere, dataDir: '', ...silent };
    const refused = {
      name: 'Refused',
      message: expect.stringMatching(/is a standby, which cannot be migrated\. Migrate its primary/),
    };
    await expect(migrate(options)).rejects.toMatchObject(refused);
    await expect(openDatabase({ ...options, poolSize: 2, migrateOnStart: true })).rejects.toMatchObject(refused);
    await expect(openDatabase({ ...options, poolSize: 2, migrateOnStart: false })).rejects.toMatchObject({
      name: 'Refused',
      message: expect.stringContaining('The database lacks'),
    });
  });

  test('goes on when its database is promoted, and then takes writes', async () => {
    const revision = await write(REVOKE);
    expect(await check(BOB, revision)).toMatchObject({ status: 200, data: { allowed: false } });
    await writing.close();
    await there('select pg_promote()');
    const made = await write(GRANT, answering);
    expect(numberOf(made)).toBe(numberOf(revision) + 1);
    expect(await check(BOB, made)).toMatchObject({ status: 200, data: { allowed: true }, revision: made });
    expect(await check(BOB, revision)).toMatchObject({ status: 200, revision: made });
    expect(await check(BOB, `${numberOf(made) + 1}.1`)).toMatchObject({
      status: 400,
      details: { code: 'UNKNOWN_REVISION' },
    });
  });
});
