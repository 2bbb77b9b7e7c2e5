import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { GrpcStatus, UsherError } from '../../src/base/errors.ts';
import { Level } from '../../src/engine/types.ts';
import type { ErrorBody } from '../../src/gen/api.ts';
import {
  BatchCheckRequestSchema,
  BatchCheckResponseSchema,
  CheckRequestSchema,
  ExplainRequestSchema,
  ExplainResponseSchema,
  PermissionService,
  Rule,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import type { CheckFields } from '../../src/rpc/call.ts';
import { RPCS } from '../../src/rpc/methods.ts';
import { PROTO, REST } from '../../src/rpc/naming.ts';
import { decodeStrictly, unreadableItem } from '../../src/rpc/strict.ts';
import { CHECK_KEY, startWorld, type World } from '../gateway/fixture.ts';
import { fillShop } from '../gateway/memory-facts.ts';
import { ScriptedEngine } from '../grpc/scripted-engine.ts';
import { callBytes, closeDoors, detailsOf, failureOf, openClient, openDoor } from '../grpc/support.ts';

const CHECK: CheckFields = {
  email: 'kim@example.com',
  app: 'billing',
  permission: 'view',
  resourceType: '',
  resourceId: '',
  accessLevel: Level.NONE,
  minRevision: '',
};
const messageOf = (check: CheckFields) =>
  create(CheckRequestSchema, { ...check, accessLevel: check.accessLevel as Level });
const batch = (checks: readonly CheckFields[], naming = PROTO, minRevision = '') =>
  RPCS.batchCheck.ask(new ScriptedEngine(), { checks, minRevision }, { naming });

/** The path of the only issue of what is thrown. */
async function refusedAt(ask: () => unknown): Promise<unknown> {
  try {
    await ask();
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    expect(error.code).toBe('BAD_REQUEST');
    const issues = error.details?.issues as { path: string }[];
    expect(issues).toHaveLength(1);
    expect(error.message).toContain(issues[0]?.path);
    return issues[0]?.path;
  }
  throw new Error('it was answered');
}

describe('BatchCheck', () => {
  test('BatchCheck answers in order, each check with its own level', async () => {
    const asked = ['view', 'edit', 'allowed', 'overridden', 'view'].map((permission) => ({ ...CHECK, permission }));
    const answer = await batch([...asked, { ...CHECK, accessLevel: Level.EDIT }, { ...CHECK, email: 'kim' }]);
    const { results } = create(BatchCheckResponseSchema, RPCS.batchCheck.toMessage(answer));
    expect(results.map(({ allowed, accessLevel, source }) => [allowed, accessLevel, source])).toEqual([
      [true, 2, 1],
      [true, 3, 1],
      [true, 1, 4],
      [false, 0, 2],
      [true, 2, 1],
      [false, 2, 1],
      [false, 0, 0],
    ]);
  });

  test.each([
    ['a level that no question can need', { accessLevel: Level.ALLOWED }, 'checks[3].access_level', null],
    ['a revision of its own', { minRevision: '7' }, 'checks[3].min_revision', null],
    ['a missing permission', { permission: '' }, 'checks[3].permission', 'checks.3.permission'],
    ['half a resource', { resourceType: 'invoice' }, 'checks[3].resource_id', 'checks.3.resourceId'],
    [
      'a long id',
      { resourceType: 'invoice', resourceId: 'x'.repeat(257) },
      'checks[3].resource_id',
      'checks.3.resourceId',
    ],
  ])(
    'BatchCheck refuses %s with the index of the check, by the names of the protocol',
    async (_what, wrong, proto, rest) => {
      const checks = [CHECK, CHECK, CHECK, { ...CHECK, ...wrong }, CHECK];
      expect(await refusedAt(() => batch(checks))).toBe(proto);
      if (rest !== null) expect(await refusedAt(() => batch(checks, REST))).toBe(rest);
    },
  );

  test('BatchCheck accepts 1 to 1,000 checks', async () => {
    expect(await refusedAt(() => batch([]))).toBe('checks');
    expect(await refusedAt(() => batch(Array.from({ length: 1001 }, () => CHECK)))).toBe('checks');
    expect((await batch(Array.from({ length: 1000 }, () => CHECK))).decisions).toHaveLength(1000);
  });

  test('BatchCheck with only malformed codes waits for its revision', async () => {
    const malformed = [{ ...CHECK, permission: 'a::b' }];
    expect(await batch(malformed, PROTO, '9')).toMatchObject({ revision: '9', decisions: [{ granted: false }] });
    await expect((async () => batch(malformed, PROTO, '10'))()).rejects.toThrow('no such revision');
  });

  test('a message has the index of a check with an unknown field', async () => {
    const writer = new BinaryWriter();
    const good = toBinary(CheckRequestSchema, messageOf(CHECK));
    const odd = new BinaryWriter().raw(good).tag(9, WireType.Varint).uint32(1).finish();
    for (const item of [good, good, good, odd]) writer.tag(1, WireType.LengthDelimited).bytes(item);
    const bytes = writer.finish();
    expect(await refusedAt(() => decodeStrictly(BatchCheckRequestSchema, bytes))).toBe('checks[3].9');
  });

  test('a JSON message has the index of an unreadable check', () => {
    const good = { email: 'kim@example.com' };
    expect(unreadableItem(BatchCheckRequestSchema, { checks: [good, good, { resource: 'x' }] })).toBe('checks[2]');
    expect(unreadableItem(BatchCheckRequestSchema, { checks: [good, { email: 1 }] })).toBe('checks[1]');
    expect(unreadableItem(BatchCheckRequestSchema, { checks: [good], odd: 1 })).toBe('');
    for (const other of [null, [], 'x', { checks: 'x' }])
      expect(unreadableItem(BatchCheckRequestSchema, other)).toBe('');
  });
});

describe('Explain', () => {
  const explain = (check: CheckFields | undefined, naming = PROTO) =>
    RPCS.explain.ask(new ScriptedEngine(), { check }, { naming });

  test('Explain uses the field names of each protocol', async () => {
    const half = { ...CHECK, resourceType: 'invoice' };
    expect(await refusedAt(() => explain(half))).toBe('check.resource_id');
    expect(await refusedAt(() => explain(half, REST))).toBe('resourceId');
    expect(await refusedAt(() => explain({ ...CHECK, accessLevel: 4 }))).toBe('check.access_level');
    expect(await refusedAt(() => explain(undefined))).toBe('check');
  });

  test('an Explain message distinguishes a denying override from none, and lists roles for rule 5 only', async () => {
    const answer = await explain(CHECK);
    const rulesOf = (override: { granted: boolean; level: Level } | null) =>
      create(ExplainResponseSchema, RPCS.explain.toMessage({ ...answer, override })).rules;
    const rules = rulesOf(null);
    expect(rules.map(({ rule }) => rule)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(rules[3]).toMatchObject({ rule: Rule.OVERRIDE });
    expect(rules[3]?.overrideGranted).toBeUndefined();
    expect(rulesOf({ granted: false, level: Level.NONE })[3]?.overrideGranted).toBe(false);
    expect(rulesOf({ granted: true, level: Level.VIEW })[3]?.overrideGranted).toBe(true);
    expect(rules[4]?.roles).toMatchObject([{ role: 'viewer', accessLevel: 2 }]);
    expect(rules.filter(({ roles }) => roles.length > 0)).toHaveLength(1);
  });
});

describe('on the wire', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ fill: fillShop });
  });
  afterAll(async () => {
    await closeDoors();
    await world.close();
  });

  test('gRPC refuses an invalid check with its index', async () => {
    const client = openClient((await openDoor()).port);
    const checks = [CHECK, CHECK, CHECK, { ...CHECK, resourceType: 'invoice' }].map(messageOf);
    const bytes = toBinary(BatchCheckRequestSchema, create(BatchCheckRequestSchema, { checks }));
    const error = await failureOf(callBytes(client, 'BatchCheck', bytes));
    expect(error).toMatchObject({ code: GrpcStatus.INVALID_ARGUMENT });
    expect(error.details).toContain('checks[3]');
    expect(detailsOf(error.metadata)).toMatchObject({ reason: 'INCOMPLETE_RESOURCE' });
  });

  test('Connect and gRPC-Web answer BatchCheck and Explain, and refuse an invalid check with its index', async () => {
    const base = {
      baseUrl: world.url,
      httpVersion: '1.1' as const,
      interceptors: [
        (next: (request: never) => unknown) => (request: { header: Headers }) => {
          request.header.set('x-internal-api-key', CHECK_KEY);
          return next(request as never);
        },
      ] as never[],
    };
    const shop = { email: 'jana@example.com', app: 'shop', permission: 'pages' };
    for (const transport of [
      createConnectTransport({ ...base, useBinaryFormat: false }),
      createConnectTransport({ ...base, useBinaryFormat: true }),
      createGrpcWebTransport(base),
    ]) {
      const rpc = createClient(PermissionService, transport);
      const { results } = await rpc.batchCheck({ checks: [shop, { ...shop, email: 'nobody@example.com' }] });
      expect(results.map(({ allowed }) => allowed)).toEqual([true, false]);
      const explained = await rpc.explain({ check: shop });
      expect(explained.rules.filter(({ decides }) => decides)).toMatchObject([{ rule: Rule.ROLES }]);
      const bad = rpc.batchCheck({ checks: [shop, { ...shop, resourceId: '7' }] });
      await expect(bad).rejects.toMatchObject({ code: GrpcStatus.INVALID_ARGUMENT });
      await expect(bad).rejects.toThrow('checks[1]');
    }
  });

  test('Connect has the index of a check with an unknown member', async () => {
    const response = await fetch(`${world.url}/usher.permission.v1.PermissionService/BatchCheck`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-internal-api-key': CHECK_KEY },
      body: JSON.stringify({ checks: [{ app: 'shop' }, { app: 'shop', resource: 'page:7' }] }),
    });
    expect(response.status).toBe(400);
    expect(((await response.json()) as ErrorBody).message).toContain('checks[1]');
  });

  test('an explanation without its question is refused', async () => {
    const bytes = toBinary(ExplainRequestSchema, create(ExplainRequestSchema, {}));
    const error = await failureOf(callBytes(openClient((await openDoor()).port), 'Explain', bytes));
    expect(error).toMatchObject({ code: GrpcStatus.INVALID_ARGUMENT, details: 'check: is required' });
  });
});
