import { Agent, request } from 'node:http';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { SHOP } from '../faults/shop.ts';
import { watchHealth } from '../grpc/health-client.ts';
import { call } from '../grpc/support.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const NOTICE_MS = 1500;
const KEY = 'the-internal-key-of-a-backend';
const QUESTION = { email: 'holder@example.com', app: 'shop', permission: 'read' };
const metadata = { 'x-internal-api-key': KEY };

let storage: TestStorage;
const ends: (() => unknown)[] = [];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  storage = await createStorage('postgresql');
  const direct = await storage.open();
  for (const operation of SHOP) await direct.change((tx) => carryOut(tx, operation));
  const roles = ['reader'];
  await direct.change((tx) => carryOut(tx, { kind: 'roles-of-user', app: 'shop', email: QUESTION.email, roles }));
}, 60_000);

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
}, 60_000);

afterAll(async () => {
  await storage?.remove();
}, 60_000);

async function start(env: Record<string, string> = {}): Promise<RunningUsher> {
  const notice = { OPS_PORT: '0', INTERNAL_API_KEY: KEY, LOG_LEVEL: 'fatal', SHUTDOWN_NOTICE_MS: `${NOTICE_MS}` };
  const usher = await startUsher(storage, { env: { ...notice, ...env } });
  ends.push(() => usher.close());
  return usher;
}

function clientOf(address: string): Client {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  ends.push(() => client.close());
  return client;
}

/** By a connection of its own. */
async function overGrpc(address: string): Promise<string> {
  try {
    const { message } = await call(clientOf(address), 'Check', QUESTION, { metadata, deadline: Date.now() + 5000 });
    return message.allowed ? 'allowed' : 'denied';
  } catch (error) {
    return status[(error as ServiceError).code];
  }
}

/** Over `agent`, or by a connection of its own. */
function overRest(
  base: string,
  path: string,
  agent: Agent | false = false,
): Promise<{ status: number; last: boolean }> {
  return new Promise((resolve, reject) => {
    const body = path === '/api/check' ? JSON.stringify(QUESTION) : undefined;
    const headers = { ...metadata, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const asked = request(base + path, { agent, headers, method: body === undefined ? 'GET' : 'POST' }, (answer) => {
      answer.resume();
      answer.once('end', () =>
        resolve({ status: answer.statusCode ?? 0, last: answer.headers.connection === 'close' }),
      );
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

describe.each([
  ['the front', { GRPC_FRONT: 'true' }],
  ['grpc-js', { GRPC_FRONT: 'false' }],
  ['two processes', { GRPC_PROCESSES: '2' }],
])('the end of a process with %s', (_, env) => {
  test('is announced before its listeners close, and what connects meanwhile is answered', async () => {
    const usher = await start(env);
    const health = watchHealth(clientOf(usher.grpc), '');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    ends.push(() => agent.destroy());
    expect(await overRest(usher.rest, '/api/check', agent)).toEqual({ status: 200, last: false });
    while (health.said.length === 0) await pause(10);

    const since = performance.now();
    let closed = false;
    const closing = usher.close().then(() => {
      closed = true;
    });
    ends.shift();
    let rounds = 0;
    for (; performance.now() - since < NOTICE_MS * 0.7; rounds++) {
      expect(await overGrpc(usher.grpc)).toBe('allowed');
      // The kept connection is given up in time, not closed under a request.
      expect(await overRest(usher.rest, '/api/check', agent)).toEqual({ status: 200, last: true });
      for (const base of [usher.rest, usher.ops]) {
        for (const path of ['/readyz', '/readyz/checks']) expect((await overRest(base, path)).status).toBe(503);
        expect((await overRest(base, '/healthz')).status).toBe(200);
      }
      await pause(20);
    }
    expect(rounds).toBeGreaterThan(3);
    expect([health.said, closed]).toEqual([['SERVING', 'NOT_SERVING'], false]);
    await closing;
    expect(performance.now() - since).toBeGreaterThan(NOTICE_MS);
    expect(health.said.slice(0, 3)).toEqual(['SERVING', 'NOT_SERVING', 'ended']);
    expect(await overGrpc(usher.grpc)).toBe('UNAVAILABLE');
    await expect(overRest(usher.rest, '/healthz')).rejects.toThrow('ECONNREFUSED');
  }, 60_000);
});

test('an edge announces its end as well', async () => {
  const usher = await start({ SHUTDOWN_NOTICE_MS: '0' });
  const env = { UPSTREAM_KEY: KEY, INTERNAL_API_KEY: KEY, OPS_PORT: '0', SHUTDOWN_NOTICE_MS: `${NOTICE_MS}` };
  const edge: RunningEdge = await startEdge(usher.grpc, { env });
  const health = watchHealth(clientOf(edge.grpc), '');
  while (health.said.length === 0) await pause(10);
  const since = performance.now();
  const closing = edge.close();
  await pause(NOTICE_MS / 2);
  expect(health.said).toEqual(['SERVING', 'NOT_SERVING']);
  expect(await overGrpc(edge.grpc)).toBe('allowed');
  expect((await overRest(edge.ops ?? '', '/readyz')).status).toBe(503);
  await closing;
  expect(performance.now() - since).toBeGreaterThan(NOTICE_MS);
  expect(await overGrpc(edge.grpc)).toBe('UNAVAILABLE');
}, 60_000);

test('a process that nobody calls, and one that did not start, end without a notice', async () => {
  const notice = { SHUTDOWN_NOTICE_MS: '20000' };
  const worker = await start({ ...notice, USHER_ROLES: 'worker' });
  const since = performance.now();
  await worker.close();
  ends.pop();
  const other = await start({ USHER_ROLES: 'rpc', SHUTDOWN_NOTICE_MS: '0' });
  const { port } = new URL(`http://${other.grpc}`);
  await expect(start({ ...notice, USHER_ROLES: 'rpc', GRPC_PORT: port })).rejects.toThrow('is taken');
  expect(performance.now() - since).toBeLessThan(15_000);
}, 60_000);
