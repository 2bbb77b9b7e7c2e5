import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Addresses in one statement at most: PGlite's statements run on the event loop. */
const BATCH = 1000;

/**
 * The ids of the addresses, creating a row for each unknown one. Concurrent callers get the same row.
 * E-mails are normalized (grammar.ts) and may be repeated. Not a policy change: an address without rights
 * decides nothing.
 */
export async function ensurePeople(tx: Tx, emails: Iterable<string>): Promise<Map<string, number>> {
  // In one order for all, so that two transactions never wait for each other.
  const wanted = [...new Set(emails)].sort();
  const ids = new Map<string, number>();
  for (let at = 0; at < wanted.length; at += BATCH) await ensureBatch(tx, wanted.slice(at, at + BATCH), ids);
  return ids;
}

async function ensureBatch(tx: Tx, emails: readonly string[], ids: Map<string, number>): Promise<void> {
  await find(tx, emails, ids);
  const missing = emails.filter((email) => !ids.has(email));
  if (missing.length === 0) return;
  const { rows } = await sql<{ id: number; email: string }>`
    insert into person (email) select email from unnest(${missing}::text[]) with ordinality as m (email, position)
    order by position on conflict (email) do nothing returning id, email`.execute(tx.kysely);
  for (const { id, email } of rows) ids.set(email, id);
  // Another transaction has created these meanwhile and committed: the insertion waited for that.
  await find(
    tx,
    missing.filter((email) => !ids.has(email)),
    ids,
  );
}

/** The ids of the addresses that have a row. */
export async function idsOf(tx: Tx, emails: Iterable<string>): Promise<Map<string, number>> {
  const wanted = [...new Set(emails)];
  const ids = new Map<string, number>();
  for (let at = 0; at < wanted.length; at += BATCH) await find(tx, wanted.slice(at, at + BATCH), ids);
  return ids;
}

async function find(tx: Tx, emails: readonly string[], ids: Map<string, number>): Promise<void> {
  if (emails.length === 0) return;
  const { rows } = await sql<{ id: number; email: string }>`
    select id, email from person where email = any(${emails}::text[])`.execute(tx.kysely);
  for (const { id, email } of rows) ids.set(email, id);
}

/**
 * The id of the address, locked against other writes about the same person until the transaction ends; null for an unknown
 * address. A replacement of a person's set locks them first, so that of two the second sees the result of the first.
 */
export async function holdPerson(tx: Tx, email: string): Promise<number | null> {
  const row = await tx.kysely
    .selectFrom('person')
    .select('id')
    .where('email', '=', email)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row?.id ?? null;
}

/** As `holdPerson`, for many: the ids of those that have a row. In the order of ids, as everybody locks several people. */
export async function holdPeople(tx: Tx, emails: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: number; email: string }>`
    select id, email from person where email = any(${emails}::text[]) order by id for no key update`.execute(tx.kysely);
  return new Map(rows.map(({ id, email }) => [email, id]));
}

/** A person whose row is locked. */
export interface HeldPerson {
  readonly id: number;
  /** Whether they may sign in. */
  readonly active: boolean;
}

/**
 * As `holdPeople`, but locked against every write that refers to these people: what is read of their rights after this call is all that
 * there is, and who waited for a removal finds that the person is gone.
 */
export async function holdPeopleAlone(tx: Tx, emails: readonly string[]): Promise<Map<string, HeldPerson>> {
  const { rows } = await sql<HeldPerson & { email: string }>`
    select id, email, provider_active and not blocked as active from person where email = any(${emails}::text[])
    order by id for update`.execute(tx.kysely);
  return new Map(rows.map(({ id, email, active }) => [email, { id, active }]));
}

/** The id of the address; null for an unknown one. */
export async function personIdOf(tx: Tx, email: string): Promise<number | null> {
  return (await idsOf(tx, [email])).get(email) ?? null;
}
