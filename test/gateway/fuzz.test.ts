import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CHECK_KEY, parseRaw, rawRequest, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

/**
 * Whatever arrives, the answer is one of ours: no 5xx, no half answer, no crash, and no `allowed` for what is not the
 * well-formed question (facts: "wire fuzz", "question hygiene").
 */
const RUNS = process.env.USHER_LONG === undefined ? 400 : 20_000;
const TIMEOUT = process.env.USHER_LONG === undefined ? 120_000 : 1_200_000;

const world = useWorld({ fill: fillShop, logLevel: 'silent' });
const question = { email: 'root@example.com', app: 'shop', permission: 'pages' };

function request(method: string, path: string, headers: readonly string[], body: Buffer): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    'Connection: close',
    `Content-Length: ${body.length}`,
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

async function send(bytes: Buffer): Promise<ReturnType<typeof parseRaw>> {
  return parseRaw(await rawRequest(world.port, bytes));
}

/** An answer of ours, whole: an error in the one shape, or a success. */
function expectOurs({ status, headers, body }: ReturnType<typeof parseRaw>): void {
  expect(status).toBeGreaterThanOrEqual(200);
  expect(status).toBeLessThan(500);
  expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{8,64}$/);
  if (status >= 400 && headers['content-type']?.startsWith('application/json') && !body.includes('"details":[')) {
    expect(JSON.parse(body)).toMatchObject({ success: false, requestId: headers['x-request-id'] });
  }
}

const json = ['Content-Type: application/json', `X-Internal-Api-Key: ${CHECK_KEY}`];

describe('arbitrary requests', () => {
  test(
    'random bytes as a body get an error',
    async () => {
      const bodies = fc.oneof(
        fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
        fc.json().map((text) => Buffer.from(text)),
        // A good body with one byte of it changed.
        fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => {
          const body = Buffer.from(JSON.stringify(question));
          body[at % body.length] = byte;
          return body;
        }),
      );
      const paths = fc.constantFrom('/api/check', '/api/check/bulk', '/api/check/effective', '/api/check/cache/clear');
      await fc.assert(
        fc.asyncProperty(paths, bodies, async (path, body) => {
          expectOurs(await send(request('POST', path, json, body)));
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT,
  );

  test(
    'changed, doubled, misspelled and nested questions are allowed only as the strict reading allows',
    async () => {
      const value = fc.oneof(
        fc.constantFrom<unknown>(
          '',
          null,
          'shop',
          'pages',
          'root@example.com',
          '__proto__',
          'constructor',
          [],
          {},
          0,
          true,
        ),
        fc.string({ unit: 'binary', maxLength: 20 }),
        fc.array(fc.constantFrom('pages', 'shop'), { maxLength: 2 }),
      );
      const names = ['email', 'app', 'permission', 'resourceType', 'resourceId', 'accessLevel'];
      const name = fc.oneof(
        fc.constantFrom(...names),
        fc.constantFrom('Email', 'e-mail', 'resource_type', 'resourcetype', 'resourceID', '__proto__', 'toString', ''),
      );
      const fields = fc.array(fc.tuple(name, value), { maxLength: 3 });
      await fc.assert(
        fc.asyncProperty(fields, async (more) => {
          const members = [...Object.entries(question), ...more];
          const text = `{${members.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`).join(',')}}`;
          const reply = await send(request('POST', '/api/check', json, Buffer.from(text)));
          expectOurs(reply);
          if (reply.status !== 200) return;
          const last = new Map(members);
          for (const key of last.keys()) expect(names).toContain(key);
          const half = (key: string) => (last.get(key) ?? null) === null;
          expect(half('resourceType')).toBe(half('resourceId'));
          // A SuperAdmin holds everything, so a well-formed question of another person is what is denied.
          const allowed = (JSON.parse(reply.body) as { data: { allowed: boolean } }).data.allowed;
          if (String(last.get('email')).trim().toLowerCase() !== question.email) expect(allowed).toBe(false);
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT,
  );

  test(
    'random targets, methods and headers get an error',
    async () => {
      const token = fc.string({
        unit: fc.constantFrom(...'abcZ09%/?&=.~:;@-_+*#[]{}|^\\"<>'.split('')),
        maxLength: 30,
      });
      const target = fc.oneof(
        token.map((text) => `/${text}`),
        token.map((text) => `/api/check${text}`),
        token.map((text) => `/api/applications/${text}/roles?${text}`),
        token.map((text) => `http://x/${text}`),
      );
      const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND');
      const header = fc.tuple(
        fc.constantFrom(
          'Authorization',
          'X-Internal-Api-Key',
          'Content-Type',
          'Content-Encoding',
          'Accept',
          'Origin',
          'X-Request-Id',
          'Usher-Min-Revision',
          'Expect',
          'Access-Control-Request-Method',
        ),
        fc.string({ unit: fc.constantFrom(...'abcXYZ019 ;,=/*"-.:ÿ\t'.split('')), maxLength: 40 }),
      );
      await fc.assert(
        fc.asyncProperty(method, target, fc.array(header, { maxLength: 4 }), async (verb, path, headers) => {
          const lines = headers.map(([key, text]) => `${key}: ${text}`);
          const raw = await rawRequest(world.port, request(verb, path, lines, Buffer.alloc(0)));
          const reply = parseRaw(raw.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ''));
          if (verb === 'HEAD') reply.body = '{}';
          expect(reply.status).toBeLessThan(500);
          if (reply.status >= 400 && verb !== 'HEAD') expectOurs(reply);
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT,
  );

  test(
    'random RPC messages get an error',
    async () => {
      const types = fc.constantFrom(
        'application/json',
        'application/proto',
        'application/grpc-web',
        'application/grpc-web+json',
      );
      const methods = fc.constantFrom('Check', 'BulkCheck', 'Effective');
      const bodies = fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.json().map((text) => Buffer.from(text)),
      );
      await fc.assert(
        fc.asyncProperty(methods, types, bodies, fc.boolean(), async (method, type, body, framed) => {
          const frame = Buffer.alloc(framed ? 5 : 0);
          if (framed) frame.writeUInt32BE(body.length, 1);
          const headers = [`Content-Type: ${type}`, `X-Internal-Api-Key: ${CHECK_KEY}`];
          const path = `/usher.permission.v1.PermissionService/${method}`;
          const reply = await send(request('POST', path, headers, Buffer.concat([frame, body])));
          expect(reply.status).toBeLessThan(500);
          expect(reply.headers['x-request-id']).toBeDefined();
          // 13 is INTERNAL, 2 is UNKNOWN: a malformed message is the caller's fault.
          expect(reply.body).not.toMatch(/grpc-status: (13|2)\r|"code":"(internal|unknown)"/);
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT,
  );

  test('the gateway still answers after the fuzzing', async () => {
    const reply = await send(request('POST', '/api/check', json, Buffer.from(JSON.stringify(question))));
    expect(JSON.parse(reply.body)).toEqual({ success: true, data: { allowed: true } });
  });
});
