import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** The configurations of docs/guides/gateways.md, by the proxies that are installed here: none lets anybody through whom a check denies. */

const KEY = 'a-key-that-may-ask-checks';
const GUIDE = readFileSync(new URL('../../docs/guides/gateways.md', import.meta.url), 'utf8');
const MANIFEST = `
application: { code: shop, name: Shop }
permissions: [{ code: orders.read, type: binary }]
roles: [{ code: reader, permissions: { orders.read: allowed } }]
assignments: [{ email: ada@example.com, roles: [reader] }]
`;

/** The example of the guide in that language. */
function example(language: string, contains: string): string {
  const blocks = [...GUIDE.matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  const found = blocks.find(([, name, text]) => name === language && text?.includes(contains));
  if (found?.[2] === undefined) throw new Error(`the guide has no example in ${language}`);
  return found[2];
}

const has = (command: string) => spawnSync(command, ['--version']).error === undefined;

/** The arguments of each, for a folder with its files. */
const PROXIES: Record<string, { command: string; args(folder: string, fill: (text: string) => string): string[] }> = {
  nginx: {
    command: process.env.NGINX ?? '/usr/sbin/nginx',
    args: (folder, fill) => {
      const server = fill(example('nginx', 'auth_request'));
      const head = `daemon off; pid ${folder}/pid; error_log ${folder}/log; events {}\nhttp { access_log off;`;
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (one) => `${one}_temp_path ${folder}/${one};`,
      );
      writeFileSync(join(folder, 'nginx.conf'), `${head}\n${temporary.join('\n')}\n${server}\n}`);
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
  envoy: {
    command: process.env.ENVOY ?? 'envoy',
    args: (folder, fill) => {
      writeFileSync(join(folder, 'envoy.yaml'), fill(example('yaml', 'context_extensions')));
      return ['-c', join(folder, 'envoy.yaml'), '--concurrency', '1', '--log-level', 'warn', '--use-dynamic-base-id'];
    },
  },
};

describe('the proxies of the guide', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let app: Server;
  let seen: string[] = [];

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = { GRPC_EXT_AUTHZ: 'true', INTERNAL_API_KEY: `proxy:check:${KEY}`, SUPERADMINS: 'root@example.com' };
    usher = await startUsher(storage, { env });
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
    app = createServer((req, res) => {
      seen.push(String(req.headers['x-usher-email']));
      req.resume().on('end', () => res.end('the application'));
    });
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  }, 60_000);
  afterAll(async () => {
    app?.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const tested = Object.entries(PROXIES).filter(([, { command }]) => has(command));

  test.each(tested.map(([name]) => name))(
    '%s lets through whom a check allows, and nobody else',
    async (name) => {
      const folder = mkdtempSync(join(tmpdir(), 'usher-proxy-'));
      chmodSync(folder, 0o777);
      mkdirSync(join(folder, 'logs'));
      const port = await freePort();
      const fill = (text: string) =>
        text
          .replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`)
          .replaceAll('port_value: 8000', `port_value: ${port}`)
          .replaceAll('usher.internal:8080', new URL(usher.rest).host)
          .replaceAll('app.internal:3000', `127.0.0.1:${(app.address() as AddressInfo).port}`)
          .replaceAll(
            'address: app.internal, port_value: 3000',
            `address: 127.0.0.1, port_value: ${(app.address() as AddressInfo).port}`,
          )
          .replaceAll(
            'address: usher.internal, port_value: 50051',
            `address: 127.0.0.1, port_value: ${usher.grpc.split(':')[1]}`,
          )
          .replaceAll('value: KEY', `value: ${KEY}`);
      const proxy = PROXIES[name] as (typeof PROXIES)[string];
      const running = spawn(proxy.command, proxy.args(folder, fill), {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, HOME: folder },
      });
      let said = '';
      for (const output of [running.stdout, running.stderr])
        output.setEncoding('utf8').on('data', (text: string) => (said += text));
      try {
        const url = `http://127.0.0.1:${port}`;
        await untilUp(url, running, () => said);
        const bearer = async (email: string) => ({ authorization: `Bearer ${await usher.token(email)}` });
        const forged = { 'x-auth-request-email': 'root@example.com', 'x-usher-email': 'root@example.com' };
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
          seen = [];
          const body = method === 'POST' ? { body: 'x'.repeat(10_000) } : {};
          const response = await fetch(url + path, { method, headers, ...body });
          await response.arrayBuffer();
          expect([name, method, path, response.status, seen]).toEqual([
            name,
            method,
            path,
            status,
            status === 200 ? ['ada@example.com'] : [],
          ]);
        }
      } finally {
        running.kill('SIGKILL');
        rmSync(folder, { recursive: true, force: true });
      }
    },
    60_000,
  );

  test('one of them at least is installed', () => {
    expect(tested.length).toBeGreaterThan(0);
  });
});

async function freePort(): Promise<number> {
  const server = createSocket();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilUp(url: string, running: ChildProcess, said: () => string): Promise<void> {
  for (;;) {
    if (running.exitCode !== null) throw new Error(`the proxy ended: ${said()}`);
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
