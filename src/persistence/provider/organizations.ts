import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Stores the application of an organization of the provider; the newest assignment counts. */
export async function keepOrganization(tx: Tx, orgId: string, app: number): Promise<void> {
  await tx.kysely
    .insertInto('organization')
    .values({ org_id: orgId, application_id: app })
    .onConflict((oc) =>
      oc.column('org_id').doUpdateSet((eb) => ({
        application_id: eb.ref('excluded.application_id'),
        updated_at: sql<Date>`now()`,
      })),
    )
    .execute();
}

/** The application of an organization: the configured one, else the stored one; null without either. */
export async function applicationOfOrganization(
  tx: Tx,
  orgId: string,
  configured: string | undefined,
): Promise<number | null> {
  const row =
    configured === undefined
      ? await tx.kysely
          .selectFrom('organization as o')
          .innerJoin('application as a', 'a.id', 'o.application_id')
          .select('a.id')
          .where('o.org_id', '=', orgId)
          .forKeyShare()
          .executeTakeFirst()
      : await tx.kysely
          .selectFrom('application as a')
          .select('a.id')
          .where('a.code', '=', configured)
          .forKeyShare()
          .executeTakeFirst();
  return row?.id ?? null;
}

/** Creates a person's default preferences for the application; false when they exist. */
export async function ensurePreference(tx: Tx, person: number, app: number): Promise<boolean> {
  const row = await tx.kysely
    .insertInto('app_preference')
    .values({ person_id: person, application_id: app })
    .onConflict((oc) => oc.columns(['person_id', 'application_id']).doNothing())
    .returning('person_id')
    .executeTakeFirst();
  return row !== undefined;
}
