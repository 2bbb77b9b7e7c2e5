import type { Tx } from '../database.ts';

export interface AppAdminRow {
  email: string;
  createdAt: Date;
}

/** The administrators of an application, by e-mail. */
export async function listAppAdmins(tx: Tx, app: number): Promise<AppAdminRow[]> {
  return await tx.kysely
    .selectFrom('app_admin as m')
    .innerJoin('person as p', 'p.id', 'm.personId')
    .select(['p.email', 'm.createdAt'])
    .where('m.applicationId', '=', app)
    .orderBy('p.email')
    .execute();
}

/** Since when the person has been an administrator of it; undefined when they are not one. */
export async function findAppAdmin(tx: Tx, app: number, person: number): Promise<Date | undefined> {
  const row = await tx.kysely
    .selectFrom('app_admin')
    .select('createdAt')
    .where('applicationId', '=', app)
    .where('personId', '=', person)
    .executeTakeFirst();
  return row?.createdAt;
}

/** Since when; undefined when the person was an administrator already. */
export async function insertAppAdmin(tx: Tx, app: number, person: number): Promise<Date | undefined> {
  const row = await tx.kysely
    .insertInto('app_admin')
    .values({ applicationId: app, personId: person })
    .onConflict((oc) => oc.columns(['personId', 'applicationId']).doNothing())
    .returning('createdAt')
    .executeTakeFirst();
  return row?.createdAt;
}

/** Whether there was one to remove. */
export async function deleteAppAdmin(tx: Tx, app: number, person: number): Promise<boolean> {
  const { numDeletedRows } = await tx.kysely
    .deleteFrom('app_admin')
    .where('applicationId', '=', app)
    .where('personId', '=', person)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
