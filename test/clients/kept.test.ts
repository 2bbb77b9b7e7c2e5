import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { connectTransport } from '../../clients/typescript/src/connect.ts';
import {
  createUsher,
  InvalidQuestionError,
  type KeepingUsher,
  UnavailableError,
} from '../../clients/typescript/src/index.ts';
import { createLocalUsher, type LocalUsher } from '../../clients/typescript/src/local.ts';
import { createFakeUsher } from '../../clients/typescript/src/testing.ts';
import { SHOP } from '../faults/shop.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const KEY = 'the-key-of-a-client-that-keeps-questions';
const HOLDER = 'holder@example.com';
const READ = { email: HOLDER, app: 'shop', permission: 'read' };
const STRICT = `
application: { code: strict, name: Strict, strictCodes: true }
permissions: [{ code: open, type: binary }]
`;
const turn = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));

let storage: TestStorage;
let usher: RunningUsher;
let line: LineCutter;
const opened: { close(): void }[] = [];

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, { env: { INTERNAL_API_KEY: `all:facts:${KEY}` } });
  for (const operation of SHOP) await change(operation);
  await usher.app.manifests.apply(STRICT, { actor: 'cli' });
});

beforeEach(async () => {
  line = await LineCutter.start(`http://${usher.grpc}`);
  await give('reader');
});

afterEach(async () => {
  for (const client of opened.splice(0)) client.close();
  await line?.close();
});

afterAll(async () => {
  await usher?.close();
  await storage?.remove();
});

const change = async (operation: Parameters<typeof carryOut>[1]) =>
  (await usher.app.database.change((tx) => carryOut(tx, operation))).revision;
const give = (...roles: string[]) => change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles });

function opening<T extends { close(): void }>(client: T): T {
  opened.push(client);
  return client;
}

async function local(options: { maxStalenessMs?: number; ttlMs?: number } = {}): Promise<LocalUsher> {
  const client = opening(
    createLocalUsher({ address: `127.0.0.1:${line.port}`, key: KEY, deadlineMs: 5000, ...options }),
  );
  await client.ready();
  return client;
}

/** Waits for an answer; what cannot be said meanwhile is asked again. */
async function until(may: () => boolean | undefined, answer: boolean): Promise<void> {
  while (may() !== answer) await turn();
}

async function calls(method: string): Promise<number> {
  const metrics = await usher.app.ownMetrics();
  const counted = metrics.find(({ name }) => name === 'usher_grpc_requests_total');
  const values = counted?.values.filter(({ labels }) => labels.method === method) ?? [];
  return values.reduce((sum, { value }) => sum + value, 0);
}

