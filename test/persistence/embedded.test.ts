import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { insertApplication } from '../support/rows.ts';

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

  test('close releases the session, even while others wait', async () => {
    const database = await storage.open();
    const waiting = [1, 2, 3].map(() => database.facts.changes(0));
    await Promise.all([...waiting, database.close()]);
    await expect(database.facts.changes(0)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(database.read(async () => 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await (await storage.open()).close();
  });
});
