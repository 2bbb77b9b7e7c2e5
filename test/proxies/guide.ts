import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** What the proxies of docs/guides/gateways.md stand between: Usher, an application, and a folder with the files of each. */

export const KEY = 'a-key-that-may-ask-checks';
const GUIDE = readFileSync(new URL('../../docs/guides/gateways.md', import.meta.url), 'utf8');
const MANIFEST = `
application: { code: shop, name: Shop }
permissions: [{ code: orders.read, type: binary }]
roles: [{ code: reader, permissions: { orders.read: allowed } }]
assignments: [{ email: ada@example.com, roles: [reader] }]
`;

/** The example of the guide in that language. */
export function example(language: string, contains: string): string {
  const blocks = [...GUIDE.matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  const found = blocks.find(([, name, text]) => name === language && text?.includes(contains));
  if (found?.[2] === undefined) throw new Error(`the guide has no example in ${language}`);
  return found[2];
}

/** Whether a command is installed. */
export const has = (command: string) => spawnSync(command, ['--version']).error === undefined;

/** nginx's own file around a server of the guide, for a folder of its own. */
export function nginxFile(folder: string, server: string): string {
  const head = `daemon off; pid ${folder}/pid; error_log ${folder}/log; events {}\nhttp { access_log off;`;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (one) => `${one}_temp_path ${folder}/${one};`,
  );
  return `${head}\n${temporary.join('\n')}\n${server}\n}`;
}

export interface Surroundings {
  readonly usher: RunningUsher;
  /** The value of `x-usher-email` in each request that reached the application, until it is emptied. */
  readonly seen: string[];
  /** An example with the addresses and keys of this run; the proxy listens on `port`. */
  fill(text: string, port: number): string;
  close(): Promise<void>;
}

export async function startSurroundings(): Promise<Surroundings> {
  const storage = await createStorage('postgresql');
  const env = { GRPC_EXT_AUTHZ: 'true', INTERNAL_API_KEY: `proxy:check:${KEY}`, SUPERADMINS: 'root@example.com' };
  const usher = await startUsher(storage, { env });
  await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
  const seen: string[] = [];
  const app: Server = createServer((req, res) => {
    seen.push(String(req.headers['x-usher-email']));
    req.resume().on('end', () => res.end('the application'));
  });
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const appPort = (app.address() as AddressInfo).port;
  return {
    usher,
    seen,
    fill: (text, port) =>
      text
        .replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`)
        .replaceAll('port_value: 8000', `port_value: ${port}`)
        .replaceAll('usher.internal:8080', new URL(usher.rest).host)
        .replaceAll('app.internal:3000', `127.0.0.1:${appPort}`)
        .replaceAll('address: app.internal, port_value: 3000', `address: 127.0.0.1, port_value: ${appPort}`)
        .replaceAll(
          'address: usher.internal, port_value: 50051',
          `address: 127.0.0.1, port_value: ${usher.grpc.split(':')[1]}`,
        )
        .replaceAll('value: KEY', `value: ${KEY}`)
        .replaceAll('x-internal-api-key KEY', `x-internal-api-key ${KEY}`),
    close: async () => {
      app.close();
      await usher.close();
      await storage.remove();
    },
  };
}

/** A folder that a proxy may write to whoever it runs as. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'usher-proxy-'));
  chmodSync(folder, 0o777);
  mkdirSync(join(folder, 'logs'));
  return folder;
}

export interface RunningProxy {
  close(): void;
}

/** Runs a proxy until it answers on its port. It ends with its folder. */
export async function startProxy(
  { command, args }: { command: string; args: readonly string[] },
  folder: string,
  port: number,
): Promise<RunningProxy> {
  const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: folder } });
  let said = '';
  for (const output of [running.stdout, running.stderr])
    output.setEncoding('utf8').on('data', (text: string) => (said += text));
  const close = (): void => {
    running.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilUp(`http://127.0.0.1:${port}`, running, () => said);
  } catch (error) {
    close();
    throw error;
  }
  return { close };
}

export async function freePort(): Promise<number> {
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
      const response = await fetch(url, { redirect: 'manual' });
      await response.arrayBuffer();
      // Traefik listens before it has read its rules.
      if (response.status !== 404) return;
    } catch {
      // It does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
