import { create, toBinary, toJson } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import {
  BulkCheckRequestSchema,
  CheckRequestSchema,
  EffectiveRequestSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { ask, CHECK_KEY, errorShape, type Reply, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const world = useWorld({ fill: fillShop });
const PATH = '/usher.permission.v1.PermissionService';
const question = { email: 'jana@example.com', app: 'shop', permission: 'pages' };
const headers = { 'x-internal-api-key': CHECK_KEY };

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
