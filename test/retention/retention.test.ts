import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';
import { PARTITION_IDS } from '../../src/persistence/migrations/partitioned.ts';
import type { Keep } from '../../src/persistence/operations/partitions.ts';
import { periodOf } from '../../src/retention/retention.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { FOR_EVER, insertAged, type Looked, look, makeShop, numbersOf, rowsOf, TABLES } from './world.ts';

for (const kind of KINDS) {
  describe(`partitions over time (${kind})`, () => {
    let storage: TestStorage;
    let database: Database;

    beforeEach(async () => {
      storage = await createStorage(kind);
      database = await storage.open();
      await makeShop(database);
    }, 60_000);

    afterEach(async () => {
      await storage.remove();
    });

    const idsOf = async (table: string): Promise<number[]> => {
      const { rows } = await database.read((tx) =>
        sql<{ id: number }>`select id from ${sql.table(table)} order by id`.execute(tx.kysely),
      );
      return rows.map(({ id }) => id);
    };

    test('a look makes one partition in advance, and rows of this month stay where they are', async () => {
      await insertAged(database, { age: 0 });
      await look(database);
      await insertAged(database, { age: 0 });
      await look(database);
      for (const table of TABLES) expect(await numbersOf(database, table)).toEqual([1, 2]);
      expect((await idsOf('notification')).every((id) => id < PARTITION_IDS)).toBe(true);
      expect(await rowsOf(database)).toEqual({ audit: 2, app_event: 2, notification: 2, delivery: 2 });
    });

    test('new rows go to the next partition once the first of this one is of another period', async () => {
      await insertAged(database, { age: 400 });
      await look(database);
      await insertAged(database, { age: 0 });
      for (const table of TABLES) expect(await numbersOf(database, table)).toEqual([1, 2, 3]);
      for (const table of ['audit', 'app_event', 'notification']) {
        const ids = await idsOf(table);
        expect(ids.at(-1)).toBeGreaterThan(PARTITION_IDS);
        expect(ids.at(-2)).toBeLessThan(PARTITION_IDS);
      }
      // Nothing more is due, however often somebody looks.
      await look(database);
      for (const table of TABLES) expect(await numbersOf(database, table)).toEqual([1, 2, 3]);
      expect(await rowsOf(database)).toEqual({ audit: 2, app_event: 2, notification: 2, delivery: 2 });
    });

    test('partitions whose rows are all too old are dropped, and younger rows stay', async () => {
      await insertAged(database, { age: 400 });
      await look(database);
      await insertAged(database, { age: 0 });
      const { log, metrics } = await look(database, { audit: 90, events: 90, notifications: 90 });
      expect(log.filter(({ msg }) => msg === 'expired partition dropped').map(({ partition }) => partition)).toEqual(
        expect.arrayContaining(TABLES.map((table) => `${table}_p1`)),
      );
      expect(await rowsOf(database)).toEqual({ audit: 1, app_event: 1, notification: 1, delivery: 1 });
      for (const table of TABLES) {
        expect(await numbersOf(database, table)).toEqual([2, 3]);
        expect(metrics).toContain(`usher_retention_partitions{table="${table}"} 2`);
        expect(metrics).toContain(`usher_retention_dropped_total{table="${table}"} 1`);
      }
      const { rows } = await database.read((tx) =>
        sql`select from pg_class where relname like '%_gone'`.execute(tx.kysely),
      );
      expect(rows).toEqual([]);
    });

    test.each<[age: number, left: number]>([
      [90, 1],
      [92, 0],
    ])('a row of %d days is the newest of its partition, kept for 90: %d left', async (age, left) => {
      await insertAged(database, { age: 400 });
      await insertAged(database, { age });
      await look(database, { audit: 90, events: 90, notifications: 90, unread: 90 });
      expect(await rowsOf(database)).toEqual({
        audit: left * 2,
        app_event: left * 2,
        notification: left * 2,
        delivery: left * 2,
      });
    });

    test('the partition that new rows go to is never dropped', async () => {
      await insertAged(database, { age: 400 });
      for (let again = 0; again < 3; again++) await look(database, { notifications: 90 });
      expect(await numbersOf(database, 'notification')).toEqual([2, 3]);
      await insertAged(database, { age: 0 });
      expect((await rowsOf(database)).notification).toBe(1);
    });

    test('deliveries are dropped before their notifications', async () => {
      await insertAged(database, { age: 400, unread: true });
      const { log } = await look(database, { deliveries: 90 });
      expect(log.filter(({ msg }) => msg === 'expired partition kept')).toEqual([]);
      expect(await rowsOf(database)).toEqual({ audit: 1, app_event: 1, notification: 1, delivery: 0 });
      expect(await numbersOf(database, 'notification')).toEqual([1, 2, 3]);
      expect(await numbersOf(database, 'delivery')).toEqual([2, 3]);
    });

    test('a delivery that waits keeps its partition, and that of its notification', async () => {
      await insertAged(database, { age: 400, waiting: true });
      const { log, metrics } = await look(database, { notifications: 90, deliveries: 90, unread: 90 });
      expect(log.filter(({ msg }) => msg === 'expired partition kept')).toEqual([
        expect.objectContaining({ partition: 'delivery_p1', reason: 'deliveries wait' }),
        expect.objectContaining({ partition: 'notification_p1', reason: 'deliveries wait' }),
      ]);
      expect(metrics).toContain('usher_retention_held_partitions{table="delivery",reason="waiting"} 1');
      expect(await rowsOf(database)).toMatchObject({ notification: 1, delivery: 1 });
      await database.change(async (tx) => {
        await sql`update delivery set due_at = null, status = 'sent'`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
      const after = await look(database, { notifications: 90, deliveries: 90, unread: 90 });
      expect(after.metrics).toContain('usher_retention_held_partitions{table="delivery",reason="waiting"} 0');
      expect(await rowsOf(database)).toMatchObject({ notification: 0, delivery: 0 });
    });

    test('an unread notification keeps its partition until it is read, or retention.unread ends', async () => {
      await insertAged(database, { age: 400, unread: true });
      for (const unread of [null, 500]) {
        const { metrics } = await look(database, { notifications: 90, unread });
        expect(metrics).toContain('usher_retention_held_partitions{table="notification",reason="unread"} 1');
        expect(await rowsOf(database)).toMatchObject({ notification: 1, delivery: 1 });
      }
      await look(database, { notifications: 90, unread: 300 });
      expect(await rowsOf(database)).toMatchObject({ notification: 0, delivery: 0 });
    });

    test('records take inserts only, in every partition and by its name', async () => {
      await insertAged(database, { age: 400 });
      await look(database);
      await insertAged(database, { age: 0 });
      for (const table of ['audit', 'audit_p1', 'audit_p2']) {
        const attempt = (statement: string) =>
          database.change(async (tx) => {
            await sql.raw(statement).execute(tx.kysely);
            return { result: null, scopes: [] };
          });
        for (const statement of [`delete from ${table}`, `update ${table} set action = 'x'`]) {
          await expect(attempt(statement)).rejects.toMatchObject({ sqlState: '23001' });
        }
      }
      expect((await rowsOf(database)).audit).toBe(2);
    });

    test('whoever leaves takes along what is in any partition', async () => {
      await insertAged(database, { age: 400, unread: true });
      await look(database);
      await insertAged(database, { age: 0, unread: true });
      await database.change(async (tx) => {
        await sql`delete from person where email = 'ann@example.com'`.execute(tx.kysely);
        return { result: null, scopes: ['*'] };
      });
      expect(await rowsOf(database)).toEqual({ audit: 2, app_event: 0, notification: 0, delivery: 0 });
    });

    /** Writes while `work` is under way; returns how many of each row were acknowledged. */
    const whileWriting = async (work: () => Promise<unknown>): Promise<number> => {
      let isOver = false;
      let written = 0;
      const writer = async (): Promise<void> => {
        while (!isOver) {
          await insertAged(database, { age: 0, unread: true });
          written++;
        }
      };
      const writers = [writer(), writer(), writer()];
      await work().finally(() => {
        isOver = true;
      });
      await Promise.all(writers);
      return written;
    };
    const keep = { audit: 90, events: 90, notifications: 90, unread: 90 };
    const droppedIn = (looks: readonly Looked[]) =>
      looks.flatMap(({ log }) => log.filter(({ msg }) => msg === 'expired partition dropped'));

    test('processes that look at once make each step once, and lose no row that is written meanwhile', async () => {
      await insertAged(database, { age: 400 });
      const before = await whileWriting(() => Promise.all([1, 2, 3].map(() => look(database, keep))));
      for (const table of TABLES) expect(await numbersOf(database, table)).toEqual([1, 2, 3]);
      const all = before + 1;
      expect(await rowsOf(database)).toEqual({ audit: all, app_event: all, notification: all, delivery: all });
      for (const table of TABLES) {
        const ids = await idsOf(table);
        expect(new Set(ids).size).toBe(ids.length);
      }
    }, 60_000);

    test('processes that drop at once drop each partition once, and lose no row that is written meanwhile', async () => {
      await insertAged(database, { age: 400 });
      await look(database);
      const all = await whileWriting(async () => {
        const dropped = droppedIn(await Promise.all([1, 2, 3].map(() => look(database, keep))));
        // What was locked for long is left to the next look, which writers may hold up, too.
        do dropped.push(...droppedIn([await look(database, keep)]));
        while (dropped.length < TABLES.length);
        expect(dropped).toHaveLength(TABLES.length);
        expect(new Set(dropped.map(({ partition }) => partition))).toEqual(
          new Set(TABLES.map((table) => `${table}_p1`)),
        );
      });
      expect(all).toBeGreaterThan(0);
      expect(await rowsOf(database)).toEqual({ audit: all, app_event: all, notification: all, delivery: all });
      for (const table of TABLES) expect(await numbersOf(database, table)).toEqual([2, 3]);
    }, 60_000);
  });
}

describe('the period of a partition', () => {
  test.each<[Partial<Keep>, string]>([
    [{}, 'year'],
    [{ notifications: 90, unread: 365 }, 'month'],
    [{ notifications: 90, unread: 1500 }, 'quarter'],
    [{ notifications: 90 }, 'quarter'],
    [{ deliveries: 30 }, 'quarter'],
    [{ notifications: 3650, unread: 3650 }, 'year'],
  ])('%j: a %s', (keep, period) => {
    expect(periodOf('notifications', { ...FOR_EVER, ...keep })).toBe(period);
  });
});
