import { spawnSync } from 'node:child_process';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';
import { outcome, type ReloadingService, startReloading, withKeys } from '../support/reloading.ts';

const STAYS = 'stays:check:the-key-of-a-backend-that-stays';
const GOES = 'goes:check:the-key-of-a-backend-that-goes';
const keyOf = (entry: string): string => entry.split(':').at(-1) ?? '';

let storage: TestStorage;
let service: ReloadingService;
const clients: Client[] = [];

beforeAll(async () => {
  storage = await createStorage('postgresql');
  service = await startReloading(() => withKeys(STAYS, GOES), {
    ...databaseEnv(storage.url),
    GRPC_PROCESSES: '2',
  });
}, 120_000);

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

afterAll(async () => {
  await service?.remove();
  await storage?.remove();
}, 60_000);

/** Two clients: they go to the processes in turns. */
const open = () =>
  [0, 1].map(() => {
    const client = new Client(service.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    clients.push(client);
    return client;
  });

const processes = (): number[] =>
  spawnSync('pgrep', ['-P', `${service.pid}`], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n')
    .map(Number);

describe('a reload with several processes on one gRPC port', () => {
  test('every process refuses a key that is gone, on connections that it opened too', async () => {
    const before = open();
    const all = (entry: string) => Promise.all(before.map((client) => outcome(client, keyOf(entry))));
    expect([await all(STAYS), await all(GOES)]).toEqual([
      ['answered', 'answered'],
      ['answered', 'answered'],
    ]);
    await service.take(withKeys(STAYS));
    expect([await all(STAYS), await all(GOES)]).toEqual([
      ['answered', 'answered'],
      ['UNAUTHENTICATED', 'UNAUTHENTICATED'],
    ]);
  }, 60_000);

  test('a signal to the whole group ends none of them, and one that was replaced has what was reloaded', async () => {
    await service.take(withKeys(STAYS, GOES));
    const [first, second] = processes();
    for (const pid of [first, second, service.pid]) process.kill(pid as number, 'SIGHUP');
    await service.take(withKeys(STAYS));
    expect(processes()).toEqual([first, second]);
    process.kill(first as number, 'SIGKILL');
    const restarted = () => service.log.some(({ msg }) => msg === 'gRPC process restarted');
    while (!restarted()) await new Promise((resolve) => setTimeout(resolve, 50));
    const after = open();
    expect(await Promise.all(after.map((client) => outcome(client, keyOf(STAYS))))).toEqual(['answered', 'answered']);
    const gone = await Promise.all(after.map((client) => outcome(client, keyOf(GOES))));
    expect(gone).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
  }, 60_000);

  test('one that hangs cannot admit by a key that is gone: it is ended, and replaced', async () => {
    await service.take(withKeys(STAYS, GOES));
    const hanging = processes()[0] as number;
    process.kill(hanging, 'SIGSTOP');
    const since = performance.now();
    await service.take(withKeys(STAYS));
    expect(performance.now() - since).toBeLessThan(15_000);
    expect(service.log.some(({ msg }) => msg === 'gRPC process did not take the configuration; ended')).toBe(true);
    // Also a hanging process that would wake up now.
    while (processes().includes(hanging)) await new Promise((resolve) => setTimeout(resolve, 50));
  }, 60_000);
});
