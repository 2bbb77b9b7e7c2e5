import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Stores the application of an organization of the provider; the newest assignment counts. */
export async function keepOrganization(tx: Tx, orgId: string, app: number): Promise<void> {
  await tx.kysely
    .insertInto('organization')
    .values({ orgId, applicationId: app })
    .onConflict((oc) =>
      oc.column('orgId').doUpdateSet((eb) => ({
        applicationId: eb.ref('excluded.applicationId'),
        updatedAt: sql<Date>`now()`,
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
          .innerJoin('application as a', 'a.id', 'o.applicationId')
          .select('a.id')
          .where('o.orgId', '=', orgId)
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
    .values({ personId: person, applicationId: app })
    .onConflict((oc) => oc.columns(['personId', 'applicationId']).doNothing())
    .returning('personId')
    .executeTakeFirst();
  return row !== undefined;
}
