import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CheckResult } from '../../src/gen/api.ts';
import { SHOP } from '../faults/shop.ts';
import { carryOut } from '../support/carry-out.ts';
import { createDatabase } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { LineCutter } from '../support/proxy.ts';
import { numberOf } from '../support/revisions.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type Acknowledged, GRANT, Judge, REVOKE, type Told } from './judge.ts';
import { onServer, startSynchronousStandby } from './synchronous-pair.ts';

/**
 * Servers that die under two instances with early release of the numbering, sixteen writers and four who ask: nothing that was
 * acknowledged may be lost, and no answer may be wrong at its revision. `USHER_FAILOVERS` of each kind, by default 20;
 * `npm run test:scale`. Not part of `npm test`: it takes a quarter of an hour.
 */
const ROUNDS = Number(process.env.USHER_FAILOVERS ?? 20);
const WRITERS = 16;
const ASKERS = 4;
const LOAD_MS = 700;

type Kind = 'immediate shutdown' | 'kill -9' | 'kill -9, started again on its disk';

const people = Array.from({ length: WRITERS }, (_, i) => `person${i}@example.com`);
const folder = mkdtempSync(join(tmpdir(), 'usher-failovers-'));
const acknowledged: Acknowledged[] = [];
const told: Told[] = [];
const refusals = new Map<string, number>();
const unanswered = new Map<string, number>();
/** By instance: the newest revision that it has acknowledged. */
const newest = [0, 0];
/** When the present server had taken over. */
const takenOver: number[] = [];
let primary: PostgresServer;
let url: string;
let line: LineCutter;
let ushers: RunningUsher[] = [];

const at = (server: PostgresServer): string => {
  const there = new URL(url);
  there.port = `${server.port}`;
  return there.href;
};

beforeAll(async () => {
  primary = await startPostgres({ maxConnections: 100 });
  ({ url } = await createDatabase({ server: primary, empty: true }));
  // The servers of tests are started with less; the role goes with the data.
  await onServer(url, (client) => client.query('alter role postgres set synchronous_commit = on'));
  line = await LineCutter.start(url);
  for (const name of ['near', 'far']) {
    const env = { DATABASE_EARLY_RELEASE: process.env.DATABASE_EARLY_RELEASE ?? 'true', DATABASE_POOL_SIZE: '10' };
    ushers.push(await startUsher({ url: line.url(url), dataDir: join(folder, name) }, { env }));
  }
  for (const operation of SHOP) await ushers[0]?.app.database.change((tx) => carryOut(tx, operation));
}, 120_000);

