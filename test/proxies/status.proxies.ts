import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  example,
  freePort,
  has,
  KEY,
  newFolder,
  nginxFile,
  type Surroundings,
  startProxy,
  startSurroundings,
} from './guide.ts';
import { isOauth2ProxyInstalled, testOauth2Proxy } from './oauth2.ts';

/** The configurations of docs/guides/gateways.md, by the proxies that are installed here: none lets anybody through whom a check denies. */

/** The arguments of each, for a folder with its files. */
const PROXIES: Record<string, { command: string; args(folder: string, fill: (text: string) => string): string[] }> = {
  nginx: {
    command: process.env.NGINX ?? '/usr/sbin/nginx',
    args: (folder, fill) => {
      writeFileSync(join(folder, 'nginx.conf'), nginxFile(folder, fill(example('nginx', 'auth_request'))));
      return ['-p', folder, '-c', join(folder, 'nginx.conf')];
    },
  },
  caddy: {
    command: process.env.CADDY ?? 'caddy',
    args: (folder, fill) => {
      writeFileSync(join(folder, 'Caddyfile'), `{\n  admin off\n}\n${fill(example('caddyfile', 'forward_auth'))}`);
      return ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
    },
  },
  haproxy: {
    command: process.env.HAPROXY ?? '/usr/sbin/haproxy',
    args: (folder, fill) => {
      writeFileSync(join(folder, 'usher.lua'), fill(example('lua', 'httpclient')));
      const text = fill(example('haproxy', 'lua.usher')).replace('/etc/haproxy/usher.lua', join(folder, 'usher.lua'));
      writeFileSync(join(folder, 'haproxy.cfg'), text);
      return ['-db', '-f', join(folder, 'haproxy.cfg')];
    },
  },
  traefik: {
    command: process.env.TRAEFIK ?? 'traefik',
    args: (folder, fill) => {
      writeFileSync(join(folder, 'usher.yaml'), fill(example('yaml', 'forwardAuth')));
      const text = fill(example('yaml', 'entryPoints')).replace('/etc/traefik', folder);
      writeFileSync(join(folder, 'traefik.yaml'), text);
      return [`--configFile=${join(folder, 'traefik.yaml')}`];
    },
  },
  envoy: {
    command: process.env.ENVOY ?? 'envoy',
    args: (folder, fill) => {
      writeFileSync(join(folder, 'envoy.yaml'), fill(example('yaml', 'context_extensions')));
      return ['-c', join(folder, 'envoy.yaml'), '--concurrency', '1', '--log-level', 'warn', '--use-dynamic-base-id'];
    },
  },
};

describe('the proxies of the guide', () => {
  let around: Surroundings;
  beforeAll(async () => {
    around = await startSurroundings();
  }, 60_000);
  afterAll(() => around?.close(), 60_000);

  const tested = Object.entries(PROXIES).filter(([, { command }]) => has(command));

  test.each(tested.map(([name]) => name))(
    '%s lets through whom a check allows, and nobody else',
    async (name) => {
      const folder = newFolder();
      const port = await freePort();
      const proxied = PROXIES[name] as (typeof PROXIES)[string];
      const args = proxied.args(folder, (text) => around.fill(text, port));
      const proxy = await startProxy({ command: proxied.command, args }, folder, port);
      try {
        const bearer = async (email: string) => ({ authorization: `Bearer ${await around.usher.token(email)}` });
        const forged = {
          'x-auth-request-email': 'root@example.com',
          'x-forwarded-email': 'root@example.com',
          'x-usher-email': 'root@example.com',
        };
        const asked: [headers: Record<string, string>, method: string, path: string, status: number | null][] = [
          [await bearer('ada@example.com'), 'GET', '/', 200],
          [
            { ...(await bearer('ada@example.com')), 'x-usher-email': 'root@example.com' },
            'POST',
            '/orders/7?permission=x',
            200,
          ],
          [await bearer('ben@example.com'), 'GET', '/', 403],
          [await bearer('ben@example.com'), 'DELETE', '/orders?permission=none', 403],
          [{ ...forged }, 'GET', '/', 401],
          [{ ...forged, 'x-internal-api-key': KEY }, 'GET', '/', 401],
          [{ authorization: 'Bearer x.y.z' }, 'PUT', '/api/gateway/shop/check', 401],
          [{ origin: 'https://evil.example', ...(await bearer('ben@example.com')) }, 'OPTIONS', '/', 403],
        ];
        for (const [headers, method, path, status] of asked) {
          around.seen.length = 0;
          const body = method === 'POST' ? { body: 'x'.repeat(10_000) } : {};
          const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...body });
          await response.arrayBuffer();
          expect([name, method, path, response.status, around.seen]).toEqual([
            name,
            method,
            path,
            status,
            status === 200 ? ['ada@example.com'] : [],
          ]);
        }
      } finally {
        proxy.close();
      }
    },
    60_000,
  );

  test('one of them at least is installed', () => {
    expect(tested.length).toBeGreaterThan(0);
  });
});

if (isOauth2ProxyInstalled()) describe('oauth2-proxy in front of nginx', testOauth2Proxy);
