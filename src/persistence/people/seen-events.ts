import { type Kysely, sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Schema } from '../entities/schema.ts';

/** An event reported again within this time counts once (docs/reference/people.md#application-events). */
export const EVENTS_KEPT = "interval '24 hours'";
const KEEP = sql.raw(EVENTS_KEPT);
const PRUNE_ROWS = 500;

/** The sources of events, each with keys of its own. */
export type EventSource = 'application-event' | 'webhook' | 'login';

/**
 * Whether the event is new within the last 24 hours; it is remembered with the transaction. Of concurrent calls exactly
 * one returns true, and the others return only after its commit.
 */
export async function claimEvent(tx: Tx, source: EventSource, key: string): Promise<boolean> {
  const { rows } = await sql`
    insert into seen_event (source, key) values (${source}, ${key})
    on conflict (source, key) do update set at = excluded.at where seen_event.at <= now() - ${KEEP}
    returning source`.execute(tx.kysely);
  return rows.length > 0;
}

/**
 * Deletes events older than 24 hours, a few per statement, by where they lie: by their keys, the planner may read the whole table for
 * each few. Returns the number of deleted rows.
 */
export async function pruneSeenEvents(db: Kysely<Schema>): Promise<number> {
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`
      delete from seen_event where ctid = any(array(
        select ctid from seen_event where at <= now() - ${KEEP} order by at limit ${PRUNE_ROWS} for update skip locked))
    `.execute(db);
    total += Number(numAffectedRows);
    if (numAffectedRows < PRUNE_ROWS) return total;
  }
}
