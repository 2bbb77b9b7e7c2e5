import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { UsherError } from '../../src/base/errors.ts';
import { BODY_LIMIT, RPC_MESSAGE_BYTES } from '../../src/gateway/route/limits.ts';
import { RawConnection } from '../support/raw-http.ts';
import { exampleRoutes, waiting } from './example-routes.ts';
import { ask, CHECK_KEY, parseRaw, startWorld, useWorld, type World } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const CHECK = '/usher.permission.v1.PermissionService/Check';
const question = JSON.stringify({ email: 'jana@example.com', app: 'shop', permission: 'pages' });

interface Upload {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** What Content-Length says; the size of the body where it is left out. */
  announced?: number;
}

const KEY = { 'x-internal-api-key': CHECK_KEY };
const JSON_BODY = { 'content-type': 'application/json' };

function bytesOf({ method = 'POST', path, headers = {}, body = '', announced }: Upload): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = announced ?? Buffer.byteLength(body);
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}Content-Length: ${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

const large = (bytes: number) => Buffer.alloc(bytes, ' ');
const PAGE = { origin: 'https://evil.example' };
const CHECKED = { path: '/api/check', headers: { ...KEY, ...JSON_BODY } };

/** The mail endpoint with nothing behind it. */
const authMails = {
  signatureHeaders: ['IDP-Signature'],
  examine: async () => {
    throw new UsherError('SIGNATURE_INVALID', 'The signature is missing.');
  },
};

/** Every way in which an answer is given before the body was read to its end, with its status. */
const REFUSED: readonly (readonly [string, number, Upload])[] = [
  ['Connect, too large', 429, { path: CHECK, headers: CHECKED.headers, body: large(RPC_MESSAGE_BYTES + 1) }],
  ['Connect, far too large', 429, { path: CHECK, headers: CHECKED.headers, body: large(4 * RPC_MESSAGE_BYTES) }],
  [
    'gRPC-Web, too large',
    200,
    { path: CHECK, headers: { ...KEY, 'content-type': 'application/grpc-web' }, body: large(2 * RPC_MESSAGE_BYTES) },
  ],
  ['Connect without a key', 401, { path: CHECK, headers: JSON_BODY, body: large(300_000) }],
  ['Connect of another media type', 415, { path: CHECK, headers: KEY, body: large(300_000) }],
  ['Connect by PUT', 405, { method: 'PUT', path: CHECK, headers: KEY, body: large(300_000) }],
  ['Connect from a page', 403, { path: CHECK, headers: { ...CHECKED.headers, ...PAGE }, body: large(300_000) }],
  ['REST without a key', 401, { path: '/api/check', headers: JSON_BODY, body: large(300_000) }],
  ['REST from a page', 403, { path: '/api/check', headers: { ...KEY, ...PAGE }, body: large(300_000) }],
  ['an unknown path', 404, { path: '/api/nothing', body: large(300_000) }],
  ['another method', 405, { method: 'DELETE', path: '/api/check', body: large(300_000) }],
  ['OPTIONS with a body', 204, { method: 'OPTIONS', path: '/api/check', body: large(300_000) }],
  ['HEAD with a body', 413, { method: 'HEAD', path: '/healthz', body: large(300_000) }],
  ['GET with a body', 413, { method: 'GET', path: '/healthz', headers: JSON_BODY, body: large(300_000) }],
  ['REST, too large', 413, { ...CHECKED, body: large(BODY_LIMIT.record + 1) }],
  ['another media type', 415, { ...CHECKED, headers: { ...KEY, 'content-type': 'text/plain' }, body: question }],
  ['compressed', 415, { ...CHECKED, headers: { ...CHECKED.headers, 'content-encoding': 'gzip' }, body: question }],
  ['the mail endpoint without a signature', 401, { path: '/api/idp/notifications/email', body: large(300_000) }],
  ['an expectation that is not known', 417, { ...CHECKED, headers: { expect: 'magic' }, body: question }],
];

describe('a connection whose request was refused before its body was read', () => {
  const world = useWorld({ fill: fillShop, services: { authMails } });

  test.each(REFUSED)(
    'a connection refused before its body is read carries the next request, or is closed: %s (%i)',
    async (_, status, upload) => {
      const connection = new RawConnection(world.port);
      try {
        const refused = await connection.send(bytesOf(upload), { bodiless: upload.method === 'HEAD' });
        expect(refused.status).toBe(status);
        const next = await connection.send(bytesOf({ ...CHECKED, body: question }));
        expect(next).toMatchObject({ status: 200, body: expect.stringContaining('"allowed":true') });
      } finally {
        connection.close();
      }
    },
  );
});

describe('uploads that stop after a refusal', () => {
  const world = useWorld({
    fill: fillShop,
    limits: { lingerMs: 200 },
    services: { authMails },
  });

  test.each(REFUSED)('a connection whose upload stops after a refusal is cut: %s (%i)', async (_, status, upload) => {
    const { body = '' } = upload;
    const head = bytesOf({ ...upload, announced: body.length + 1, body });
    expect(parseRaw(await saidBy(world.port, head)).status).toBe(status);
  });
});

describe('a caller that expects 100-continue', () => {
  const world = useWorld({ fill: fillShop });

  test.each([
    ['without a key', 401, { path: '/api/check', headers: JSON_BODY }],
    ['with too much', 413, { ...CHECKED, announced: 90_000_000 }],
    ['of another type', 415, { path: '/api/check', headers: KEY }],
    ['at an unknown path', 404, { path: '/api/nothing' }],
    ['by Connect without a key', 401, { path: CHECK, headers: JSON_BODY }],
  ] as [string, number, Upload][])(
    'with Expect: 100-continue %s is refused, and its connection closed',
    async (_, status, upload) => {
      const headers = { ...upload.headers, expect: '100-continue' };
      const said = await saidBy(world.port, bytesOf({ announced: 20, ...upload, headers }));
      expect(parseRaw(said)).toMatchObject({ status, headers: { connection: 'close' } });
    },
  );

  test.each(['/api/check', CHECK])(
    'with Expect: 100-continue the caller gets 100 Continue, and the connection is kept: %s',
    async (path) => {
      const connection = new RawConnection(world.port);
      const { headers } = CHECKED;
      const answer = await connection.send(
        bytesOf({ path, headers: { ...headers, expect: '100-continue' }, body: question }),
      );
      expect(answer.status).toBe(200);
      expect(answer.head).not.toMatch(/connection: close/i);
      expect((await connection.send(bytesOf({ path, headers, body: question }))).status).toBe(200);
      connection.close();
    },
  );

  test('a caller that expects 100-continue and asks to close gets both', async () => {
    const headers = { ...CHECKED.headers, expect: '100-continue', connection: 'close' };
    const said = await saidBy(world.port, bytesOf({ path: '/api/check', headers, body: question }));
    expect(said).toMatch(/^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 200 [\s\S]*connection: close/i);
  });
});

/** All that is said to a client that keeps its side open, until the connection is cut. */
function saidBy(port: number, bytes: string | Buffer): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(bytes));
  let said = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    said += text;
  });
  return new Promise((resolve) => {
    // A client that is cut while it writes is told by the kernel.
    socket.on('error', () => resolve(said));
    socket.on('close', () => resolve(said));
    // Its own side would stay open: that it is cut shows when it writes.
    socket.on('end', () => {
      const probe = setInterval(() => socket.write('x'), 20);
      socket.once('close', () => clearInterval(probe));
    });
  });
}

