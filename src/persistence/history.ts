/** A new history for a database whose past is not what others know of it (docs/freshness.md#a-new-history-on-purpose). */

import { sql } from 'kysely';
import { record } from './audit.ts';
import type { Outcome, Tx } from './database.ts';
import { CHANGE_LOCK } from './migrations/0001-policy.ts';

/**
 * Gives every row of the change log another nonce, and adds one that touches everything: holders of facts, a cursor or a
 * revision of the old history find that it is another one. Resolves to how many rows had to be changed.
 */
export async function beginNewHistory(tx: Tx): Promise<Outcome<number>> {
  // First, so that no row is added meanwhile.
  await sql`select pg_advisory_xact_lock(${CHANGE_LOCK})`.execute(tx.kysely);
  // The first 48 bits of a random UUID are random, and that many a nonce has.
  const { numAffectedRows = 0n } = await sql`
    update policy_change
    set nonce = (('x' || left(replace(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint)::text`.execute(
    tx.kysely,
  );
  await record(tx, { actor: 'cli', action: 'database.reincarnated' });
  return { result: Number(numAffectedRows), scopes: ['*'] };
}
