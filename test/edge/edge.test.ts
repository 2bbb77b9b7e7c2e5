import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  FactsService,
  MembersRequestSchema,
  MembersResponseSchema,
  PolicyRequestSchema,
  PolicyResponseSchema,
} from '../../src/gen/usher/facts/v1/facts_pb.ts';
import {
  ListResourcesRequestSchema,
  ListSubjectsRequestSchema,
  ListSubjectsResponseSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { RULES_VERSION } from '../../src/rpc/facts-messages.ts';
import { SHOP } from '../faults/shop.ts';
import { call, callBytes, detailsOf, failureOf, SERVICE } from '../grpc/support.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { freePort } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { Watcher } from '../watch/watcher.ts';

const FACTS_KEY = 'the-key-of-an-edge-of-this-service';
const CHECK_KEY = 'the-key-of-a-caller-of-the-service';
/** Of callers of the edge, which knows only its own keys. */
const OWN_KEY = 'the-key-of-a-caller-of-the-edge-alone';
/** Of a caller of the edge that may ask about another application alone. */
const NARROWED_KEY = 'the-key-of-a-caller-of-one-application';
const HOLDER = 'holder@example.com';
/** Of facts at the edge. */
const TTL_MS = 2000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let storage: TestStorage;
let usher: RunningUsher;
let line: LineCutter;
let edge: RunningEdge;
/** An edge of the edge. */
let far: RunningEdge;
const clients: Client[] = [];

const env = (key: string) => ({
  UPSTREAM_KEY: key,
  INTERNAL_API_KEY: `caller:check+watch:${OWN_KEY},narrowed:check+watch@other:${NARROWED_KEY},far:facts:${FACTS_KEY}`,
  CACHE_TTL_MS: `${TTL_MS}`,
});

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, {
    env: { INTERNAL_API_KEY: `edge:facts:${FACTS_KEY},caller:check:${CHECK_KEY}`, USHER_ROLES: 'rpc' },
  });
  for (const operation of SHOP) await change(operation);
});

beforeEach(async () => {
  await change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles: ['reader'] });
  line = await LineCutter.start(`http://${usher.grpc}`);
  edge = await startEdge(`127.0.0.1:${line.port}`, { env: { ...env(FACTS_KEY), OPS_PORT: '0' } });
  far = await startEdge(edge.grpc, { env: env(FACTS_KEY) });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await far?.close();
  await edge?.close();
  await line?.close();
});

afterAll(async () => {
  await usher?.close();
  await storage?.remove();
});

/** The revision that it made. */
async function change(operation: Parameters<typeof carryOut>[1]): Promise<string> {
  return (await usher.app.database.change((tx) => carryOut(tx, operation))).revision;
}

function clientOf(address: string): Client {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  clients.push(client);
  return client;
}

async function ask(client: Client, email: string, { key = OWN_KEY, minRevision = '', deadlineMs = 10_000 } = {}) {
  const question = { email, app: 'shop', permission: 'read', minRevision };
  const options = { metadata: { 'x-internal-api-key': key }, deadline: Date.now() + deadlineMs };
  return (await call(client, 'Check', question, options)).message;
}

/** 'allowed', 'denied', or the name of the status. */
async function outcome(client: Client, email: string): Promise<string> {
  try {
    return (await ask(client, email)).allowed ? 'allowed' : 'denied';
  } catch (error) {
    return status[(error as ServiceError).code] ?? '';
  }
}

async function until(client: Client, wanted: string, email = HOLDER): Promise<number> {
  const since = performance.now();
  while ((await outcome(client, email)) !== wanted) {
    if (performance.now() - since > 20_000) throw new Error(`never ${wanted}`);
    await pause(5);
  }
  return performance.now() - since;
}

function bytesOf<T>(
  client: Client,
  path: string,
  request: Uint8Array,
  key: string,
  read: (answer: Buffer) => T,
): Promise<T> {
  const metadata = new Metadata();
  metadata.set('x-internal-api-key', key);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (bytes: Buffer) => bytes,
      read,
      Buffer.from(request),
      metadata,
      (error, answer) => {
        if (error === null) resolve(answer as T);
        else reject(error);
      },
    );
  });
}

