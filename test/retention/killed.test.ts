import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/persistence/database.ts';
import type { Failpoint } from '../../src/persistence/open.ts';
import { createStorage, type TestStorage, withDatabase } from '../support/databases.ts';
import type { RetentionOrders } from '../support/retention-process.ts';
import { spawnScript } from '../support/spawn-writer.ts';
import { FOR_EVER, insertAged, look, makeShop, numbersOf, rowsOf, TABLES } from './world.ts';

/** After how many writes of a look the process is killed: making, moving on, detaching and dropping have some 25. */
const STEPS = { postgresql: [1, 12, 14] } as const;

for (const kind of ['postgresql'] as const) {
  describe(`looks after partitions that kill -9 ends (${kind})`, () => {
    let storage: TestStorage;

    beforeAll(async () => {
      storage = await createStorage(kind);
      await within((database) => makeShop(database));
    }, 60_000);

    afterAll(async () => {
      await storage.remove();
    });

    const within = <T>(work: (database: Database) => Promise<T>) => withDatabase(storage, work);

    test.each<Failpoint>(['after-commit'])(
      'rows are inserted behind each step, and the next look makes the rest: %s',
      async (dieAt) => {
        const keep = { ...FOR_EVER, audit: 90, events: 90, notifications: 90, unread: 90 };
        for (const dieIn of STEPS[kind]) {
          const old = await within(async (database) => {
            const before = await rowsOf(database);
            await insertAged(database, { age: 400 });
            return before;
          });
          const { url, dataDir } = storage;
          const orders: RetentionOrders = { url, dataDir, keep, dieAt, dieIn };
          const child = spawnScript('retention-process.ts', orders);
          expect([await child.ended, child.complaints()]).toEqual(['SIGKILL', '']);
          await within(async (database) => {
            await insertAged(database, { age: 0 });
            const after = await rowsOf(database);
            for (const table of TABLES) expect(after[table] - old[table]).toBeGreaterThanOrEqual(1);
            // Where the new row went to a partition of old ones, that stays.
            await look(database, keep);
            await insertAged(database, { age: 0 });
            for (const table of TABLES) {
              expect((await rowsOf(database))[table]).toBeGreaterThanOrEqual(2);
              const numbers = await numbersOf(database, table);
              expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at));
            }
          });
        }
      },
      300_000,
    );
  });
}
