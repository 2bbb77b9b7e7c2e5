import { expect, test } from '@jest/globals';
import type { Tx } from '../../src/persistence/database.ts';
import {
  detachExpired,
  dropDetached,
  endReferences,
  listDetached,
} from '../../src/persistence/operations/partitions.ts';
import { createStorage } from '../support/databases.ts';
import { FOR_EVER, insertAged, look, makeShop } from './world.ts';

test('two partitions are dropped at once, each by one process, and nothing else is done meanwhile', async () => {
  const storage = await createStorage('postgresql');
  try {
    const database = await storage.open();
    await makeShop(database);
    await insertAged(database, { age: 400 });
    await look(database);
    const keep = { ...FOR_EVER, notifications: 90 };
    const on = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      (await database.change(async (tx) => ({ result: await work(tx), scopes: [] }))).result;
    await on((tx) => detachExpired(tx, { name: 'notification_p1' }, keep));
    const names = ['delivery_p1_gone', 'notification_p1_gone'] as const;
    expect(await database.read(listDetached)).toEqual(names);
    const [first, second] = names;
    const during = await on(async (tx) => {
      const dropped = await dropDetached(tx, first);
      // While that transaction is open.
      const again = await on((other) => dropDetached(other, first));
      const references = await on((other) => endReferences(other, second));
      const beside = await on((other) => dropDetached(other, second));
      return { dropped, again, references, beside };
    });
    expect(during).toEqual({ dropped: true, again: undefined, references: false, beside: true });
    expect(await database.read(listDetached)).toEqual([]);
    for (const name of names) expect(await on((tx) => dropDetached(tx, name))).toBe(false);
  } finally {
    await storage.remove();
  }
});
