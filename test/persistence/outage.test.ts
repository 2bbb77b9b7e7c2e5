import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';
import { noteActivity } from '../../src/persistence/directory/activity.ts';
import { insertProfiles } from '../../src/persistence/directory/profiles.ts';
import { claimAccounts } from '../../src/persistence/people/accounts.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { reached, reachedBy } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { insertApplication } from '../support/rows.ts';

const UNAVAILABLE = { name: 'UsherError', code: 'UNAVAILABLE', retryAfter: expect.any(Number) };

let storage: TestStorage;
let direct: Database;
let proxy: LineCutter;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  direct = await storage.open();
  proxy = await LineCutter.start(reached(storage.url ?? '').url);
});

afterAll(async () => {
  await proxy.close();
  await storage.remove();
});

const throughProxy = (poolSize = 10) => storage.open({ ...reachedBy(proxy, storage.url ?? ''), poolSize });

const exists = (code: string) =>
  direct.read(async (tx) => {
    const row = await tx.kysely.selectFrom('application').select('id').where('code', '=', code).executeTakeFirst();
    return row !== undefined;
  });

const add = (database: Database, code: string) =>
  database.change(async (tx) => ({ result: await insertApplication(tx, code), scopes: [`p:${code}`] }));

const ask = (database: Database) => database.read((tx) => sql`select 1`.execute(tx.kysely));

async function timed<T>(work: Promise<T>): Promise<{ ms: number; error: unknown }> {
  const start = performance.now();
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { ms: performance.now() - start, error };
}

/** Repeats until it succeeds; the milliseconds that this took. */
async function untilGood(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { error } = await timed(work());
    if (error === undefined) return performance.now() - start;
    expect(error).toMatchObject(UNAVAILABLE);
    if (performance.now() - start > 20_000) throw error;
  }
}

