import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';
import { beginNewHistory } from '../../src/persistence/operations/history.ts';
import { forEachDatabase } from '../support/databases.ts';

const ROWS = 25;
const AT_ONCE = 10;

/** The log, by revision. */
async function log(database: Database): Promise<{ revision: number; nonce: string; scopes: string[] }[]> {
  const { rows } = await database.read(({ kysely }) =>
    sql<{ revision: number; nonce: string; scopes: string[] }>`
      select revision::int, nonce, scopes from policy_change order by revision`.execute(kysely),
  );
  return rows;
}

async function records(database: Database): Promise<number> {
  return await database.read(async ({ kysely }) => {
    const { rows } = await sql`select from audit where action = 'database.reincarnated'`.execute(kysely);
    return rows.length;
  });
}

async function fill(database: Database): Promise<void> {
  for (let n = 0; n < ROWS; n++)
    await database.change(async () => ({ result: null, scopes: [`u:person${n}@example.com`] }));
}

/** Ends where a killed process would have: before its next transaction. */
function endingAfter(database: Database, changes: number): Pick<Database, 'read' | 'change'> {
  let left = changes;
  return {
    read: (work) => database.read(work),
    change: (work) => (left-- > 0 ? database.change(work) : Promise.reject(new Error('killed'))),
  };
}

forEachDatabase('a new history', (fixture) => {
  test('every row has another nonce, whatever the number of rows in a transaction', async () => {
    const { database } = fixture;
    await fill(database);
    for (const rowsAtOnce of [1, AT_ONCE, (await log(database)).length, 1000]) {
      const before = await log(database);
      const counted = await records(database);
      const { result, revision } = await beginNewHistory(database, { rowsAtOnce });
      const after = await log(database);
      expect(result).toBe(before.length);
      expect(after.slice(0, -1).map((row) => row.revision)).toEqual(before.map((row) => row.revision));
      expect(before.filter((row, at) => row.nonce === after[at]?.nonce)).toEqual([]);
      const last = after.at(-1);
      expect([last?.scopes, `${last?.revision}.${last?.nonce}`]).toEqual([['*'], revision]);
      expect((await records(database)) - counted).toBe(1);
    }
  });

  test('one that ends on the way has changed the oldest rows alone, and is repeated whole', async () => {
    const { database } = fixture;
    await fill(database);
    const before = await log(database);
    const counted = await records(database);
    await expect(beginNewHistory(endingAfter(database, 2), { rowsAtOnce: AT_ONCE })).rejects.toThrow('killed');
    const between = await log(database);
    const isOther = before.map((row, at) => row.nonce !== between[at]?.nonce);
    expect(isOther).toEqual(before.map((_, at) => at < 2 * AT_ONCE));
    expect([between.length, await records(database)]).toEqual([before.length, counted]);
    expect((await beginNewHistory(database, { rowsAtOnce: AT_ONCE })).result).toBe(before.length);
    const after = await log(database);
    expect(after.filter((row, at) => [before[at]?.nonce, between[at]?.nonce].includes(row.nonce))).toEqual([]);
  });

  test('writes between its transactions are in it', async () => {
    const { database } = fixture;
    const made: string[] = [];
    const beside: Pick<Database, 'read' | 'change'> = {
      read: (work) => database.read(work),
      change: async (work) => {
        const written = await database.change(async () => ({ result: null, scopes: ['u:beside@example.com'] }));
        made.push(written.revision);
        return await database.change(work);
      },
    };
    await beginNewHistory(beside, { rowsAtOnce: AT_ONCE });
    const named = new Set((await log(database)).map(({ revision, nonce }) => `${revision}.${nonce}`));
    expect(made.length).toBeGreaterThan(2);
    expect(made.filter((revision) => named.has(revision))).toEqual([]);
  });
});
