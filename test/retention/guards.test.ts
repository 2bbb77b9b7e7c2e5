import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { UsherError } from '../../src/base/errors.ts';
import type { Database, Tx } from '../../src/persistence/database.ts';
import { detachExpired, makePartitions, moveOn } from '../../src/persistence/operations/partitions.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { FOR_EVER, insertAged, look, makeShop, numbersOf, rowsOf } from './world.ts';

async function withShop(run: (database: Database, storage: TestStorage) => Promise<void>): Promise<void> {
  const storage = await createStorage('postgresql');
  try {
    const database = await storage.open();
    await makeShop(database);
    await insertAged(database, { age: 400 });
    await run(database, storage);
  } finally {
    await storage.remove();
  }
}

/** One step, alone. */
async function on<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  return (await database.change(async (tx) => ({ result: await work(tx), scopes: [] }))).result;
}

/** Resolves when a statement waits for the lock of a table of that name. */
async function waitedFor(database: Database, table: string): Promise<void> {
  for (;;) {
    const { rows } = await database.read(({ kysely }) =>
      sql`select from pg_locks where relation = ${table}::regclass and not granted`.execute(kysely),
    );
    if (rows.length > 0) return;
  }
}

test.each([
  ['a notification that becomes unread', 'notification', 'read_at = null', 'unread'],
  ['a delivery that is to be sent again', 'delivery', `due_at = now(), status = 'queued'`, 'waiting'],
])('%s while its partition is about to be detached keeps it', async (_, table, change, held) => {
  await withShop(async (database) => {
    await look(database);
    const keep = { ...FOR_EVER, notifications: 90 };
    let outcome: unknown;
    await on(database, async ({ kysely }) => {
      await sql.raw(`update ${table} set ${change}`).execute(kysely);
      // A busy machine may take longer than the lock is waited for.
      const detaching = (async () => {
        for (;;) {
          try {
            return await on(database, (tx) => detachExpired(tx, { name: 'notification_p1' }, keep));
          } catch (error) {
            if (!(error instanceof UsherError && error.code === 'UNAVAILABLE')) throw error;
          }
        }
      })();
      outcome = detaching;
      await waitedFor(database, table);
    });
    expect(await outcome).toEqual({ detached: [], held });
    expect(await rowsOf(database)).toMatchObject({ notification: 1, delivery: 1 });
  });
});

test('new rows stay where they are until the next partition is there', async () => {
  await withShop(async (database) => {
    expect(await on(database, (tx) => moveOn(tx, 'notifications', 'month'))).toBe(false);
    await insertAged(database, { age: 0 });
    expect(await rowsOf(database)).toMatchObject({ notification: 2, delivery: 2 });
    await on(database, (tx) => makePartitions(tx, 'notifications'));
    expect(await on(database, (tx) => moveOn(tx, 'notifications', 'month'))).toBe(true);
    await insertAged(database, { age: 0 });
    expect(await rowsOf(database)).toMatchObject({ notification: 3, delivery: 3 });
    expect(await numbersOf(database, 'notification')).toEqual([1, 2]);
  });
});
