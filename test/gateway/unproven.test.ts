import net from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { UnprovenBodies } from '../../src/gateway/middleware/unproven.ts';
import { ask, CHECK_KEY, parseRaw, startWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const CHECK = '/usher.permission.v1.PermissionService/Check';
const question = JSON.stringify({ email: 'jana@example.com', app: 'shop', permission: 'pages' });
const SIGNATURE = 'idp-signature';
const MAIL = '/api/idp/notifications/email';

/** The mail endpoint with nothing behind it: whatever is signed fits. */
const authMails = { signatureHeaders: [SIGNATURE], examine: async () => undefined };

/** Bytes of a body whose end never comes, behind a head of its own. */
function unfinished(path: string, address: string, bytes: number): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `X-Forwarded-For: ${address}`,
    `${SIGNATURE}: anything`,
    'Content-Type: application/json',
    `Content-Length: ${bytes + 1}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.alloc(bytes, ' ')]);
}

interface Held {
  /** What has been said, once something has. */
  said: Promise<string>;
  leave(): void;
}

function hold(port: number, bytes: Buffer): Held {
  const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.on('error', () => undefined);
  const said = new Promise<string>((resolve) => socket.setEncoding('latin1').once('data', resolve));
  return { said, leave: () => socket.destroy() };
}

const LIMITS = { total: 100_000, address: 50_000 };
const trusting = { http: { host: '127.0.0.1', port: 0, trustProxy: true, rateLimit: null } };

/** Every door that reads a body before it knows who sends it. */
const DOORS = [
  ['the mail endpoint', MAIL],
  ['open checks', '/api/check'],
  ['open checks by Connect', CHECK],
] as const;

describe('unfinished bodies of anonymous callers', () => {
  test.each(DOORS)('unfinished bodies are bounded for an address: %s', async (_, path) => {
    const world = await startWorld({
      fill: fillShop,
      keys: [],
      unproven: LIMITS,
      config: trusting,
      services: { authMails },
    });
    const first = hold(world.port, unfinished(path, '2a00:1:2:3::1', 40_000));
    await until(() => world.gateway.unprovenBytes === 40_000);
    // Another address of the same /64.
    const second = hold(world.port, unfinished(path, '2a00:1:2:3::ffff', 40_000));
    const refused = parseRaw(await second.said);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const other = hold(world.port, unfinished(path, '2a00:1:2:4::1', 40_000));
    await until(() => world.gateway.unprovenBytes === 80_000);
    for (const held of [first, second, other]) held.leave();
    await until(() => world.gateway.unprovenBytes === 0);
    await world.close();
  });

  test('unfinished bodies are bounded in all, and bodies in one piece are accepted even then', async () => {
    const world = await startWorld({
      fill: fillShop,
      keys: [],
      unproven: LIMITS,
      config: trusting,
      services: { authMails },
    });
    const all = ['10.0.0.1', '10.0.0.2'].map((address) => hold(world.port, unfinished(MAIL, address, 45_000)));
    await until(() => world.gateway.unprovenBytes === 90_000);
    const refused = parseRaw(await hold(world.port, unfinished(MAIL, '10.0.0.3', 45_000)).said);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse(refused.body)).toMatchObject({ success: false, code: 'UNAVAILABLE' });
    expect((await ask(`${world.url}/api/check`, { body: question })).status).toBe(200);
    for (const held of all) held.leave();
    await until(() => world.gateway.unprovenBytes === 0);
    await world.close();
  });

  test('unfinished bodies of callers with a key are not counted', async () => {
    const world = await startWorld({ fill: fillShop, unproven: { total: 10, address: 10 } });
    const headers = { 'x-internal-api-key': CHECK_KEY };
    const body = question + ' '.repeat(60_000);
    expect((await ask(`${world.url}/api/check`, { body, headers })).status).toBe(200);
    expect((await ask(`${world.url}${CHECK}`, { body: question + ' '.repeat(900_000), headers })).status).toBe(200);
    await world.close();
  });

  test('the count is released when bodies are complete, refused, or cut', () => {
    const bodies = new UnprovenBodies({ total: 100, address: 60 });
    const one = bodies.open('a');
    one.take(50);
    expect(() => one.take(20)).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
    expect(bodies.held).toBe(50);
    const other = bodies.open('b');
    other.take(50);
    expect(() => bodies.open('c').take(1)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    one.giveBack();
    one.giveBack();
    other.giveBack();
    expect(bodies.held).toBe(0);
    bodies.open('a').take(60);
    expect(bodies.held).toBe(60);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
