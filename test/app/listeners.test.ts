import { existsSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChannelCredentials, Client, credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { usherProcess } from '../cli/harness.ts';
import { createAuthority } from '../grpc/certificates.ts';
import { createStorage } from '../support/databases.ts';
import { outcome, type ReloadingService, startReloading, useReloading } from '../support/reloading.ts';

const KEY = 'the-key-of-a-backend-that-checks';
const [ours, theirs] = [createAuthority('Usher test authority'), createAuthority('Another authority')];
const [backend, stranger] = [ours.issue('backend'), theirs.issue('stranger')];
const sockets = mkdtempSync(join(tmpdir(), 'usher-sockets-'));
const [HTTP, GRPC, OPS] = ['http', 'grpc', 'ops'].map((name) => join(sockets, name)) as [string, string, string];
const LOOPBACK = '127.0.0.1:0';

afterAll(() => rm(sockets, { recursive: true, force: true }));

/** Cleartext at the first listeners and at sockets, for this machine; certificates of clients asked for at the others. */
function configuration(file: (name: string, text: string) => string, name = 'first') {
  const pair = ours.issue(name);
  const tls = {
    cert: file('tls.crt', pair.cert),
    key: file('tls.key', pair.key),
    clientCa: file('clients.crt', ours.cert),
  };
  return {
    internal: { apiKeys: [`backend:check+metrics:${KEY}`] },
    log: { level: 'info' },
    ops: { port: 0 },
    listeners: [
      { for: 'http', addresses: [`unix:${HTTP}`], serves: ['backends'], socketMode: '0600' },
      { for: 'http', addresses: [LOOPBACK, '[::1]:0'], tls, serves: ['webhooks', 'operations'] },
      { for: 'grpc', addresses: [`unix:${GRPC}`] },
      { for: 'grpc', addresses: [LOOPBACK], tls },
      { for: 'ops', addresses: [`unix:${OPS}`], socketMode: '0666' },
    ],
  };
}

interface Open {
  readonly for: string;
  readonly at: string;
}
const opened = ({ log }: ReloadingService): Open[] =>
  (log.find(({ msg }) => msg === 'ready') as unknown as { listeners: Open[] }).listeners;

/** GET, or POST of a question; the status, or the code of the error. */
function ask(
  at: string,
  path: string,
  pair?: { cert: string; key: string },
  question?: object,
): Promise<number | string> {
  const headers = { 'x-internal-api-key': KEY, 'content-type': 'application/json', host: 'localhost' };
  const method = question === undefined ? 'GET' : 'POST';
  const socketPath = at.startsWith('unix:') ? at.slice(5) : undefined;
  return new Promise((resolve) => {
    const { hostname, port } = socketPath === undefined ? new URL(at) : { hostname: 'localhost', port: '' };
    const where = socketPath === undefined ? { host: hostname.replace(/[[\]]/g, ''), port } : { socketPath };
    const options = { ...where, path, method, headers, agent: false };
    const sent = at.startsWith('https') ? secure({ ...options, ca: ours.cert, ...pair }) : plain(options);
    sent.on('response', (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(question === undefined ? undefined : JSON.stringify(question));
  });
}

const clients: Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
function grpc(address: string, channel: ChannelCredentials = credentials.createInsecure()): Client {
  const client = new Client(address, channel, { 'grpc.use_local_subchannel_pool': 1 });
  clients.push(client);
  return client;
}
const mutual = ({ cert, key }: { cert: string; key: string }) =>
  credentials.createSsl(Buffer.from(ours.cert), Buffer.from(key), Buffer.from(cert));

const QUESTION = { email: 'clara@example.com', app: 'atelier', permission: 'project.access' };

describe('several listeners', () => {
  const service = useReloading(configuration);
  const at = (index: number): string => opened(service())[index]?.at ?? '';

  test('a start names each, and each answers what it serves', async () => {
    expect(opened(service())).toEqual([
      { for: 'http', at: `unix:${HTTP}` },
      { for: 'http', at: expect.stringMatching(/^https:\/\/127\.0\.0\.1:[1-9]\d*$/) },
      { for: 'http', at: expect.stringMatching(/^https:\/\/\[::1\]:[1-9]\d*$/) },
      { for: 'ops', at: `unix:${OPS}` },
      { for: 'grpc', at: `unix:${GRPC}` },
      { for: 'grpc', at: expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/) },
    ]);
    expect(await ask(at(0), '/api/check', undefined, QUESTION)).toBe(200);
    expect(await ask(at(0), '/healthz')).toBe(404);
    for (const tls of [at(1), at(2)]) {
      expect(await ask(tls, '/healthz', backend)).toBe(200);
      expect(await ask(tls, '/api/check', backend, QUESTION)).toBe(404);
      expect(await ask(tls, '/panel/', backend)).toBe(404);
    }
    expect(await ask(at(3), '/metrics')).toBe(200);
    expect(await ask(at(3), '/api/check', undefined, QUESTION)).toBe(404);
    for (const client of [grpc(service().grpc), grpc(at(4)), grpc(at(5), mutual(backend))]) {
      expect([
        await outcome(client, KEY),
        await outcome(client, KEY, 'Explain'),
        await outcome(client, 'wrong'),
      ]).toEqual(['answered', 'answered', 'UNAUTHENTICATED']);
    }
  });

  test('a listener that asks for certificates lets in nobody without one of its authority, nor in cleartext', async () => {
    expect(typeof (await ask(at(1), '/healthz'))).toBe('string');
    expect(typeof (await ask(at(1), '/healthz', stranger))).toBe('string');
    expect(typeof (await ask(at(1).replace('https', 'http'), '/healthz'))).toBe('string');
    expect(await outcome(grpc(at(5)), KEY)).toBe('UNAVAILABLE');
    expect(await outcome(grpc(at(5), mutual(stranger)), KEY)).toBe('UNAVAILABLE');
  });

  test('a socket file has its permissions', () => {
    const modes = [HTTP, GRPC, OPS].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o600, 0o660, 0o666]);
  });

  test('SIGHUP renews the certificates of each, and loses no call of the sockets', async () => {
    const socket = grpc(at(4));
    expect(await outcome(socket, KEY)).toBe('answered');
    const before = await serial(at(1));
    service().write(configuration(service().file, 'second'));
    expect(await service().reload()).toMatchObject({ certificates: ['listeners[1]', 'listeners[3]'], restart: [] });
    const after = await Promise.all([at(1), at(2), `https://${at(5)}`].map(serial));
    expect(new Set(after).size).toBe(1);
    expect(after[0]).not.toBe(before);
    expect(await outcome(socket, KEY)).toBe('answered');
    expect(
      await service().metric('usher_tls_certificate_expiry_timestamp_seconds{listener="listeners[3]"}'),
    ).toBeGreaterThan(Date.now() / 1000);
  });

  test('other addresses take a restart', async () => {
    const config = configuration(service().file, 'second');
    service().write({ ...config, listeners: config.listeners.slice(1) });
    expect(await service().reload()).toMatchObject({ restart: ['listeners'] });
    expect(await ask(at(0), '/api/check', undefined, QUESTION)).toBe(200);
  });

  test('a second process finds the sockets taken, says so, and leaves them alone', async () => {
    const second = await start({ listeners: [{ for: 'http', addresses: [`unix:${HTTP}`] }] });
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(
      `listeners[0].addresses[0]: ${HTTP} is the socket of another process: stop it, or name another path.`,
    );
    expect(await ask(at(0), '/api/check', undefined, QUESTION)).toBe(200);
  }, 120_000);

  test('an end drains each, and takes its sockets with it', async () => {
    const idle = connect(HTTP);
    idle.on('error', () => undefined);
    expect(await service().stop()).toBe(0);
    expect([HTTP, GRPC, OPS].map((path) => existsSync(path))).toEqual([false, false, false]);
    expect(await outcome(grpc(`unix:${GRPC}`), KEY)).toBe('UNAVAILABLE');
  }, 30_000);
});

