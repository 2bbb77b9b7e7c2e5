import { type Kysely, sql } from 'kysely';
import type { Schema } from './schema.ts';

const PRUNE_ROWS = 500;

/**
 * Deletes what login components said of registrations more than 24 hours ago (contract 8), a few at a time, each time a
 * statement of its own. Answers how many went.
 */
export async function pruneRegistrationLocales(db: Kysely<Schema>): Promise<number> {
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`
      delete from registration_locale where (email, org_id) in
        (select email, org_id from registration_locale where at <= now() - interval '24 hours'
          order by at limit ${PRUNE_ROWS} for update skip locked)
    `.execute(db);
    total += Number(numAffectedRows);
    if (numAffectedRows < PRUNE_ROWS) return total;
  }
}