describe('an edge', () => {
  test('answers with the revision of its upstream, through another edge too', async () => {
    const { revision } = usher.app.engine;
    for (const address of [edge.grpc, far.grpc]) {
      const client = clientOf(address);
      expect(await ask(client, HOLDER)).toMatchObject({ allowed: true, revision });
      expect(await ask(client, 'nobody@example.com')).toMatchObject({ allowed: false, revision });
    }
  });

  test('has seen a change within a second, and at once for a caller who names its revision', async () => {
    const clientsOfBoth = [clientOf(edge.grpc), clientOf(far.grpc)];
    for (let round = 0; round < 5; round++) {
      for (const roles of [[], ['reader']]) {
        const minRevision = await change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles });
        for (const client of clientsOfBoth) {
          expect(await ask(client, HOLDER, { minRevision })).toMatchObject({ allowed: roles.length > 0 });
        }
      }
      await change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles: [] });
      const took = await Promise.all(clientsOfBoth.map((client) => until(client, 'denied')));
      expect(Math.max(...took)).toBeLessThan(2000);
    }
    const unknown = failureOf(ask(clientsOfBoth[1] as Client, HOLDER, { minRevision: '999999.nonce' }));
    expect(await unknown).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(detailsOf((await unknown).metadata)).toMatchObject({ reason: 'UNKNOWN_REVISION' });
  });

  test('holds its callers by its own keys', async () => {
    const client = clientOf(edge.grpc);
    expect(await failureOf(ask(client, HOLDER, { key: CHECK_KEY }))).toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await ask(client, HOLDER, { key: FACTS_KEY })).toMatchObject({ allowed: true });
  });

  test('lets a narrowed key ask about its own applications alone, also where its upstream answers', async () => {
    const client = clientOf(edge.grpc);
    const options = { metadata: { 'x-internal-api-key': NARROWED_KEY } };
    const check = { email: HOLDER, app: 'shop', permission: 'read' };
    const list = (app: string) => {
      const request = create(ListSubjectsRequestSchema, { app, permission: 'read' });
      return callBytes(client, 'ListSubjects', toBinary(ListSubjectsRequestSchema, request), options.metadata);
    };
    const calls = {
      Check: () => call(client, 'Check', check, options),
      Explain: () => call(client, 'Explain', { check }, options),
      ListSubjects: () => list('shop'),
      ListResources: () =>
        callBytes(
          client,
          'ListResources',
          toBinary(ListResourcesRequestSchema, create(ListResourcesRequestSchema, { ...check, resourceType: 'item' })),
          options.metadata,
        ),
    };
    for (const [method, ask] of Object.entries(calls)) {
      const refused = await failureOf(ask());
      expect([method, refused.code, detailsOf(refused.metadata).reason]).toEqual([
        method,
        status.PERMISSION_DENIED,
        'KEY_SCOPE',
      ]);
    }
    const watcher = new Watcher(client, { apps: ['shop'] }, NARROWED_KEY);
    await expect(watcher.until(() => watcher.told.length > 0)).rejects.toThrow(/KEY_SCOPE|only for other/);
    expect((await list('other')).message).toBeDefined();
  });

  test('does not start with a key that lacks the scope, and says so', async () => {
    for (const key of [CHECK_KEY, 'a-key-that-nobody-has-configured']) {
      const started = startEdge(usher.grpc, { env: env(key) });
      const outcome = await started.then(async (one) => {
        // Left open it would keep this process alive.
        await one.close();
        return 'started';
      }, String);
      expect(outcome).toContain('does not accept the key of this process');
    }
  });

  test('passes on what facts do not answer, with the errors of its upstream', async () => {
    const path = `/${SERVICE}/ListSubjects`;
    const list = (client: Client, key: string, pageSize: number) => {
      const request = create(ListSubjectsRequestSchema, { app: 'shop', permission: 'read', pageSize });
      const bytes = toBinary(ListSubjectsRequestSchema, request);
      return bytesOf(client, path, bytes, key, (answer) => fromBinary(ListSubjectsResponseSchema, answer));
    };
    const [direct, through] = [clientOf(usher.grpc), clientOf(far.grpc)];
    expect(await list(through, OWN_KEY, 10)).toEqual(await list(direct, CHECK_KEY, 10));
    const [refused, expected] = [
      await failureOf(list(through, OWN_KEY, 5000)),
      await failureOf(list(direct, CHECK_KEY, 5000)),
    ];
    expect([refused.code, refused.details]).toEqual([expected.code, expected.details]);
    expect(detailsOf(refused.metadata)).toEqual(detailsOf(expected.metadata));
    expect(await failureOf(list(through, 'unknown', 10))).toMatchObject({ code: status.UNAUTHENTICATED });
    const asked = { check: { email: HOLDER, app: 'shop', permission: 'read' } };
    const explained = await call(through, 'Explain', asked, { metadata: { 'x-internal-api-key': OWN_KEY } });
    expect(explained.message).toMatchObject({ allowed: true, permissionKnown: true });
    const watcher = new Watcher(through, {}, OWN_KEY);
    await watcher.until(() => watcher.told.length > 0);
    await change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles: [] });
    await watcher.until(() => watcher.changes.length > 0);
    watcher.stream.cancel();
  });

  test('answers from what it holds while the upstream is silent, then is unavailable, and comes back within seconds', async () => {
    const client = clientOf(edge.grpc);
    await ask(client, HOLDER);
    line.swallow();
    const since = performance.now();
    expect(await outcome(client, HOLDER)).toBe('allowed');
    const denied = await change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles: [] });
    const outcomes = new Set<string>();
    while (performance.now() - since < TTL_MS + 3500) {
      outcomes.add(await outcome(client, HOLDER));
      await pause(50);
    }
    // Never a denial out of trouble; and nothing that was true is said beyond the TTL.
    expect([...outcomes]).toEqual(['allowed', 'UNAVAILABLE']);
    expect(await outcome(client, HOLDER)).toBe('UNAVAILABLE');
    expect((await fetch(`${edge.ops}/readyz`)).status).toBe(503);
    line.up();
    expect(await until(client, 'denied')).toBeLessThan(4000);
    expect(await ask(client, HOLDER, { minRevision: denied })).toMatchObject({ allowed: false });
  }, 40_000);

  test('waits for an upstream that is not there yet', async () => {
    line.down();
    const port = `${await freePort()}`;
    const starting = startEdge(`127.0.0.1:${line.port}`, { env: { ...env(FACTS_KEY), GRPC_PORT: port } });
    const client = clientOf(`127.0.0.1:${port}`);
    let refused = await failureOf(ask(client, HOLDER));
    // Its port is opened first.
    while (refused.details.startsWith('No connection')) refused = await failureOf(ask(client, HOLDER));
    expect(refused).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining('is starting') });
    line.up();
    const late = await starting;
    expect(await ask(clientOf(late.grpc), HOLDER)).toMatchObject({ allowed: true });
    await late.close();
  });
});

