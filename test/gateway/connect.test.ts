import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { describe, expect, test } from '@jest/globals';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import {
  AccessLevel,
  DecisionSource,
  PermissionService,
  PermissionType,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { CHECK_KEY, NOTIFY_KEY, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const world = useWorld({ fill: fillShop });
const question = { email: 'jana@example.com', app: 'shop', permission: 'pages' };
const headers = { 'x-internal-api-key': CHECK_KEY };

type Make = (options: { baseUrl: string; httpVersion: '1.1'; useBinaryFormat: boolean }) => Transport;

function clientOf(make: Make, useBinaryFormat: boolean): Client<typeof PermissionService> {
  return createClient(PermissionService, make({ baseUrl: world.url, httpVersion: '1.1', useBinaryFormat }));
}

/** What a client gets to see of a refusal. */
async function refusalOf(
  call: Promise<unknown>,
): Promise<{ code: Code; reason: string; domain: string; message: string }> {
  const error = await call.then(
    () => {
      throw new Error('the call was answered');
    },
    (thrown: unknown) => ConnectError.from(thrown),
  );
  const [info] = error.findDetails(ErrorInfoSchema);
  return { code: error.code, reason: info?.reason ?? '', domain: info?.domain ?? '', message: error.rawMessage };
}

describe.each<[string, Make, boolean]>([
  ['Connect, JSON', createConnectTransport, false],
  ['Connect, binary', createConnectTransport, true],
  ['gRPC-Web, JSON', createGrpcWebTransport, false],
  ['gRPC-Web, binary', createGrpcWebTransport, true],
])('%s', (_name, make, binary) => {
  const call = { headers };
  const client = () => clientOf(make, binary);

  test('Check answers over the protocol', async () => {
    const revision = String(world.engine.revision);
    expect(await client().check(question, call)).toMatchObject({
      allowed: true,
      accessLevel: AccessLevel.VIEW,
      source: DecisionSource.ROLE,
      revision,
    });
    expect(await client().check({ ...question, accessLevel: AccessLevel.EDIT }, call)).toMatchObject({
      allowed: false,
      accessLevel: AccessLevel.VIEW,
      source: DecisionSource.ROLE,
    });
    const denied = { resourceType: 'page', resourceId: '7' };
    expect(await client().check({ ...question, ...denied }, call)).toMatchObject({
      allowed: false,
      accessLevel: AccessLevel.UNSPECIFIED,
      source: DecisionSource.OVERRIDE,
    });
    expect(await client().check({ ...question, email: 'no address' }, call)).toMatchObject({
      allowed: false,
      revision,
    });
  });

  test('BulkCheck answers each code once, in the order of first mention', async () => {
    const permissions = ['pages', 'reports.read', 'pages', '__proto__', 'constructor'];
    const { results } = await client().bulkCheck({ email: question.email, app: 'shop', permissions }, call);
    expect(results.map(({ permission, allowed }) => [permission, allowed])).toEqual([
      ['pages', true],
      ['reports.read', true],
      ['__proto__', false],
      ['constructor', true],
    ]);
    const nobody = await client().bulkCheck({ email: 'no address', app: 'shop', permissions: ['pages'] }, call);
    expect(nobody.results).toMatchObject([{ permission: 'pages', allowed: false }]);
  });

  test('Effective answers over the protocol', async () => {
    const { permissions } = await client().effective({ email: question.email, app: 'shop' }, call);
    expect(permissions[0]).toMatchObject({
      code: 'pages',
      type: PermissionType.TIERED,
      groupName: 'Pages',
      global: false,
      accessLevel: AccessLevel.VIEW,
      granted: true,
      source: DecisionSource.ROLE,
    });
    expect(permissions.map(({ code, groupName }) => [code, groupName])).toEqual([
      ['pages', 'Pages'],
      ['reports.read', 'Reports'],
      ['constructor', undefined],
      ['unheld', undefined],
    ]);
    expect((await client().effective({ email: question.email, app: 'nowhere' }, call)).permissions).toEqual([]);
  });

  test('a given revision is waited for, and an unknown one is refused', async () => {
    const email = `fresh-${_name.length}-${binary}@example.com`;
    expect((await client().check({ ...question, email }, call)).allowed).toBe(false);
    const role = world.facts.role('shop', { pages: 3 });
    const minRevision = String(world.facts.assign('shop', email, role));
    expect((await client().check({ ...question, email, minRevision }, call)).allowed).toBe(true);
    const nobodys = { app: 'shop', minRevision: '99999999' };
    for (const refused of [
      client().check({ ...question, ...nobodys }, call),
      client().check({ ...question, ...nobodys, email: 'nobody' }, call),
      client().bulkCheck({ ...nobodys, email: 'nobody', permissions: ['pages'] }, call),
      client().effective({ ...nobodys, email: 'nobody' }, call),
    ]) {
      expect(await refusalOf(refused)).toMatchObject({ code: Code.InvalidArgument, reason: 'UNKNOWN_REVISION' });
    }
  });

  test.each<[string, object, string]>([
    ['nothing asked', {}, 'VALIDATION_FAILED'],
    ['an empty permission', { ...question, permission: '' }, 'VALIDATION_FAILED'],
    ['a long permission', { ...question, permission: 'p'.repeat(129) }, 'VALIDATION_FAILED'],
    ['a control character', { ...question, app: 'sh\u0007op' }, 'VALIDATION_FAILED'],
    ['half a resource', { ...question, resourceType: 'page' }, 'INCOMPLETE_RESOURCE'],
    ['the other half', { ...question, resourceId: '7' }, 'INCOMPLETE_RESOURCE'],
    ['a level that cannot be asked', { ...question, accessLevel: AccessLevel.ALLOWED }, 'VALIDATION_FAILED'],
    ['a level of nobody', { ...question, accessLevel: 9 }, 'VALIDATION_FAILED'],
  ])('%s is INVALID_ARGUMENT', async (_what, message, reason) => {
    expect(await refusalOf(client().check(message, call))).toMatchObject({
      code: Code.InvalidArgument,
      reason,
      domain: 'usher',
    });
  });

  test('BulkCheck requires one to a thousand permissions', async () => {
    const bulk = (permissions: string[]) =>
      client().bulkCheck({ email: question.email, app: 'shop', permissions }, call);
    expect(await refusalOf(bulk([]))).toMatchObject({ code: Code.InvalidArgument, reason: 'VALIDATION_FAILED' });
    const many = Array.from({ length: 1001 }, (_, index) => `p${index}`);
    expect(await refusalOf(bulk(many))).toMatchObject({ code: Code.InvalidArgument, reason: 'VALIDATION_FAILED' });
    expect((await bulk(many.slice(1))).results).toHaveLength(1000);
  });

  test('keys and browsers are handled like on REST', async () => {
    const asked = (more: Record<string, string>) => refusalOf(client().check(question, { headers: more }));
    expect(await asked({})).toMatchObject({ code: Code.Unauthenticated, reason: 'UNAUTHENTICATED' });
    expect(await asked({ 'x-internal-api-key': 'wrong' })).toMatchObject({ code: Code.Unauthenticated });
    expect(await asked({ 'x-internal-api-key': NOTIFY_KEY })).toMatchObject({
      code: Code.PermissionDenied,
      reason: 'KEY_SCOPE',
    });
    expect(await asked({ ...headers, origin: 'https://app.example.com' })).toMatchObject({
      code: Code.PermissionDenied,
      reason: 'BROWSER_NOT_ALLOWED',
    });
  });

  test('an unavailable database is UNAVAILABLE, and deadlines are kept', async () => {
    world.facts.away = true;
    try {
      const unseen = { ...question, email: `unseen-${_name.length}-${binary}@example.com` };
      expect(await refusalOf(client().check(unseen, call))).toMatchObject({
        code: Code.Unavailable,
        reason: 'UNAVAILABLE',
      });
    } finally {
      world.facts.away = false;
    }
    let release = (): void => {};
    world.facts.held = new Promise<void>((resolve) => {
      release = resolve;
    });
    try {
      const slow = { ...question, email: `slow-${_name.length}-${binary}@example.com` };
      const late = client().check(slow, { ...call, timeoutMs: 100 });
      expect((await refusalOf(late)).code).toBe(Code.DeadlineExceeded);
    } finally {
      release();
      world.facts.held = null;
    }
  });
});

test('every invalid field is reported, and unavailability has a retry delay', async () => {
  const client = clientOf(createConnectTransport, true);
  const fields = await client.check({}, { headers }).catch((error: unknown) => ConnectError.from(error));
  const [badRequest] = (fields as ConnectError).findDetails(BadRequestSchema);
  expect(badRequest?.fieldViolations.map(({ field }) => field)).toEqual(['email', 'app', 'permission']);
  world.facts.away = true;
  try {
    const asked = client.check({ ...question, email: 'later@example.com' }, { headers });
    const away = (await asked.catch((error: unknown) => ConnectError.from(error))) as ConnectError;
    expect(away.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds).toBeGreaterThan(0n);
  } finally {
    world.facts.away = false;
  }
});
