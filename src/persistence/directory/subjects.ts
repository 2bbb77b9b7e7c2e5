import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** The account at an identity provider that an address belongs to (docs/reference/callers.md#accounts). */
export interface Subject {
  issuer: string;
  subject: string;
}

/** The fields that a token is compared with: the account, and the age of the names. */
export interface KeptAccount {
  /** Null where none is stored. */
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly namesChangedAt: Date | null;
  readonly namesKept: number;
  /** The person's id. */
  readonly id: number;
}

/** The account stored with an address; undefined without a profile. */
export async function findAccount(tx: Tx, email: string): Promise<KeptAccount | undefined> {
  return await tx.kysely
    .selectFrom('profile as f')
    .innerJoin('person as p', 'p.id', 'f.person_id')
    .select([
      'f.person_id as id',
      'f.issuer',
      'f.subject',
      'f.names_changed_at as namesChangedAt',
      'f.names_kept as namesKept',
    ])
    .where('p.email', '=', email)
    .executeTakeFirst();
}

/** Stores the account if the address has none; false otherwise. */
export async function claimSubject(tx: Tx, id: number, { issuer, subject }: Subject): Promise<boolean> {
  const { numUpdatedRows } = await tx.kysely
    .updateTable('profile')
    .set({ issuer, subject })
    .where('person_id', '=', id)
    .where('subject', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Replaces the account and returns the previous one; undefined when it is the same. */
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

/** Removes the account of an address, so that the next caller's is stored. Returns the account; null without one. */
export async function clearSubject(tx: Tx, email: string): Promise<Subject | null> {
  const { rows } = await sql<Subject>`
    update profile f set issuer = null, subject = null
    from (select person_id, issuer, subject from profile
      where person_id = (select id from person where email = ${email}) for no key update) as kept
    where f.person_id = kept.person_id and kept.subject is not null
    returning coalesce(kept.issuer, '') as issuer, kept.subject`.execute(tx.kysely);
  return rows[0] ?? null;
}
