import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SURFACES, type Surface } from '../../src/config/listeners.ts';
import type { FurtherDoor } from '../../src/gateway/app.ts';
import { open } from '../../src/gateway/route/guards.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { surfacesOf } from '../../src/gateway/surfaces.ts';
import { CHECK_KEY, startWorld, type World } from './fixture.ts';

const door = (more: Partial<FurtherDoor>): FurtherDoor => ({
  for: 'http',
  at: { host: '127.0.0.1', port: 0 },
  tls: undefined,
  serves: SURFACES,
  trustProxy: false,
  key: 'listeners[0].addresses[0]',
  ...more,
});

interface Got {
  readonly status: number;
  readonly body: string;
  readonly allow: string | undefined;
}

function ask(url: string, method: string, path: string, headers: Record<string, string> = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, method, path, headers }, (answer) => {
      let body = '';
      answer.on('data', (chunk) => {
        body += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body, allow: answer.headers.allow }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

const unknown = (got: Got) => got.status === 404 && got.body.includes('No route at this path.');
const RPC = '/usher.permission.v1.PermissionService/Check';

describe('surfaces', () => {
  test('every route is on one, or on two where it takes a token or a key', () => {
    for (const production of [true, false]) {
      for (const route of gatewayRoutes({ production })) {
        const on = surfacesOf(route);
        const wanted = route.guard.alternative === 'internalKey' ? 2 : 1;
        expect([route.path, on.length, on.every((one) => SURFACES.includes(one))]).toEqual([route.path, wanted, true]);
      }
    }
    expect(() => surfacesOf({ path: '/new', guard: open })).toThrow('the open route /new is on no surface');
  });

  test('a key opens nothing that is not for backends or operators, and only the panel has pages of development', () => {
    for (const { path, guard } of gatewayRoutes({ production: true })) {
      const on = surfacesOf({ path, guard });
      if (guard.scheme === 'internalKey' && path !== '/metrics') expect([path, on]).toEqual([path, ['backends']]);
      if (guard.scheme === 'webhookSecret') expect([path, on]).toEqual([path, ['webhooks']]);
    }
    const dev = gatewayRoutes({ production: false }).filter(({ path }) => path.startsWith('/dev/'));
    expect(dev.map((route) => surfacesOf(route))).toEqual(dev.map(() => ['panel']));
    expect(dev.length).toBeGreaterThan(2);
  });
});

describe('a listener of some surfaces', () => {
  let world: World;
  const urlOf = (at: number): string => world.further[at] as string;
  const only: Surface[] = ['people', 'administration', 'backends', 'webhooks', 'operations'];
  beforeAll(async () => {
    world = await startWorld({
      config: { http: { host: '127.0.0.1', port: 0, trustProxy: false, rateLimit: 30, serves: ['operations'] } },
      further: [...only.map((one) => door({ serves: [one] })), door({ trustProxy: true }), door({})],
    });
  });
  afterAll(() => world.close());

  test('answers what it does not serve as an unknown path, by every method', async () => {
    const paths: [string, string, Surface][] = [
      ['GET', '/api/profile/me', 'people'],
      ['GET', '/api/admin/audit', 'administration'],
      ['POST', '/api/check', 'backends'],
      ['POST', RPC, 'backends'],
      ['POST', '/api/idp/webhook', 'webhooks'],
      ['GET', '/healthz', 'operations'],
      ['GET', '/metrics', 'operations'],
      ['GET', '/panel/', 'panel'],
      ['GET', '/api/docs', 'panel'],
      ['GET', '/dev/mail', 'panel'],
    ];
    for (const [at, served] of only.entries()) {
      for (const [method, path, surface] of paths) {
        const got = await ask(urlOf(at), method, path);
        expect([served, path, unknown(got)]).toEqual([served, path, surface !== served]);
        if (surface === served) continue;
        for (const other of ['DELETE', 'OPTIONS', 'HEAD']) {
          expect([path, other, (await ask(urlOf(at), other, path)).status]).toEqual([path, other, 404]);
        }
      }
    }
  });

  test('is not talked round by another form of the target, a Host header, or a key', async () => {
    const webhooks = urlOf(only.indexOf('webhooks'));
    const forms = [
      'http://x/api/check',
      '//api/check',
      '/api/check/',
      '/api//check',
      '/api/%63heck',
      '/API/check',
      '/x/../api/check',
      '/api/check#',
    ];
    const headers = {
      host: 'localhost',
      'x-forwarded-host': 'inside',
      'x-original-url': '/api/check',
      'x-internal-api-key': CHECK_KEY,
    };
    for (const path of forms) expect([path, unknown(await ask(webhooks, 'POST', path, headers))]).toEqual([path, true]);
  });

  test('the first listener can be limited as well', async () => {
    expect((await ask(world.url, 'GET', '/healthz')).status).toBe(200);
    expect(unknown(await ask(world.url, 'POST', '/api/check'))).toBe(true);
  });

  test('a path that is served in part takes only the methods of its surface', async () => {
    const got = await ask(urlOf(only.indexOf('people')), 'POST', '/api/languages');
    expect([got.status, got.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('one count of requests holds for all listeners, and only a listener behind a proxy believes its header', async () => {
    const [proxied, direct] = [urlOf(only.length), urlOf(only.length + 1)];
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const statuses = async (url: string, address: string, times: number) => {
      const all = [];
      for (let i = 0; i < times; i++) all.push((await ask(url, 'GET', '/api/profile/me', from(address))).status);
      return all;
    };
    // By the proxy each address has a count of its own.
    expect(await statuses(proxied, '203.0.113.1', 31)).toEqual([...Array(30).fill(401), 429]);
    expect(await statuses(proxied, '203.0.113.2', 1)).toEqual([401]);
    // Elsewhere the header is what a caller writes: the socket's address counts, on whichever listener.
    for (let i = 0; i < 40; i++) await statuses(direct, `203.0.113.${i + 10}`, 1);
    expect(await statuses(direct, '203.0.113.200', 1)).toEqual([429]);
    expect((await ask(urlOf(only.indexOf('people')), 'GET', '/api/profile/me')).status).toBe(429);
  });
});
