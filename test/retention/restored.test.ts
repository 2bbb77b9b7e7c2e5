import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import type { Database } from '../../src/persistence/database.ts';
import { Retention } from '../../src/retention/retention.ts';
import { createStorage, KINDS } from '../support/databases.ts';
import { FOR_EVER, insertAged, look, makeShop, numbersOf, rowsOf, TABLES } from './world.ts';

/** What a dump has that read the tables before the first step was made, and the sequences after it. */
async function loseNewPartitions(database: Database): Promise<void> {
  await database.change(async (tx) => {
    for (const table of TABLES) {
      for (const number of [2, 3]) await sql`drop table ${sql.table(`${table}_p${number}`)}`.execute(tx.kysely);
    }
    return { result: null, scopes: [] };
  });
}

test.each(KINDS)('a start makes the partitions that a dump lacks (%s)', async (kind) => {
  const storage = await createStorage(kind);
  try {
    const database = await storage.open();
    await makeShop(database);
    await insertAged(database, { age: 400 });
    await look(database);
    await loseNewPartitions(database);
    // There is no partition for the row, and nothing of it stays.
    await expect(insertAged(database, { age: 0 })).rejects.toMatchObject({ sqlState: '23514' });
    expect(await rowsOf(database)).toEqual({ audit: 1, app_event: 1, notification: 1, delivery: 1 });
    // No time passes, so no look is made.
    const clock = { after: () => () => undefined };
    const options = { database, clock, log: createLogger('silent'), registry: createRegistry(), keep: FOR_EVER };
    const retention = new Retention(options);
    retention.start();
    await retention.stop();
    for (const table of TABLES) expect(await numbersOf(database, table)).toEqual([1, 2, 3]);
    await insertAged(database, { age: 0 });
    expect(await rowsOf(database)).toEqual({ audit: 2, app_event: 2, notification: 2, delivery: 2 });
  } finally {
    await storage.remove();
  }
});
