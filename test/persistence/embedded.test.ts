import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { insertApplication, personId } from '../support/rows.ts';

/** The system's clock, but that the 10 s of a forgotten transaction take 0.2 s. */
const clock = {
  ...systemClock,
  after: (ms: number, fn: () => void) => systemClock.after(ms === 10_000 ? 200 : ms, fn),
};

describe('the one session of an embedded database', () => {
  let storage: TestStorage;

  beforeAll(async () => {
    storage = await createStorage('pglite');
  }, 60_000);

  afterAll(async () => {
    await storage.remove();
  });

  test('a transaction that idles is rolled back and informed', async () => {
    const database = await storage.open({ clock });
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    const { promise: inside, resolve: isInside } = Promise.withResolvers<void>();
    const forgotten = database.change(async (tx) => {
      const result = await insertApplication(tx, 'forgotten');
      isInside();
      await goOn;
      return { result, scopes: ['p:forgotten'] };
    });
    await inside;
    // Waits for the session, which the forgotten transaction still holds.
    const { policy } = await database.facts.policy(0, 'forgotten');
    expect(policy.appId).toBeNull();
    resolve();
    await expect(forgotten).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const next = await database.change(async (tx) => ({
      result: await insertApplication(tx, 'next'),
      scopes: ['p:next'],
    }));
    expect(next.number).toBe(1);
    await database.close();
  });

  test("the session serves waiting callers in turn, never inside another's transaction", async () => {
    const database = await storage.open();
    let inside = 0;
    const alone = async (work: () => Promise<unknown>) => {
      expect(++inside).toBe(1);
      await work();
      inside--;
    };
    const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
    const writes = Array.from({ length: 20 }, (_, i) =>
      database.change(async (tx) => {
        await alone(() => insertApplication(tx, `turn-${i}`));
        await pause();
        return { result: i, scopes: [`p:turn-${i}`] };
      }),
    );
    const reads = Array.from({ length: 20 }, (_, i) => database.facts.policy(0, `turn-${i}`));
    await Promise.all([...writes, ...reads]);
    const { changes } = await database.facts.changes(0);
    expect(changes.map(({ revision }) => revision)).toEqual(changes.map((_, i) => i + 1));
    await database.close();
  });

  test('a check of one record does not read all overrides of its type after a large load', async () => {
    // The growth of tables is looked at every 15 s.
    const often = {
      ...systemClock,
      after: (ms: number, fn: () => void) => systemClock.after(ms === 15_000 ? 20 : ms, fn),
    };
    const database = await storage.open({ clock: often });
    await database.change(async (tx) => {
      const app = await insertApplication(tx, 'large', { permissions: { read: {} } });
      const person = await personId(tx, 'ada@example.com');
      await sql`insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
        select ${person}, ${app.id}, 'record', n::text, ${app.permissions.read}, false, 1
          from generate_series(1, 20000) n`.execute(tx.kysely);
      return { result: null, scopes: ['a:large'] };
    });
    const index = async () =>
      await database.read(async ({ kysely }) => {
        const plan = await sql<{
          'QUERY PLAN': string;
        }>`explain select level from resource_override o, person p, application a
          where p.email = 'ada@example.com' and a.code = 'large' and o.person_id = p.id and o.application_id = a.id
            and o.resource_type = 'record' and o.resource_id = '7'`.execute(kysely);
        return plan.rows.map((row) => row['QUERY PLAN']).join('\n');
      });
    const started = performance.now();
    while (!(await index()).includes('resource_override_pkey') && performance.now() - started < 5000) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await index()).toContain('resource_override_pkey');
    await database.close();
  });

  test('close releases the session, even while others wait', async () => {
    const database = await storage.open();
    const waiting = [1, 2, 3].map(() => database.facts.changes(0));
    await Promise.all([...waiting, database.close()]);
    await expect(database.facts.changes(0)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(database.read(async () => 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await (await storage.open()).close();
  });
});
