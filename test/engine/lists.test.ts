import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { Engine } from '../../src/engine/engine.ts';
import { parseRevision } from '../../src/engine/question.ts';
import { Level } from '../../src/engine/types.ts';
import { listSource } from '../../src/persistence/facts/lists.ts';
import { answerOf, isAllowedByOracle, refusalOf } from '../oracle/oracle.ts';
import type { Operation, Rows } from '../oracle/rows.ts';
import { asDecision } from '../oracle/storage.ts';
import { History, type Names, pick, type Random, randomOperation, seeded } from '../oracle/world.ts';
import { carryOut } from '../support/carry-out.ts';
import { forEachDatabase } from '../support/databases.ts';
import { CACHE } from './fakes.ts';

/**
 * Lists against brute force: random worlds, and every person, permission and resource by the oracle at the revision of each page,
 * while writers run.
 */
const LONG = process.env.USHER_LONG !== undefined;
const LISTS = { postgresql: LONG ? 200_000 : 1500, pglite: LONG ? 40_000 : 400 };
const WRITERS = { postgresql: 4, pglite: 1 };
const LIMIT_MS = LONG ? 7_200_000 : 180_000;
const SEED = Number(process.env.USHER_SEED ?? 20_261);

/** Two that only differ behind what a cursor holds of them, and one that is a beginning of both. */
const LONG_ID = 'ž'.repeat(254);
const IDS = ['1', '100%', 'a_b', 'a\\b', 'a:b:', '__proto__', 'ř "q"', 'ž'.repeat(119), `${LONG_ID}a`, `${LONG_ID}b`];
const RESOURCES = IDS.map((resourceId) => ({ resourceType: 'invoice', resourceId }));
const WORLD: Names = {
  emails: Array.from({ length: 9 }, (_, i) => `p${i}@example.com`),
  apps: ['billing', 'constructor'],
  permissions: ['invoices.read', 'constructor', 'toString'],
  roles: ['reader', 'valueof', 'writer'],
  resources: [...RESOURCES, { resourceType: 'constructor', resourceId: '1' }],
  writesOfAnApp: 60,
  strict: true,
};
const NOWHERE = { resourceType: '', resourceId: '' };
const NEVER_HEARD_OF = 'never heard of';
const LEVELS = [null, 'view', 'edit'] as const;
const LEVEL = { view: Level.VIEW, edit: Level.EDIT } as const;
type Asked = (typeof LEVELS)[number];

const levelOf = (asked: Asked): Level => (asked === null ? Level.NONE : LEVEL[asked]);

