import { create, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createLocalUsher, type LocalUsher } from '../../clients/typescript/src/local.ts';
import { FactsService, FollowRequestSchema } from '../../src/gen/usher/facts/v1/facts_pb.ts';
import { RULES_VERSION } from '../../src/rpc/facts-messages.ts';
import { SHOP } from '../faults/shop.ts';
import { call } from '../grpc/support.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { reached, reachedBy } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** What goes wrong between an edge and its upstream, and how much of it reaches the database. */

const FACTS_KEY = 'the-key-of-an-edge-of-this-service';
const OTHER_KEY = 'the-key-that-replaced-that-of-the-edge';
const HOLDER = 'holder@example.com';
const TTL_MS = 1500;
/** The end of an answer of PostgreSQL: ReadyForQuery, outside a transaction. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let storage: TestStorage;
/** Between the service and its database. */
let database: LineCutter;
/** Statements that the database has answered. */
let answered = 0;
let usher: RunningUsher;
/** Between the edge and the service. */
let line: LineCutter;
let edge: RunningEdge;
let client: Client;

const start = (key: string): Promise<RunningUsher> =>
  startUsher(
    { ...reachedBy(database, storage.url ?? ''), dataDir: storage.dataDir },
    { env: { INTERNAL_API_KEY: `edge:facts:${key}`, USHER_ROLES: 'rpc' } },
  );

beforeAll(async () => {
  storage = await createStorage('postgresql');
  const count = (chunk: Buffer): Buffer => {
    for (let at = chunk.indexOf(READY); at !== -1; at = chunk.indexOf(READY, at + 1)) answered++;
    return chunk;
  };
  database = await LineCutter.start(reached(storage.url ?? '').url, { answers: () => count });
  usher = await start(FACTS_KEY);
  for (const operation of SHOP) await change(operation);
});

