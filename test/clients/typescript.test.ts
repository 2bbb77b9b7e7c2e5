import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import { connectTransport } from '../../clients/typescript/src/connect.ts';
import { requirePermission } from '../../clients/typescript/src/guards/express.ts';
import { requirePermission as fastifyHook } from '../../clients/typescript/src/guards/fastify.ts';
import { requirePermission as honoMiddleware } from '../../clients/typescript/src/guards/hono.ts';
import { permissionGuard } from '../../clients/typescript/src/guards/nestjs.ts';
import {
  createNotifier,
  createUsher,
  DeniedError,
  InvalidQuestionError,
  UnavailableError,
  type Usher,
} from '../../clients/typescript/src/index.ts';
import { createLocalUsher, type LocalUsher } from '../../clients/typescript/src/local.ts';
import { createFakeUsher } from '../../clients/typescript/src/testing.ts';
import { SHOP } from '../faults/shop.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const KEY = 'the-key-of-a-client-with-all-scopes';
const CHECK_KEY = 'the-key-of-a-client-that-only-asks';
const HOLDER = 'holder@example.com';
const READ = { email: HOLDER, app: 'shop', permission: 'read' };
const STRICT = `
application: { code: strict, name: Strict, strictCodes: true }
entities: [{ code: door, name: Door }]
permissions: [{ code: open, type: binary }]
`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let storage: TestStorage;
let usher: RunningUsher;
let line: LineCutter;
const opened: { close(): void }[] = [];
const warnings: string[] = [];
const log = { warn: (message: string) => void warnings.push(message) };

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, {
    env: { INTERNAL_API_KEY: `all:facts+notify:${KEY},ask:check:${CHECK_KEY}` },
  });
  for (const operation of SHOP) await change(operation);
});

beforeEach(async () => {
  warnings.length = 0;
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

async function change(operation: Parameters<typeof carryOut>[1]): Promise<string> {
  return (await usher.app.database.change((tx) => carryOut(tx, operation))).revision;
}

const give = (...roles: string[]) => change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles });

function remote(options: Partial<Parameters<typeof createUsher>[0]> = {}): Usher {
  const client = createUsher({ address: `127.0.0.1:${line.port}`, key: KEY, deadlineMs: 5000, log, ...options });
  opened.push(client);
  return client;
}

function byConnect(options: Partial<Parameters<typeof connectTransport>[0]> = {}): Usher {
  const url = `http://127.0.0.1:${line.port}`;
  const client = createUsher({ transport: connectTransport({ url, key: KEY, deadlineMs: 5000, ...options }), log });
  opened.push(client);
  return client;
}

async function local(options: Partial<Parameters<typeof createLocalUsher>[0]> = {}): Promise<LocalUsher> {
  const client = createLocalUsher({ address: `127.0.0.1:${line.port}`, key: KEY, deadlineMs: 5000, log, ...options });
  opened.push(client);
  await client.ready();
  return client;
}

/** How often a method of the service was called. */
async function calls(method: string): Promise<number> {
  const metrics = await usher.app.ownMetrics();
  const counted = metrics.find(({ name }) => name === 'usher_grpc_requests_total');
  return (
    counted?.values.filter(({ labels }) => labels.method === method).reduce((sum, { value }) => sum + value, 0) ?? 0
  );
}

