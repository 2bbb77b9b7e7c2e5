import cluster from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/persistence/database.ts';
import { startService } from '../cli/harness.ts';
import { SHOP } from '../faults/shop.ts';
import { call, FRONT } from '../grpc/support.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const PROCESSES = 2;
const HOLDER = 'holder@example.com';
const KEY = 'the-internal-key-of-a-backend';
const metadata = { 'x-internal-api-key': KEY };

let storage: TestStorage;
let direct: Database;
let usher: RunningUsher | undefined;
let clients: Client[];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const roles = (email: string, held: string[]) =>
  direct.change((tx) => carryOut(tx, { kind: 'roles-of-user', app: 'shop', email, roles: held }));

beforeAll(async () => {
  storage = await createStorage('postgresql');
  direct = await storage.open();
  for (const operation of SHOP) await direct.change((tx) => carryOut(tx, operation));
}, 60_000);

afterAll(async () => {
  await storage?.remove();
}, 60_000);

async function started(env: Record<string, string> = {}): Promise<void> {
  usher = await startUsher(storage, {
    env: { GRPC_PROCESSES: `${PROCESSES}`, INTERNAL_API_KEY: KEY, LOG_LEVEL: 'fatal', ...env },
  });
}

/** Clients with a connection each; they go to the processes in turns. */
async function connect(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const client = new Client(grpc(), credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    clients.push(client);
    await allowed(client, HOLDER);
  }
}

async function allowed(client: Client, email: string): Promise<boolean> {
  return (await call(client, 'Check', { email, app: 'shop', permission: 'read' }, { metadata })).message.allowed;
}

async function outcome(client: Client, email: string): Promise<string> {
  try {
    return (await allowed(client, email)) ? 'allowed' : 'denied';
  } catch (error) {
    return status[(error as ServiceError).code] ?? String(error);
  }
}

const scraped = async (): Promise<string> => await (await fetch(`${rest()}/metrics`)).text();
const grpc = () => usher?.grpc ?? '';
const rest = () => usher?.rest ?? '';
const ready = async (): Promise<number> => (await fetch(`${rest()}/readyz`)).status;

/** The number of the process that answers this client. */
async function processOf(client: Client): Promise<string> {
  const counts = async () => [
    ...(await scraped()).matchAll(/^usher_grpc_requests_total\{method="Check",status="OK",process="(\d+)"\} (\d+)$/gm),
  ];
  const before = new Map((await counts()).map(([, process, count]) => [process, count]));
  await allowed(client, HOLDER);
  const [answered] = (await counts()).filter(([, process, count]) => before.get(process) !== count);
  return answered?.[1] ?? '';
}

beforeEach(async () => {
  clients = [];
  await roles(HOLDER, ['reader']);
});

afterEach(async () => {
  for (const client of clients) client.close();
  await usher?.close();
  usher = undefined;
}, 60_000);

