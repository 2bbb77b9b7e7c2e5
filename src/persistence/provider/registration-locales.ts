import { type Kysely, sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Schema } from '../entities/schema.ts';

const PRUNE_ROWS = 500;

/**
 * Deletes registration locales older than 24 hours (docs/reference/identity-provider.md#registration-locale), a few per
 * statement, as `pruneSeenEvents` does. Returns the number of deleted rows.
 */
export async function pruneRegistrationLocales(db: Kysely<Schema>): Promise<number> {
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`
      delete from registration_locale where ctid = any(array(
        select ctid from registration_locale where at <= now() - interval '24 hours'
          order by at limit ${PRUNE_ROWS} for update skip locked))
    `.execute(db);
    total += Number(numAffectedRows);
    if (numAffectedRows < PRUNE_ROWS) return total;
  }
}

/** Stores the newest locale of an address in an organization. */
export async function keepRegistrationLocale(
  tx: Tx,
  { email, orgId, locale }: { email: string; orgId: string; locale: string },
): Promise<void> {
  await tx.kysely
    .insertInto('registration_locale')
    .values({ email, orgId, locale })
    .onConflict((oc) =>
      oc.columns(['email', 'orgId']).doUpdateSet((eb) => ({ locale: eb.ref('excluded.locale'), at: sql<Date>`now()` })),
    )
    .execute();
}

/** Those of the codes that the registry has and the application supports; an application without languages supports all. */
export async function supportedOf(tx: Tx, app: string, codes: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ code: string }>`
    select l.code from language l where l.code = any(${codes}::text[])
      and exists (select from application a where a.code = ${app}
        and (not exists (select from application_language al where al.application_id = a.id)
          or exists (select from application_language al where al.application_id = a.id and al.language_code = l.code)))
  `.execute(tx.kysely);
  return new Set(rows.map(({ code }) => code));
}