forEachDatabase('lists against brute force while writers run', (fixture, kind) => {
  let engine: Engine;
  const history = new History();

  const write = async (operation: Operation) => {
    const { result, number } = await fixture.database.change((tx) => carryOut(tx, operation));
    if (result !== null) history.record(number, result);
  };
  /** Resolves when the rows at that revision are known here. */
  const known = async (revision: string): Promise<number> => {
    const { number } = parseRevision(revision);
    while (history.head < number) await new Promise((resolve) => setTimeout(resolve, 2));
    return number;
  };

  beforeAll(async () => {
    const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
    const lists = listSource(fixture.database);
    engine = new Engine({ source: fixture.database.facts, lists, clock: systemClock, cache: CACHE, log });
    await engine.start();
    fixture.database.follow(engine);
    for (const app of WORLD.apps) await write({ kind: 'create-app', app });
    const random = seeded(SEED);
    for (let i = 0; i < 300; i++) await write(nextOperation(random, history.newest));
    // One that refuses what it does not define, and a list that changes while it is read, are to be met with.
    await write({ kind: 'create-app', app: 'constructor' });
    await write({ kind: 'set-strict', app: 'constructor', strict: true });
  }, LIMIT_MS);

  afterAll(async () => {
    await engine?.close();
  });

  test(
    'every page equals checks at its revision, and a complete walk lists everybody once',
    async () => {
      const random = seeded(SEED + 1);
      const wrong: string[] = [];
      const seen = { lists: 0, subjects: 0, resources: 0, except: 0, changed: 0, refused: 0, walks: 0 };
      let done = false;
      const writing = async () => {
        while (!done) {
          await write(nextOperation(random, history.newest));
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const asking = async () => {
        while (!done) {
          const about = {
            app: pick(random, [...WORLD.apps, ...WORLD.apps, 'unknown']),
            permission: pick(random, [...WORLD.permissions, ...WORLD.permissions, 'undefined.permission']),
          };
          const level = pick(random, LEVELS);
          const found = random(2) === 0 ? await subjects(random, about, level) : await resources(random, about, level);
          wrong.push(...found);
          seen.lists++;
          if (LONG && seen.lists % 10_000 === 0) process.stderr.write(`${kind}: ${JSON.stringify(seen)}\n`);
          const { except, changed, refused, walks } = seen;
          const isEnough = seen.lists >= LISTS[kind] && Math.min(except, changed, refused, walks) > 0;
          if (isEnough || seen.lists >= 5 * LISTS[kind] || wrong.length > 5) done = true;
        }
      };

      /** Whether a refusal as UNKNOWN_CODE was right at a revision between these. */
      const refusal = async (from: number, about: { app: string; permission: string }, resourceType: string) => {
        const { revision } = await engine.lists.subjects(
          { app: 'nowhere', permission: 'x', ...NOWHERE, level: Level.NONE },
          { limit: 1, cursor: '', cursorPath: 'cursor' },
        );
        const question = { email: 'any@example.com', ...about, resourceType, resourceId: 'any' };
        seen.refused++;
        for (let at = from, last = await known(revision); at <= last; at++) {
          if (refusalOf(history.at(at), question, [about.permission]) !== null) return [];
        }
        return [`refused ${JSON.stringify({ ...about, resourceType })}`];
      };

      const subjects = async (random: Random, about: { app: string; permission: string }, level: Asked) => {
        const resource = random(3) === 0 ? NOWHERE : pick(random, WORLD.resources);
        const question = { ...about, ...resource };
        const limit = pick(random, [1, 2, 4, 1000]);
        const faults: string[] = [];
        const listed: string[] = [];
        const revisions: number[] = [];
        const before = history.head;
        let cursor = '';
        try {
          do {
            const page = await engine.lists.subjects(
              { ...question, level: levelOf(level) },
              { limit, cursor, cursorPath: 'cursor' },
            );
            if (page.subjects.length > limit) faults.push(`${page.subjects.length} of ${limit}`);
            const at = await known(page.revision);
            const rows = history.at(at);
            for (const { email, decision } of page.subjects) {
              const { tiered: _, ...said } = decision;
              const right = asDecision(answerOf(rows, { email, ...question }));
              if (
                JSON.stringify(sorted(said)) !== JSON.stringify(sorted(right)) ||
                !isAllowedByOracle(rows, { email, ...question }, level)
              ) {
                faults.push(`${email} at ${at}: said ${JSON.stringify(said)}, right is ${JSON.stringify(right)}`);
              }
            }
            listed.push(...page.subjects.map(({ email }) => email));
            revisions.push(at);
            cursor = page.next;
            if (random(10) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
          } while (cursor !== '');
        } catch (error) {
          if (!(error instanceof UsherError) || error.reason !== 'UNKNOWN_CODE') throw error;
          return await refusal(before, about, resource.resourceType);
        }
        seen.subjects += listed.length;
        if (revisions.length > 1) seen.walks++;
        if (new Set(listed).size < listed.length) faults.push(`twice in ${listed.join()}`);
        const [first = 0, last = first] = [revisions[0], revisions.at(-1)];
        for (const email of WORLD.emails) {
          const isAllowed = (rows: Rows) => isAllowedByOracle(rows, { email, ...question }, level);
          let throughout = true;
          for (let at = first; at <= last && throughout; at++) throughout = isAllowed(history.at(at));
          if (throughout && !listed.includes(email)) faults.push(`${email} is missing at ${first} to ${last}`);
        }
        return faults.map((fault) => `who ${JSON.stringify({ ...question, level, limit })}: ${fault}`);
      };

      const resources = async (random: Random, about: { app: string; permission: string }, level: Asked) => {
        const question = {
          email: pick(random, [...WORLD.emails, 'nobody@example.com']),
          ...about,
          resourceType: 'invoice',
        };
        const limit = pick(random, [1, 2, 3, 10_000]);
        const faults: string[] = [];
        const listed: string[] = [];
        const revisions: number[] = [];
        const before = history.head;
        let cursor = '';
        let allExcept: boolean | undefined;
        try {
          do {
            const page = await engine.lists.resources(
              { ...question, level: levelOf(level) },
              { limit, cursor, cursorPath: 'cursor' },
            );
            if (page.resourceIds.length > limit) faults.push(`${page.resourceIds.length} of ${limit}`);
            if (page.next !== '' && page.resourceIds.length < limit) faults.push('a short page that is not the last');
            if (allExcept !== undefined && allExcept !== page.allExcept) faults.push('another scope');
            allExcept = page.allExcept;
            listed.push(...page.resourceIds);
            revisions.push(await known(page.revision));
            cursor = page.next;
            if (cursor !== '' && random(5) === 0) await write({ kind: 'user', email: question.email, active: true });
          } while (cursor !== '');
        } catch (error) {
          if (!(error instanceof UsherError)) throw error;
          if (error.reason === 'UNKNOWN_CODE') return await refusal(before, about, 'invoice');
          if (error.reason !== 'LIST_CHANGED' || cursor === '') throw error;
          seen.changed++;
          return [];
        }
        seen.resources += listed.length;
        if (allExcept) seen.except++;
        if (new Set(listed).size < listed.length) faults.push(`twice in ${listed.join()}`);
        for (const at of revisions) {
          for (const resourceId of [...IDS, NEVER_HEARD_OF]) {
            const isAllowed = listed.includes(resourceId) !== allExcept;
            if (isAllowed === isAllowedByOracle(history.at(at), { ...question, resourceId }, level)) continue;
            faults.push(
              `${resourceId} at ${at}: said ${isAllowed} (${allExcept ? 'all except' : 'only'} ${listed.join()})`,
            );
          }
        }
        return faults.map((fault) => `what ${JSON.stringify({ ...question, level, limit })}: ${fault}`);
      };

      await Promise.all([
        ...Array.from({ length: WRITERS[kind] }, writing),
        ...Array.from({ length: kind === 'pglite' ? 2 : 6 }, asking),
      ]).finally(() => {
        done = true;
      });
      expect(wrong).toEqual([]);
      // Empty lists would prove nothing. How many are not depends on how far the writers get meanwhile.
      expect(seen.subjects).toBeGreaterThan(seen.lists / 10);
      expect(seen.resources).toBeGreaterThan(seen.lists / 40);
      const { except, changed, refused, walks } = seen;
      expect(Object.entries({ except, changed, refused, walks }).filter(([, count]) => count === 0)).toEqual([]);
    },
    LIMIT_MS,
  );
});

/** Mostly overrides: the world itself writes few for so many resources. */
function nextOperation(random: Random, rows: Rows): Operation {
  const app = pick(random, WORLD.apps);
  const defined = rows.permissions.filter((row) => row.app === app);
  if (random(4) === 0 || defined.length === 0) return randomOperation(random, rows, WORLD);
  const overrides = defined.map(({ permission, type }) => {
    const granted = random(2) === 0;
    const accessLevel = type === 'binary' ? ('allowed' as const) : pick(random, ['view', 'edit'] as const);
    return { permission, granted, accessLevel: granted ? accessLevel : null };
  });
  return { kind: 'overrides-of-user', app, email: pick(random, WORLD.emails), ...pick(random, RESOURCES), overrides };
}

function sorted(value: object): [string, unknown][] {
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