afterAll(async () => {
  for (const usher of ushers) await usher.close();
  ushers = [];
  await line?.close();
  await primary?.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

async function write(which: number, email: string, granted: boolean): Promise<void> {
  const usher = ushers[which] as RunningUsher;
  try {
    const { revision, number } = await usher.app.database.change(async (tx) => ({
      ...(await carryOut(tx, { kind: 'roles-of-user', app: 'shop', email, roles: granted ? ['reader'] : [] })),
      records: [{ actor: granted ? GRANT : REVOKE, action: 'test.written' }],
    }));
    acknowledged.push({ email, granted, revision });
    newest[which] = Math.max(newest[which] ?? 0, number);
  } catch (error) {
    const { code, reason } = error as { code?: string; reason?: string };
    count(refusals, reason ?? code ?? String(error));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function ask(which: number, email: string): Promise<void> {
  const { app, rest } = ushers[which] as RunningUsher;
  const floor = newest[which] ?? 0;
  const response = await fetch(`${rest}/api/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-internal-api-key': app.localKey ?? '' },
    body: JSON.stringify({ email, app: 'shop', permission: 'read' }),
  });
  const body = (await response.json()) as { data?: CheckResult };
  if (response.status !== 200) {
    count(unanswered, `${response.status}`);
    return;
  }
  const revision = response.headers.get('usher-revision') ?? '';
  told.push({ email, allowed: body.data?.allowed === true, revision, floor, at: performance.now() });
}

/** Under load until the returned function is called. */
function load(): () => Promise<void> {
  let going = true;
  const writers = people.map(async (email, i) => {
    for (let n = 0; going; n++) await write(i % 2, email, n % 2 === 0);
  });
  const askers = Array.from({ length: ASKERS }, async (_, i) => {
    for (let n = 0; going; n++) await ask(i % 2, people[(n * 7 + i) % WRITERS] ?? '');
  });
  return async () => {
    going = false;
    await Promise.all([...writers, ...askers]);
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Until so many more are acknowledged as tell something. */
async function untilWritten(): Promise<void> {
  const before = acknowledged.length;
  for (const end = performance.now() + 30_000; acknowledged.length < before + 50; await pause(20)) {
    if (performance.now() > end) throw new Error(`no writes in time: ${JSON.stringify([...refusals])}`);
  }
}

async function failOver(kind: Kind): Promise<void> {
  const standby = await startSynchronousStandby(primary, { roundTripMs: 2 });
  const stop = load();
  await untilWritten();
  await pause(Math.random() * LOAD_MS);
  await primary.crash(kind === 'kill -9' ? 'SIGKILL' : 'SIGQUIT');
  await onServer(standby.server.url, (client) => client.query('select pg_promote()'));
  line.lead(at(standby.server));
  takenOver.push(performance.now());
  await untilWritten();
  await stop();
  await standby.line.close();
  await primary.close();
  primary = standby.server;
}

/** Without a standby: what was not on its disk is lost. */
async function startAgain(): Promise<void> {
  const stop = load();
  await untilWritten();
  await pause(Math.random() * LOAD_MS);
  const from = await primary.crash('SIGKILL');
  primary = await startPostgres({ maxConnections: 100, from });
  line.lead(at(primary));
  takenOver.push(performance.now());
  await untilWritten();
  await stop();
}

describe.each<[Kind, () => Promise<void>]>([
  ['immediate shutdown', () => failOver('immediate shutdown')],
  ['kill -9', () => failOver('kill -9')],
  ['kill -9, started again on its disk', startAgain],
])('%s', (kind, fail) => {
  test.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))(
    'round %i: nothing lost, nothing wrong',
    async () => {
      const [writes, answers] = [acknowledged.length, told.length];
      await fail();
      await onServer(at(primary), async (client) => {
        const judge = await Judge.of(client);
        expect(judge.lost(acknowledged)).toEqual([]);
        expect(judge.wrong(told)).toEqual([]);
        expect(await judge.apart(client)).toEqual([]);
        // Answers at revisions that nobody was told of as made, and that went with a server: given before its successor was there.
        const gone = told.filter(({ revision }) => !judge.has(revision));
        const late = gone.filter(
          ({ at: when, revision }) => numberOf(revision) > 0 && when > (takenOver.at(-1) ?? 0) + 2000,
        );
        expect(late).toEqual([]);
        if (process.env.USHER_TABLE !== undefined) {
          console.info({
            kind,
            acknowledged: acknowledged.length - writes,
            answers: told.length - answers,
            atLostRevisions: gone.length,
            refusals: Object.fromEntries(refusals),
            unanswered: Object.fromEntries(unanswered),
          });
        }
      });
      expect(acknowledged.length - writes).toBeGreaterThan(100);
      expect(told.length - answers).toBeGreaterThan(50);
      for (const what of refusals.keys()) expect(['UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(what);
      for (const what of unanswered.keys()) expect(what).toBe('503');
    },
    90_000,
  );
});

test('in all: nothing lost, nothing wrong', async () => {
  await onServer(at(primary), async (client) => {
    const judge = await Judge.of(client);
    console.info({
      failovers: takenOver.length,
      acknowledged: acknowledged.length,
      lost: judge.lost(acknowledged).length,
      judged: told.filter(({ revision }) => judge.has(revision)).length,
      wrong: judge.wrong(told).length,
      atLostRevisions: told.filter(({ revision }) => !judge.has(revision)).length,
      refusals: Object.fromEntries(refusals),
      unanswered: Object.fromEntries(unanswered),
    });
    expect(judge.lost(acknowledged)).toEqual([]);
    expect(judge.wrong(told)).toEqual([]);
  });
});