describe.each([
  ['with the front', 'true'],
  ['without the front', 'false'],
])('facts at the gRPC port, %s,', (_, front) => {
  let served: RunningUsher;

  beforeAll(async () => {
    served = await startUsher(storage, {
      env: {
        INTERNAL_API_KEY: `edge:facts:${FACTS_KEY},caller:check:${CHECK_KEY}`,
        USHER_ROLES: 'rpc',
        GRPC_FRONT: front,
      },
    });
  });

  afterAll(async () => {
    await served?.close();
  });

  const path = `/${FactsService.typeName}/Members`;
  const need = { email: HOLDER, app: 'shop', resourceType: '', resourceId: '' };
  const members = (request: Parameters<typeof create<typeof MembersRequestSchema>>[1], key = FACTS_KEY) => {
    const bytes = toBinary(
      MembersRequestSchema,
      create(MembersRequestSchema, { rulesVersion: RULES_VERSION, ...request }),
    );
    return bytesOf(clientOf(served.grpc), path, bytes, key, (answer) => fromBinary(MembersResponseSchema, answer));
  };

  test('are of one revision, with the log that leads to it', async () => {
    const answer = await members({ since: 0n, maxAgeMs: 0, needs: [need, { ...need, app: '' }] });
    expect(answer.members).toMatchObject([
      { active: true, superadmin: false, roleIds: [expect.any(BigInt)] },
      { active: true },
    ]);
    expect(Number(answer.log?.head)).toBe(served.app.engine.cursor);
    expect(answer.log?.changes).toHaveLength(served.app.engine.cursor);
  });

  test('need a key of their scope, and an asker who decides by the same rules', async () => {
    expect(await failureOf(members({ needs: [need] }, CHECK_KEY))).toMatchObject({ code: status.PERMISSION_DENIED });
    for (const rulesVersion of [0, 3]) {
      const refused = await failureOf(members({ rulesVersion, needs: [need] }));
      expect(refused).toMatchObject({ code: status.FAILED_PRECONDITION });
      expect(detailsOf(refused.metadata)).toMatchObject({ reason: 'RULES_VERSION', metadata: { version: '2' } });
    }
  });

  test('are refused to an asker of version 1 where a grant begins or ends, and given for everybody else', async () => {
    const timed = 'timed@example.com';
    await served.app.database.change((tx) =>
      carryOut(tx, {
        kind: 'roles-of-user',
        app: 'shop',
        email: timed,
        roles: ['reader'],
        windows: [{ endsAt: Date.now() + 3_600_000 }],
      }),
    );
    const ofTimed = { ...need, email: timed };
    const { members: given } = await members({ needs: [ofTimed] });
    expect(given[0]?.memberBoundaryMs).toBeGreaterThan(3_000_000n);
    expect((await members({ rulesVersion: 1, needs: [need, { ...ofTimed, app: '' }] })).members).toHaveLength(2);
    const refused = await failureOf(members({ rulesVersion: 1, needs: [need, ofTimed] }));
    expect(refused).toMatchObject({ code: status.FAILED_PRECONDITION });
    expect(refused.details).toContain('upgrade the edge or client that asks');
    expect(detailsOf(refused.metadata)).toMatchObject({ reason: 'RULES_VERSION', metadata: { version: '2' } });
    const { 1: first, 2: second } = served.app.engine.counters.askers;
    expect([first, second].every((count) => count > 0)).toBe(true);
  });

  test.each([
    ['no needs', { needs: [] }, 'needs'],
    ['too many', { needs: Array.from({ length: 257 }, () => need) }, 'needs'],
    ['half a resource', { needs: [need, { ...need, resourceType: 'project' }] }, 'needs[1].resource_id'],
    ['an address that is not in lower case', { needs: [{ ...need, email: 'Holder@example.com' }] }, 'needs[0].email'],
    ['a code that cannot exist', { needs: [{ ...need, app: 'No Such' }] }, 'needs[0].app'],
    ['a revision beyond all numbers', { since: 2n ** 60n, needs: [need] }, 'since'],
  ])('refuse a request with %s, and name the field', async (_, request, field) => {
    const refused = await failureOf(members(request));
    expect(refused).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(detailsOf(refused.metadata).violations).toMatchObject([{ field }]);
  });

  test('hold policies that are larger than the window of a connection', async () => {
    const codes = Array.from({ length: 4000 }, (_, index) => `permission-with-a-long-code-${index}`);
    const permissions = codes.map((code) => `  - { code: ${code}, type: binary }`).join('\n');
    const manifest = `application: { code: large, name: Large }\npermissions:\n${permissions}\n`;
    await served.app.manifests.apply(manifest, { actor: 'cli' });
    const ask = (key: string) => {
      const request = toBinary(
        PolicyRequestSchema,
        create(PolicyRequestSchema, { rulesVersion: RULES_VERSION, app: 'large' }),
      );
      const read = (answer: Buffer) => ({ length: answer.length, ...fromBinary(PolicyResponseSchema, answer) });
      return bytesOf(clientOf(served.grpc), `/${FactsService.typeName}/Policy`, request, key, read);
    };
    expect(await failureOf(ask(CHECK_KEY))).toMatchObject({ code: status.PERMISSION_DENIED });
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(FACTS_KEY)));
    for (const { length, permissions: held } of answers) {
      expect(length).toBeGreaterThan(65_535);
      expect(held.map(({ code }) => code).toSorted()).toEqual(codes.toSorted());
    }
  });
});
