import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** A notification as its recipient sees it. */
export interface InboxRow {
  id: number;
  appCode: string;
  appName: string;
  type: string;
  subject: string;
  /** Plain text. Null where the send had none, and for notifications from before bodies were kept. */
  body: string | null;
  url: string | null;
  icon: string | null;
  status: string;
  statusReason: string | null;
  locale: string;
  readAt: Date | null;
  createdAt: Date;
  payload: unknown;
}

const COLUMNS = sql`n.id, a.code as "appCode", a.name as "appName", t.code as type, n.subject, n.body, n.url, n.icon, n.status,
  n.status_reason as "statusReason", n.locale, n.read_at as "readAt", n.created_at as "createdAt", n.payload`;
const JOINS = sql`join application a on a.id = n.application_id join notification_type t on t.id = n.notification_type_id`;

/** Newest first, at most `limit`, only what is older than `after`. An unknown application has none. */
export async function listInbox(
  tx: Tx,
  email: string,
  asked: { limit: number; after: number | null; unreadOnly: boolean; app: string | null },
): Promise<InboxRow[]> {
  const conditions = [
    sql`n.person_id = (select id from person where email = ${email})`,
    sql`n.status <> 'suppressed'`,
    ...(asked.after === null ? [] : [sql`n.id < ${asked.after}`]),
    ...(asked.unreadOnly ? [sql`n.read_at is null`] : []),
    ...(asked.app === null ? [] : [sql`n.application_id = (select id from application where code = ${asked.app})`]),
  ];
  const { rows } = await sql<InboxRow>`
    with n as (
      select * from notification n where ${sql.join(conditions, sql` and `)} order by n.id desc limit ${asked.limit})
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

/** `read` when this made it read, `known` when it was before, undefined when it is not in this inbox. */
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

/** How many became read by this; of one application where `app` names one. */
export async function markAllRead(tx: Tx, email: string, app: string | null): Promise<number> {
  const within = app === null ? sql`` : sql`and application_id = (select id from application where code = ${app})`;
  const { numAffectedRows } = await sql`
    update notification set read_at = now()
    where person_id = (select id from person where email = ${email}) and read_at is null and status <> 'suppressed'
      ${within}`.execute(tx.kysely);
  return Number(numAffectedRows ?? 0);
}

/** Where a stream of somebody's notifications goes on. */
export interface Position {
  email: string;
  /** The id of the last one that was told. */
  cursor: number;
}

/** What came behind each position: of each person the newest `limit`, in the order in which they came. */
export async function listBehind(
  tx: Tx,
  positions: readonly Position[],
  limit: number,
): Promise<(InboxRow & { email: string })[]> {
  const { rows } = await sql<InboxRow & { email: string }>`
    select w.email, ${COLUMNS}
    from unnest(${positions.map(({ email }) => email)}::text[], ${positions.map(({ cursor }) => cursor)}::bigint[])
      as w (email, cursor)
    join person p on p.email = w.email
    cross join lateral (
      select * from notification m
      where m.person_id = p.id and m.id > w.cursor and m.status <> 'suppressed' order by m.id desc limit ${limit}) n
    ${JOINS}
    order by n.id`.execute(tx.kysely);
  return rows;
}

/** What somebody was told last. */
export interface Told extends Position {
  /** Unread ones. */
  count: number;
}

/** Of whom there is something that was not told: who is up to date, as nearly all are, costs two looks into indexes. */
export async function whoseIsAnother(tx: Tx, told: readonly Told[]): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    select w.email
    from unnest(${told.map(({ email }) => email)}::text[], ${told.map(({ cursor }) => cursor)}::bigint[],
      ${told.map(({ count }) => count)}::int[]) as w (email, cursor, count)
    join person p on p.email = w.email
    where exists (
        select from notification n where n.person_id = p.id and n.id > w.cursor and n.status <> 'suppressed')
      or w.count <> (
        select count(*) from notification n
        where n.person_id = p.id and n.read_at is null and n.status <> 'suppressed')`.execute(tx.kysely);
  return rows.map(({ email }) => email);
}

/** The unread of each address; one that was never mentioned has none. */
export async function countUnreadOf(tx: Tx, emails: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ email: string; count: number }>`
    select p.email, (
      select count(*)::int from notification n
      where n.person_id = p.id and n.read_at is null and n.status <> 'suppressed') as count
    from person p where p.email = any(${emails}::text[])`.execute(tx.kysely);
  return new Map(rows.map(({ email, count }) => [email, count]));
}

/** The id of the newest notification in somebody's inbox; 0 when it is empty. */
export async function newestIn(tx: Tx, email: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select id from notification
    where person_id = (select id from person where email = ${email}) and status <> 'suppressed'
    order by id desc limit 1`.execute(tx.kysely);
  return rows[0]?.id ?? 0;
}
