import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** The account at an identity provider that an address belongs to (contract 4). */
export interface Subject {
  issuer: string;
  subject: string;
}

/** The account kept with an address; null where there is a profile without one, undefined where there is no profile. */
export async function findSubject(tx: Tx, email: string): Promise<Subject | null | undefined> {
  const row = await tx.kysely
    .selectFrom('profile as f')
    .innerJoin('person as p', 'p.id', 'f.person_id')
    .select(['f.issuer', 'f.subject'])
    .where('p.email', '=', email)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return row.issuer === null || row.subject === null ? null : { issuer: row.issuer, subject: row.subject };
}

/** Keeps the account where none is kept; false when one is. */
export async function claimSubject(tx: Tx, id: number, { issuer, subject }: Subject): Promise<boolean> {
  const { numUpdatedRows } = await tx.kysely
    .updateTable('profile')
    .set({ issuer, subject })
    .where('person_id', '=', id)
    .where('subject', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Replaces the account, and answers the one that was kept; undefined when this very one is kept already. */
export async function replaceSubject(tx: Tx, id: number, { issuer, subject }: Subject): Promise<Subject | undefined> {
  const before = await tx.kysely
    .selectFrom('profile')
    .select(['issuer', 'subject'])
    .where('person_id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  if (before.issuer === issuer && before.subject === subject) return undefined;
  await tx.kysely.updateTable('profile').set({ issuer, subject }).where('person_id', '=', id).execute();
  return { issuer: before.issuer ?? '', subject: before.subject ?? '' };
}

/** Forgets the account of an address, so that the next one to call is kept. False when none was kept. */
export async function clearSubject(tx: Tx, email: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.kysely
    .updateTable('profile')
    .set({ issuer: null, subject: null })
    .where('person_id', '=', (eb) => eb.selectFrom('person').select('id').where('email', '=', email))
    .where(sql<boolean>`subject is not null`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
