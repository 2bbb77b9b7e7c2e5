import { UsherError } from '../../base/errors.ts';
import type { Outcome, Scope, Tx } from '../database.ts';
import { claimSetting } from '../settings.ts';
import { ensurePeople } from './people.ts';

/** Set once the configuration's list has been imported; from then on only the endpoints and `usher superadmin` change SuperAdmins (docs/reference/callers.md#superadmins). */
const SEEDED = 'superadmins.seeded';

export interface SuperadminRow {
  email: string;
  active: boolean;
  createdAt: Date;
}

/** Every SuperAdmin, by e-mail. */
export async function listSuperadmins(tx: Tx): Promise<SuperadminRow[]> {
  return (await rowsOf(tx).orderBy('person.email').execute()).map(toRow);
}

/** Undefined when `email` is not one. */
export async function findSuperadmin(tx: Tx, email: string): Promise<SuperadminRow | undefined> {
  const row = await rowsOf(tx).where('person.email', '=', email).executeTakeFirst();
  return row === undefined ? undefined : toRow(row);
}

function rowsOf(tx: Tx) {
  return tx.kysely
    .selectFrom('superadmin')
    .innerJoin('person', 'person.id', 'superadmin.personId')
    .select(['person.email', 'person.providerActive', 'person.blocked', 'superadmin.createdAt']);
}

function toRow(row: { email: string; providerActive: boolean; blocked: boolean; createdAt: Date }): SuperadminRow {
  return { email: row.email, active: row.providerActive && !row.blocked, createdAt: row.createdAt };
}

/** Adds one; `result` is false, and nothing is announced, when they already are one. */
export async function addSuperadmin(tx: Tx, email: string): Promise<Outcome<boolean>> {
  const added = await add(tx, [email]);
  return { result: added.length > 0, scopes: scopesOf(added) };
}

/**
 * Removes one; `result` is false when they are not one. Throws LAST_SUPERADMIN (409) when no active one would be left.
 * Removing an inactive one is refused only while there is no active one at all.
 */
export async function removeSuperadmin(tx: Tx, email: string): Promise<Outcome<boolean>> {
  if ((await findSuperadmin(tx, email)) === undefined) return { result: false, scopes: [] };
  await refuseLastSuperadmin(tx, email);
  const { numDeletedRows } = await tx.kysely
    .deleteFrom('superadmin')
    .where('personId', '=', (eb) => eb.selectFrom('person').select('id').where('email', '=', email))
    .executeTakeFirstOrThrow();
  const removed = numDeletedRows > 0n;
  return { result: removed, scopes: removed ? scopesOf([email]) : [] };
}

/**
 * Throws LAST_SUPERADMIN (409) when `email` is the only active SuperAdmin: call it before removing or blocking them.
 * Locks all SuperAdmins' rows until the transaction ends, so that of two who remove each other the second sees the first.
 */
export async function refuseLastSuperadmin(tx: Tx, email: string): Promise<void> {
  const held = await tx.kysely.selectFrom('superadmin').select('personId').orderBy('personId').forUpdate().execute();
  if (held.length === 0) return;
  // A separate statement, because the one above may have waited for others' changes.
  const active = (await listSuperadmins(tx)).filter((row) => row.active);
  const isOne = (await findSuperadmin(tx, email)) !== undefined;
  if (isOne && active.every((row) => row.email === email)) {
    throw new UsherError('LAST_SUPERADMIN', 'This is the last active SuperAdmin; add another one first.');
  }
}

/**
 * Imports the configuration's list the first time that it is not empty: a list that was emptied later stays empty.
 * `result` lists the people added.
 */
export async function seedSuperadmins(tx: Tx, emails: readonly string[]): Promise<Outcome<string[]>> {
  if (emails.length === 0 || !(await claimSetting(tx, SEEDED, true))) return { result: [], scopes: [] };
  const added = await add(tx, emails);
  return { result: added, scopes: scopesOf(added) };
}

async function add(tx: Tx, emails: readonly string[]): Promise<string[]> {
  const ids = await ensurePeople(tx, emails);
  const added = await tx.kysely
    .insertInto('superadmin')
    .values([...ids.values()].map((personId) => ({ personId })))
    .onConflict((oc) => oc.column('personId').doNothing())
    .returning('personId')
    .execute();
  const rows = new Set(added.map((row) => row.personId));
  return [...ids].filter(([, id]) => rows.has(id)).map(([email]) => email);
}

function scopesOf(emails: readonly string[]): Scope[] {
  return emails.map((email): Scope => `u:${email}`);
}
