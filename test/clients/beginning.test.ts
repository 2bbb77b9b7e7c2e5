import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { connectTransport } from '../../clients/typescript/src/connect.ts';
import { createUsher, DeniedError, UnavailableError, type Usher } from '../../clients/typescript/src/index.ts';
import { createLocalUsher } from '../../clients/typescript/src/local.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** A client that has just been made: it connects, it says what may be the matter, and its first call has time for that. */

const KEY = 'the-key-of-a-client-that-has-all-scopes';
const ASKED = { email: 'ben@example.com', app: 'atelier', permission: 'project.access' };
const HINT = /has answered this client yet: is it the (port of gRPC|address of the gateway)/;
const quiet = { warn: () => undefined };

let storage: TestStorage;
let usher: RunningUsher;
const opened: { close(): unknown }[] = [];

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, { env: { INTERNAL_API_KEY: `all:facts+check:${KEY}` } });
});

afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

afterAll(async () => {
  await usher?.close();
  await storage?.remove();
});

/** A client of each kind, with the deadline that it has by itself. */
function clients(grpc: string, rest: string, key = KEY): Readonly<Record<string, Usher>> {
  const made = {
    remote: createUsher({ address: grpc, key, log: quiet }),
    connect: createUsher({ transport: connectTransport({ url: rest, key }), log: quiet }),
    local: createLocalUsher({ address: grpc, key, log: quiet }),
  };
  opened.push(...Object.values(made));
  return made;
}

test('ready() resolves once the service has answered, and rejects a wrong key', async () => {
  for (const client of Object.values(clients(usher.grpc, usher.rest))) {
    await client.ready();
    expect(await client.check(ASKED, { deadlineMs: 10_000 })).toMatchObject({ allowed: false });
  }
  for (const client of Object.values(clients(usher.grpc, usher.rest, 'a-key-that-nobody-has-configured'))) {
    await expect(client.ready({ deadlineMs: 10_000 })).rejects.toBeInstanceOf(DeniedError);
  }
  await expect(clients(usher.grpc, usher.rest).remote?.ready({ timeout: 5 } as never)).rejects.toMatchObject({
    violations: [{ field: 'timeout' }],
  });
});

test('the first call has time to connect', async () => {
  const grpc = await slowly(Number(usher.grpc.split(':')[1]));
  const { remote, local } = clients(grpc, usher.rest);
  for (const client of [remote, local]) expect(await client?.check(ASKED)).toMatchObject({ allowed: false });
});

test('where nothing listens the deadline is half a second, and the error says what may be the matter', async () => {
  for (const client of Object.values(clients('127.0.0.1:1', 'http://127.0.0.1:1'))) {
    const since = performance.now();
    const refused = client.check(ASKED);
    await expect(refused).rejects.toBeInstanceOf(UnavailableError);
    await expect(refused).rejects.toThrow(HINT);
    // Connecting takes up to five seconds where somebody listens.
    expect(performance.now() - since).toBeLessThan(4000);
    await expect(client.ready({ deadlineMs: 300 })).rejects.toThrow(HINT);
  }
});

test('a server of something else is said', async () => {
  const server = createHttpServer((_, response) => response.writeHead(404).end('nothing here'));
  const url = await listening(server);
  const { remote, local } = clients(url.slice('http://'.length), url);
  for (const client of [remote, local]) {
    await expect(client?.check(ASKED, { deadlineMs: 500 })).rejects.toThrow(HINT);
    await expect(client?.ready({ deadlineMs: 500 })).rejects.toThrow(HINT);
  }
});

test('a program that waits is told, and does not end in the middle of its wait', async () => {
  for (const call of ["check({ email: 'a@b.example', app: 'a', permission: 'p' })", 'ready({ deadlineMs: 700 })']) {
    const from = new URL('../../clients/typescript/src/local.ts', import.meta.url);
    const program = `
      import { createLocalUsher } from ${JSON.stringify(from.href)};
      const usher = createLocalUsher({ address: '127.0.0.1:1', log: { warn: () => undefined } });
      await usher.${call}.catch((error) => console.log(error.name, error.message));
      usher.close();`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    expect([code, said]).toEqual([0, expect.stringMatching(/^UnavailableError .*has answered this client yet/)]);
  }
});

/** Where the service is reached, over connections that stand still for longer than an answer may take. */
async function slowly(port: number): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) open.add(socket.on('error', () => socket.destroy()));
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far);
    setTimeout(() => far.pipe(near), 900);
  });
  opened.push({
    close: () => {
      for (const socket of open) socket.destroy();
    },
  });
  return (await listening(server)).slice('http://'.length);
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
