/**
 * The rows of an erasure (docs/reference/people.md#erasure). It begins with one transaction that ends every right and takes the person
 * away; what there may be any number of follows in pieces, each a transaction of its own, from whatever process comes to it.
 */

import { type RawBuilder, sql } from 'kysely';
import type { Scope, Tx } from '../database.ts';
import { Prepared, planByIndex } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { isHeldSql } from '../windows.ts';

/** What an erasure removes, or in the audit renames. */
export const REMOVED_KINDS = [
  'people',
  'superadmins',
  'appAdmins',
  'roles',
  'overrides',
  'profiles',
  'accounts',
  'applicationPreferences',
  'events',
  'notificationPreferences',
  'pushSubscriptions',
  'registrationLocales',
  'providerEvents',
  'refusedMails',
  'notifications',
  'deliveriesWaiting',
  'deliveriesPast',
  'auditRecords',
] as const;
export type RemovedKind = (typeof REMOVED_KINDS)[number];
/** How many rows of each kind. */
export type Removed = Record<RemovedKind, number>;
export type RemovedRights = Pick<Removed, 'superadmins' | 'appAdmins' | 'roles' | 'overrides'>;

/** An erasure as its receipt tells it: no address. */
export interface ErasureRow extends Pick<Row<'erasure'>, 'pseudonym' | 'startedAt' | 'finishedAt'> {
  removed: Removed;
}

/** The address, and what stands for it in the audit. */
export interface Renaming {
  email: string;
  pseudonym: string;
}

/** Notifications of one statement: PGlite's statements run on the event loop. */
const NOTIFICATIONS = 500;
/** Audit records of one statement, for each way in which they name a person. */
const RECORDS = 500;

/** Actions whose records name people in what they changed, beside subject and author. */
const NAMING_ACTIONS = [
  'application.deleted',
  'brand.tested',
  'template.tested',
  'user.offboarded',
  'user.email_changed_at_provider',
  'user.moved',
  'user.moved',
];

function none(): Removed {
  return Object.fromEntries(REMOVED_KINDS.map((kind) => [kind, 0])) as Removed;
}

/** The parts of the policy in which a person has something: call it before `removeRights`, under the person's lock. */
export async function scopesOf({ kysely }: Tx, person: number, email: string): Promise<Scope[]> {
  const { rows } = await sql<{ code: string }>`
    select code from application where id in (
      select application_id from user_role where person_id = ${person}
      union select application_id from app_admin where person_id = ${person}
      union select application_id from resource_override where person_id = ${person})`.execute(kysely);
  return [`u:${email}`, ...rows.map(({ code }): Scope => `m:${code}:${email}`)];
}

/** $1 the person. */
const REMOVE_RIGHTS = new Prepared<RemovedRights>(
  'remove_rights',
  `
    with s as (delete from superadmin where person_id = $1::bigint returning 1),
    a as (delete from app_admin x where x.person_id = $1::bigint returning ${isHeldSql('x')} as held),
    r as (delete from user_role x where x.person_id = $1::bigint returning ${isHeldSql('x')} as held),
    o as (delete from resource_override x where x.person_id = $1::bigint returning ${isHeldSql('x')} as held)
    select (select count(*)::int from s) as superadmins, (select count(*)::int from a where held) as app_admins,
      (select count(*)::int from r where held) as roles, (select count(*)::int from o where held) as overrides`,
);

/** Ends every right of a person; returns how many of each kind there were, without those that had ended already. */
export async function removeRights(tx: Tx, person: number): Promise<RemovedRights> {
  return await REMOVE_RIGHTS.row(tx, person);
}