describe('several processes on one gRPC port', () => {
  test('each answers a share of the connections, and is counted in the metrics of the first', async () => {
    await started();
    await connect(4);
    const answering = [];
    for (const client of clients) answering.push(await processOf(client));
    expect(answering.toSorted()).toEqual(['1', '1', '2', '2']);
    const metrics = await scraped();
    expect(metrics).toContain(`usher_grpc_processes ${PROCESSES}\n`);
    for (const process of ['1', '2']) {
      expect(metrics).toMatch(new RegExp(`^usher_revision\\{process="${process}"\\} \\d+$`, 'm'));
      expect(metrics).toMatch(
        new RegExp(`^usher_grpc_request_duration_seconds_count\\{method="Check",process="${process}"\\} \\d+$`, 'm'),
      );
    }
    expect(metrics).toMatch(/^usher_revision \d+$/m);
    expect(metrics.match(/^# HELP usher_revision /gm)).toHaveLength(1);
  }, 60_000);

  test('each sees a revoked role within a second, without being asked for a revision', async () => {
    await started();
    await connect(2);
    expect(await Promise.all(clients.map((client) => allowed(client, HOLDER)))).toEqual([true, true]);
    await roles(HOLDER, []);
    await pause(1000);
    expect(await Promise.all(clients.map((client) => allowed(client, HOLDER)))).toEqual([false, false]);
  }, 60_000);

  test('one that is killed is replaced, and calls of the other one do not notice', async () => {
    await started();
    await connect(4);
    const answering = [];
    for (const client of clients) answering.push(await processOf(client));
    const outcomes = clients.map(() => [] as string[]);
    let over = false;
    const load = clients.map(async (client, at) => {
      for (; !over; await pause(1)) outcomes[at]?.push(await outcome(client, HOLDER));
    });
    await pause(300);
    const [victim] = Object.values(cluster.workers ?? {});
    victim?.process.kill('SIGKILL');
    if (victim !== undefined) await once(victim, 'exit');
    expect(await ready()).toBe(503);
    expect(await scraped()).toContain('usher_grpc_processes 1\n');
    for (let n = 0; n < 300 && (await ready()) !== 200; n++) await pause(100);
    expect(await scraped()).toMatch(/usher_grpc_processes 2\n[\s\S]*usher_grpc_process_exits_total 1\n/);
    await pause(300);
    over = true;
    await Promise.all(load);
    // The first worker has the first number.
    for (const [at, process] of answering.entries()) {
      const seen = new Set(outcomes[at]);
      if (process === '2') expect(seen).toEqual(new Set(['allowed']));
      else expect(seen).toEqual(new Set(['allowed', 'UNAVAILABLE']));
      expect(outcomes[at]?.at(-1)).toBe('allowed');
    }
  }, 60_000);

  test('a shutdown finishes the calls in flight of each, and leaves no process', async () => {
    await started();
    await connect(4);
    // Nobody's facts are in memory, so that the calls are still open when the shutdown begins.
    const asked = clients.flatMap((client, at) =>
      Array.from({ length: 50 }, (_, n) => outcome(client, `cold-${at}-${n}@example.com`)),
    );
    const pids = Object.values(cluster.workers ?? {}).map((worker) => worker?.process.pid ?? 0);
    expect(pids).toHaveLength(PROCESSES);
    await new Promise((resolve) => setImmediate(resolve));
    await usher?.close();
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['denied']));
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(await outcome(clients[0] as Client, HOLDER)).toBe('UNAVAILABLE');
  }, 60_000);

  test('a port that is taken ends the start with the reason, and leaves no process', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(started({ GRPC_PORT: `${port}` })).rejects.toThrow(
      `port ${port} on 127.0.0.1 is taken by another process`,
    );
    expect(Object.keys(cluster.workers ?? {})).toEqual([]);
    other.close();
  }, 60_000);

  test(`grpc.front ${FRONT ? 'off' : 'on'} works as well`, async () => {
    await started({ GRPC_FRONT: FRONT ? 'false' : 'true' });
    await connect(2);
    expect(await Promise.all(clients.map(processOf))).toHaveLength(2);
  }, 60_000);

  test('a signal to all processes ends all of them cleanly; their lines carry their number', async () => {
    let output = '';
    const env = { ...databaseEnv(storage.url), GRPC_PROCESSES: '2', INTERNAL_API_KEY: KEY };
    const onOutput = (text: string) => {
      output += text;
    };
    const service = await startService(env, { onOutput });
    try {
      const lines = () => output.split('\n').filter((line) => line.startsWith('{'));
      const ofProcesses = lines()
        .map((line) => JSON.parse(line) as { msg: string; process?: number; pid?: number })
        .filter(({ process }) => process !== undefined);
      expect(ofProcesses.map(({ msg, process }) => `${msg} ${process}`).toSorted()).toEqual([
        'gRPC process ready 1',
        'gRPC process ready 2',
      ]);
      for (const pid of [...ofProcesses.map((one) => one.pid ?? 0), service.pid]) process.kill(pid, 'SIGTERM');
      const code = await service.exited;
      if (code !== 0) throw new Error(output);
      for (const { pid } of ofProcesses) expect(() => process.kill(pid ?? 0, 0)).toThrow('ESRCH');
      expect(lines().at(-1)).toContain('"msg":"closed"');
      expect(output).not.toContain('restarted');
    } finally {
      await service.remove();
    }
  }, 60_000);
});
