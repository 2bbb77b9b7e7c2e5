import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CheckResult, ErrorBody } from '../../src/gen/api.ts';
import { call } from '../grpc/support.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { createDatabase } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { LineCutter } from '../support/proxy.ts';
import { numberOf } from '../support/revisions.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { SHOP } from './shop.ts';

/**
 * A failover that loses commits: a PostgreSQL, and a copy of its data from before the newest writes that takes its place under two
 * running instances, an edge of one of them, and an edge of that. Numbers of revisions are used again by then, for other changes;
 * nobody may take the one for the other.
 */
const ADA = 'ada@example.com';
const BOB = 'bob@example.com';
const SETUP: Operation[] = [...SHOP, { kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'] }];

const EDGE_KEY = 'the-key-of-an-edge-of-the-other-edge';

interface Instance {
  usher: RunningUsher;
  line: LineCutter;
}

const directories: string[] = [];
let servers: PostgresServer[];
let older: string;
let near: Instance;
let far: Instance;
let edges: RunningEdge[] = [];
const clients: Client[] = [];
/** A revision that both histories have. */
let common: string;
/** Of a write that only the first server had, and the newest revision of all there. */
let lost: string;
let newest: string;

async function instance(url: string): Promise<Instance> {
  const line = await LineCutter.start(url);
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-failover-'));
  directories.push(dataDir);
  return { usher: await startUsher({ url: line.url(url), dataDir }), line };
}

async function write({ usher }: Instance, operation: Operation): Promise<string> {
  return (await usher.app.database.change((tx) => carryOut(tx, operation))).revision;
}

/** As `write`, again until the database answers. */
async function writeWhenBack(at: Instance, operation: Operation): Promise<string> {
  for (const end = performance.now() + 10_000; ; ) {
    try {
      return await write(at, operation);
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

async function check({ usher }: Instance, email: string, minRevision?: string) {
  const began = performance.now();
  const response = await fetch(`${usher.rest}/api/check`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-internal-api-key': usher.app.localKey ?? '',
      ...(minRevision === undefined ? {} : { 'usher-min-revision': minRevision }),
    },
    body: JSON.stringify({ email, app: 'shop', permission: 'read' }),
  });
  const body = (await response.json()) as Partial<ErrorBody> & { data?: CheckResult };
  return {
    status: response.status,
    allowed: body.data?.allowed,
    reason: body.details?.code,
    revision: response.headers.get('usher-revision'),
    ms: performance.now() - began,
  };
}

/** At an edge. Rejects with the error of the call. */
async function ask(client: Client, email: string, minRevision = '') {
  const question = { email, app: 'shop', permission: 'read', minRevision };
  const options = { metadata: { 'x-internal-api-key': EDGE_KEY }, deadline: Date.now() + 5000 };
  return (await call(client, 'Check', question, options)).message;
}

async function startEdges(upstream: RunningUsher): Promise<void> {
  const env = (key: string) => ({ UPSTREAM_KEY: key, INTERNAL_API_KEY: `edge:facts:${EDGE_KEY}` });
  const beside = await startEdge(upstream.grpc, { env: env(upstream.app.localKey ?? '') });
  edges = [beside, await startEdge(beside.grpc, { env: env(EDGE_KEY) })];
  clients.push(...edges.map(({ grpc }) => new Client(grpc, credentials.createInsecure())));
}

beforeAll(async () => {
  const first = await startPostgres({ maxConnections: 100 });
  servers = [first];
  const { url } = await createDatabase({ server: first, empty: true });
  near = await instance(url);
  far = await instance(url);
  await startEdges(near.usher);
  for (const operation of SETUP) common = await write(near, operation);
  const copy = await first.copy();
  lost = await write(near, { kind: 'roles-of-user', app: 'shop', email: BOB, roles: ['reader'] });
  for (let i = 0; i < 8; i++) newest = await write(near, { kind: 'user', email: `new${i}@example.com`, active: true });
  const second = await startPostgres({ maxConnections: 100, from: copy });
  servers.push(second);
  older = url.replace(`:${first.port}/`, `:${second.port}/`);
}, 150_000);

afterAll(async () => {
  for (const client of clients) client.close();
  for (const edge of edges.toReversed()) await edge.close();
  for (const { usher, line } of [near, far].filter((one) => one !== undefined)) {
    await usher.close();
    await line.close();
  }
  await Promise.all((servers ?? []).map((server) => server.close()));
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}, 60_000);

describe('before the failover', () => {
  test('both instances know everybody at the newest revision', async () => {
    for (const at of [near, far]) {
      expect(await check(at, ADA, newest)).toMatchObject({ status: 200, allowed: true });
      expect(await check(at, BOB, lost)).toMatchObject({ status: 200, allowed: true });
      expect((await check(at, BOB)).revision).toBe(newest);
    }
    for (const client of clients) {
      expect(await ask(client, ADA, newest)).toMatchObject({ allowed: true, revision: newest });
      expect(await ask(client, BOB, newest)).toMatchObject({ allowed: true, revision: newest });
    }
  });
});

describe('after the failover', () => {
  let revoked: string;

  test('a revision of the new history is not reached by an instance in the old one', async () => {
    far.line.swallow();
    near.line.lead(older);
    revoked = await writeWhenBack(near, { kind: 'roles-of-user', app: 'shop', email: ADA, roles: [] });
    // The number is one that the other instance is past: its answer from the cache would be "allowed".
    expect(numberOf(revoked)).toBeLessThan(numberOf(newest));
    expect(await check(near, ADA, revoked)).toMatchObject({ status: 200, allowed: false });
    expect(await check(far, ADA, revoked)).toMatchObject({ status: 503 });
    far.line.up();
    far.line.lead(older);
    const began = performance.now();
    let answer = await check(far, ADA, revoked);
    while (answer.status === 503 && performance.now() - began < 5000) answer = await check(far, ADA, revoked);
    expect(answer).toMatchObject({ status: 200, allowed: false });
    expect(performance.now() - began).toBeLessThan(2000);
  });

  test('lost writes disappear at once from both instances', async () => {
    for (const at of [near, far]) expect(await check(at, BOB)).toMatchObject({ status: 200, allowed: false });
  });

  test('lost writes disappear within a second from an edge, and from an edge of it', async () => {
    const began = performance.now();
    for (const client of clients) {
      for (const email of [ADA, BOB]) {
        while ((await ask(client, email)).allowed) {
          if (performance.now() - began > 15_000) throw new Error(`${email} is still allowed`);
        }
      }
      expect(await ask(client, BOB, revoked)).toMatchObject({ allowed: false, revision: revoked });
      const unknown = ask(client, BOB, lost);
      await expect(unknown).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    }
    expect(performance.now() - began).toBeLessThan(2000);
  });

  test('a revision of the lost history is unknown, even when its number exists again', async () => {
    for (const at of [near, far]) {
      expect(await check(at, BOB, lost)).toMatchObject({ status: 400, reason: 'UNKNOWN_REVISION' });
    }
    let now = revoked;
    while (numberOf(now) < numberOf(newest) + 1) now = await write(near, { kind: 'user', email: BOB, active: true });
    for (const at of [near, far]) {
      expect((await check(at, BOB, now)).revision).toBe(now);
      for (const token of [lost, newest]) {
        expect(await check(at, BOB, token)).toMatchObject({ status: 400, reason: 'UNKNOWN_REVISION' });
      }
    }
  });

  test('a revision of both histories stays valid, and so does a number alone', async () => {
    for (const at of [near, far]) {
      for (const token of [common, `${numberOf(common)}`, '0']) {
        expect(await check(at, ADA, token)).toMatchObject({ status: 200, allowed: false });
      }
    }
  });
});
