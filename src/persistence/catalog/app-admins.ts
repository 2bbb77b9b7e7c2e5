import type { Tx } from '../database.ts';

export interface AppAdminRow {
  email: string;
  createdAt: Date;
}

/** The administrators of an application, by e-mail. */
export async function listAppAdmins(tx: Tx, app: number): Promise<AppAdminRow[]> {
  return await tx.kysely
    .selectFrom('app_admin as m')
    .innerJoin('person as p', 'p.id', 'm.person_id')
    .select(['p.email', 'm.created_at as createdAt'])
    .where('m.application_id', '=', app)
    .orderBy('p.email')
    .execute();
}

/** Since when the person has been an administrator of it; undefined when they are not one. */
export async function findAppAdmin(tx: Tx, app: number, person: number): Promise<Date | undefined> {
  const row = await tx.kysely
    .selectFrom('app_admin')
    .select('created_at')
    .where('application_id', '=', app)
    .where('person_id', '=', person)
    .executeTakeFirst();
  return row?.created_at;
}

/** Since when; undefined when the person was an administrator already. */
export async function insertAppAdmin(tx: Tx, app: number, person: number): Promise<Date | undefined> {
  const row = await tx.kysely
    .insertInto('app_admin')
    .values({ application_id: app, person_id: person })
    .onConflict((oc) => oc.columns(['person_id', 'application_id']).doNothing())
    .returning('created_at')
    .executeTakeFirst();
  return row?.created_at;
}

/** Whether there was one to remove. */
export async function deleteAppAdmin(tx: Tx, app: number, person: number): Promise<boolean> {
  const { numDeletedRows } = await tx.kysely
    .deleteFrom('app_admin')
    .where('application_id', '=', app)
    .where('person_id', '=', person)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
