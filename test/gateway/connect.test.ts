import { create, toBinary, toJson } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { describe, expect, test } from '@jest/globals';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import {
  AccessLevel,
  BulkCheckRequestSchema,
  CheckRequestSchema,
  DecisionSource,
  EffectiveRequestSchema,
  PermissionService,
  PermissionType,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { ask, CHECK_KEY, errorShape, NOTIFY_KEY, type Reply, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const world = useWorld({ fill: fillShop });
const PATH = '/usher.permission.v1.PermissionService';
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

  test('Check', async () => {
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

  test('BulkCheck: each code once, in the order of first mention', async () => {
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

  test('Effective', async () => {
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

  test('a revision brought along is waited for; one of nobody is refused', async () => {
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

  test('permissions: at least one, at most a thousand', async () => {
    const bulk = (permissions: string[]) =>
      client().bulkCheck({ email: question.email, app: 'shop', permissions }, call);
    expect(await refusalOf(bulk([]))).toMatchObject({ code: Code.InvalidArgument, reason: 'VALIDATION_FAILED' });
    const many = Array.from({ length: 1001 }, (_, index) => `p${index}`);
    expect(await refusalOf(bulk(many))).toMatchObject({ code: Code.InvalidArgument, reason: 'VALIDATION_FAILED' });
    expect((await bulk(many.slice(1))).results).toHaveLength(1000);
  });

  test('keys and browsers', async () => {
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

  test('a storage that is away is UNAVAILABLE, and a deadline is kept', async () => {
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

describe('on the wire', () => {
  const post = (
    method: string,
    type: string,
    body: string | Uint8Array,
    more: Record<string, string> = {},
  ): Promise<Reply> =>
    ask(`${world.url}${PATH}/${method}`, {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': type, ...more },
    });
  const json = (body: string, method = 'Check') => post(method, 'application/json', body);
  const text = JSON.stringify(question);
  /** A message of gRPC-Web, and the length that it claims to have. */
  const framed = (body: Uint8Array, length = body.length): Buffer => {
    const frame = Buffer.alloc(5);
    frame.writeUInt32BE(length, 1);
    return Buffer.concat([frame, body]);
  };

  test.each([
    ['an unknown field', JSON.stringify({ ...question, resource: 'page' })],
    ['a misspelt field', JSON.stringify({ ...question, resourcetype: 'page' })],
    ['a prototype', `${text.slice(0, -1)},"__proto__":{"resourceType":"page"}}`],
    ['a number for a string', JSON.stringify({ ...question, app: 7 })],
    ['an array', '[]'],
    ['malformed JSON', '{"email":'],
    ['half a surrogate pair', `${text.slice(0, -1)},"resourceType":"page","resourceId":"\\ud800"}`],
    ['33 levels', `${'{"email":'.repeat(33)}1${'}'.repeat(33)}`],
    ['an enum of nobody', JSON.stringify({ ...question, accessLevel: 'ACCESS_LEVEL_OWNER' })],
  ])('JSON: %s is invalid_argument', async (_what, body) => {
    const reply = await json(body);
    expect(reply).toMatchObject({
      status: 400,
      json: {
        code: 'invalid_argument',
        details: [{ type: 'google.rpc.ErrorInfo' }, { type: 'google.rpc.BadRequest' }],
      },
    });
    expect(reply.headers.get('x-request-id')).toMatch(/^[\w-]{8,64}$/);
  });

  test('401 says what is asked for', async () => {
    const reply = await post('Check', 'application/json', text, { 'x-internal-api-key': 'wrong' });
    expect(reply).toMatchObject({ status: 401, json: { code: 'unauthenticated' } });
    expect(reply.headers.get('www-authenticate')).toBe('ApiKey realm="usher", header="x-internal-api-key"');
  });

  test('JSON that is not UTF-8 is refused, not mended', async () => {
    const body = Buffer.concat([
      Buffer.from(`${text.slice(0, -1)},"resourceType":"page","resourceId":"`),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    expect((await post('Check', 'application/json', body)).json.code).toBe('invalid_argument');
    const web = await post('Check', 'application/grpc-web+json', framed(body));
    expect(web.text).toContain('grpc-status: 3');
  });

  test('JSON: null and "" are absent, a member given twice counts as its last, defaults are written', async () => {
    const reply = await json(`${text.slice(0, -1)},"resourceType":null,"resourceId":"","permission":"unheld"}`);
    expect(reply).toMatchObject({ status: 200 });
    expect(reply.json).toEqual({
      allowed: false,
      accessLevel: 'ACCESS_LEVEL_UNSPECIFIED',
      source: 'DECISION_SOURCE_UNSPECIFIED',
      revision: String(world.engine.revision),
    });
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  });

  const request = toBinary(CheckRequestSchema, create(CheckRequestSchema, question));
  test.each<[string, Uint8Array]>([
    ['an unknown field', Buffer.concat([request, Buffer.from([0x7a, 1, 0x61])])],
    ['an unknown field of a far number', Buffer.concat([request, Buffer.from([0x82, 0x06, 1, 0x61])])],
    ['a known field of another wire type', Buffer.concat([request, Buffer.from([0x20, 1])])],
    ['a group', Buffer.concat([request, Buffer.from([0x7b, 0x7c])])],
    ['a truncated message', request.subarray(0, -1)],
    ['no UTF-8', Buffer.concat([request, Buffer.from([0x2a, 1, 0xff])])],
    ['noise', Buffer.from([0xff, 0xff, 0xff])],
  ])('binary: %s is invalid_argument', async (_what, body) => {
    expect((await post('Check', 'application/proto', body)).json.code).toBe('invalid_argument');
    expect((await post('Check', 'application/grpc-web+proto', framed(body))).text).toContain('grpc-status: 3');
  });

  // Compression is named by one header in each of the two protocols; the other's must not open a way past the reading above.
  test('the encoding of the other protocol says nothing', async () => {
    const unknown = Buffer.concat([request, Buffer.from([0x7a, 1, 0x61])]);
    for (const [body, code] of [
      [request, undefined],
      [unknown, 'invalid_argument'],
      [request.subarray(0, -1), 'invalid_argument'],
    ] as const) {
      const reply = await post('Check', 'application/proto', body, { 'grpc-encoding': 'gzip' });
      expect(reply.json?.code).toBe(code);
      const web = await post('Check', 'application/grpc-web+proto', framed(body), { 'content-encoding': 'gzip' });
      expect(web.text).toContain(`grpc-status: ${code === undefined ? 0 : 3}`);
    }
  });

  test('unknown fields are refused in every message', async () => {
    const unknown = Buffer.from([0x7a, 1, 0x61]);
    const bulk = create(BulkCheckRequestSchema, { email: 'a@b.c', app: 'shop', permissions: ['pages'] });
    const effective = create(EffectiveRequestSchema, { email: 'a@b.c', app: 'shop' });
    for (const [method, bytes] of [
      ['BulkCheck', toBinary(BulkCheckRequestSchema, bulk)],
      ['Effective', toBinary(EffectiveRequestSchema, effective)],
    ] as const) {
      expect((await post(method, 'application/proto', bytes)).status).toBe(200);
      expect((await post(method, 'application/proto', Buffer.concat([bytes, unknown]))).status).toBe(400);
    }
    const wide = { ...(toJson(BulkCheckRequestSchema, bulk) as object), permission: 'pages' };
    expect((await json(JSON.stringify(wide), 'BulkCheck')).status).toBe(400);
  });

  test('a message may have 1 MiB, and not a byte more', async () => {
    const sized = (bytes: number) => text.padEnd(bytes, ' ');
    expect((await json(sized(1024 * 1024))).status).toBe(200);
    const over = await json(sized(1024 * 1024 + 1));
    expect(over.json.code).toBe('resource_exhausted');
    const web = await post('Check', 'application/grpc-web+json', framed(Buffer.from(sized(1024 * 1024 + 1))));
    expect(web.text).toContain('grpc-status: 8');
  });

  test.each(['gzip', 'br', 'deflate'])('a body compressed by %s is refused', async (encoding) => {
    const reply = await post('Check', 'application/json', text, { 'content-encoding': encoding });
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.json.code).toBe('unimplemented');
  });

  test('never by GET: the address would stand in the URL', async () => {
    const message = encodeURIComponent(text);
    const url = `${world.url}${PATH}/Check?connect=v1&encoding=json&message=${message}`;
    const reply = await ask(url, { headers });
    expect(reply).toMatchObject(errorShape(405, 'METHOD_NOT_ALLOWED'));
    expect(reply.headers.get('allow')).toBe('POST, OPTIONS');
    const preflight = await ask(url, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each([
    'text/plain',
    'application/grpc',
    'application/grpc-web-text',
    'application/json; charset=latin1',
    'application/connect+json',
  ])('%s is 415 in the one shape, after the key', async (type) => {
    expect(await post('Check', type, text)).toMatchObject(errorShape(415, 'UNSUPPORTED_MEDIA_TYPE'));
    expect(await post('Check', type, text, { 'x-internal-api-key': 'wrong' })).toMatchObject(
      errorShape(401, 'UNAUTHENTICATED'),
    );
  });

  test('a method of nobody is 404, whatever is sent', async () => {
    expect(await json('{}', 'Forget')).toMatchObject(errorShape(404, 'NOT_FOUND'));
    expect((await json('{}', 'check')).status).toBe(404);
  });

  test('a caller may be ready to wait longer than he is let', async () => {
    for (const [type, name, value] of [
      ['application/json', 'connect-timeout-ms', '3600000'],
      ['application/grpc-web+json', 'grpc-timeout', '1H'],
    ] as const) {
      const frame = Buffer.alloc(type === 'application/json' ? 0 : 5);
      if (frame.length > 0) frame.writeUInt32BE(text.length, 1);
      const reply = await post('Check', type, Buffer.concat([frame, Buffer.from(text)]), { [name]: value });
      expect(reply.text).toContain('"allowed":true');
    }
    for (const none of ['soon', '-1', '12345678901']) {
      const malformed = await post('Check', 'application/json', text, { 'connect-timeout-ms': none });
      expect(malformed).toMatchObject({
        status: 400,
        json: { code: 'invalid_argument', details: [{ debug: { reason: 'VALIDATION_FAILED', domain: 'usher' } }, {}] },
      });
    }
  });

  test('every field that does not fit is named, and trouble says when to ask again', async () => {
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

  test('a request id is kept', async () => {
    const reply = await post('Check', 'application/json', text, { 'x-request-id': 'my-request-1' });
    expect(reply.headers.get('x-request-id')).toBe('my-request-1');
  });

  test('a frame that lies about its length is refused', async () => {
    for (const length of [5, request.length + 5]) {
      const reply = await post('Check', 'application/grpc-web+proto', framed(request, length));
      expect(reply.text).toContain('grpc-status: 3');
    }
    expect((await post('Check', 'application/grpc-web+proto', '')).text).toContain('grpc-status: 3');
  });
});
