import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** A notification as its recipient sees it. */
export interface InboxRow extends Omit<Row<'notification'>, 'applicationId' | 'notificationTypeId' | 'personId'> {
  appCode: string;
  appName: string;
  type: string;
}

const COLUMNS = sql`n.id, a.code as "appCode", a.name as "appName", t.code as type, n.subject, n.body, n.url, n.icon, n.status,
  n.status_reason as "statusReason", n.locale, n.read_at as "readAt", n.created_at as "createdAt", n.payload`;
/**
 * What the rows `n` are of: each application and type looked up once. Joined, the planner may read all of both for a page, as it cannot
 * tell how few a page names.
 */
const NAMED = sql`
  a as materialized (
    select k.id, x.code, x.name from (select distinct application_id as id from n) k
      cross join lateral (select code, name from application where id = k.id offset 0) x),
  t as materialized (
    select k.id, x.code from (select distinct notification_type_id as id from n) k
      cross join lateral (select code from notification_type where id = k.id offset 0) x)`;
const JOINS = sql`join a on a.id = n.application_id join t on t.id = n.notification_type_id`;

/** Newest first, at most `limit`, older than `after`. Empty for an unknown application. */
export async function listInbox(
  tx: Tx,
  email: string,
  query: { limit: number; after: number | null; unreadOnly: boolean; app: string | null },
): Promise<InboxRow[]> {
  const conditions = [
    sql`n.person_id = (select id from person where email = ${email})`,
    sql`n.status <> 'suppressed'`,
    ...(query.after === null ? [] : [sql`n.id < ${query.after}`]),
    ...(query.unreadOnly ? [sql`n.read_at is null`] : []),
    ...(query.app === null ? [] : [sql`n.application_id = (select id from application where code = ${query.app})`]),
  ];
  const { rows } = await sql<InboxRow>`
    with n as materialized (
      select * from notification n where ${sql.join(conditions, sql` and `)} order by n.id desc limit ${query.limit}), ${NAMED}
    select ${COLUMNS} from n ${JOINS} order by n.id desc`.execute(tx.kysely);
  return rows;
}

export async function countUnread(tx: Tx, email: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from notification
    where person_id = (select id from person where email = ${email}) and read_at is null and status <> 'suppressed'`.execute(
    tx.kysely,
  );
  return rows[0]?.count ?? 0;
}

/** `read` when this call marked it, `known` when it was read before, undefined when it is not in this inbox. */
export async function markRead(tx: Tx, email: string, id: number): Promise<'read' | 'known' | undefined> {
  const { rows } = await sql<{ marked: boolean }>`
    with mine as (
      select n.id, n.read_at from notification n
      where n.id = ${id} and n.person_id = (select id from person where email = ${email}) and n.status <> 'suppressed'),
    marked as (
      update notification set read_at = now() where id = (select id from mine) and read_at is null returning id)
    select exists (select from marked) as marked from mine`.execute(tx.kysely);
  const [found] = rows;
  if (found === undefined) return undefined;
  return found.marked ? 'read' : 'known';
}

/** The number of notifications marked by this call; only of the application `app`, where given. */
export async function markAllRead(tx: Tx, email: string, app: string | null): Promise<number> {
  const within = app === null ? sql`` : sql`and application_id = (select id from application where code = ${app})`;
  const { numAffectedRows } = await sql`
    update notification set read_at = now()
    where person_id = (select id from person where email = ${email}) and read_at is null and status <> 'suppressed'
      ${within}`.execute(tx.kysely);
  return Number(numAffectedRows ?? 0);
}

/** The position of a stream in a person's notifications. */
export interface Position {
  email: string;
  /** The id of the last notification sent to the stream. */
  cursor: number;
}

/** The notifications after each position: the newest `limit` of each person, oldest first. */
export async function listNewer(
  tx: Tx,
  positions: readonly Position[],
  limit: number,
): Promise<(InboxRow & { email: string })[]> {
  const { rows } = await sql<InboxRow & { email: string }>`
    with n as materialized (
      select w.email, m.*
      from unnest(${positions.map(({ email }) => email)}::text[], ${positions.map(({ cursor }) => cursor)}::bigint[])
        as w (email, cursor)
      join person p on p.email = w.email
      cross join lateral (
        select * from notification m
        where m.person_id = p.id and m.id > w.cursor and m.status <> 'suppressed' order by m.id desc limit ${limit}) m),
    ${NAMED}
    select n.email, ${COLUMNS} from n ${JOINS} order by n.id`.execute(tx.kysely);
  return rows;
}

/** The state that was last sent to a stream. */
export interface StreamState extends Position {
  /** Unread notifications. */
  count: number;
}

/** The addresses with news for their streams. One that is up to date, as nearly all are, costs two index look-ups. */
export async function addressesWithNews(tx: Tx, states: readonly StreamState[]): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    select w.email
    from unnest(${states.map(({ email }) => email)}::text[], ${states.map(({ cursor }) => cursor)}::bigint[],
      ${states.map(({ count }) => count)}::int[]) as w (email, cursor, count)
    join person p on p.email = w.email
    where exists (
        select from notification n where n.person_id = p.id and n.id > w.cursor and n.status <> 'suppressed')
      or w.count <> (
        select count(*) from notification n
        where n.person_id = p.id and n.read_at is null and n.status <> 'suppressed')`.execute(tx.kysely);
  return rows.map(({ email }) => email);
}

/** The number of unread notifications of each address; unknown ones are left out. */
export async function countUnreadOf(tx: Tx, emails: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ email: string; count: number }>`
    select p.email, (
      select count(*)::int from notification n
      where n.person_id = p.id and n.read_at is null and n.status <> 'suppressed') as count
    from person p where p.email = any(${emails}::text[])`.execute(tx.kysely);
  return new Map(rows.map(({ email, count }) => [email, count]));
}

/** The id of the newest notification in a person's inbox; 0 when it is empty. */
export async function newestIn(tx: Tx, email: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select id from notification
    where person_id = (select id from person where email = ${email}) and status <> 'suppressed'
    order by id desc limit 1`.execute(tx.kysely);
  return rows[0]?.id ?? 0;
}
