import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import {
  addressText,
  cannotListen,
  type ListenAddress,
  listenAt,
  reachableText,
  socketState,
} from '../../src/base/listening.ts';

const folder = mkdtempSync(join(tmpdir(), 'usher-listening-'));
const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const socket = (name: string, mode = 0o660): ListenAddress => ({ path: join(folder, name), mode });
const pathOf = (at: ListenAddress): string => ('path' in at ? at.path : '');

async function listening(at: ListenAddress): Promise<ListenAddress> {
  const server = createServer((client) => client.end('hello'));
  servers.push(server);
  return await listenAt(server, at);
}

async function failure(at: ListenAddress): Promise<string> {
  const error = await listening(at).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  servers.pop();
  if (error === null) throw new Error('it listens');
  return cannotListen(error, at, 'listeners[0].addresses[0]').message;
}

const heard = (path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    connect(path)
      .on('data', (chunk) => resolve(chunk.toString()))
      .on('error', reject);
  });

test('every address of IPv6 and every one of IPv4 can be listened on at one port', async () => {
  const at = await listening({ host: '::', port: 0, ipv6Only: true });
  expect(await listening({ ...at, host: '0.0.0.0', ipv6Only: false })).toMatchObject({ port: 'port' in at && at.port });
});

test('a socket file has its mode from the first moment on, and the mask of the process is as it was', async () => {
  const before = process.umask(0o000);
  try {
    for (const mode of [0o600, 0o660, 0o666]) {
      const at = socket(`mode-${mode}`, mode);
      const server = createServer();
      servers.push(server);
      const listens = listenAt(server, at);
      // Looked at before anything else could run after the bind.
      const first = new Promise<number>((resolve) =>
        server.prependOnceListener('listening', () => resolve(statSync(pathOf(at)).mode & 0o777)),
      );
      await listens;
      expect([await first, statSync(pathOf(at)).mode & 0o777, process.umask()]).toEqual([mode, mode, 0]);
    }
  } finally {
    process.umask(before);
  }
});

test('takes the place of a socket that a killed process left, and of nothing else', async () => {
  const left = socket('left');
  const killed = spawn(process.execPath, [
    '-e',
    `require('node:net').createServer().listen(${JSON.stringify(pathOf(left))}, () => console.log('up'))`,
  ]);
  await new Promise((resolve) => killed.stdout.once('data', resolve));
  expect(await failure(left)).toBe(
    `listeners[0].addresses[0]: ${pathOf(left)} is the socket of another process: stop it, or name another path.`,
  );
  killed.kill('SIGKILL');
  await new Promise((resolve) => killed.once('exit', resolve));
  expect([existsSync(pathOf(left)), await socketState(pathOf(left))]).toEqual([true, null]);
  await listening(left);
  expect(await heard(pathOf(left))).toBe('hello');
});

test('a file, a folder and a link are not removed', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, 'keep me');
  symlinkSync(file, join(folder, 'link'));
  for (const at of [socket('file'), socket('link'), { path: folder, mode: 0o660 }]) {
    expect(await failure(at)).toBe(
      `listeners[0].addresses[0]: ${pathOf(at)} is there and is not a socket: remove it, or name another path.`,
    );
  }
  expect([readFileSync(file, 'utf8'), existsSync(join(folder, 'link'))]).toEqual(['keep me', true]);
});

test('says why an address cannot be had', async () => {
  const { port } = (await listening({ host: '127.0.0.1', port: 0 })) as { port: number };
  expect(await failure({ host: '127.0.0.1', port })).toBe(
    `listeners[0].addresses[0]: 127.0.0.1:${port} is taken by another process; stop it, or choose another address.`,
  );
  expect(await failure({ host: '192.0.2.1', port: 8080 })).toBe(
    'listeners[0].addresses[0]: 192.0.2.1:8080 is not an address of this machine.',
  );
  expect(await failure({ path: '/nowhere/usher', mode: 0o660 })).toBe(
    'listeners[0].addresses[0]: unix:/nowhere/usher lies in a folder that does not exist; make it, and let this user write to it.',
  );
});

test('an address is written as it is configured, a wildcard as it can be called', () => {
  const texts = [socket('a'), { host: '10.0.0.5', port: 1 }, { host: '::1', port: 2 }, { host: '::', port: 3 }].map(
    (at) => [addressText(at), reachableText(at)],
  );
  expect(texts).toEqual([
    [`unix:${folder}/a`, `unix:${folder}/a`],
    ['10.0.0.5:1', '10.0.0.5:1'],
    ['[::1]:2', '[::1]:2'],
    ['[::]:3', 'localhost:3'],
  ]);
});
