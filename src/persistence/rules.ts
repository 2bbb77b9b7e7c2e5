/**
 * The rules that every process of a database decides by (docs/reference/time.md#upgrade): 2 in a new one; 1 in one that a version before
 * has made, until the last process of that version is gone and the operator has said so.
 */

import { type QueryExecutorProvider, sql } from 'kysely';
import { usherCommand } from '../base/command.ts';
import { UsherError } from '../base/errors.ts';
import type { Tx } from './database.ts';
import { EARLIER_SESSION_NAMES } from './driver/session-settings.ts';
import { getSetting } from './settings.ts';

/** The rules of this version. */
export const RULES = 2;

/** In `setting`; migration 0202 stores it. */
const KEY = 'rules';

/**
 * Throws UPGRADE_UNFINISHED while processes of the version before may be there: they would pass over what is to be written. For each
 * write that gives something which only the present rules know; taking away and clearing need nothing.
 */
export async function requireRules(tx: Tx): Promise<void> {
  const rules = await getSetting(tx, KEY);
  if (typeof rules === 'number' && rules >= RULES) return;
  throw new UsherError(
    'UPGRADE_UNFINISHED',
    `The upgrade of this database is not finished: when the last process of the version before is gone, run \`${usherCommand('migrate --finish')}\`.`,
  );
}

/** Sets the rules of the database to those of this version; false where they are so already. */
export async function finishUpgrade(db: QueryExecutorProvider): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into setting (key, value) values (${KEY}, to_jsonb(${RULES}::int))
    on conflict (key) do update set value = excluded.value, updated_at = now() where setting.value < excluded.value`.execute(
    db,
  );
  return numAffectedRows === 1n;
}

/** How many sessions of the version before the server has, in this database. */
export async function countEarlierSessions(db: QueryExecutorProvider): Promise<number> {
  const { rows } = await sql<{ sessions: number }>`
    select count(*)::int as sessions from pg_stat_activity
     where datname = current_database() and application_name = any(${EARLIER_SESSION_NAMES}::text[])`.execute(db);
  return rows[0]?.sessions ?? 0;
}