describe.each(['over gRPC', 'over Connect', 'in this process'])('the questions, answered %s', (where) => {
  const open = async (options: { key?: string } = {}): Promise<Usher> => {
    if (where === 'over gRPC') return remote(options);
    return where === 'over Connect' ? byConnect(options) : await local(options);
  };

  beforeEach(async () => {
    if (where !== 'over Connect') return;
    await line.close();
    line = await LineCutter.start(usher.rest);
  });

  test('have the answers of the service', async () => {
    const client = await open();
    const { revision } = usher.app.engine;
    expect(await client.check(READ)).toEqual({ allowed: true, level: 'allowed', source: 'role', revision });
    expect(await client.check({ ...READ, email: 'nobody@example.com' })).toMatchObject({
      allowed: false,
      source: null,
    });
    expect(await client.bulkCheck({ email: HOLDER, app: 'shop', permissions: ['read', 'pay'] })).toMatchObject(
      new Map([
        ['read', { allowed: true }],
        ['pay', { allowed: false }],
      ]),
    );
    const both = await client.batchCheck([READ, { ...READ, app: 'nowhere' }]);
    expect(both).toMatchObject([{ allowed: true }, { allowed: false }]);
    expect(await client.effective({ email: HOLDER, app: 'shop' })).toMatchObject({
      revision,
      permissions: [{ permission: 'read', allowed: true, tiered: false, group: null }],
    });
    expect(await client.explain(READ)).toMatchObject({
      allowed: true,
      rules: { length: 6 },
      known: { permission: true },
    });
    const people: string[] = [];
    for await (const { email } of client.subjects({ app: 'shop', permission: 'read' })) people.push(email);
    expect(people).toContain(HOLDER);
    const reach = await client.resources({ ...READ, resourceType: 'order' });
    expect(reach).toMatchObject({ scope: 'all', resourceIds: [] });
  });

  test('are refused with the reason and the field', async () => {
    const client = await open();
    const half = client.check({ ...READ, resource: { type: 'order', id: '' } });
    await expect(half).rejects.toBeInstanceOf(InvalidQuestionError);
    await expect(half).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INCOMPLETE_RESOURCE' });
    await expect(client.check({ ...READ, email: '' })).rejects.toMatchObject({ violations: [{ field: 'email' }] });
    await expect(client.allowed({ ...READ, email: '' })).rejects.toBeInstanceOf(InvalidQuestionError);
    const tooLong = { ...READ, email: `${'a'.repeat(400)}@example.com` };
    await expect(client.allowed(tooLong)).rejects.toMatchObject({ violations: [{ field: 'email' }] });
    expect(await client.allowed(READ, { minRevision: '999999.x' })).toBe(false);
    expect(warnings).toMatchObject([expect.stringContaining('about read in shop')]);
    expect(warnings.join()).not.toContain(HOLDER);
  });

  test('about an unknown code of a strict application are refused by the same path, cached or not', async () => {
    await usher.app.manifests.apply(STRICT, { actor: 'cli' });
    const client = await open();
    const asked = { ...READ, app: 'strict', permission: 'open', resource: { type: 'door', id: '1' } };
    for (let again = 0; again < 2; again++) {
      const refused = { reason: 'UNKNOWN_CODE', details: { path: 'resource_type' } };
      await expect(client.check({ ...asked, resource: { type: 'gate', id: '1' } })).rejects.toMatchObject(refused);
      const misspelt = client.check({ ...asked, permission: 'opn' });
      await expect(misspelt).rejects.toMatchObject({ details: { path: 'permission', known: 'open' } });
    }
  });

  test('are as fresh as the revision that they name', async () => {
    const client = await open();
    for (const roles of [[], ['reader'], []]) {
      const minRevision = await give(...roles);
      expect(await client.check(READ, { minRevision })).toMatchObject({ allowed: roles.length > 0 });
    }
    await expect(client.check(READ, { minRevision: '999999.x' })).rejects.toMatchObject({ reason: 'UNKNOWN_REVISION' });
  });

  test('tell of changes, also after the connection was cut', async () => {
    const client = await open();
    const stop = new AbortController();
    const told: string[] = [];
    const watching = (async () => {
      for await (const { changes } of client.watch({ signal: stop.signal })) {
        told.push(...changes.map((one) => ('email' in one ? `${one.kind} ${one.email}` : one.kind)), '|');
      }
    })();
    const until = async (count: number) => {
      while (told.filter((one) => one === `member ${HOLDER}`).length < count) await pause(10);
    };
    while (told.length === 0) await pause(10);
    await give();
    await until(1);
    line.down();
    await give('reader');
    await pause(200);
    line.up();
    await until(2);
    stop.abort();
    await watching;
  });

  test('a service that is away is no answer, within the deadline', async () => {
    const client = await open();
    line.down();
    const since = performance.now();
    const asked = client.check({ ...READ, email: 'new@example.com' }, { deadlineMs: 400 });
    await expect(asked).rejects.toBeInstanceOf(UnavailableError);
    expect(await client.allowed({ ...READ, email: 'another@example.com' }, { deadlineMs: 400 })).toBe(false);
    expect(performance.now() - since).toBeLessThan(3000);
    line.up();
    expect(await client.check({ ...READ, email: 'new@example.com' }, { deadlineMs: 10_000 })).toMatchObject({
      allowed: false,
    });
  });

  test('a wrong key is said', async () => {
    const asked = open({ key: 'a-key-that-nobody-has-configured' }).then((client) => client.check(READ));
    await expect(asked).rejects.toBeInstanceOf(DeniedError);
    await expect(asked).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('checks of one turn', () => {
  test('go in one call, and a malformed one does not harm the others', async () => {
    const client = remote({ key: CHECK_KEY });
    const before = await calls('BatchCheck');
    const asked = Array.from({ length: 50 }, (_, index) => client.check({ ...READ, email: `p${index}@example.com` }));
    expect(await Promise.all([client.allowed(READ), ...asked])).toMatchObject([
      true,
      ...asked.map(() => ({ allowed: false })),
    ]);
    expect(await calls('BatchCheck')).toBe(before + 1);
    const tooLong = `${'a'.repeat(400)}@example.com`;
    const mixed = await Promise.allSettled([client.check(READ), client.check({ ...READ, email: tooLong })]);
    expect(mixed).toMatchObject([{ status: 'fulfilled', value: { allowed: true } }, { status: 'rejected' }]);
    await turn();
    const alone = await calls('Check');
    await client.check(READ);
    expect(await calls('Check')).toBe(alone + 1);
  });
});

describe('the engine in this process', () => {
  test('answers at once what it knows, and sees a change within a second', async () => {
    const client = await local();
    expect(client.peek(READ)).toBeUndefined();
    await client.check(READ);
    const checks = await calls('Members');
    expect(client.peek(READ)).toMatchObject({ allowed: true, revision: client.revision });
    for (let round = 0; round < 5; round++) {
      await give();
      const since = performance.now();
      while ((await client.check(READ)).allowed) await pause(2);
      expect(performance.now() - since).toBeLessThan(2000);
      await give('reader');
      while (!(await client.check(READ)).allowed) await pause(2);
    }
    expect(await calls('Members')).toBeGreaterThan(checks);
  });

  test('throws beyond the greatest staleness, and never answers', async () => {
    const client = await local({ maxStalenessMs: 800 });
    await client.check(READ);
    line.swallow();
    const since = performance.now();
    const outcomes = new Set<string>();
    while (performance.now() - since < 2500) {
      const { stalenessMs } = client;
      try {
        client.peek(READ);
        expect(stalenessMs).toBeLessThanOrEqual(810);
        outcomes.add('answered');
      } catch (error) {
        expect(error).toBeInstanceOf(UnavailableError);
        outcomes.add((error as UnavailableError).reason);
      }
      await pause(20);
    }
    expect([...outcomes]).toEqual(['answered', 'STALE']);
    await expect(client.check(READ, { deadlineMs: 200 })).rejects.toBeInstanceOf(UnavailableError);
    expect(await client.allowed(READ, { deadlineMs: 200 })).toBe(false);
    line.up();
    expect(await client.check(READ, { deadlineMs: 8000 })).toMatchObject({ allowed: true });
  });

  test('needs a key with the scope for facts', async () => {
    const refused = local({ key: CHECK_KEY });
    await expect(refused).rejects.toBeInstanceOf(DeniedError);
    await expect(refused).rejects.toMatchObject({ reason: 'KEY_SCOPE' });
  });
});

describe('guards', () => {
  const options = { app: 'shop', permission: 'read', email: (request: { email?: string }) => request.email };

  test('of Express let the allowed through, over HTTP', async () => {
    const fake = createFakeUsher().allow({ ...READ, resource: { type: 'order', id: '7' } });
    const app = express();
    const guard = requirePermission<express.Request>(fake, {
      ...options,
      email: (request) => request.get('x-email'),
      resource: (request) => ({ type: 'order', id: String(request.params.id) }),
      unavailable: true,
    });
    app.get('/orders/:id', guard, (_request, response) => void response.json({ done: true }));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const get = async (id: string, email?: string) => {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders/${id}`;
      const response = await fetch(url, { headers: email === undefined ? {} : { 'x-email': email } });
      return [response.status, await response.json()];
    };
    expect(await get('7', HOLDER)).toEqual([200, { done: true }]);
    expect(await get('8', HOLDER)).toEqual([403, { error: 'forbidden' }]);
    expect(await get('7', 'other@example.com')).toEqual([403, { error: 'forbidden' }]);
    expect(await get('7')).toEqual([401, { error: 'unauthenticated' }]);
    fake.fail();
    expect(await get('7', HOLDER)).toEqual([503, { error: 'unavailable' }]);
    server.close();
    server.closeAllConnections();
  });

  test('of Fastify, Hono and NestJS refuse whoever is not allowed, and on trouble', async () => {
    const fake = createFakeUsher().allow(READ);
    const hook = fastifyHook(fake, options);
    const sent: unknown[] = [];
    const reply = { code: (status: number) => ({ send: (body: unknown) => sent.push([status, body]) }) };
    expect(await hook({ email: HOLDER }, reply)).toBeUndefined();
    await hook({ email: 'other@example.com' }, reply);
    expect(sent).toEqual([[403, { error: 'forbidden' }]]);

    const middleware = honoMiddleware(fake, {
      ...options,
      email: (context: { email: string; json: typeof json }) => context.email,
    });
    const json = (body: unknown, status: number) => [status, body];
    let went = 0;
    const next = async () => void went++;
    expect(await middleware({ email: HOLDER, json }, next)).toBeUndefined();
    expect(await middleware({ email: 'other@example.com', json }, next)).toEqual([403, { error: 'forbidden' }]);
    expect(went).toBe(1);

    const guard = permissionGuard(fake, options);
    const context = (email?: string) => ({
      switchToHttp: () => ({ getRequest: () => (email ? { email } : {}) as { email?: string } }),
    });
    expect(await guard.canActivate(context(HOLDER))).toBe(true);
    expect(await guard.canActivate(context())).toBe(false);
    fake.fail();
    expect(await guard.canActivate(context(HOLDER))).toBe(false);
    expect(await hook({ email: HOLDER }, reply)).toBe(2);
  });
});

describe('notify', () => {
  test('resolves with what was stored; a repetition with its key sends nothing again', async () => {
    await usher.app.manifests.apply('application: { code: desk, name: Desk }', { actor: 'cli' });
    const notifier = createNotifier({ url: usher.rest, key: KEY });
    const notification = {
      app: 'desk',
      to: [HOLDER],
      subject: 'Order 7',
      body: 'It is on its way.',
      idempotencyKey: 'order-7',
    };
    const first = await notifier.notify(notification);
    expect(first).toMatchObject([{ email: HOLDER }]);
    expect(await notifier.notify(notification)).toEqual(first);
  });

  test('rejects with the reason', async () => {
    const notification = { app: 'shop', to: ['not an address'], subject: 'x', body: 'y' };
    const refused = createNotifier({ url: usher.rest, key: KEY }).notify(notification);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'VALIDATION_FAILED' });
    const denied = createNotifier({ url: usher.rest, key: CHECK_KEY }).notify({ ...notification, to: [HOLDER] });
    await expect(denied).rejects.toBeInstanceOf(DeniedError);
    const away = createNotifier({ url: 'http://127.0.0.1:1', key: KEY, deadlineMs: 500 }).notify(notification);
    await expect(away).rejects.toBeInstanceOf(UnavailableError);
  });
});
