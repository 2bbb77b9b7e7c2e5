import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Remembers which application an organization of the provider belongs to; the newest word counts. */
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

/** The application of an organization: the one that the configuration says, else what was kept; null when there is none. */
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

/** Gives a person the application's preferences as they are by default; false when there were some. */
export async function ensurePreference(tx: Tx, person: number, app: number): Promise<boolean> {
  const row = await tx.kysely
    .insertInto('app_preference')
    .values({ person_id: person, application_id: app })
    .onConflict((oc) => oc.columns(['person_id', 'application_id']).doNothing())
    .returning('person_id')
    .executeTakeFirst();
  return row !== undefined;
}