describe('connections cut during COMMIT', () => {
  test.each([
    ['before', false],
    ['after', true],
  ] as const)(
    'a COMMIT whose connection is cut %s the server got it is OUTCOME_UNKNOWN, and drops every cached fact',
    async (when, committed) => {
      const database = await throughProxy();
      const calls: string[] = [];
      database.follow({ reach: async () => void calls.push('reach'), dropAll: () => calls.push('drop') });
      const cutting = proxy.cutOn('commit\0', when);
      const { error } = await timed(add(database, `cut-${when}`));
      await cutting;
      expect(error).toMatchObject({ code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' });
      expect(calls).toEqual(['drop']);
      // A server that got the COMMIT may still be at it when the cut is seen here.
      const arrived = performance.now() + 5_000;
      while (committed && performance.now() < arrived && !(await exists(`cut-${when}`))) await wait(20);
      expect(await exists(`cut-${when}`)).toBe(committed);
      // No connection leaked, and the next write goes through.
      await expect(add(database, `cut-${when}-next`)).resolves.toMatchObject({ number: expect.any(Number) });
      await database.close();
    },
  );

  test('a write that touches no policy forgets nothing when its COMMIT is cut', async () => {
    const database = await throughProxy();
    const calls: string[] = [];
    database.follow({ reach: async () => void calls.push('reach'), dropAll: () => calls.push('drop') });
    const cutting = proxy.cutOn('commit\0', 'before');
    const { error } = await timed(database.change(async () => ({ result: null, scopes: [] })));
    await cutting;
    expect(error).toMatchObject({ code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' });
    expect(calls).toEqual([]);
    await database.close();
  });

  test('a connection cut before COMMIT was sent wrote nothing, for certain', async () => {
    const database = await throughProxy();
    const calls: string[] = [];
    database.follow({ reach: async () => void calls.push('reach'), dropAll: () => calls.push('drop') });
    const cutting = proxy.cutOn('insert into "application"', 'before');
    const { error } = await timed(add(database, 'cut-early'));
    await cutting;
    expect(error).toMatchObject(UNAVAILABLE);
    expect(error).not.toHaveProperty('reason', 'OUTCOME_UNKNOWN');
    expect(calls).toEqual([]);
    expect(await exists('cut-early')).toBe(false);
    await database.close();
  });
});

describe('statements that are transactions of their own', () => {
  const account = { issuer: 'https://idp.example.com', subject: 's' };
  const told = (email: string) => noteActivity([{ email, app: 'told', ...account, issuedAt: 0, names: 0 }], false);
  const written = (email: string) =>
    direct.read(async (tx) => {
      const query = tx.kysely.selectFrom('app_preference').innerJoin('person', 'person.id', 'personId');
      return (await query.select('lastActivityAt').where('email', '=', email).execute()).length;
    });

  beforeAll(async () => {
    await add(direct, 'told');
    const emails = ['near@example.com', 'far@example.com', 'before@example.com', 'after@example.com'];
    await direct.change(async (tx) => {
      const profiles = await insertProfiles(
        tx,
        emails.map((email) => ({ email })),
      );
      const owner = { ...account, organization: null, mayRule: false, seenAt: new Date(0) };
      await claimAccounts(
        tx,
        [...profiles.values()].map(({ id }) => ({ personId: id, ...owner })),
        false,
      );
      return { result: null, scopes: [] };
    });
  });

  test('a statement that is a transaction takes one round trip', async () => {
    const database = await throughProxy(1);
    await database.once(told('near@example.com'));
    proxy.slow(300);
    try {
      const { ms, error } = await timed(database.once(told('far@example.com')));
      expect(error).toBeUndefined();
      expect(ms).toBeGreaterThan(590);
      // There and back again would be another 600.
      expect(ms).toBeLessThan(1190);
    } finally {
      proxy.slow(0);
    }
    expect(await written('far@example.com')).toBe(1);
    await database.close();
  });

  test.each([
    ['before', true],
    ['after', false],
  ] as const)('a statement whose connection is cut %s the server got it takes effect once', async (when, recorded) => {
    const database = await throughProxy(1);
    const email = `${when}@example.com`;
    const cutting = proxy.cutOn('note_activity', when);
    const answer = await database.once(told(email));
    await cutting;
    expect(answer).toMatchObject([{ isCurrent: true, recorded }]);
    expect(await written(email)).toBe(1);
    await database.close();
  });
});

describe('an exhausted pool', () => {
  test('an exhausted pool refuses after about a second, and checks continue', async () => {
    const database = await storage.open({ poolSize: 2 });
    const { promise: release, resolve } = Promise.withResolvers<void>();
    const holding = Promise.all(
      [1, 2].map(() =>
        database.read(async (tx) => {
          await sql`select 1`.execute(tx.kysely);
          await release;
        }),
      ),
    );
    const { ms, error } = await timed(add(database, 'too-late'));
    expect(error).toMatchObject({ ...UNAVAILABLE, httpStatus: 503 });
    expect(ms).toBeGreaterThan(900);
    expect(ms).toBeLessThan(2000);
    await expect(database.facts.changes(0)).resolves.toMatchObject({ tooMany: false });
    await expect(database.ping()).resolves.toBeUndefined();
    resolve();
    await holding;
    await expect(add(database, 'in-time')).resolves.toMatchObject({ number: expect.any(Number) });
    await database.close();
  });

  test('a burst of first requests waits in turn without refusals', async () => {
    const database = await storage.open({ poolSize: 3 });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        database.read(async (tx) => (await sql<{ i: number }>`select ${i}::int as i`.execute(tx.kysely)).rows[0]?.i),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 200 }, (_, i) => i));
    await database.close();
  });
});

describe('a database outage', () => {
  test("an outage is UNAVAILABLE, and ends within 2 s of the database's return", async () => {
    const database = await throughProxy(3);
    const stop = await database.facts.listen(() => undefined);
    await add(database, 'before-outage');
    const underWay = timed(
      database.change(async (tx) => {
        proxy.down();
        return { result: await insertApplication(tx, 'during-outage'), scopes: ['*'] };
      }),
    );
    expect((await underWay).error).toMatchObject(UNAVAILABLE);
    const asks: (() => Promise<unknown>)[] = [
      () => database.facts.changes(0),
      () => database.facts.policy(0, 'crm'),
      () => ask(database),
      () => add(database, 'outage'),
      () => database.ping(),
    ];
    for (const ask of asks) {
      const { ms, error } = await timed(ask());
      expect(error).toMatchObject(UNAVAILABLE);
      expect(String((error as Error).message)).not.toMatch(/select|ECONN|127\.0\.0\.1/i);
      expect(ms).toBeLessThan(2000);
    }
    proxy.up();
    expect(await untilGood(() => database.facts.changes(0))).toBeLessThan(2000);
    expect(await untilGood(() => add(database, 'after-outage'))).toBeLessThan(2000);
    expect(await exists('during-outage')).toBe(false);
    await stop();
    await database.close();
  });

  test('black-holed connections end in time, and are not reused afterwards', async () => {
    const database = await throughProxy(3);
    await Promise.all([1, 2, 3].map(() => database.read((tx) => sql`select pg_sleep(0.05)`.execute(tx.kysely))));
    await Promise.all([1, 2, 3, 4].map(() => database.facts.changes(0)));
    proxy.swallow();
    const facts = await timed(database.facts.changes(0));
    expect(facts.error).toMatchObject(UNAVAILABLE);
    expect(facts.ms).toBeLessThan(4000);
    const reading = await timed(ask(database));
    expect(reading.error).toMatchObject(UNAVAILABLE);
    expect(reading.ms).toBeLessThan(6000);
    proxy.up();
    expect(await untilGood(() => database.facts.changes(0))).toBeLessThan(2000);
    expect(await untilGood(() => ask(database))).toBeLessThan(2000);
    await database.close();
  });

  test('idle connections that the server ended are replaced unnoticed', async () => {
    const database = await storage.open({ poolSize: 3 });
    await Promise.all([1, 2, 3].map(() => database.read((tx) => sql`select pg_sleep(0.02)`.execute(tx.kysely))));
    await database.facts.changes(0);
    await direct.read((tx) =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and application_name = 'usher/2'`.execute(
        tx.kysely,
      ),
    );
    await expect(Promise.all([1, 2, 3].map((i) => add(database, `replaced-${i}`)))).resolves.toHaveLength(3);
    await untilGood(() => database.facts.changes(0));
    await database.close();
  });
});

describe('limits of a session', () => {
  test('a lock that is not released is waited for 5 s, then the write is refused without effect', async () => {
    const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    const holding = direct.change(async (tx) => {
      await sql`select pg_advisory_xact_lock(77)`.execute(tx.kysely);
      isLocked();
      await goOn;
      return { result: 0, scopes: [] };
    });
    await locked;
    const waiting = await timed(
      direct.change(async (tx) => {
        await insertApplication(tx, 'locked-out');
        await sql`select pg_advisory_xact_lock(77)`.execute(tx.kysely);
        return { result: 0, scopes: ['p:locked-out'] };
      }),
    );
    expect(waiting.error).toMatchObject(UNAVAILABLE);
    expect(waiting.ms).toBeGreaterThan(4500);
    expect(waiting.ms).toBeLessThan(7000);
    resolve();
    await holding;
    expect(await exists('locked-out')).toBe(false);
  });

  test('the limits of a session are those of the design', async () => {
    const shown = await direct.read(async (tx) => {
      const setting = (name: string) => sql<{ v: string }>`select current_setting(${name}) as v`.execute(tx.kysely);
      const names = [
        'lock_timeout',
        'statement_timeout',
        'idle_in_transaction_session_timeout',
        'transaction_isolation',
      ];
      return (await Promise.all(names.map(setting))).map(({ rows }) => rows[0]?.v);
    });
    expect(shown).toEqual(['5s', '15s', '10s', 'repeatable read']);
  });
});
