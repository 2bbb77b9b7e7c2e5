import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { addressKind } from '../src/address-kind.ts';
import { systemClock } from '../src/clock.ts';
import {
  createOutbound,
  INTERNET_POLICY,
  OPERATOR_POLICY,
  type Outbound,
  OutboundError,
  type Policy,
  type Reach,
  type Resolve,
  readTarget,
} from '../src/outbound.ts';

/** Whatever a user may write, so that only the address can refuse it. */
const ANYWHERE: Policy = { reach: 'internet', http: true, anyPort: true };

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function listen<S extends Server>(server: S, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  endings.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A server that must never be reached: counts connections, on all addresses of this machine. */
async function startCanary() {
  let connections = 0;
  const server = createServer((_request, response) => response.end('{}'));
  server.on('connection', () => connections++);
  const port = await listen(server, '::').catch(() => listen(server, '0.0.0.0'));
  return { port, connections: () => connections };
}

async function serve(handle: RequestListener): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handle(request, response);
  });
  const port = await listen(server, '127.0.0.1');
  return { url: `http://127.0.0.1:${port}/`, requests };
}

function outboundWith(resolve?: Resolve): Outbound {
  const outbound = createOutbound({ clock: systemClock, ...(resolve ? { resolve } : {}) });
  endings.push(() => outbound.close());
  return outbound;
}

function resolvingTo(...answers: string[][]): Resolve & { calls: number } {
  const resolve = (_name: string, _options: unknown, callback: Parameters<Resolve>[2]) => {
    const addresses = answers[Math.min(resolve.calls, answers.length - 1)] ?? [];
    resolve.calls++;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  resolve.calls = 0;
  return resolve;
}

async function reasonOf(
  outbound: Outbound,
  url: string,
  options: { policy?: Policy; timeoutMs?: number; maxBytes?: number } = {},
) {
  try {
    const response = await outbound.send({
      url,
      policy: options.policy ?? OPERATOR_POLICY,
      timeoutMs: options.timeoutMs ?? 5000,
      maxBytes: options.maxBytes ?? 10_000,
    });
    return response.status;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return error.reason;
  }
}

/** Spellings of hosts that all end inside; the port is the canary's. */
const INSIDE = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '0x7f.1',
  '127.0.0.1.',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  '0.1.2.3',
  '0x0',
  '000.000.000.000',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'ⓛocalhost',
  '10.0.0.1',
  '10.255.255.255',
  '167772161',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.255.255',
  '0300.0250.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '100.100.100.200',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.170.2',
  '0251.0376.0251.0376',
  '168.63.129.16',
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::0001]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::FFFF:10.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:7f00:1::1]',
  '[2001::1]',
  '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[fc00::1]',
  '[fd00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[febf::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[ff0e::1]',
  '[100::1]',
  '[5f00::1]',
  '[2001:10::1]',
  '[2606:4700::5efe:127.0.0.1]',
  '[2606:4700::200:5efe:10.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[::ffff:0.0.0.0]',
];

describe('spellings of inner addresses', () => {
  test('there are enough of them', () => {
    expect(new Set(INSIDE).size).toBeGreaterThanOrEqual(60);
  });

  test('none is connected to, under any scheme', async () => {
    const canary = await startCanary();
    const outbound = outboundWith();
    const outcomes: Record<string, unknown> = {};
    for (const host of INSIDE) {
      for (const scheme of ['http', 'https']) {
        outcomes[`${scheme} ${host}`] = await reasonOf(outbound, `${scheme}://${host}:${canary.port}/`, {
          policy: ANYWHERE,
        });
      }
    }
    const wrong = Object.entries(outcomes).filter(
      ([spelling, reason]) =>
        reason !== 'refused_address' &&
        reason !== 'refused_url' &&
        // Not every system's resolver knows this one.
        !(spelling.endsWith('localhost.') && reason === 'unreachable'),
    );
    expect(wrong).toEqual([]);
    expect(canary.connections()).toBe(0);
  });

  test('the canary sings: where loopback may be reached, the same spellings of it are', async () => {
    const canary = await startCanary();
    const outbound = outboundWith();
    const hosts = ['127.0.0.1', '127.1', '2130706433', '0x7f.1', 'localhost', '[::ffff:127.0.0.1]'];
    for (const host of hosts) {
      expect(
        await reasonOf(outbound, `http://${host}:${canary.port}/`, { policy: { ...ANYWHERE, reach: 'loopback' } }),
      ).toBe(200);
    }
    expect(canary.connections()).toBeGreaterThanOrEqual(3);
  });
});

