import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { toConfig } from '../../src/config/config.ts';
import { SHOP } from '../faults/shop.ts';
import { call } from '../grpc/support.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { databaseEnv } from '../support/postgres.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const [OLD, NEW, OWN] = ['the-old-key-of-an-edge', 'the-new-key-of-an-edge', 'the-key-of-a-caller-of-the-edge'];
const HOLDER = 'holder@example.com';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let storage: TestStorage;
let usher: RunningUsher;
let edge: RunningEdge;
let client: Client;

const roles = (held: string[]) =>
  usher.app.database.change((tx) => carryOut(tx, { kind: 'roles-of-user', app: 'shop', email: HOLDER, roles: held }));

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, { env: { INTERNAL_API_KEY: `edge:facts:${OLD}`, USHER_ROLES: 'rpc' } });
  for (const operation of SHOP) await usher.app.database.change((tx) => carryOut(tx, operation));
  await roles(['reader']);
  edge = await startEdge(usher.grpc, { env: { UPSTREAM_KEY: OLD, INTERNAL_API_KEY: OWN, CACHE_TTL_MS: '2000' } });
  client = new Client(edge.grpc, credentials.createInsecure());
}, 60_000);

afterAll(async () => {
  client?.close();
  await edge?.close();
  await usher?.close();
  await storage?.remove();
}, 60_000);

async function ask(): Promise<boolean | string> {
  try {
    const metadata = { 'x-internal-api-key': OWN };
    const { message } = await call(client, 'Check', { email: HOLDER, app: 'shop', permission: 'read' }, { metadata });
    return message.allowed;
  } catch (error) {
    return status[(error as ServiceError).code] ?? String(error);
  }
}

/** What the edge answers in the end. */
async function until(wanted: boolean | string): Promise<void> {
  const late = performance.now() + 15_000;
  for (let got = await ask(); got !== wanted; got = await ask()) {
    if (performance.now() > late) throw new Error(`the edge answers ${got}, not ${wanted}`);
    await pause(50);
  }
}

test('an edge whose key the upstream takes no more answers nothing stale, and again with the key of a reload', async () => {
  expect(await ask()).toBe(true);
  const upstream = toConfig({
    env: { ...databaseEnv(storage.url), INTERNAL_API_KEY: `edge:facts:${NEW}`, LOG_LEVEL: 'fatal' },
  });
  expect(await usher.app.reload({ config: upstream, files: {} })).toEqual({
    added: [],
    removed: [],
    changed: ['edge'],
  });
  await roles([]);
  // Facts that nothing proves any more: an error is not an answer.
  await until('UNAVAILABLE');
  const config = toConfig({
    env: { UPSTREAM_ADDRESS: usher.grpc, UPSTREAM_KEY: NEW, INTERNAL_API_KEY: OWN, LOG_LEVEL: 'fatal' },
  });
  await edge.edge.reload({ config, files: {} });
  await until(false);
  await roles(['reader']);
  await until(true);
}, 60_000);
