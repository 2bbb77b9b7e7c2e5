import net from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { HTTP_LIMITS } from '../../src/gateway/route/limits.ts';
import { exampleRoutes, waiting } from './example-routes.ts';
import { ask, CHECK_KEY, errorShape, METRICS_KEY, parseRaw, rawRequest, startWorld, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const question = { email: 'jana@example.com', app: 'shop', permission: 'pages' };
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

describe('operations', () => {
  const world = useWorld({ fill: fillShop });

  test.each(['', 'ops'])('healthz and readyz answer at both listeners (%s)', async (where) => {
    const base = where === 'ops' ? world.opsUrl : world.url;
    expect((await ask(`${base}/healthz`)).json).toEqual({ status: 'ok' });
    const ready = await ask(`${base}/readyz`);
    expect(ready).toMatchObject({ status: 200, json: { status: 'ready', revision: String(world.engine.revision) } });
  });

  test('a silent database makes the service not ready, and it stays alive', async () => {
    world.pingFault = new Error('connect ECONNREFUSED 10.0.0.7:5432');
    try {
      const reply = await ask(`${world.url}/readyz`);
      expect(reply.status).toBeGreaterThanOrEqual(500);
      expect(reply.text).not.toMatch(/10\.0\.0\.7|ECONNREFUSED/);
      expect((await ask(`${world.url}/healthz`)).status).toBe(200);
    } finally {
      world.pingFault = null;
    }
  });

  test("the operators' listener serves nothing else", async () => {
    expect((await ask(`${world.opsUrl}/api/check`, { body: question })).status).toBe(404);
    expect((await ask(`${world.opsUrl}/api/openapi.json`)).status).toBe(404);
    const rpc = `${world.opsUrl}/usher.permission.v1.PermissionService/Check`;
    expect((await ask(rpc, { body: question })).status).toBe(404);
  });

  test('successful probes and checks are logged at debug, and failures at info', async () => {
    const before = world.lines.length;
    await ask(`${world.url}/healthz`);
    await ask(`${world.url}/api/check`, { body: question, headers: { 'x-internal-api-key': CHECK_KEY } });
    await ask(`${world.url}/api/check`, { body: {}, headers: { 'x-internal-api-key': CHECK_KEY } });
    const logged = () => world.lines.slice(before).filter((line) => line.msg === 'request');
    await until(() => logged().length === 3);
    expect(logged().map(({ route, level, status }) => [route, level, status])).toEqual([
      ['/healthz', 'debug', 200],
      ['/api/check', 'debug', 200],
      ['/api/check', 'info', 400],
    ]);
  });
});

describe('metrics in production', () => {
  const world = useWorld({ config: { production: true } });

  test("production metrics need a key at the gateway, and none at the operators' port", async () => {
    const at = (headers: Record<string, string>) => ask(`${world.url}/metrics`, { headers });
    expect(await at({})).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
    expect(await at({ 'x-internal-api-key': CHECK_KEY })).toMatchObject(errorShape(403, 'FORBIDDEN', 'KEY_SCOPE'));
    const open = await at({ 'x-internal-api-key': METRICS_KEY });
    expect(open.status).toBe(200);
    expect(open.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    expect((await ask(`${world.opsUrl}/metrics`)).text).toContain('usher_http_requests_total');
  });
});

describe('metrics outside production', () => {
  const world = useWorld();

  test('development metrics need no key, and refuse a wrong one', async () => {
    const at = (headers: Record<string, string>) => ask(`${world.url}/metrics`, { headers });
    expect((await at({})).status).toBe(200);
    expect((await at({ 'x-internal-api-key': METRICS_KEY })).status).toBe(200);
    const refused = await at({ 'x-internal-api-key': `${METRICS_KEY}x` });
    expect(refused).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
    expect(refused.headers.get('www-authenticate')).toContain('x-internal-api-key');
  });
});

describe('CORS', () => {
  const world = useWorld();
  const preflight = (path: string, origin: string) =>
    ask(`${world.url}${path}`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });

  test('a listed origin gets the CORS headers on user surfaces, and no cookies', async () => {
    const { status, headers } = await preflight('/api/profile/me/check', 'https://app.example.com');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(headers.get('access-control-allow-methods')).toBe('POST, OPTIONS');
    expect(headers.get('access-control-allow-headers')).toContain('authorization');
    for (const name of ['usher-min-revision', 'usher-app', 'usher-affinity']) {
      expect(headers.get('access-control-allow-headers')?.split(', ')).toContain(name);
    }
    expect(headers.get('access-control-max-age')).toBe('600');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toBe('Origin');
  });

  test.each([
    ['/api/profile/me/check', 'https://evil.example'],
    ['/api/profile/me/check', 'https://app.example.com.evil.example'],
    ['/api/profile/me/check', 'http://app.example.com'],
    ['/api/profile/me/check', 'null'],
    ['/api/check', 'https://app.example.com'],
    ['/api/check/cache/clear', 'https://app.example.com'],
  ])('%s from %s gets nothing but Allow', async (path, origin) => {
    const { status, headers } = await preflight(path, origin);
    expect(status).toBe(204);
    expect(headers.get('allow')).toBe('POST, OPTIONS');
    expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  test('a listed origin can read errors', async () => {
    const origin = 'https://app.example.com';
    const reply = await ask(`${world.url}/api/profile/me/check`, { body: {}, headers: { origin } });
    expect(reply.status).toBe(401);
    expect(reply.headers.get('access-control-allow-origin')).toBe(origin);
    expect((await preflight('/api/nothing', origin)).status).toBe(404);
  });
});

/** All that is said until the connection ends, in whatever way. */
async function saidTo(port: number, bytes: string): Promise<string> {
  let said = '';
  const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.setEncoding('latin1').on('data', (text: string) => {
    said += text;
  });
  // The kernel reports a connection that is cut while it writes.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return said;
}

describe('rate limits', () => {
  const config = { http: { host: '127.0.0.1', port: 0, trustProxy: true, rateLimit: 3 } };
  const world = useWorld({ fill: fillShop, config });

  test('a caller over the rate limit gets 429 with Retry-After, and others are not affected', async () => {
    const authorization = await world.bearer('jana@example.com');
    const mine = (token: string) =>
      ask(`${world.url}/api/profile/me/check`, {
        body: { app: 'shop', permission: 'pages' },
        headers: { authorization: token },
      });
    for (let count = 0; count < 3; count++) expect((await mine(authorization)).status).toBe(200);
    const over = await mine(authorization);
    expect(over).toMatchObject(errorShape(429, 'RATE_LIMITED'));
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(over.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    // Another token of the same person is the same caller.
    expect((await mine(await world.bearer('jana@example.com'))).status).toBe(429);
    expect((await mine(await world.bearer('boss@example.com'))).status).toBe(200);
  });

  test('wrong credentials count against the address that the proxy reports, whatever the caller claims', async () => {
    const guess = (address: string) =>
      ask(`${world.url}/api/check`, {
        body: question,
        headers: { 'x-internal-api-key': 'guess', 'x-forwarded-for': `1.2.3.4, ${address}` },
      });
    for (let count = 0; count < 3; count++) expect((await guess('10.9.8.7')).status).toBe(401);
    expect((await guess('10.9.8.7')).status).toBe(429);
    expect((await guess('10.9.8.8')).status).toBe(401);
  });

  test('an IPv6 network counts as one caller', async () => {
    const guess = async (address: string) => {
      const headers = { 'x-internal-api-key': 'guess', 'x-forwarded-for': address };
      return (await ask(`${world.url}/api/check`, { body: question, headers })).status;
    };
    for (const host of [':1', 'ffff:1:2:3', 'A:B:C:D']) expect(await guess(`2a00:1:2:3:${host}`)).toBe(401);
    expect(await guess('2a00:1:2:3::7')).toBe(429);
    expect(await guess('2a00:1:2:4::7')).toBe(401);
    // An IPv4 address is the same in both spellings.
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '::ffff:a01:203']) expect(await guess(address)).toBe(401);
    expect(await guess('10.1.2.3')).toBe(429);
  });

  test('RPC is rate-limited too, with RESOURCE_EXHAUSTED', async () => {
    const call = () =>
      ask(`${world.url}/usher.permission.v1.PermissionService/Check`, {
        body: question,
        headers: { 'x-internal-api-key': CHECK_KEY },
      });
    for (let count = 0; count < 3; count++) expect((await call()).status).toBe(200);
    const over = await call();
    expect(over).toMatchObject({ status: 429, json: { code: 'resource_exhausted' } });
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('probes are never refused', async () => {
    for (let count = 0; count < 6; count++) expect((await ask(`${world.url}/healthz`)).status).toBe(200);
  });
});

describe('guessed keys', () => {
  const config = { http: { host: '127.0.0.1', port: 0, trustProxy: true, rateLimit: 3 } };
  const world = useWorld({ fill: fillShop, config });

  describe.each([
    ['REST', '/api/check'],
    ['Connect', '/usher.permission.v1.PermissionService/Check'],
  ])('an address that guesses keys over the limit, by %s', (_, path) => {
    const address = path === '/api/check' ? 'a' : 'b';
    const send = async (host: string, key: string | null) => {
      const headers = { 'x-forwarded-for': `2a00:9:9:${address}:${host}` };
      const answer = await ask(`${world.url}${path}`, {
        body: question,
        headers: key === null ? headers : { ...headers, 'x-internal-api-key': key },
      });
      return answer.status;
    };

    test('a guessing address is refused with the right key too, for its whole network only', async () => {
      for (const host of [':1', ':2', ':3']) expect(await send(host, 'guess')).toBe(401);
      // Up to the limit it may have been a mistake.
      expect(await send(':4', 'another guess')).toBe(429);
      expect(await send(':4', CHECK_KEY)).toBe(429);
      expect(await send(':5', METRICS_KEY)).toBe(429);
      const other = { 'x-forwarded-for': '2a00:9:9:c::1', 'x-internal-api-key': METRICS_KEY };
      expect((await ask(`${world.url}${path}`, { body: question, headers: other })).status).toBe(403);
    });
  });

  test('a key guessed as a bearer counts, and then even the right one is refused', async () => {
    const send = async (authorization: string) => {
      const headers = { authorization, 'x-forwarded-for': '10.6.6.6' };
      const path = '/authzen/shop/access/v1/evaluation';
      return (await ask(`${world.url}${path}`, { body: {}, headers })).status;
    };
    for (let count = 0; count < 3; count++) expect(await send('Bearer guess')).toBe(401);
    expect(await send('Bearer another-guess')).toBe(429);
    expect(await send(`Bearer ${CHECK_KEY}`)).toBe(429);
  });

  test('callers without a key, or with another scope, do not lock out others', async () => {
    const from = (headers: Record<string, string>) =>
      ask(`${world.url}/api/check`, { body: question, headers: { ...headers, 'x-forwarded-for': '10.7.7.7' } });
    for (let count = 0; count < 4; count++) await from({});
    for (let count = 0; count < 4; count++) await from({ 'x-internal-api-key': METRICS_KEY });
    expect((await from({ 'x-internal-api-key': CHECK_KEY })).status).not.toBe(401);
    expect((await from({ 'x-internal-api-key': `${CHECK_KEY}x` })).status).toBe(401);
  });
});

describe('connections', () => {
  test('a taken port is reported', async () => {
    const taken = net.createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as net.AddressInfo;
    const http = { host: '127.0.0.1', port, trustProxy: false, rateLimit: null };
    await expect(startWorld({ config: { http } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await new Promise((resolve) => taken.close(resolve));
  });

  test('closing completes requests in flight, refuses new ones, and leaves no idle connection', async () => {
    const world = await startWorld({ routes: exampleRoutes });
    const idle = net.connect(world.port, '127.0.0.1');
    await new Promise((resolve) => idle.once('connect', resolve));
    const idleEnded = new Promise((resolve) => idle.once('close', resolve));
    idle.resume();
    waiting.current = null;
    const inFlight = ask(`${world.url}/t/wait`);
    const { release } = await waiting.arrived();
    const closing = world.close();
    await idleEnded;
    await expect(ask(`${world.url}/t/text`)).rejects.toThrow();
    release();
    expect((await inFlight).text).toBe('"released"');
    await closing;
  });

  test('a refused upload is answered at once and cut, not read to its end', async () => {
    const world = await startWorld({ routes: exampleRoutes });
    try {
      const head =
        'POST /t/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 90000000\r\n\r\n';
      const socket = net.connect(world.port, '127.0.0.1');
      let received = '';
      socket.setEncoding('latin1').on('data', (text: string) => {
        received += text;
      });
      // The kernel reports a connection that is cut while it writes.
      socket.on('error', () => {});
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.write(head);
      const chunk = Buffer.alloc(65_536);
      let sent = 0;
      const drip = setInterval(() => {
        if (socket.writable) sent += socket.write(chunk) ? chunk.length : 0;
      }, 20);
      const begun = performance.now();
      await until(() => received.includes('requestId'));
      expect(parseRaw(received).status).toBe(401);
      expect(performance.now() - begun).toBeLessThan(2000);
      await ended;
      clearInterval(drip);
      expect(performance.now() - begun).toBeLessThan(HTTP_LIMITS.lingerMs + 3000);
      expect(sent).toBeLessThan(90_000_000);
    } finally {
      await world.close();
    }
  }, 20_000);

  test('a body in thousands of one-byte pieces is refused unread, and one in few pieces is accepted', async () => {
    const world = await startWorld({ fill: fillShop });
    try {
      const credentials = `x-internal-api-key: ${CHECK_KEY}\r\nContent-Type: application/json\r\n`;
      const head = `POST /api/check HTTP/1.1\r\nHost: x\r\n${credentials}Transfer-Encoding: chunked\r\n\r\n`;
      const chunked = (text: string) => text.replaceAll(/./gs, '1\r\n$&\r\n');
      const body = JSON.stringify(question);
      const fine = await rawRequest(world.port, `${head}${chunked(body)}0\r\n\r\n`, /"allowed":\w+/);
      expect(parseRaw(fine).status).toBe(200);
      const begun = performance.now();
      const refused = await saidTo(world.port, `${head}${chunked(body + ' '.repeat(40_000))}0\r\n\r\n`);
      expect(parseRaw(refused).status).toBe(400);
      expect(refused).toContain('chunks');
      expect(performance.now() - begun).toBeLessThan(HTTP_LIMITS.lingerMs);
    } finally {
      await world.close();
    }
  });

  test('pipelined requests in one piece are bounded, and a sender of more is cut', async () => {
    const world = await startWorld({ routes: exampleRoutes });
    try {
      const get = 'GET /t/text HTTP/1.1\r\nHost: x\r\n\r\n';
      const statuses = (text: string) => text.match(/HTTP\/1\.1 200/g)?.length ?? 0;
      const many = HTTP_LIMITS.pipelined;
      const last = get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
      expect(statuses(await rawRequest(world.port, get.repeat(many - 1) + last))).toBe(many);
      const cut = await saidTo(world.port, get.repeat(1000) + last);
      expect(statuses(cut)).toBeLessThan(1000);
      // One after the other is another matter.
      for (let n = 0; n < many + 5; n++) expect((await ask(`${world.url}/t/text`)).status).toBe(200);
    } finally {
      await world.close();
    }
  });

  test('pipelined requests are answered in order', async () => {
    const world = await startWorld({ routes: exampleRoutes });
    try {
      const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
      const all = await rawRequest(
        world.port,
        get('/t/text') + get('/t/nothing') + get('/t/things/7', 'Connection: close\r\n'),
      );
      expect([...all.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['200', '404', '200']);
    } finally {
      await world.close();
    }
  });
});
