import { describe, expect, test } from '@jest/globals';
import { listDetached } from '../../src/persistence/operations/partitions.ts';
import { createStorage, withDatabase } from '../support/databases.ts';
import type { RetentionOrders } from '../support/retention-process.ts';
import { spawnScript } from '../support/spawn-writer.ts';
import { FOR_EVER, insertAged, look, makeShop, numbersOf, rowsOf, TABLES } from './world.ts';

/** What the look was about to do when it was killed, after which of its 22 writes (from 0), and how many partitions were detached then. */
const STEPS = [
  ['move to the next partition', 0, 0],
  ['make the one after it', 1, 0],
  ['find what has expired', 8, 0],
  ['detach a partition', 9, 0],
  ['end the references of a detached one', 10, 1],
  ['drop it', 11, 1],
  ['end the references of the first of two', 16, 2],
  ['drop two', 18, 2],
  ['drop the second of two', 19, 1],
] as const;
/** From here on new rows go to a partition of their own. */
const MOVED_ON = 8;

describe('looks after partitions that kill -9 ends (postgresql)', () => {
  test.each(STEPS)(
    'about to %s: the next look makes the rest, and no row of now is lost',
    async (_, dieIn, detached) => {
      const storage = await createStorage('postgresql');
      try {
        await withDatabase(storage, async (database) => {
          await makeShop(database);
          await insertAged(database, { age: 400 });
        });
        const keep = { ...FOR_EVER, audit: 90, events: 90, notifications: 90, unread: 90 };
        const { url, dataDir } = storage;
        const orders: RetentionOrders = { url, dataDir, keep, dieAt: 'after-commit', dieIn };
        const child = spawnScript('retention-process.ts', orders);
        expect([await child.ended, child.complaints()]).toEqual(['SIGKILL', '']);
        await withDatabase(storage, async (database) => {
          expect(await database.read(listDetached)).toHaveLength(detached);
          await insertAged(database, { age: 0 });
          await look(database, keep);
          await insertAged(database, { age: 0 });
          // Where the first of the new rows went to the partition of the old one, both stay.
          const left = dieIn < MOVED_ON ? [2, 3] : [2];
          const rows = await rowsOf(database);
          for (const table of TABLES) {
            expect(left).toContain(rows[table]);
            const numbers = await numbersOf(database, table);
            expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at));
          }
          expect(await database.read(listDetached)).toEqual([]);
        });
      } finally {
        await storage.remove();
      }
    },
  );
});