describe('a question kept by the engine in this process', () => {
  test('is answered at once as check answers it, and as it has changed', async () => {
    const client = await local();
    const may = client.keep(READ);
    await may.ready();
    expect(may()).toBe(true);
    expect(may.decision()).toEqual(await client.check(READ));
    const mayEdit = client.keep({ ...READ, permission: 'pages', level: 'edit' }, { unanswered: 'undefined' });
    await until(mayEdit, (await client.check({ ...READ, permission: 'pages', level: 'edit' })).allowed);
    const seen = new Set<boolean | undefined>();
    for (let round = 0; round < 5; round++) {
      const revision = await give();
      await client.check(READ, { minRevision: revision });
      // Whoever knows of the change is never told what was before it.
      expect(may()).toBe(false);
      await give('reader');
      const again = client.keep(READ, { unanswered: 'undefined' });
      while (again() !== true) {
        seen.add(again());
        await turn();
      }
    }
    expect(seen).not.toContain(true);
  });

  test('whose facts have ended is answered again without being asked', async () => {
    const client = await local();
    const may = client.keep(READ, { unanswered: 'undefined' });
    await may.ready();
    await give();
    await until(may, false);
    const asked = await calls('Members');
    await give('reader');
    while ((await calls('Members')) === asked) await turn();
    await until(may, true);
  });

  test('is not answered before its facts are here: it throws, or is undefined', async () => {
    const client = await local();
    line.swallow();
    const [may, perhaps] = [client.keep(READ), client.keep(READ, { unanswered: 'undefined' })];
    expect(may).toThrow(UnavailableError);
    expect(may).toThrow(expect.objectContaining({ reason: 'LOADING' }));
    expect(may.decision).toThrow(UnavailableError);
    expect([perhaps(), perhaps.decision()]).toEqual([undefined, undefined]);
    await expect(may.ready({ deadlineMs: 100 })).rejects.toBeInstanceOf(UnavailableError);
    line.up();
    await may.ready();
    expect([may(), perhaps()]).toEqual([true, true]);
  });

  test('is not answered beyond the greatest staleness, also while nothing else gets its turn', async () => {
    const client = await local({ maxStalenessMs: 500 });
    const may = client.keep(READ, { unanswered: 'undefined' });
    await may.ready();
    line.swallow();
    const since = performance.now();
    let lastAt = since;
    while (performance.now() - since < 1500) {
      const at = performance.now();
      if (may() !== undefined) lastAt = at;
    }
    expect(lastAt - since).toBeLessThanOrEqual(500);
    expect(client.keep(READ)).toThrow(expect.objectContaining({ reason: 'STALE' }));
    line.up();
    await until(may, true);
  });

  test('lives on beyond the life of its facts, and asks nothing once it is closed', async () => {
    const client = await local({ ttlMs: 1000 });
    const may = client.keep(READ);
    await may.ready();
    const since = performance.now();
    while (performance.now() - since < 2500) {
      expect(may()).toBe(true);
      await turn(100);
    }
    may.close();
    expect(may).toThrow(expect.objectContaining({ reason: 'CLOSED' }));
    await expect(may.ready()).rejects.toBeInstanceOf(UnavailableError);
    // What was being read ahead arrives.
    await turn(500);
    const asked = await calls('Members');
    await turn(1500);
    expect(await calls('Members')).toBe(asked);
  });

  test('is answered no more when the engine is closed', async () => {
    const client = await local();
    const may = client.keep(READ);
    await may.ready();
    client.close();
    expect(may).toThrow(UnavailableError);
  });

  test('is refused where it is wrong, at once or by the application', async () => {
    const client = await local();
    expect(() => client.keep({ ...READ, resource: { type: 'ticket' } as never })).toThrow(InvalidQuestionError);
    expect(() => client.keep({ ...READ, level: 'write' as never })).toThrow(/level/);
    expect(() => client.keep(READ, { unanswered: 'null' as never })).toThrow(/unanswered: must be 'throw'/);
    const may = client.keep({ email: HOLDER, app: 'strict', permission: 'opne' }, { unanswered: 'undefined' });
    await expect(may.ready()).rejects.toBeInstanceOf(InvalidQuestionError);
    expect(may).toThrow(InvalidQuestionError);
    const unknown = client.keep({ ...READ, permission: 'nothing.such' });
    await unknown.ready();
    expect(unknown()).toBe(false);
    const nobody = client.keep({ ...READ, email: 'no address' });
    expect(nobody()).toBe((await client.check({ ...READ, email: 'no address' })).allowed);
  });
});

describe.each(['gRPC', 'Connect'])('a question kept by a client over %s', (way) => {
  const open = (deadlineMs = 5000): KeepingUsher => {
    const url = `http://127.0.0.1:${new URL(usher.rest).port}`;
    return opening(
      way === 'gRPC'
        ? createUsher({ address: `127.0.0.1:${line.port}`, key: KEY, deadlineMs })
        : createUsher({ transport: connectTransport({ url, key: KEY, deadlineMs }) }),
    );
  };

  test('is answered by the service each time', async () => {
    const client = open();
    const may = client.keep(READ);
    await may.ready();
    expect(await may()).toBe(true);
    expect(await may.decision()).toMatchObject({ allowed: true, source: 'role' });
    await give();
    expect(await may()).toBe(false);
    may.close();
    await expect(may()).rejects.toMatchObject({ reason: 'CLOSED' });
  });

  test('goes in one call with others of its turn', async () => {
    const client = open();
    await client.ready();
    const [may, other] = [client.keep(READ), client.keep({ ...READ, email: 'other@example.com' })];
    const [alone, together] = [await calls('Check'), await calls('BatchCheck')];
    const answers = await Promise.all([may(), other(), client.check(READ), may.decision(), other()]);
    expect(answers).toMatchObject([true, false, { allowed: true }, { allowed: true }, false]);
    if (way === 'gRPC') expect([await calls('Check'), await calls('BatchCheck')]).toEqual([alone, together + 1]);
    expect(await may()).toBe(true);
  });
});

test('a client that gets no answer throws, or says undefined', async () => {
  const client = opening(createUsher({ address: `127.0.0.1:${line.port}`, key: KEY, deadlineMs: 300 }));
  line.down();
  await expect(client.keep(READ)()).rejects.toBeInstanceOf(UnavailableError);
  expect(await client.keep(READ, { unanswered: 'undefined' })()).toBeUndefined();
});

test('the fake keeps questions too', async () => {
  const fake = createFakeUsher();
  const may = fake.keep(READ);
  expect(await may()).toBe(false);
  fake.allow(READ);
  expect([await may(), (await may.decision()).level]).toEqual([true, 'allowed']);
  fake.fail();
  await expect(may()).rejects.toBeInstanceOf(UnavailableError);
  expect(await fake.keep(READ, { unanswered: 'undefined' })()).toBeUndefined();
});
