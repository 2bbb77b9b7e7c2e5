/** Statistics of the embedded database for its planner: it has no autovacuum process, which collects them elsewhere. */

import { type Kysely, sql } from 'kysely';
import type { Schema } from '../entities/schema.ts';

/** A table smaller than this has one plan that is good enough. */
const MIN_PAGES = 8;

/**
 * Analyzes the tables that have grown by a quarter since they were analyzed. Without statistics the indexes of a table look equally
 * good, and a check of one record may read every override of its type.
 */
export async function analyzeGrown(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
     where relnamespace = current_schema()::regnamespace and relkind = 'r'
       and pg_relation_size(oid) / current_setting('block_size')::int > greatest(${MIN_PAGES}, relpages * 1.25)`.execute(
    db,
  );
  // One statement each, so that checks take their turn in between.
  for (const { name } of rows) await sql`analyze ${sql.table(name)}`.execute(db);
  return rows.map(({ name }) => name);
}
