/** The send log over several applications: a page of it, and failed notifications to be sent again. */

import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { type BrandFilter, byBrand } from '../delivery/enqueue.ts';
import { type LogQuery, type LogRow, withDeliveries } from './log.ts';
import {
  type Applications,
  applications,
  BY_APPLICATION,
  BY_STATUS,
  ofApplication,
  ofStatus,
  ofUnsent,
  statusesOf,
} from './recent.ts';

/** A notification as administrators of several applications see it. */
export interface LogRowEverywhere extends LogRow {
  appCode: string;
}

interface Query extends LogQuery {
  readonly limit: number;
  readonly after: number | null;
}

/** Notifications of these applications with their deliveries, newest first, at most `limit`, older than `after`. */
export async function listAllSends(tx: Tx, apps: Applications, query: Query): Promise<LogRowEverywhere[]> {
  const ids = (await newestOf(tx, apps, query)) ?? (await idsOf(tx, source(apps, query), query.limit));
  const rows = await withDeliveries(tx, [sql`n.id = any(${ids}::bigint[])`], query.limit);
  const { rows: codes } = await sql<{ id: number; code: string }>`
    select n.id, a.code from notification n join application a on a.id = n.application_id
     where n.id = any(${ids}::bigint[])`.execute(tx.kysely);
  const codeOf = new Map(codes.map(({ id, code }) => [id, code]));
  return rows.map((row) => ({ ...row, appCode: codeOf.get(row.id) ?? '' }));
}

async function idsOf(tx: Tx, from: RawBuilder<unknown>, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select n.id from ${from} order by n.id desc limit ${limit}`.execute(
    tx.kysely,
  );
  return rows.map(({ id }) => id);
}

/** Notifications that are looked at for a page of a frequent kind. */
const LOOKED_AT = 10_000;

/**
 * A page of all that were sent, or that are of a type, where these are as frequent as usual; undefined for another question, and where
 * the page is not full. A type stands for one of each application, so thousands would be asked one by one, in each partition.
 */
async function newestOf(
  tx: Tx,
  apps: Applications,
  { status, type, email, after, limit }: Query,
): Promise<number[] | undefined> {
  if (apps !== null || email !== null || (status === null ? type === null : status !== 'sent')) return undefined;
  const isOlder = after === null ? sql`true` : sql`n.id < ${after}`;
  const hasStatus = status === null ? sql`true` : sql`m.status = ${status}`;
  const hasType =
    type === null
      ? sql`true`
      : sql`m.notification_type_id = any(array(select t.id from notification_type t where t.code = ${type}))`;
  const newest = sql`(select m.id from (
      select n.id, n.status, n.notification_type_id from notification n where ${isOlder} order by n.id desc limit ${LOOKED_AT}) m
    where ${hasStatus} and ${hasType}) n`;
  const ids = await idsOf(tx, newest, limit);
  return ids.length < limit ? undefined : ids;
}

/** The relation `n` of matching notifications: of each application, type or person the newest, by the index that fits the filter. */
function source(apps: Applications, { status, type, email, after, limit }: Query): RawBuilder<unknown> {
  const high = after ?? undefined;
  const isOlder = after === null ? sql`true` : sql`n.id < ${after}`;
  const hasStatus = status === null ? sql`true` : sql`n.status = ${status}`;
  const types = sql`(select t.id from notification_type t
    where t.code = ${type} and t.application_id in (select a.id from ${applications(apps)})) as t`;
  if (email !== null) {
    const seen = apps === null ? sql`true` : sql`n.application_id = any(${[...apps]}::bigint[])`;
    const ofType = type === null ? sql`true` : sql`n.notification_type_id in (select t.id from ${types})`;
    const person = sql`n.person_id = (select id from person where email = ${email})`;
    return sql`(select n.id from notification n
      where ${sql.join([person, seen, ofType, isOlder, hasStatus], sql` and `)}) n`;
  }
  if (type !== null) {
    return sql`${types} cross join lateral (
      select n.id from notification n
       where (n.notification_type_id, n.id) >= (t.id, 0::bigint)
         and (n.notification_type_id, n.id) < (t.id, ${high ?? Number.MAX_SAFE_INTEGER}::bigint) and ${hasStatus}
       order by n.notification_type_id desc, n.id desc limit ${limit}) n`;
  }
  if (status !== null && status !== 'sent' && apps === null) {
    return sql`${statusesOf([status])} cross join lateral (
      select n.id from notification n where ${ofUnsent(0, high)} order by n.status desc, n.id desc limit ${limit}) n`;
  }
  if (status !== null) {
    return sql`${applications(apps)} cross join ${statusesOf([status])} cross join lateral (
      select n.id from notification n where ${ofStatus(0, high)} order by ${BY_STATUS} limit ${limit}) n`;
  }
  if (apps === null) return sql`(select n.id from notification n where ${isOlder} order by n.id desc limit ${limit}) n`;
  return sql`${applications(apps)} cross join lateral (
    select n.id from notification n where ${ofApplication(0, high)} order by ${BY_APPLICATION} limit ${limit}) n`;
}

/** Which failed notifications to send again. */
export interface FailedQuery {
  readonly statuses: readonly string[];
  /** The code of a type; null for every type. */
  readonly type: string | null;
  readonly brand: BrandFilter | null;
  /** The code of a type that is never sent again. */
  readonly except: string;
}

/** Notifications of these applications with failed deliveries, the oldest first; at most `limit`. */
export async function findFailed(
  tx: Tx,
  apps: Applications,
  { statuses, type, brand, except }: FailedQuery,
  limit: number,
): Promise<{ id: number; appCode: string }[]> {
  const kind = type === null ? sql`t.code <> ${except}` : sql`t.code <> ${except} and t.code = ${type}`;
  const [which, order] =
    apps === null
      ? [sql``, sql`n.status, n.id`]
      : [sql`${applications(apps)} cross join`, sql`n.application_id, n.status, n.id`];
  const { rows } = await sql<{ id: number; appCode: string }>`
    select n.id, (select code from application where id = n.application_id) as "appCode"
      from ${which} ${statusesOf(statuses)}
      cross join lateral (
        select n.id, n.application_id from notification n
         cross join lateral (select from notification_type t where t.id = n.notification_type_id and ${kind} limit 1) t
         cross join lateral (
           select from delivery d where d.notification_id = n.id and d.status = 'failed' and ${byBrand(brand)} limit 1) d
         where ${apps === null ? ofUnsent() : ofStatus()}
         order by ${order} limit ${limit}) n
     order by n.id limit ${limit}`.execute(tx.kysely);
  return rows;
}
