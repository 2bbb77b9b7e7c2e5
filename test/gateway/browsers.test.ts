import { describe, expect, test } from '@jest/globals';
import { CorsOrigins } from '../../src/gateway/middleware/cors.ts';
import { exampleRoutes } from './example-routes.ts';
import { ask, CHECK_KEY, parseRaw, rawRequest, startWorld, useWorld, type World } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const question = { email: 'jana@example.com', app: 'shop', permission: 'pages' };
const CHECK = '/usher.permission.v1.PermissionService/Check';
const allowedFor = async (world: World, origin: string) =>
  (await ask(`${world.url}/api/profile/me/check`, { body: {}, headers: { origin } })).headers.get(
    'access-control-allow-origin',
  );

const LOOPBACK = ['http://localhost:3000', 'https://localhost', 'http://127.0.0.1:5173', 'https://[::1]:8443'];
const FOREIGN = [
  'http://localhost.evil.example',
  'http://evil.example',
  'http://127.0.0.1.nip.io',
  'http://localhost:3000/',
  'HTTP://LOCALHOST:3000',
  'http://user@localhost:3000',
  'ftp://localhost',
  'null',
  'localhost:3000',
  'http://localhost:99999',
  'http://192.168.1.2:3000',
];

describe('in development without cors.origins', () => {
  const world = useWorld({ fill: fillShop, config: { cors: { origins: [] } } });

  test.each(LOOPBACK)('a page of %s may read answers', async (origin) => {
    expect(await allowedFor(world, origin)).toBe(origin);
    const preflight = await ask(`${world.url}/api/profile/me/check`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect(preflight.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS');
  });

  test.each(FOREIGN)('a page of %s may not read answers', async (origin) => {
    expect(await allowedFor(world, origin)).toBeNull();
  });

  test.each(['/api/check', CHECK])('a page of another loopback origin does not use %s', async (path) => {
    const headers = { origin: 'http://localhost:3000', 'x-internal-api-key': CHECK_KEY };
    const { status, headers: answered } = await ask(`${world.url}${path}`, { body: question, headers });
    expect([status, answered.get('access-control-allow-origin')]).toEqual([403, null]);
  });

  test.each(['/metrics', '/dev/mail'])('a page of another loopback origin does not read %s', async (path) => {
    const headers = { origin: 'http://localhost:3000' };
    const { status, headers: answered } = await ask(`${world.url}${path}`, { headers });
    expect([status, answered.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});

describe('refused loopback origins', () => {
  test.each([
    ['in production', { production: true, cors: { origins: [] } }],
    ['where origins are listed', { cors: { origins: ['https://app.example.com'] } }],
  ])('a loopback origin is refused: %s', async (_, config) => {
    const world = await startWorld({ config });
    for (const origin of LOOPBACK) expect(await allowedFor(world, origin)).toBeNull();
    await world.close();
  });
});

describe('a refused origin', () => {
  test('a refused origin is logged once, with the key that admits it', async () => {
    const world = await startWorld();
    for (let n = 0; n < 3; n++) await allowedFor(world, 'https://front.example.com');
    await allowedFor(world, 'https://app.example.com');
    const logged = world.lines.filter(({ variable }) => variable === 'CORS_ORIGINS');
    expect(logged).toEqual([
      expect.objectContaining({ level: 'warn', origin: 'https://front.example.com', key: 'cors.origins' }),
    ]);
    await world.close();
  });

  test('many refused origins fill neither the log nor the memory', () => {
    const origins = new CorsOrigins([], true);
    let lines = 0;
    const log = { warn: ({ origin }: { origin: string }) => (lines += origin.length <= 200 ? 1 : 1000) };
    for (let n = 0; n < 1000; n++) origins.noteRefused(`https://${'x'.repeat(500)}${n}.example`, log as never);
    for (let n = 0; n < 1000; n++) origins.noteRefused(`https://${n}.example`, log as never);
    expect(lines).toBe(100);
  });
});

describe('a listed origin', () => {
  const world = useWorld({ routes: exampleRoutes });

  test('a listed origin may read the headers that callers need', async () => {
    const answer = await ask(`${world.url}/t/things/7`, { headers: { origin: 'https://app.example.com' } });
    expect(answer.headers.get('access-control-expose-headers')?.split(', ').toSorted()).toEqual([
      'etag',
      'retry-after',
      'usher-revision',
      'x-request-id',
    ]);
  });
});

describe('unauthenticated answers in development', () => {
  const world = useWorld({ fill: fillShop, keys: [] });
  const asked = async (host: string, path: string) => {
    const port = new URL(world.url).port;
    const body = path === '/metrics' ? '' : JSON.stringify(question);
    const head = [
      `${body === '' ? 'GET' : 'POST'} ${path} HTTP/1.1`,
      `Host: ${host.replace('PORT', port)}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ];
    return parseRaw(await rawRequest(world.port, `${head.join('\r\n')}\r\n\r\n${body}`)).status;
  };

  describe.each(['/metrics', '/api/check', CHECK])('%s', (path) => {
    test.each(['localhost:PORT', '127.0.0.1:PORT', '[::1]:PORT', 'LOCALHOST'])(
      'an unauthenticated answer is for %s',
      async (host) => {
        expect(await asked(host, path)).toBe(200);
      },
    );

    // A page made its own name resolve to this machine: its origin is then the same as ours.
    test.each(['evil.example:PORT', 'evil.example', 'localhost.evil.example', '10.0.0.7', ''])(
      'an unauthenticated answer is not for a caller that uses the Host “%s”',
      async (host) => {
        expect(await asked(host, path)).toBe(403);
      },
    );
  });
});

describe('answers that need a key', () => {
  const world = useWorld({ fill: fillShop });
  test('with the key any Host is accepted', async () => {
    const head = `POST /api/check HTTP/1.1\r\nHost: usher.internal\r\nx-internal-api-key: ${CHECK_KEY}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    const body = JSON.stringify(question);
    const said = await rawRequest(world.port, `${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(parseRaw(said).status).toBe(200);
  });
});
