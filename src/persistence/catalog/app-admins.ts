import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';
import { type GrantWindow, heldSql, isHeld, setWindowSql } from '../windows.ts';

export interface AppAdminRow extends GrantWindow {
  email: string;
  createdAt: Date;
}

/** The administrators of an application, by e-mail. */
export async function listAppAdmins(tx: Tx, app: number): Promise<AppAdminRow[]> {
  return await tx.kysely
    .selectFrom('app_admin as m')
    .innerJoin('person as p', 'p.id', 'm.personId')
    .select(['p.email', 'm.createdAt', 'm.startsAt', 'm.endsAt'])
    .where('m.applicationId', '=', app)
    .where(isHeld('m'))
    .orderBy('p.email')
    .execute();
}

/** Since when a person has been an administrator, and when that counts. */
export type Seat = Pick<AppAdminRow, 'createdAt' | 'startsAt' | 'endsAt'>;

const FIND = new Prepared<Seat>(
  'app_admin',
  `select created_at, starts_at, ends_at from ${heldSql('app_admin')} m where m.application_id = $1 and m.person_id = $2`,
);

/** Undefined when they are not one. */
export async function findAppAdmin(tx: Tx, app: number, person: number): Promise<Seat | undefined> {
  return (await FIND.rows(tx, app, person))[0];
}

const PUT = new Prepared<{ createdAt: Date }>(
  'put_app_admin',
  `insert into app_admin (application_id, person_id, starts_at, ends_at) values ($1, $2, $3, $4)
    on conflict (person_id, application_id) ${setWindowSql('app_admin')}
    returning created_at`,
);

/** Makes the person an administrator, or gives one this window; answers since when. The person must be locked. */
export async function putAppAdmin(tx: Tx, app: number, person: number, window: GrantWindow): Promise<Date | undefined> {
  return (await PUT.rows(tx, app, person, window.startsAt, window.endsAt))[0]?.createdAt;
}

/** Whether there was one to remove. */
export async function deleteAppAdmin(tx: Tx, app: number, person: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from app_admin m where m.application_id = ${app} and m.person_id = ${person} and ${isHeld('m')}`.execute(
    tx.kysely,
  );
  return (numAffectedRows ?? 0n) > 0n;
}