beforeEach(async () => {
  await give('reader');
  line = await LineCutter.start(`http://${usher.grpc}`);
  edge = await startEdge(`127.0.0.1:${line.port}`, {
    env: { UPSTREAM_KEY: FACTS_KEY, INTERNAL_API_KEY: `caller:check:${FACTS_KEY}`, CACHE_TTL_MS: `${TTL_MS}` },
  });
  client = new Client(edge.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
});

afterEach(async () => {
  client.close();
  await edge?.close();
  await line?.close();
});

afterAll(async () => {
  await usher?.close();
  await database?.close();
  await storage?.remove();
});

async function change(operation: Parameters<typeof carryOut>[1]): Promise<string> {
  return (await usher.app.database.change((tx) => carryOut(tx, operation))).revision;
}

const give = (...roles: string[]) => change({ kind: 'roles-of-user', app: 'shop', email: HOLDER, roles });

/** 'allowed', 'denied', or the name of the status. */
async function outcome(email = HOLDER, deadlineMs = 10_000): Promise<string> {
  const question = { email, app: 'shop', permission: 'read' };
  const options = { metadata: { 'x-internal-api-key': FACTS_KEY }, deadline: Date.now() + deadlineMs };
  try {
    return (await call(client, 'Check', question, options)).message.allowed ? 'allowed' : 'denied';
  } catch (error) {
    return status[(error as ServiceError).code] ?? '';
  }
}

/** Every outcome until `wanted`, each once. */
async function outcomesUntil(wanted: string, email = HOLDER): Promise<string[]> {
  const seen = new Set<string>();
  for (const late = performance.now() + 60_000; !seen.has(wanted); ) {
    if (performance.now() > late) throw new Error(`never ${wanted}, but ${[...seen].join()}`);
    seen.add(await outcome(email));
    await pause(10);
  }
  return [...seen];
}

describe('an edge', () => {
  test('whose key was taken away is unavailable once its facts are too old, never a denial, until it has a key again', async () => {
    expect(await outcome()).toBe('allowed');
    const cut = performance.now();
    await usher.close();
    usher = await start(OTHER_KEY);
    line.lead(`http://${usher.grpc}`);
    const outcomes = [await outcome()];
    // By facts that are not too old yet, unless the service took that long to start.
    const isFresh = performance.now() - cut < TTL_MS / 2;
    expect(isFresh ? ['allowed'] : ['allowed', 'UNAVAILABLE']).toContain(outcomes[0]);
    outcomes.push(...(await outcomesUntil('UNAVAILABLE')));
    for (const one of outcomes) expect(['allowed', 'UNAVAILABLE']).toContain(one);
    await give();
    await usher.close();
    usher = await start(FACTS_KEY);
    line.lead(`http://${usher.grpc}`);
    expect(await outcomesUntil('denied')).not.toContain('allowed');
  });

  test('on a slow line keeps deadlines, and answers all the same', async () => {
    line.slow(400);
    const began = performance.now();
    expect(await outcome('slow@example.com', 150)).toBe('DEADLINE_EXCEEDED');
    expect(performance.now() - began).toBeLessThan(750);
    expect(await outcome('slow@example.com')).toBe('denied');
    await give();
    expect((await outcomesUntil('denied')).filter((one) => one !== 'allowed')).toEqual(['denied']);
  });

  test.each(['before', 'after'] as const)(
    'asks again when the line is cut %s a question was answered',
    async (when) => {
      const email = `cut-${when}@example.com`;
      await change({ kind: 'roles-of-user', app: 'shop', email, roles: ['reader'] });
      const cut = line.cutOn(email, when);
      const outcomes = outcomesUntil('allowed', email);
      await cut;
      for (const one of await outcomes) expect(['UNAVAILABLE', 'allowed']).toContain(one);
      await give();
      await outcomesUntil('denied');
    },
  );
});

describe('ten thousand that follow at once', () => {
  const ALL = 10_000;
  const CONNECTIONS = 50;
  const PLACES = 1000;
  /** That are sent in one turn: edge and service are of this process, and answer nothing during it. */
  const PORTION = 100;
  const clients: Client[] = [];

  afterEach(() => {
    for (const one of clients.splice(0)) one.close();
  });

  const connected = (one: Client) =>
    new Promise<void>((resolve, reject) => {
      one.waitForReady(Date.now() + 60_000, (error) => (error === undefined ? resolve() : reject(error)));
    });

  /** How many get messages, and how many were refused with each status. */
  let told = 0;
  const refused = new Map<string, number>();
  const settled = () => told + [...refused.values()].reduce((sum, count) => sum + count, 0);

  /** Again where the service is unavailable, as edges do: on a busy machine it may not learn in time what it has to tell. */
  function follow(at: Client): void {
    const metadata = new Metadata();
    metadata.set('x-internal-api-key', FACTS_KEY);
    const bytes = toBinary(FollowRequestSchema, create(FollowRequestSchema, { rulesVersion: RULES_VERSION }));
    const same = (message: Buffer) => message;
    const path = `/${FactsService.typeName}/Follow`;
    const stream = at.makeServerStreamRequest(path, same, same, Buffer.from(bytes), metadata);
    let isTold = false;
    stream.on('data', () => {
      if (!isTold) told++;
      isTold = true;
    });
    stream.on('error', ({ code }: ServiceError) => {
      if (isTold) told--;
      if (code === status.UNAVAILABLE) setTimeout(() => clients.includes(at) && follow(at), 1000);
      else refused.set(status[code] ?? '', (refused.get(status[code] ?? '') ?? 0) + 1);
    });
  }

  test('are served or refused, and the database is asked no more than by a few', async () => {
    const options = { 'grpc.use_local_subchannel_pool': 1 };
    clients.push(
      ...Array.from({ length: CONNECTIONS }, () => new Client(usher.grpc, credentials.createInsecure(), options)),
    );
    await Promise.all(clients.map(connected));
    const [before, began] = [answered, performance.now()];
    for (let sent = 0; sent < ALL; sent++) {
      follow(clients[sent % CONNECTIONS] as Client);
      if (sent % PORTION === 0) await pause(0);
    }
    // Beside them the edge goes on, whose facts may be too old for a moment.
    for (const one of await outcomesUntil('allowed')) {
      expect(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'allowed']).toContain(one);
    }
    while (settled() < ALL) await pause(50);
    const seconds = (performance.now() - began) / 1000;
    // One place is the edge's, unless it was cut off just now.
    expect([PLACES - 1, PLACES]).toContain(told);
    expect([...refused]).toEqual([['RESOURCE_EXHAUSTED', ALL - told]]);
    expect(answered - before).toBeLessThan(50 + 10 * seconds);
  }, 480_000);
});

describe('many in-process clients that are cut off at once', () => {
  const MANY = 80;
  const question = { email: HOLDER, app: 'shop', permission: 'read' };
  let many: LocalUsher[] = [];

  afterEach(() => {
    for (const one of many) one.close();
  });

  test('come back with what changed meanwhile, and ask the database no more than a few would', async () => {
    const address = `127.0.0.1:${line.port}`;
    const open = () => createLocalUsher({ address, key: FACTS_KEY, deadlineMs: 40_000, maxStalenessMs: 60_000 });
    many = Array.from({ length: MANY }, open);
    await Promise.all(many.map((one) => one.ready()));
    for (const answer of await Promise.all(many.map((one) => one.check(question)))) expect(answer.allowed).toBe(true);
    line.down();
    await pause(500);
    const revision = await give();
    const before = answered;
    const began = performance.now();
    line.up();
    const answers = await Promise.all(many.map((one) => one.check(question, { minRevision: revision })));
    for (const answer of answers) expect(answer).toMatchObject({ allowed: false, revision });
    const seconds = (performance.now() - began) / 1000;
    // Each asks for the log as of now, for the facts and for the changes from here on: read once for all who wait. The service polls, too.
    expect(answered - before).toBeLessThan(MANY + 10 * seconds);
  });
});
