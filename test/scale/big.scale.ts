import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { explainStatements, PlanLog, type Plans } from '../../bench/plan-log.ts';
import { memory } from '../../bench/processes.ts';
import { Random } from '../../bench/random.ts';
import { median, percentile } from '../../bench/report.ts';
import { ADMINISTRATOR_CALLS, type BigCall, INBOX_CALLS, LAST_CALL, PERSONAL_CALLS } from './big-calls.ts';
import type { BigSize } from './big-data.ts';
import { type BigSide, BigWorld } from './big-world.ts';
import { onServer } from './synchronous-pair.ts';

/**
 * A database of `USHER_ROWS` overrides, by default a million, of `USHER_INBOX` notifications, by default as many, and of `USHER_PEOPLE`,
 * by default a hundredth, beside one with a tenth to a hundredth of all, a million rows where that fits, and of the same shape: what both
 * are asked in turns must not cost more where there is more.
 *
 * 100 million of both need 70 GB and hours. `USHER_BIG_DIR` names a directory in which the databases are kept for a next run, and
 * `PG_BIN` the programs of another PostgreSQL than that of the package. Not part of `npm test`: `npm run test:scale`.
 */
const ROWS = Number(process.env.USHER_ROWS ?? 1_000_000);
const KEPT = process.env.USHER_BIG_DIR;
const INBOX = Number(process.env.USHER_INBOX ?? ROWS);
const PEOPLE = Number(process.env.USHER_PEOPLE ?? ROWS / 100);
const LARGE: BigSize = { people: PEOPLE, overrides: ROWS, inbox: INBOX };
/** Whole hundreds of people, as the applications are a hundredth of them. */
const SMALL_PEOPLE = Math.round(PEOPLE / Math.min(100, Math.max(10, Math.max(ROWS, INBOX) / 1_000_000)) / 100) * 100;
const smaller = (rows: number): number => Math.round((rows * SMALL_PEOPLE) / PEOPLE);
const SMALL: BigSize = { people: SMALL_PEOPLE, overrides: smaller(ROWS), inbox: smaller(INBOX) };

const run = promisify(execFile);
const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;
const HOURS = 3_600_000;
const MISSES = 500;
const ROUNDS = 5;
const COLD_MISSES = 300;
/** Questions of one side before it is the other's turn. */
const TURN = 25;
const CALLED = 20;
const EXPLAINED = 5;
const STARTS = 3;
/** What a process may differ in, started twice on the same. */
const MEMORY_MB = 24;
/** A B-tree has another level or two, a list finds its rows on other pages; all else is growth. */
const PAGES_TIMES = 3;
const PAGES_MORE = 100;
const HEAVY_PAGES = 5000;
const LARGE_TABLE = 100_000;

const tell = (line: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
const inMs = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

let world: BigWorld;
let sides: readonly [small: BigSide, large: BigSide];

async function restart(): Promise<void> {
  for (const side of sides) await side.stop();
  await world.restartCold();
  sides = await world.start();
}

beforeAll(async () => {
  world = await BigWorld.open({
    small: SMALL,
    large: LARGE,
    keepIn: KEPT,
    bin: process.env.PG_BIN,
    tell,
  });
  sides = await world.start();
}, 6 * HOURS);

afterAll(async () => {
  for (const side of sides ?? []) await side.stop();
  await world?.close();
}, 600_000);

/** Times of both sides, told and returned as their medians. */
function compare(what: string, [small, large]: readonly [readonly number[], readonly number[]]) {
  const medians = { small: median(small), large: median(large) };
  const ratio = medians.large / medians.small;
  const both = (p: number): string => `${inMs(percentile(small, p))} and ${inMs(percentile(large, p))} ms`;
  tell(`${what}: p50 ${both(0.5)} (× ${ratio.toFixed(2)}), p99 ${both(0.99)}`);
  return { ...medians, ratio };
}

/** Each question once, in turns of both sides. */
async function askInTurns(count: number, seed: number): Promise<[number[], number[]]> {
  const questions = sides.map((side) => side.questions(count, seed));
  const taken: [number[], number[]] = [[], []];
  for (let from = 0; from < count; from += TURN) {
    for (const [at, side] of sides.entries()) {
      for (const question of questions[at]?.slice(from, from + TURN) ?? []) taken[at]?.push(await side.check(question));
    }
  }
  return taken;
}

/** The fastest answer to each question of several rounds: what a busy machine adds to one is not what the question costs. */
async function fastestInTurns(count: number, seed: number): Promise<[number[], number[]]> {
  const fastest: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of sides) await side.service.clearCaches();
    // Other people of the same applications: their policies are read by them.
    await askInTurns(count, seed + 1);
    for (const [at, taken] of (await askInTurns(count, seed)).entries()) {
      const best = fastest[at] ?? [];
      fastest[at] = taken.map((ms, question) => Math.min(ms, best[question] ?? ms));
    }
  }
  return fastest;
}