/** $1 the person. */
const REMOVE_RECORDS = new Prepared<Partial<Removed>>(
  'remove_records',
  `
    with f as (delete from profile where person_id = $1::bigint returning 1),
    a as (delete from person_account where person_id = $1::bigint returning 1),
    u as (delete from provider_user v using person_account b
      where b.person_id = $1::bigint and v.issuer = b.issuer and v.user_id = b.user_id returning 1),
    l as (delete from app_preference where person_id = $1::bigint returning 1),
    e as (delete from app_event where person_id = $1::bigint returning 1),
    c as (delete from notification_preference where person_id = $1::bigint returning 1),
    p as (delete from push_subscription where person_id = $1::bigint returning 1)
    select (select count(*)::int from f) as profiles, (select count(*)::int from a) as accounts,
      (select count(*)::int from l) as application_preferences,
      (select count(*)::int from e) as events, (select count(*)::int from c) as notification_preferences,
      (select count(*)::int from p) as push_subscriptions`,
);

/** Removes what there are few of beside the rights: everything that goes with the row of the person, and what names the address alone. */
export async function removeRecords(tx: Tx, person: number | null, email: string): Promise<Removed> {
  const removed = none();
  if (person !== null) Object.assign(removed, await REMOVE_RECORDS.row(tx, person));
  const locales = await tx.kysely
    .deleteFrom('registration_locale')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  // The outcome stays for the operators: it says nothing about anybody.
  const events = await tx.kysely
    .updateTable('provider_event')
    .set({ email: null })
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  // The body holds codes, and the recipient's names.
  const mails = await tx.kysely.deleteFrom('refused_mail').where('email', '=', email).executeTakeFirstOrThrow();
  await tx.kysely.deleteFrom('unresolved_event').where('email', '=', email).execute();
  await tx.kysely.deleteFrom('provider_user').where('email', '=', email).execute();
  removed.refusedMails = Number(mails.numDeletedRows);
  removed.registrationLocales = Number(locales.numDeletedRows);
  removed.providerEvents = Number(events.numUpdatedRows);
  return removed;
}

/** Notes the erasure, then removes the person: their notifications stay until `continueErasure` comes to them. */
export async function beginErasure(
  tx: Tx,
  { email, pseudonym }: Renaming,
  person: number | null,
  removed: Removed,
): Promise<number> {
  const { id } = await tx.kysely
    .insertInto('erasure')
    .values({ personId: person, pseudonym, email, removed: JSON.stringify(removed) })
    .returning('id')
    .executeTakeFirstOrThrow();
  if (person !== null) await tx.kysely.deleteFrom('person').where('id', '=', person).execute();
  return id;
}

/** The newest erasure with that pseudonym. */
export async function findErasure(
  { kysely }: Tx,
  pseudonym: string,
): Promise<{ id: number; finished: boolean } | undefined> {
  const row = await kysely
    .selectFrom('erasure')
    .select(['id', 'finishedAt'])
    .where('pseudonym', '=', pseudonym)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { id: row.id, finished: row.finishedAt !== null };
}

