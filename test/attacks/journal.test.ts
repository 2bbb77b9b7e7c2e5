import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { MIGRATIONS } from '../../src/persistence/migrations/list.ts';
import { createStorage, KINDS, type Kind, type TestStorage } from '../support/databases.ts';
import type { Census, JournalOrders, Traces } from '../support/journal-process.ts';
import { createDatabase } from '../support/postgres.ts';
import { spawnScript, type Writer } from '../support/spawn-writer.ts';

/**
 * The crash journal: kill -9 at named points and at random, under writers, during manifests and migrations. Acknowledged and lost:
 * none; half done: none. (The points of a policy write: persistence/crash.test.ts; of a delivery: delivery/crash.test.ts.)
 */
const LONG = process.env.USHER_LONG === '1';
const KILLS = LONG ? 100 : 2;
const ROUNDS = LONG ? 20 : 1;
const MIGRATIONS_KILLED = LONG ? 20 : 1;
const STARTS = LONG ? 50 : 1;
const POINTS = ['inside', 'before-log', 'committing', 'after-commit', 'after-reach'] as const;
const WRITERS = 4;

function say(line: string): void {
  if (LONG) process.stdout.write(`${line}\n`);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const start = (orders: JournalOrders): Writer => spawnScript('journal-process.ts', orders);
const acknowledgedBy = ({ lines }: Writer): string[] =>
  lines.filter((line) => line.startsWith('acknowledged ')).map((line) => line.slice('acknowledged '.length));
const censusOf = ({ lines }: Writer): Census =>
  JSON.parse(lines.find((line) => line.startsWith('census '))?.slice('census '.length) ?? '');

describe.each(KINDS)('kill -9 (%s)', (kind) => {
  let storage: TestStorage;
  const orders = (prefix: string, more: Partial<JournalOrders>): JournalOrders => {
    return { url: storage.url, dataDir: storage.dataDir, prefix, writers: 1, work: 'policy', ...more };
  };

  beforeAll(async () => {
    storage = await createStorage(kind);
  });
  afterAll(async () => {
    await storage?.remove();
  });

  /** What is there in the end, told by a process that writes nothing. */
  async function left(): Promise<Census> {
    const reader = start(orders('none', { writers: 0 }));
    await reader.says('open');
    await reader.kill();
    return censusOf(reader);
  }

  /** Every write is whole, hence like every other one of its kind, and nothing else speaks of one that is not there. */
  function judge({ whole, orphans }: Census, acknowledged: readonly string[]): void {
    const there = new Set(whole.map(({ code }) => code));
    expect(acknowledged.filter((code) => !there.has(code))).toEqual([]);
    expect(orphans).toEqual([]);
    for (const letter of ['jp', 'jm']) {
      const shapes = new Set(whole.filter(({ code }) => code.startsWith(letter)).map(shapeOf));
      expect(shapes.size).toBeLessThanOrEqual(1);
    }
    expect(whole.every(({ permissions, audit, log }) => permissions > 0 && audit > 0 && log > 0)).toBe(true);
  }

  test(
    'kill -9 at random times loses no acknowledged write of policies or manifests',
    async () => {
      const acknowledged: string[] = [];
      for (let round = 0; round < KILLS; round++) {
        const work = round % 3 === 1 ? 'manifest' : 'policy';
        const writer = start(orders(`j${work[0]}${round}`, { writers: WRITERS, work }));
        await writer.says('open');
        // Sometimes before anything is acknowledged, otherwise in the middle of later writes.
        while (round % 4 !== 3 && acknowledgedBy(writer).length === 0) await pause(5);
        await pause(Math.random() * 300);
        await writer.kill();
        expect(await writer.ended).toBe('SIGKILL');
        acknowledged.push(...acknowledgedBy(writer));
        if ((round + 1) % 10 === 0) say(`${kind}: ${round + 1} kills, ${acknowledged.length} acknowledged`);
      }
      const census = await left();
      judge(census, acknowledged);
      expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS / 2);
      const others = census.whole.length - acknowledged.length;
      say(
        `crash journal (${kind}): ${KILLS} random kills, ${acknowledged.length} acknowledged, lost 0, half done 0; ${others} done and not acknowledged`,
      );
    },
    60_000 + KILLS * 60_000,
  );

  test.each(LONG ? POINTS : (['inside'] as const))(
    'kill -9 in the middle of a manifest (%s) leaves all of it or nothing',
    async (dieAt) => {
      const acknowledged: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const prefix = `jm${dieAt}-${round}`;
        const writer = start(orders(prefix, { work: 'manifest', dieAt, dieIn: 1 }));
        const ended = await writer.ended;
        expect([ended, writer.complaints()]).toEqual(['SIGKILL', '']);
        expect(acknowledgedBy(writer)).toEqual([`${prefix}-0-0`]);
        acknowledged.push(`${prefix}-0-0`);
        if (dieAt === 'after-commit' || dieAt === 'after-reach') acknowledged.push(`${prefix}-0-1`);
      }
      const census = await left();
      judge(census, acknowledged);
      // Of the one that it died in: all or nothing, and which is certain, but for a COMMIT that is on its way.
      const whole = census.whole.filter(({ code }) => code.startsWith(`jm${dieAt}-`)).length;
      expect(whole).toBeGreaterThanOrEqual(acknowledged.length);
      expect(whole).toBeLessThanOrEqual(acknowledged.length + (dieAt === 'committing' ? ROUNDS : 0));
      say(`crash journal (${kind}): manifest killed ${dieAt} ${ROUNDS} times, lost 0, half done 0`);
    },
    60_000 + ROUNDS * 60_000,
  );

  test(
    'kill -9 during a migration leaves all of it or nothing for the next start',
    async () => {
      const whole = await migrated(kind, null);
      const found = { nothing: 0, all: 0 };
      for (let round = 0; round < MIGRATIONS_KILLED; round++) {
        const { state } = await migrated(kind, (whole.ms * (round + 0.5)) / MIGRATIONS_KILLED);
        found[state]++;
        if ((round + 1) % 10 === 0) say(`${kind}: ${round + 1} migrations killed`);
      }
      say(
        `crash journal (${kind}): migration killed ${MIGRATIONS_KILLED} times (${found.nothing} left nothing, ${found.all} all), half done 0`,
      );
    },
    120_000 + MIGRATIONS_KILLED * 60_000,
  );
});