describe('checks that find nothing in memory', () => {
  test('cost at most twice as much, and each is right', async () => {
    // Once before, so that what is compared is not who has read his pages from the disk.
    compare('a miss, pages as they come', await askInTurns(MISSES, 1));
    const { ratio } = compare('a miss, pages in memory, fastest of five', await fastestInTurns(MISSES, 1));
    expect(ratio).toBeLessThanOrEqual(2);
  }, 600_000);

  test('are right with a PostgreSQL that has just started, too', async () => {
    await restart();
    const taken = await askInTurns(COLD_MISSES, 2);
    compare('a miss, pages on the disk', taken);
    expect(percentile(taken[1], 0.99)).toBeLessThan(1400);
  }, 900_000);
});

async function timeInTurns({ name, times = CALLED, prepare, call }: BigCall, seed = 7): Promise<void> {
  const randoms = sides.map(() => new Random(seed));
  const taken: [number[], number[]] = [[], []];
  const warm = times === 1 ? 0 : Math.ceil(times / 5);
  for (let round = 0; round < warm + times; round++) {
    for (const [at, side] of sides.entries()) {
      const random = randoms[at] as Random;
      const prepared = (await prepare?.(side, random)) ?? '';
      const began = performance.now();
      await call(side, random, prepared);
      if (round >= warm) taken[at]?.push(performance.now() - began);
    }
  }
  compare(name, taken);
}

describe('calls', () => {
  test.each([...INBOX_CALLS, ...ADMINISTRATOR_CALLS].map((one) => [one.name, one] as const))(
    '%s: answered on both',
    async (_, one) => await timeInTurns(one),
    600_000,
  );
});

/** Tables so large that nothing may read them whole: of fewer rows the planner may rightly want all. */
async function largeTables(url: string): Promise<string[]> {
  return await onServer(url, async (client) => {
    const { rows } = await client.query<{ relname: string }>(
      `select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and reltuples >= $1`,
      [LARGE_TABLE],
    );
    return rows.map(({ relname }) => relname);
  });
}

/** Pages that one side's statements touch in a call, the median, and the tables that they read whole. */
async function pagesOf(side: BigSide, { prepare, call }: BigCall) {
  const random = new Random(11);
  const log = new PlanLog(world.logFile, await largeTables(side.url));
  const each: Plans[] = [];
  for (let round = 0; round < EXPLAINED; round++) {
    const prepared = (await prepare?.(side, random)) ?? '';
    log.skip();
    await call(side, random, prepared);
    each.push(log.take());
  }
  return {
    pages: median(each.map(({ pages }) => pages)),
    readWhole: [...new Set(each.flatMap(({ readWhole }) => [...readWhole]))],
    heaviest: each.at(-1)?.heaviest ?? { text: '', pages: 0 },
  };
}

const MISS: BigCall = {
  name: 'a miss',
  prepare: async (side) => {
    await side.service.clearCaches();
    return '';
  },
  call: async (side, random) => {
    const [question] = side.questions(1, random.below(1_000_000));
    if (question !== undefined) await side.check(question);
  },
};