export async function readErasure({ kysely }: Tx, id: number): Promise<ErasureRow> {
  const row = await kysely
    .selectFrom('erasure')
    .select(['pseudonym', 'removed', 'startedAt', 'finishedAt'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return { ...row, removed: { ...none(), ...(row.removed as Partial<Removed>) } };
}

/** The ids of erasures that began at least a minute ago and are not finished: the process that began them may be dead. */
export async function unfinishedErasures({ kysely }: Tx): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from erasure where finished_at is null and started_at < now() - interval '1 minute' order by started_at, id`.execute(
    kysely,
  );
  return rows.map(({ id }) => id);
}

/** The next piece of an erasure. Returns whether another may be left. Several may call it at once: they take turns. */
export async function continueErasure(tx: Tx, id: number): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('erasure')
    .selectAll()
    .where('id', '=', id)
    .where('finishedAt', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined || row.email === null) return false;
  const { personId: person, email, pseudonym, startedAt: at } = row;
  await planByIndex(tx);
  const removed = { ...none(), ...(row.removed as Partial<Removed>) };
  const gone = person === null ? null : await removeNotifications(tx, person, { email, pseudonym });
  const hasMore = gone !== null && gone.notifications > 0;
  if (hasMore) {
    removed.notifications += gone.notifications;
    removed.deliveriesWaiting += gone.waiting;
    removed.deliveriesPast += gone.past;
  }
  const renamed = hasMore ? 0 : await renameRecords(tx, { email, pseudonym }, at);
  removed.auditRecords += renamed;
  const isFinished = !hasMore && renamed === 0;
  await tx.kysely
    .updateTable('erasure')
    .set({
      removed: JSON.stringify(removed),
      ...(isFinished ? { email: null, finishedAt: sql<Date>`now()` } : {}),
    })
    .where('id', '=', id)
    .execute();
  return !isFinished;
}

interface GoneNotifications {
  notifications: number;
  waiting: number;
  past: number;
}

/**
 * The newest notifications of the person with their deliveries: what waits to be sent is among these. Answers that are kept for
 * repeated sends name the pseudonym from now on: they were stored at the moment of the notifications they are about. Notifications
 * are locked first, in one order, as by every settlement.
 */
async function removeNotifications(tx: Tx, person: number, renaming: Renaming): Promise<GoneNotifications | null> {
  const { rows: held } = await sql<{ id: number }>`
    select id from notification where id in (
      select id from notification where person_id = ${person} order by id desc limit ${NOTIFICATIONS})
    order by id for update`.execute(tx.kysely);
  if (held.length === 0) return null;
  const ids = held.map(({ id }) => id);
  for (const table of ['send_request', 'administrator_send_request']) {
    await sql`
      update ${sql.table(table)} r set answer = ${renamedIn(sql`r.answer`, renaming)}
      from (select distinct application_id, created_at from notification
        where id = any(${ids}::bigint[]) and created_at > now() - interval '25 hours') n
      where r.created_at = n.created_at and r.application_id = n.application_id
        and ${isNamedIn(sql`r.answer`, renaming.email)}`.execute(tx.kysely);
  }
  const { rows } = await sql<GoneNotifications>`
    with d as (delete from delivery where notification_id = any(${ids}::bigint[]) returning due_at is not null as waiting),
    n as (delete from notification where id = any(${ids}::bigint[]) returning 1)
    select (select count(*)::int from n) as notifications, (select count(*)::int from d where waiting) as waiting,
      (select count(*)::int from d where not waiting) as past`.execute(tx.kysely);
  return rows[0] ?? null;
}

/** Records of up to that moment, in which the pseudonym takes the place of the address; returns how many. */
async function renameRecords(tx: Tx, renaming: Renaming, at: Date): Promise<number> {
  const { email, pseudonym } = renaming;
  const { numAffectedRows } = await sql`
    update audit a set
      actor = case when a.actor = ${`user:${email}`} then ${`user:${pseudonym}`} else a.actor end,
      subject = case when ${isAbout(email)} then ${pseudonym} || substr(a.subject, ${email.length + 1}::int) else a.subject end,
      before = ${contentOf(sql`a.before`, renaming)}, after = ${contentOf(sql`a.after`, renaming)},
      reason = ${reasonOf(renaming)}
    where a.id in (${recordsNaming(email, at, RECORDS)})`.execute(tx.kysely);
  return Number(numAffectedRows ?? 0);
}

/** Whether the record \`a\` is about the person, in the form of an earlier version (migration 0009) too. */
function isAbout(email: string): RawBuilder<boolean> {
  return sql`(a.subject = ${email} or split_part(a.subject, ':', 1) = ${email} and a.subject like '%@%:%')`;
}

/** Accounts at the identity provider tell who somebody is, as the address does. */
function contentOf(column: RawBuilder<unknown>, renaming: Renaming): RawBuilder<unknown> {
  return sql`case when a.action like 'user.subject\\_%' and ${isAbout(renaming.email)} then null
    else ${renamedIn(column, renaming)} end`;
}

/** Free words about the person go with them; those about somebody else stay, without the address, however it was written. */
function reasonOf(renaming: Renaming): RawBuilder<unknown> {
  const { email, pseudonym } = renaming;
  return sql`case when ${isAbout(email)} then null
    else regexp_replace(a.reason, ${patternOf(email)}, ${pseudonym}, 'gi') end`;
}

/** The ids of records that name the person, at most `limit` of each kind; null for all of them. */
function recordsNaming(email: string, at: Date, limit: number | null): RawBuilder<unknown> {
  const most = limit === null ? sql`` : sql`limit ${limit}`;
  return sql`
    (select a.id from audit a where a.subject = ${email} and a.at <= ${at} ${most})
    union (select a.id from audit a
      where split_part(a.subject, ':', 1) = ${email} and a.subject like '%@%:%' and a.at <= ${at} ${most})
    union (select a.id from audit a where a.actor = ${`user:${email}`} and a.at <= ${at} ${most})
    union (select a.id from audit a where a.action = any(${NAMING_ACTIONS}::text[]) and a.at <= ${at}
      and (${isNamedIn(sql`a.before`, email)} or ${isNamedIn(sql`a.after`, email)}) ${most})
    union (select a.id from audit a where a.reason is not null and a.at <= ${at}
      and strpos(lower(a.reason), ${email}) > 0 and a.reason ~* ${patternOf(email)} ${most})`;
}

/** The address as it stands in JSON, not as a part of another one. */
function patternOf(email: string): string {
  return `(?<![A-Za-z0-9._%+-])${email.replace(/[^A-Za-z0-9@_-]/g, '\\$&')}(?![A-Za-z0-9-]|\\.[A-Za-z0-9])`;
}

function isNamedIn(column: RawBuilder<unknown>, email: string): RawBuilder<boolean> {
  return sql`(strpos(${column}::text, ${email}) > 0 and ${column}::text ~ ${patternOf(email)})`;
}

function renamedIn(column: RawBuilder<unknown>, { email, pseudonym }: Renaming): RawBuilder<unknown> {
  return sql`case when strpos(${column}::text, ${email}) > 0
    then regexp_replace(${column}::text, ${patternOf(email)}, ${pseudonym}, 'g')::jsonb else ${column} end`;
}

/** Whether anything but a person's row names the address. */
export async function isMentioned({ kysely }: Tx, email: string): Promise<boolean> {
  const { rows } = await sql<{ mentioned: boolean }>`
    select exists (select from audit where subject = ${email}) or exists (select from audit where actor = ${`user:${email}`})
      or exists (select from registration_locale where email = ${email})
      or exists (select from provider_event where email = ${email})
      or exists (select from refused_mail where email = ${email}) as mentioned`.execute(kysely);
  return rows[0]?.mentioned ?? false;
}

/** What `continueErasure` would come to, for a rehearsal. */
export async function countLater(
  tx: Tx,
  person: number | null,
  email: string,
): Promise<Pick<Removed, 'notifications' | 'deliveriesWaiting' | 'deliveriesPast' | 'auditRecords'>> {
  await planByIndex(tx);
  const { rows } = await sql<Pick<Removed, 'notifications' | 'deliveriesWaiting' | 'deliveriesPast' | 'auditRecords'>>`
    select count(distinct n.id)::int as notifications, (count(d.id) filter (where d.due_at is not null))::int as deliveries_waiting,
      (count(d.id) filter (where d.due_at is null))::int as deliveries_past,
      (select count(*)::int from (${recordsNaming(email, new Date('9999-01-01Z'), null)}) r) as audit_records
    from notification n left join delivery d on d.notification_id = n.id where n.person_id = ${person}`.execute(
    tx.kysely,
  );
  return rows[0] ?? { notifications: 0, deliveriesWaiting: 0, deliveriesPast: 0, auditRecords: 0 };
}
