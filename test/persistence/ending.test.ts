import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { type Work, workFor } from '../../src/base/work.ts';
import type { Database, Tx } from '../../src/persistence/database.ts';
import { forEachDatabase } from '../support/databases.ts';

class Gone extends Error {}

/** Work whose caller leaves when it is told to. */
function caller(): Work & { leave(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, isOver: false, leave: () => controller.abort(new Gone()) };
}

const one = (tx: Tx) => sql<{ n: number }>`select 1 as n`.execute(tx.kysely).then(({ rows }) => rows[0]?.n);

forEachDatabase('reads that end with their caller', (fixture, kind) => {
  /** With one connection, where there may be several. */
  const small = (): Promise<Database> =>
    kind === 'pglite' ? Promise.resolve(fixture.database) : fixture.storage.open({ poolSize: 1 });

  for (const how of ['read', 'rehearse'] as const) {
    test(`${how}: nothing is sent once the caller has left, and the connection is free`, async () => {
      const database = await small();
      const work = caller();
      const sent: unknown[] = [];
      const reading = workFor(work, () =>
        database[how](async (tx) => {
          sent.push(await one(tx));
          work.leave();
          sent.push(await one(tx));
        }),
      );
      await expect(reading).rejects.toBeInstanceOf(Gone);
      expect(sent).toEqual([1]);
      expect(await database.read(one)).toBe(1);
      await expect(workFor(work, () => database[how](one))).rejects.toBeInstanceOf(Gone);
      if (kind !== 'pglite') await database.close();
    });
  }

  test('a write that has begun is carried out, whoever leaves', async () => {
    const database = await small();
    const work = caller();
    const { result } = await workFor(work, () =>
      database.change(async (tx) => {
        work.leave();
        return { result: await one(tx), scopes: [] };
      }),
    );
    expect(result).toBe(1);
    if (kind !== 'pglite') await database.close();
  });

  if (kind !== 'postgresql') return;

  /** Sleeping statements of the service, as the server knows them. */
  async function sleeping(watch: pg.Client): Promise<number> {
    const { rows } = await watch.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
        where datname = current_database() and query like '%pg_sleep(10)%' and state = 'active' and pid <> pg_backend_pid()`,
    );
    return rows[0]?.n ?? 0;
  }

  async function until(watch: pg.Client, count: number): Promise<void> {
    while ((await sleeping(watch)) !== count) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  test('the server ends the statement, and others lose no connection by it', async () => {
    const database: Database = await fixture.storage.open({ poolSize: 2 });
    const watch = new pg.Client({ connectionString: fixture.storage.url ?? '' });
    await watch.connect();
    const sleep = (tx: Tx) => sql`select pg_sleep(10)`.execute(tx.kysely);
    const [leaving, staying] = [caller(), caller()];
    const left = workFor(leaving, () => database.read(sleep));
    const stayed = workFor(staying, () =>
      database.read((tx) => sql`select pg_sleep(1)`.execute(tx.kysely).then(() => 'read')),
    );
    await until(watch, 1);
    leaving.leave();
    await expect(left).rejects.toBeInstanceOf(Gone);
    await until(watch, 0);
    const others = Promise.all(Array.from({ length: 20 }, () => database.read(one)));
    expect([await stayed, new Set(await others)]).toEqual(['read', new Set([1])]);
    await watch.end();
    await database.close();
  });
});