function shapeOf({ permissions, roles, audit, log }: Traces): string {
  return [permissions, roles, audit, log].join(' ');
}

/**
 * A new database, and a start that migrates it, killed after a number of milliseconds; then one that is left alone, and must succeed.
 * Answers what the killed one left (PostgreSQL shows it, an embedded database only by opening), and how long the second took.
 */
async function migrated(kind: Kind, killAfterMs: number | null): Promise<{ ms: number; state: 'nothing' | 'all' }> {
  const database = kind === 'postgresql' ? await createDatabase({ empty: true }) : null;
  const dataDir = join(tmpdir(), `usher-journal-${randomUUID()}`);
  const begin = (): Writer =>
    start({ url: database?.url ?? null, dataDir, migrateOnStart: true, prefix: 'none', writers: 0, work: 'policy' });
  try {
    let state: 'nothing' | 'all' = 'nothing';
    if (killAfterMs !== null) {
      const killed = begin();
      await Promise.race([killed.says('open'), pause(killAfterMs)]);
      await killed.kill();
      state = database === null ? (killed.lines.length > 0 ? 'all' : 'nothing') : await stateOf(database.url);
    }
    const began = performance.now();
    const again = begin();
    await again.says('open');
    const ms = performance.now() - began;
    await again.kill();
    expect(censusOf(again)).toEqual({ whole: [], orphans: [] });
    if (database !== null) expect(await stateOf(database.url)).toBe('all');
    return { ms, state };
  } finally {
    await database?.drop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Throws where it is neither. */
async function stateOf(url: string): Promise<'nothing' | 'all'> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query(`select tablename from pg_tables where schemaname = 'public'`);
    const names = tables.map(({ tablename }: { tablename: string }) => tablename);
    // The record's own table comes first, and empty.
    if (!names.includes('mikro_orm_migrations')) {
      expect(names).toEqual([]);
      return 'nothing';
    }
    const { rows } = await client.query('select name from mikro_orm_migrations');
    if (rows.length === 0) expect(names).toEqual(['mikro_orm_migrations']);
    else expect(rows).toHaveLength(MIGRATIONS.length);
    return rows.length === 0 ? 'nothing' : 'all';
  } finally {
    await client.end();
  }
}

describe('one embedded directory', () => {
  test(
    'an embedded directory admits one of two simultaneous starts after any kill',
    async () => {
      const storage = await createStorage('pglite');
      try {
        for (let round = 0; round < STARTS; round++) {
          const orders = { url: null, dataDir: storage.dataDir, prefix: 'none', writers: 0, work: 'policy' } as const;
          const both = [start(orders), start(orders)];
          const states = await Promise.all(
            both.map(async (one) => {
              return await Promise.race([
                one.says('open').then(
                  () => 'open',
                  () => 'refused',
                ),
                one.ended.then(() => 'refused'),
              ]);
            }),
          );
          expect(states.toSorted()).toEqual(['open', 'refused']);
          await Promise.all(both.map((one) => one.kill()));
          if ((round + 1) % 10 === 0) say(`pglite: ${round + 1} pairs of starts`);
        }
        say(`crash journal: two starts on one directory, ${STARTS} of ${STARTS} times one was refused`);
      } finally {
        await storage.remove();
      }
    },
    60_000 + STARTS * 60_000,
  );
});