describe('statements', () => {
  beforeAll(async () => {
    for (const url of world.urls()) await explainStatements(url);
    for (const side of sides) await side.stop();
    // Without deliveries, whose statements would be among those of the calls.
    sides = await world.start('rpc,gateway');
  }, 120_000);

  test.each([MISS, ...INBOX_CALLS, ...ADMINISTRATOR_CALLS].map((one) => [one.name, one] as const))(
    '%s: goes by indexes, whose depth is all that grows',
    async (_, one) => {
      const [small, large] = [await pagesOf(sides[0], one), await pagesOf(sides[1], one)];
      tell(
        `${one.name}: ${small.pages} and ${large.pages} pages, ${large.readWhole.join(', ') || 'nothing'} read whole`,
      );
      if (large.heaviest.pages > HEAVY_PAGES)
        tell(`  of which ${large.heaviest.pages} in ${large.heaviest.text.replaceAll(/\s+/g, ' ').slice(0, 1000)}`);
      expect(large.readWhole).toEqual([]);
      expect(large.pages).toBeLessThanOrEqual(Math.max(one.bound ?? 0, small.pages * PAGES_TIMES + PAGES_MORE));
    },
    600_000,
  );

  test('deliveries of the sends above are claimed and settled by indexes', async () => {
    for (const side of sides) await side.stop();
    const log = new PlanLog(world.logFile, await largeTables(world.urls()[1]));
    sides = await world.start();
    for (const end = performance.now() + 240_000; (await waiting(world.urls()[1])) > 0; ) {
      if (performance.now() > end) throw new Error('deliveries wait for too long');
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    const plans = log.take();
    tell(`deliveries: ${plans.pages} pages, the heaviest statement ${plans.heaviest.pages}`);
    expect([...plans.readWhole]).toEqual([]);
    expect(plans.pages).toBeGreaterThan(0);
  }, 300_000);
});

async function waiting(url: string): Promise<number> {
  return await onServer(url, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::int as count from delivery where due_at is not null',
    );
    return rows[0]?.count ?? Number.NaN;
  });
}

describe('a start', () => {
  test('takes no more memory, and counts no rows', async () => {
    const resident: [number[], number[]] = [[], []];
    const ready: [number[], number[]] = [[], []];
    for (let round = 0; round < STARTS; round++) {
      for (const side of sides) await side.stop();
      sides = await world.start();
      for (const [at, { service }] of sides.entries()) {
        resident[at]?.push(memory(service.pid).largest);
        ready[at]?.push(service.readyMs);
      }
    }
    compare('a start', ready);
    const [small, large] = [median(resident[0]), median(resident[1])];
    tell(`memory after it: ${small.toFixed()} and ${large.toFixed()} MB`);
    expect(large).toBeLessThan(small + MEMORY_MB);
    expect(median(ready[1])).toBeLessThan(median(ready[0]) * 2 + 1000);
  }, 600_000);

  test('of `usher migrate` with nothing to do ends at once', async () => {
    const taken: [number[], number[]] = [[], []];
    for (let round = 0; round < STARTS; round++) {
      for (const [at, url] of world.urls().entries()) {
        const began = performance.now();
        const { stdout } = await run(process.execPath, [MAIN, 'migrate'], {
          env: { PATH: process.env.PATH, DATABASE_URL: url },
        });
        taken[at]?.push(performance.now() - began);
        expect(stdout).toMatch(/No pending migrations/);
      }
    }
    const { small, large } = compare('usher migrate with nothing to do', taken);
    expect(large).toBeLessThan(small * 2 + 1000);
  }, 300_000);
});

// Those who are erased are others in each run: the databases may be kept.
test.each([...PERSONAL_CALLS, ...(KEPT === undefined ? [LAST_CALL] : [])].map((one) => [one.name, one] as const))(
  '%s',
  async (_, one) => await timeInTurns(one, Date.now()),
  600_000,
);