const HALF_HEADER = 'POST /api/check HTTP/1.1\r\nHost: x\r\nX-a';
const STOPPED = {
  'half a request line': 'GET /heal',
  'half a header': HALF_HEADER,
  'half a body': bytesOf({ ...CHECKED, body: '{"email"', announced: 500 }),
  'half a chunk': `POST /api/check HTTP/1.1\r\nHost: x\r\nx-internal-api-key: ${CHECK_KEY}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"`,
  'half a message': bytesOf({ ...CHECKED, path: CHECK, body: '{"email"', announced: 500 }),
  'half a second request': `GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${HALF_HEADER}`,
};

describe('a client that stops in the middle of a request', () => {
  let world: World;
  beforeAll(async () => {
    const limits = { headersTimeoutMs: 200, requestTimeoutMs: 300, connectionsCheckingIntervalMs: 50, refusedMs: 100 };
    world = await startWorld({ fill: fillShop, limits });
  });
  afterAll(() => world.close());

  test.each(Object.entries(STOPPED))(
    'a client that stops within a request gets 408 and is cut: %s',
    async (_, bytes) => {
      expect(await saidBy(world.port, bytes)).toMatch(/HTTP\/1\.1 408 /);
    },
  );

  test.each(['half a request line', 'half a header'] as const)(
    "a client that stops within a request is cut at the operators' port too: %s",
    async (what) => {
      const port = Number(new URL(world.opsUrl).port);
      expect(await saidBy(port, STOPPED[what])).toMatch(/^HTTP\/1\.1 408 /);
    },
  );

  test('requests that the parser refuses get the headers of every answer', async () => {
    const { headers, body } = parseRaw(await saidBy(world.port, 'this is no HTTP\r\n\r\n'));
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'x-request-id': JSON.parse(body).requestId,
    });
  });

  test('a client that stops is cut after any other refusal of the parser', async () => {
    expect(await saidBy(world.port, 'this is no HTTP\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    const header = `GET / HTTP/1.1\r\nHost: x\r\nX-a: ${'a'.repeat(20_000)}`;
    expect(await saidBy(world.port, header)).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe('refused bytes after a request in progress', () => {
  test('refused bytes after a request do not replace its answer', async () => {
    const world = await startWorld({ routes: exampleRoutes });
    waiting.current = null;
    expect(await saidBy(world.port, 'GET /t/wait HTTP/1.1\r\nHost: x\r\n\r\nthis is no HTTP\r\n\r\n')).toBe('');
    await world.close();
  });
});

describe('a connection that its client resets', () => {
  test.each([
    ['between two requests', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['within a request', HALF_HEADER],
  ])('a connection that is reset %s is not logged as a refused request', async (_, bytes) => {
    const world = await startWorld();
    const socket = net.connect(world.port, '127.0.0.1');
    socket.write(bytes);
    // Half a request is not answered.
    if (bytes === HALF_HEADER) await once(socket, 'connect');
    else await once(socket, 'data');
    socket.resetAndDestroy();
    await until(() => world.lines.some(({ msg }) => msg === 'connection reset by its client'));
    expect(world.lines.filter(({ msg }) => msg === 'request refused by the parser')).toEqual([]);
    await world.close();
  });
});

/** Asks for more than the buffers of both kernels hold, and reads nothing of it. */
function askAndNotRead(port: number): net.Socket {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => undefined).pause();
  socket.write('GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40));
  return socket;
}

describe('slow readers', () => {
  test('a client that stops reading is cut after a while', async () => {
    const world = await startWorld({ limits: { stalledMs: 300 } });
    const socket = askAndNotRead(world.port);
    // What was sent is read only now: whether the connection was cut shows at its end.
    await until(() => world.lines.some(({ status }) => status === 499));
    socket.destroy();
    await world.close();
  });

  test('a client that reads slowly gets everything', async () => {
    const world = await startWorld({ limits: { stalledMs: 300 } });
    const whole = (await ask(`${world.url}/api/openapi.json`)).text;
    const slowly = await new Promise<string>((resolve, reject) => {
      http.get(`${world.url}/api/openapi.json`, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
          answer.pause();
          setTimeout(() => answer.resume(), 100);
        });
        answer.on('end', () => resolve(text)).on('error', reject);
      });
    });
    expect(slowly).toBe(whole);
    await world.close();
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('closing', () => {
  const limits = { drainArrivalMs: 100, drainMs: 60_000, lingerMs: 60_000, stalledMs: 60_000 };

  test.each(Object.entries(STOPPED))('closing does not wait for a client that stopped: %s', async (_, bytes) => {
    const world = await startWorld({ fill: fillShop, limits });
    const said = saidBy(world.port, bytes);
    await ask(`${world.url}/healthz`);
    await world.close();
    await said;
  });

  test('closing does not wait for the rest of a refused upload', async () => {
    const world = await startWorld({ fill: fillShop, limits });
    const said = saidBy(world.port, bytesOf({ path: '/api/check', body: '{', announced: 500 }));
    await ask(`${world.url}/healthz`);
    await world.close();
    expect(parseRaw(await said).status).toBe(401);
  });

  test('closing does not wait for a client that stopped reading', async () => {
    const world = await startWorld({ limits });
    const socket = askAndNotRead(world.port);
    await ask(`${world.url}/healthz`);
    await world.close();
    socket.destroy();
  });
});
