import { sql } from 'kysely';
import { findType } from '../catalog/notification-types.ts';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

type LoggedDelivery = Pick<Row<'delivery'>, 'channel' | 'status' | 'attempts' | 'error' | 'sentAt'>;

/** A notification as administrators see it. */
export interface LogRow extends Pick<Row<'notification'>, 'id' | 'status' | 'statusReason' | 'locale' | 'createdAt'> {
  email: string;
  type: string;
  deliveries: LoggedDelivery[];
}

export interface LogQuery {
  status: string | null;
  type: string | null;
  email: string | null;
}

/** An application's notifications with their deliveries, newest first, at most `limit`, older than `after`. */
export async function listLog(
  tx: Tx,
  app: number,
  { status, type, email, limit, after }: LogQuery & { limit: number; after: number | null },
): Promise<LogRow[]> {
  const conditions = [
    sql`n.application_id = ${app}`,
    ...(after === null ? [] : [sql`n.id < ${after}`]),
    ...(status === null ? [] : [sql`n.status = ${status}`]),
    ...(email === null ? [] : [sql`n.person_id = (select id from person where email = ${email})`]),
  ];
  if (type !== null) {
    // As an id that the planner has statistics for: for a rare type it must not read the whole log.
    const found = await findType(tx, app, type);
    if (found === undefined) return [];
    conditions.push(sql`n.notification_type_id = ${found.id}`);
  }
  return await withDeliveries(tx, conditions, limit);
}

/** One of the application's notifications. */
export async function findLogged(tx: Tx, app: number, id: number): Promise<LogRow | undefined> {
  return (await withDeliveries(tx, [sql`n.application_id = ${app}`, sql`n.id = ${id}`], 1))[0];
}

/** Notifications that meet the conditions on `n`, with their deliveries; newest first. */
export async function withDeliveries(tx: Tx, conditions: ReturnType<typeof sql>[], limit: number): Promise<LogRow[]> {
  const { rows } = await sql<Omit<LogRow, 'deliveries'>>`
    with n as (
      select * from notification n where ${sql.join(conditions, sql` and `)} order by n.id desc limit ${limit})
    select n.id, p.email, t.code as type, n.status, n.status_reason, n.locale, n.created_at
    from n join person p on p.id = n.person_id join notification_type t on t.id = n.notification_type_id
    order by n.id desc`.execute(tx.kysely);
  const ids = rows.map(({ id }) => id);
  const { rows: deliveries } = await sql<LoggedDelivery & { notification: number }>`
    select notification_id as notification, channel, status, attempts, error, sent_at
    from delivery where notification_id = any(${ids}::bigint[]) order by channel`.execute(tx.kysely);
  const byNotification = Map.groupBy(deliveries, ({ notification }) => notification);
  return rows.map((row) => ({
    ...row,
    deliveries: (byNotification.get(row.id) ?? []).map(({ notification: _notification, ...delivery }) => delivery),
  }));
}

/** Which notifications wait for a delivery. */
export interface WaitingQuery {
  /** The code of a type; null for every type. */
  readonly type: string | null;
  readonly email: string | null;
}

/** Notifications of the application that wait for a delivery, the oldest first; at most `limit`. */
export async function findWaiting(
  tx: Tx,
  app: number,
  { type, email }: WaitingQuery,
  limit: number,
): Promise<number[]> {
  const ofType =
    type === null
      ? sql`true`
      : sql`n.notification_type_id = (select id from notification_type where application_id = ${app} and code = ${type})`;
  const ofPerson = email === null ? sql`true` : sql`n.person_id = (select id from person where email = ${email})`;
  // Sorted afterwards: in the order of ids the planner may walk the primary key past everything that has left.
  const { rows } = await sql<{ id: number }>`
    with waiting as materialized (
      select n.id from notification n
       where n.application_id = ${app} and n.status = 'queued' and ${ofType} and ${ofPerson})
    select id from waiting order by id limit ${limit}`.execute(tx.kysely);
  return rows.map(({ id }) => id);
}

/** Those of the ids that are notifications of the application. */
export async function knownOf(tx: Tx, app: number, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select id from notification where id = any(${[...ids]}::bigint[]) and application_id = ${app}`.execute(tx.kysely);
  return new Set(rows.map(({ id }) => id));
}
