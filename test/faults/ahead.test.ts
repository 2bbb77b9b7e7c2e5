import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Database } from '../../src/persistence/database.ts';
import { call } from '../grpc/support.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { reached, reachedBy } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { SHOP } from './shop.ts';

/**
 * A service and an edge of it, asked about the same people all the time, whose database goes away at a random moment: what is in use
 * has been read again by then, so that no check is refused. The long run has the TTL of production, and prints what it saw.
 */
const LONG = process.env.USHER_LONG === '1';
const TTL_MS = LONG ? 30_000 : 8000;
/** Facts have half of the TTL left, at an edge a third, less what a busy machine takes from one question to the next. */
const OUTAGE_MS = LONG ? 8000 : 2000;
const WARM_MS = LONG ? 60_000 : 1.5 * TTL_MS;
const OUTAGES = LONG ? 5 : 2;
const KEY = 'the-key-of-an-edge-of-this-service';
const READERS = Array.from({ length: 20 }, (_, n) => `reader${n}@example.com`);
const OTHERS = Array.from({ length: 20 }, (_, n) => `other${n}@example.com`);
const PEOPLE = [...READERS, ...OTHERS];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let storage: TestStorage;
let direct: Database;
let line: LineCutter;
let usher: RunningUsher;
let edge: RunningEdge;
let clients: readonly { name: string; client: Client }[] = [];

beforeAll(async () => {
  storage = await createStorage('postgresql');
  direct = await storage.open();
  line = await LineCutter.start(reached(storage.url ?? '').url);
  const write = (operation: Operation) => direct.change((tx) => carryOut(tx, operation));
  for (const operation of SHOP) await write(operation);
  for (const email of READERS) await write({ kind: 'roles-of-user', app: 'shop', email, roles: ['reader'] });
  const env = { CACHE_TTL_MS: `${TTL_MS}` };
  usher = await startUsher(
    { ...reachedBy(line, storage.url ?? ''), dataDir: storage.dataDir },
    { env: { ...env, INTERNAL_API_KEY: `edge:facts:${KEY}`, USHER_ROLES: 'rpc' } },
  );
  edge = await startEdge(usher.grpc, { env: { ...env, UPSTREAM_KEY: KEY, INTERNAL_API_KEY: `caller:check:${KEY}` } });
  clients = [
    { name: 'service', client: new Client(usher.grpc, credentials.createInsecure()) },
    { name: 'edge', client: new Client(edge.grpc, credentials.createInsecure()) },
  ];
}, 120_000);

afterAll(async () => {
  line?.up();
  for (const { client } of clients) client.close();
  await edge?.close();
  await usher?.close();
  await line?.close();
  await storage?.remove();
}, 60_000);

async function check(client: Client, email: string): Promise<string> {
  const metadata = { 'x-internal-api-key': KEY };
  try {
    const { message } = await call(client, 'Check', { email, app: 'shop', permission: 'read' }, { metadata });
    return message.allowed ? 'allowed' : 'denied';
  } catch (error) {
    return status[(error as ServiceError).code] ?? 'unknown';
  }
}

/** Asks both about everybody, one after the other, for a while. What was answered, by what should have been. */
async function asking(ms: number): Promise<{ checks: number; wrong: Record<string, number> }> {
  const wrong: Record<string, number> = {};
  let checks = 0;
  const until = performance.now() + ms;
  await Promise.all(
    clients.map(async ({ name, client }) => {
      while (performance.now() < until) {
        for (const email of PEOPLE) {
          const got = await check(client, email);
          checks++;
          if (got === (READERS.includes(email) ? 'allowed' : 'denied')) continue;
          const what = `${name} ${got}`;
          wrong[what] = (wrong[what] ?? 0) + 1;
        }
        await pause(20);
      }
    }),
  );
  return { checks, wrong };
}

test(
  'no warm check is refused in an outage shorter than half of the TTL',
  async () => {
    expect((await asking(WARM_MS)).wrong).toEqual({});
    const outages: { checks: number; wrong: Record<string, number> }[] = [];
    for (let outage = 0; outage < OUTAGES; outage++) {
      await asking(Math.random() * TTL_MS);
      line.down();
      outages.push(await asking(OUTAGE_MS));
      line.up();
      await asking(TTL_MS / 2);
    }
    if (LONG) {
      for (const { checks, wrong } of outages) process.stdout.write(`${checks} checks, ${JSON.stringify(wrong)}\n`);
    }
    expect(outages.map(({ wrong }) => wrong)).toEqual(outages.map(() => ({})));
  },
  WARM_MS + OUTAGES * (2 * TTL_MS + OUTAGE_MS) + 60_000,
);