describe('kinds of addresses', () => {
  test.each([
    ['1.1.1.1', 'global'],
    ['9.255.255.255', 'global'],
    ['11.0.0.0', 'global'],
    ['100.63.255.255', 'global'],
    ['100.128.0.0', 'global'],
    ['126.255.255.255', 'global'],
    ['128.0.0.0', 'global'],
    ['172.15.255.255', 'global'],
    ['172.32.0.0', 'global'],
    ['192.167.255.255', 'global'],
    ['192.169.0.0', 'global'],
    ['198.17.255.255', 'global'],
    ['198.20.0.0', 'global'],
    ['223.255.255.255', 'global'],
    ['2606:4700:4700::1111', 'global'],
    ['2a00:1450::1', 'global'],
    ['::ffff:8.8.8.8', 'global'],
    ['64:ff9b::808:808', 'global'],
    ['10.0.0.0', 'private'],
    ['100.64.0.0', 'private'],
    ['172.16.0.0', 'private'],
    ['192.168.0.0', 'private'],
    ['fd12:3456::1', 'private'],
    ['fc00::', 'private'],
    ['::ffff:10.1.2.3', 'private'],
    ['127.0.0.0', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.1.2.3', 'loopback'],
    ['169.254.169.254', 'never'],
    ['fe80::1%eth0', 'never'],
    ['fd00:ec2::254', 'never'],
    ['0.0.0.0', 'never'],
    ['::', 'never'],
    ['', 'never'],
    ['localhost', 'never'],
    ['127.1', 'never'],
    ['1.2.3.4.5', 'never'],
    ['256.1.1.1', 'never'],
    ['01.1.1.1', 'never'],
    ['1::2::3', 'never'],
    ['1:2:3:4:5:6:7', 'never'],
    ['1:2:3:4:5:6:7:8:9', 'never'],
    ['::12345', 'never'],
    ['::g', 'never'],
    [':', 'never'],
    ['1:2:3:4:5:6:7::8', 'never'],
  ])('%s is %s', (address, kind) => {
    expect(addressKind(address)).toBe(kind);
  });

  test.each<[Reach, string, boolean]>([
    ['internet', '127.0.0.1', false],
    ['internet', '10.0.0.1', false],
    ['internet', '169.254.169.254', false],
    ['loopback', '127.0.0.1', true],
    ['loopback', '10.0.0.1', false],
    ['loopback', '169.254.169.254', false],
    ['internal', '127.0.0.1', true],
    ['internal', '169.254.169.254', false],
    ['internal', '0.0.0.0', false],
    ['internal', '100.100.100.200', false],
  ])('reach %s, %s: %s', async (reach, host, reached) => {
    const canary = await startCanary();
    const reason = await reasonOf(outboundWith(), `http://${host}:${canary.port}/`, {
      policy: { ...ANYWHERE, reach },
      timeoutMs: 1000,
    });
    // Without a route to 10.0.0.1 a permitted address shows as unreachable; a refused one never does.
    expect(reason === 200).toBe(reached);
    if (!reached) expect(reason).toBe('refused_address');
  });
});

describe('names', () => {
  test.each<[string, string[][]]>([
    ['inside', [['127.0.0.1']]],
    ['several, all inside', [['10.0.0.1', '127.0.0.1', '::1']]],
    ['a mapped address', [['::ffff:127.0.0.1']]],
    ['a link-local address with a zone', [['fe80::1%lo']]],
    ['nothing', [[]]],
    ['first outside of the registries, then inside', [['203.0.113.1'], ['127.0.0.1']]],
  ])('a name that resolves to %s is refused, each time', async (_name, answers) => {
    const canary = await startCanary();
    const resolve = resolvingTo(...answers);
    const outbound = outboundWith(resolve);
    for (let time = 0; time < 3; time++) {
      expect(await reasonOf(outbound, `http://inside.example:${canary.port}/`, { policy: ANYWHERE })).toBe(
        'refused_address',
      );
    }
    expect(resolve.calls).toBe(3);
    expect(canary.connections()).toBe(0);
  });

  test('a resolver that changes its mind after the question: what it first said is connected to, nobody asks again', async () => {
    const canary = await startCanary();
    const { url } = await serve((_request, response) => response.end('{}'));
    const port = Number(new URL(url).port);
    const resolve = resolvingTo(['127.0.0.1'], ['10.0.0.1']);
    const policy: Policy = { ...ANYWHERE, reach: 'loopback' };
    const outbound = outboundWith(resolve);
    expect(await reasonOf(outbound, `http://rebinding.example:${port}/`, { policy })).toBe(200);
    expect(resolve.calls).toBe(1);
    // Another origin, so another connection: the name is now inside.
    expect(await reasonOf(outbound, `http://rebinding.example:${canary.port}/`, { policy })).toBe('refused_address');
    expect(canary.connections()).toBe(0);
  });

  test('of a mixed answer only the outer addresses are tried', async () => {
    const canary = await startCanary();
    const outbound = outboundWith(resolvingTo(['127.0.0.1', '192.0.2.1', '8.8.8.8']));
    const reason = await reasonOf(outbound, `http://mixed.example:${canary.port}/`, {
      policy: ANYWHERE,
      timeoutMs: 400,
    });
    expect(['timeout', 'unreachable']).toContain(reason);
    expect(canary.connections()).toBe(0);
  });

  test('a connection that a wide policy keeps open is not lent to a narrow one', async () => {
    const { url, requests } = await serve((_request, response) => response.end('{}'));
    const outbound = outboundWith();
    expect(await reasonOf(outbound, url)).toBe(200);
    expect(await reasonOf(outbound, url, { policy: ANYWHERE })).toBe('refused_address');
    expect(requests).toHaveLength(1);
  });

  test('a name that nobody knows is unreachable', async () => {
    const resolve: Resolve = (_name, _options, callback) =>
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    expect(await reasonOf(outboundWith(resolve), 'http://nobody.example/')).toBe('unreachable');
  });
});

describe('URLs', () => {
  const refused: [string, Policy][] = [
    ['', INTERNET_POLICY],
    ['example.com', INTERNET_POLICY],
    ['//example.com/', INTERNET_POLICY],
    ['ftp://example.com/', OPERATOR_POLICY],
    ['file:///etc/passwd', OPERATOR_POLICY],
    ['data:application/json,{}', OPERATOR_POLICY],
    ['javascript:alert(1)', OPERATOR_POLICY],
    ['gopher://example.com/', OPERATOR_POLICY],
    ['https://user@example.com/', OPERATOR_POLICY],
    ['https://user:secret@example.com/', OPERATOR_POLICY],
    ['https://:secret@example.com/', OPERATOR_POLICY],
    ['http://example.com/', INTERNET_POLICY],
    ['https://example.com:8443/', INTERNET_POLICY],
    ['https://example.com:80/', INTERNET_POLICY],
    ['https:///', INTERNET_POLICY],
    ['https://exa mple.com/', INTERNET_POLICY],
    [`https://example.com/${'x'.repeat(2048)}`, INTERNET_POLICY],
    ['https://[::1', INTERNET_POLICY],
    ['https://1.2.3.4.5/', INTERNET_POLICY],
  ];
  test.each(refused)('%s is refused', (url, policy) => {
    expect(() => readTarget(url, policy)).toThrow(expect.objectContaining({ reason: 'refused_url' }));
  });

  test('https with its own port is taken, the port spelled out too', () => {
    expect(readTarget('https://example.com/a?b', INTERNET_POLICY).reach).toBe('internet');
    expect(readTarget('https://example.com:443/', INTERNET_POLICY).reach).toBe('internet');
  });

  test('an origin that the operator listed may be inside; its neighbours may not', () => {
    const policy = { ...INTERNET_POLICY, trustedOrigins: new Set(['http://10.0.0.5:8080']) };
    expect(readTarget('http://10.0.0.5:8080/items', policy).reach).toBe('internal');
    for (const url of ['http://10.0.0.5:8081/', 'http://10.0.0.5/', 'http://10.0.0.5:8080.example.com/']) {
      expect(() => readTarget(url, policy)).toThrow(OutboundError);
    }
    expect(readTarget('https://10.0.0.5/', policy).reach).toBe('internet');
    expect(() => readTarget('http://u:p@10.0.0.5:8080/', policy)).toThrow(OutboundError);
  });
});

describe('answers', () => {
  const answer = async (handle: (response: ServerResponse, request: IncomingMessage) => void, options = {}) => {
    const { url } = await serve((request, response) => handle(response, request));
    return reasonOf(outboundWith(), url, { timeoutMs: 500, ...options });
  };

  test.each([301, 302, 303, 307, 308, 304, 399])('a redirect (%s) is not followed', async (status) => {
    const canary = await startCanary();
    const reason = await answer((response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${canary.port}/` }).end(),
    );
    expect(reason).toBe('redirected');
    expect(canary.connections()).toBe(0);
  });

  test.each([200, 204, 400, 401, 404, 500, 503])('status %s is an answer', async (status) => {
    expect(await answer((response) => response.writeHead(status).end())).toBe(status);
  });

  test('a body of the limit passes, one byte more does not, declared or not', async () => {
    const body = Buffer.alloc(1000);
    const chunked = (size: number) => (response: ServerResponse) => {
      response.write(body.subarray(0, 500));
      response.end(body.subarray(0, size - 500));
    };
    expect(await answer((response) => response.end(body), { maxBytes: 1000 })).toBe(200);
    expect(await answer((response) => response.end(body), { maxBytes: 999 })).toBe('too_large');
    expect(await answer(chunked(1000), { maxBytes: 1000 })).toBe(200);
    expect(await answer(chunked(1000), { maxBytes: 999 })).toBe('too_large');
  });

  test('an endless body ends at the limit, and its connection with it', async () => {
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const reason = await answer(
      (response) => {
        const timer = setInterval(() => response.write(Buffer.alloc(4096)), 1);
        response.on('close', () => {
          clearInterval(timer);
          closed();
        });
      },
      { maxBytes: 50_000, timeoutMs: 10_000 },
    );
    expect(reason).toBe('too_large');
    await gone;
  });

  test.each([
    ['no headers', () => undefined],
    ['no body', (response: ServerResponse) => response.writeHead(200).flushHeaders()],
    [
      'a drop of the body at a time',
      (response: ServerResponse) => {
        const timer = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('%s within the time is a timeout', async (_name, handle) => {
    const start = performance.now();
    expect(await answer(handle, { timeoutMs: 300 })).toBe('timeout');
    expect(performance.now() - start).toBeLessThan(3000);
  });

  test('headers a byte at a time are a timeout', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      const timer = setInterval(() => socket.write('x'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    const port = await listen(server, '127.0.0.1');
    expect(await reasonOf(outboundWith(), `http://127.0.0.1:${port}/`, { timeoutMs: 300 })).toBe('timeout');
  });

  test('headers over 16 KiB are too large', async () => {
    expect(await answer((response) => response.writeHead(200, { 'x-big': 'x'.repeat(20_000) }).end())).toBe(
      'too_large',
    );
  });

  test.each(['gzip', 'br', 'deflate', 'x-unknown'])('a body compressed with %s is refused', async (encoding) => {
    const bomb = gzipSync(Buffer.alloc(1_000_000));
    expect(await answer((response) => response.writeHead(200, { 'content-encoding': encoding }).end(bomb))).toBe(
      'bad_response',
    );
  });

  test('what speaks no HTTP is a bad response', async () => {
    const server = createTcpServer((socket) =>
      socket.on('error', () => undefined).end('220 smtp.example.com ESMTP\r\n'),
    );
    const port = await listen(server, '127.0.0.1');
    expect(await reasonOf(outboundWith(), `http://127.0.0.1:${port}/`)).toBe('bad_response');
  });

  test('a closed port is unreachable; a body that breaks off too', async () => {
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('x');
      setImmediate(() => response.destroy());
    });
    expect(await reasonOf(outboundWith(), url)).toBe('unreachable');
    expect(await reasonOf(outboundWith(), 'http://127.0.0.1:1/')).toBe('unreachable');
  });

  test('a connection that closed while it was kept is replaced for a GET', async () => {
    let served = 0;
    const server = createServer((request, response) => {
      served++;
      response.end('{}');
      request.socket.once('data', () => request.socket.destroy());
    });
    const port = await listen(server, '127.0.0.1');
    const outbound = outboundWith();
    expect(await reasonOf(outbound, `http://127.0.0.1:${port}/`)).toBe(200);
    expect(await reasonOf(outbound, `http://127.0.0.1:${port}/`)).toBe(200);
    expect(served).toBeGreaterThanOrEqual(2);
  });

  test('the caller can give up, before and during', async () => {
    const { url } = await serve(() => undefined);
    const outbound = outboundWith();
    const send = (signal: AbortSignal) =>
      outbound.send({ url, policy: OPERATOR_POLICY, timeoutMs: 5000, maxBytes: 10, signal });
    await expect(send(AbortSignal.abort())).rejects.toMatchObject({ reason: 'aborted' });
    const controller = new AbortController();
    const sent = send(controller.signal);
    controller.abort();
    await expect(sent).rejects.toMatchObject({ reason: 'aborted' });
  });
});

/** Signed by itself for localhost, and used nowhere else. */
const SELF_SIGNED = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBvzF04fvOS3z7/0z
Gf043jQ3E0/d75h0W5p5IoayrH2hRANCAAQDeJlMA+7EJlQBBolsFxvGSe2eQb3a
PWhDMje8bBfi68jGdowNykx320vXJkhrrhmHzCxInwZalyDI8GWwg/T4
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUUhBVCGWkjHxzJjA0o5aIJS7z6YkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwNDIxMFoYDzIxMjYxMDI4
MTA0MjEwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQDeJlMA+7EJlQBBolsFxvGSe2eQb3aPWhDMje8bBfi68jGdowNykx3
20vXJkhrrhmHzCxInwZalyDI8GWwg/T4o28wbTAdBgNVHQ4EFgQUCE+GZVrZZWgn
a1JRDU8vuDRjoUMwHwYDVR0jBBgwFoAUCE+GZVrZZWgna1JRDU8vuDRjoUMwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgfrIb5qIBNSSZjxijvRup04Btgj2i4iHft1olItEOnroCIGnP
nNZ0+1L5g7gs8VCtKEeBWhMaTEwix6ry3pGYhJbY
-----END CERTIFICATE-----
`,
};

test('a certificate that nobody vouches for is refused, also where the environment would not mind', async () => {
  let requests = 0;
  const server = createTlsServer(SELF_SIGNED, (_request, response) => {
    requests++;
    response.end('{}');
  });
  const port = await listen(server, '127.0.0.1');
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    expect(await reasonOf(outboundWith(), `https://127.0.0.1:${port}/`)).toBe('unreachable');
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  }
  expect(requests).toBe(0);
});

