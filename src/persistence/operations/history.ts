/** A new history for a database whose past is not what others know of it (docs/freshness.md#a-new-history-on-purpose). */

import { sql } from 'kysely';
import { record } from '../audit.ts';
import type { Committed, Database, Tx } from '../database.ts';
import { CHANGE_LOCK } from '../migrations/0001-policy.ts';

/** A statement has 15 s. With fifteen times as much other work as there were processors this many took 2.6. */
const ROWS_AT_ONCE = 50_000;

/**
 * Gives every row of the change log another nonce, and adds one that touches everything: holders of facts, a cursor or a
 * revision of the old history find that it is another one. Resolves to how many rows had to be changed.
 *
 * The oldest rows come first, in transactions of their own, and writes go on beside them. The newest change together with the row that
 * touches everything: until then those who follow the log find what they know. One that is ended before that has done nothing but
 * to have old revisions refused, and is repeated from its beginning.
 */
export async function beginNewHistory(
  database: Pick<Database, 'read' | 'change'>,
  { rowsAtOnce = ROWS_AT_ONCE, reason }: { rowsAtOnce?: number; reason?: string | undefined } = {},
): Promise<Committed<number>> {
  let { oldest, newest } = await database.read(ends);
  let done = 0;
  for (; newest - oldest >= rowsAtOnce; oldest += rowsAtOnce) {
    const { result } = await database.change(async (tx) => {
      return { result: await renounce(tx, oldest, oldest + rowsAtOnce), scopes: [] };
    });
    done += result;
    ({ newest } = await database.read(ends));
  }
  return await database.change(async (tx) => {
    // First, so that no row is added meanwhile.
    await sql`select pg_advisory_xact_lock(${CHANGE_LOCK})`.execute(tx.kysely);
    const last = await renounce(tx, oldest, null);
    await record(tx, { actor: 'cli', action: 'database.reincarnated', reason });
    return { result: done + last, scopes: ['*'] };
  });
}

async function ends(tx: Tx): Promise<{ oldest: number; newest: number }> {
  const row = await tx.kysely
    .selectFrom('policy_change')
    .select(({ fn }) => [fn.min('revision').as('oldest'), fn.max('revision').as('newest')])
    .executeTakeFirst();
  return { oldest: Number(row?.oldest ?? 0), newest: Number(row?.newest ?? 0) };
}

/** Of the revisions from `first` to before `end`; null for all that follow. Resolves to how many there were. */
async function renounce(tx: Tx, first: number, end: number | null): Promise<number> {
  // The first 48 bits of a random UUID are random, and that many a nonce has.
  const { numAffectedRows = 0n } = await sql`
    update policy_change
    set nonce = (('x' || left(replace(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint)::text
    where revision >= ${first}${end === null ? sql`` : sql` and revision < ${end}`}`.execute(tx.kysely);
  return Number(numAffectedRows);
}