const serial = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = secure({ ...hostOf(url), ca: ours.cert, ...backend, agent: false });
    sent.once('socket', (socket) => {
      socket.once('secureConnect', () => {
        // biome-ignore lint/suspicious/noExplicitAny: the socket of https is one of TLS, which its type does not say.
        resolve((socket as any).getPeerCertificate().serialNumber as string);
        sent.destroy();
      });
    });
    sent.once('error', reject);
  });
const hostOf = (url: string) => {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/[[\]]/g, ''), port };
};

/** A start that fails. */
async function start(config: object): Promise<{ code: number; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'usher-listeners-'));
  const path = join(folder, 'usher.yaml');
  writeFileSync(
    path,
    JSON.stringify({ http: { port: 0 }, grpc: { port: 0 }, dataDir: join(folder, 'data'), ...config }),
  );
  try {
    return await usherProcess(['serve'], { USHER_CONFIG: path });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('a start that cannot listen at its last address names it, and leaves nothing behind', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const paths = ['http', 'grpc'].map((name) => join(sockets, `first-${name}`));
  const { code, stderr } = await start({
    listeners: [
      { for: 'http', addresses: [`unix:${paths[0]}`] },
      { for: 'grpc', addresses: [`unix:${paths[1]}`, `127.0.0.1:${port}`] },
    ],
  });
  taken.close();
  expect([code, stderr.split('\n').find((line) => line.startsWith('listeners'))]).toEqual([
    1,
    `listeners[1].addresses[1]: 127.0.0.1:${port} is taken by another process; stop it, or choose another address.`,
  ]);
  expect(paths.filter((path) => existsSync(path))).toEqual([]);
}, 120_000);

describe('several processes on the gRPC ports', () => {
  test('each answers at every one, and takes new certificates', async () => {
    const storage = await createStorage('postgresql');
    const config = (file: (name: string, text: string) => string) => {
      const { listeners, ...rest } = configuration(file);
      return { ...rest, listeners: listeners.slice(3, 4) };
    };
    const service = await startReloading(config, { DATABASE_URL: storage.url ?? '', GRPC_PROCESSES: '2' });
    try {
      const [{ at } = { at: '' }] = opened(service);
      const all = [at, at, at].map((address) => grpc(address, mutual(backend)));
      expect(await Promise.all(all.map((client) => outcome(client, KEY)))).toEqual(Array(3).fill('answered'));
      const before = await serial(`https://${at}`);
      await service.take(config(service.file));
      const after = await Promise.all([1, 2, 3, 4].map(() => serial(`https://${at}`)));
      expect(after).not.toContain(before);
    } finally {
      await service.remove();
      await storage.remove();
    }
  }, 120_000);
});