describe('what is sent', () => {
  test('method, headers and body as given; no compression is asked for, whatever the caller wrote', async () => {
    let body = '';
    const { url, requests } = await serve((request, response) => {
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => response.writeHead(200, { 'X-Two': ['a', 'b'] }).end('{"ok":true}'));
    });
    const response = await outboundWith().send({
      url: `${url}path?query=1#fragment`,
      policy: OPERATOR_POLICY,
      method: 'POST',
      headers: { authorization: 'Bearer t', 'accept-encoding': 'gzip' },
      body: '{"a":1}',
      timeoutMs: 5000,
      maxBytes: 100,
    });
    expect(response.json()).toEqual({ ok: true });
    expect(response.header('x-two')).toBe('a, b');
    expect(response.header('x-none')).toBeUndefined();
    expect(requests[0]).toMatchObject({ method: 'POST', url: '/path?query=1' });
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer t', 'accept-encoding': 'identity' });
    expect(body).toBe('{"a":1}');
  });

  test('a header that would be two is not sent', async () => {
    const { url, requests } = await serve((_request, response) => response.end());
    await expect(
      outboundWith().send({ url, policy: OPERATOR_POLICY, headers: { a: 'b\r\nc: d' }, timeoutMs: 500, maxBytes: 10 }),
    ).rejects.toMatchObject({ reason: 'refused_url' });
    expect(requests).toHaveLength(0);
  });

  test('a proxy of the environment is not used', async () => {
    const proxy = await startCanary();
    const { url, requests } = await serve((_request, response) => response.end());
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    const before = names.map((name) => process.env[name]);
    for (const name of names)
      process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`;
    try {
      expect(await reasonOf(outboundWith(), url)).toBe(200);
    } finally {
      names.forEach((name, at) => {
        const value = before[at];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      });
    }
    expect(requests).toHaveLength(1);
    expect(proxy.connections()).toBe(0);
  });

  test.each([
    ['no JSON', 'hello'],
    ['cut off', '{"a":'],
    ['empty', ''],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('JSON: %s', async (_name, body) => {
    const { url } = await serve((_request, response) => response.end(body));
    const response = await outboundWith().send({ url, policy: OPERATOR_POLICY, timeoutMs: 5000, maxBytes: 100 });
    expect(() => response.json()).toThrow(expect.objectContaining({ reason: 'not_json' }));
  });

  test('no message names the URL', async () => {
    const outbound = outboundWith();
    for (const url of ['https://127.0.0.1/canary', 'ftp://canary/', 'http://127.0.0.1:1/canary']) {
      const error = await outbound
        .send({ url, policy: { ...ANYWHERE, reach: 'internal' }, timeoutMs: 500, maxBytes: 10 })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OutboundError);
      expect((error as Error).message).not.toMatch(/canary|127\.0\.0\.1/);
    }
  });
});
