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
  const ids = await newestIds(tx, apps, query);
  const rows = await withDeliveries(tx, [sql`n.id = any(${ids}::bigint[])`], query.limit);
  const { rows: codes } = await sql<{ id: number; code: string }>`
    select n.id, a.code from notification n join application a on a.id = n.application_id
     where n.id = any(${ids}::bigint[])`.execute(tx.kysely);
  const codeOf = new Map(codes.map(({ id, code }) => [id, code]));
  return rows.map((row) => ({ ...row, appCode: codeOf.get(row.id) ?? '' }));
}

/** The newest ids by the first shape that answers. */
async function newestIds(tx: Tx, apps: Applications, query: Query): Promise<number[]> {
  for (const { relation, mayFallShort } of SHAPES) {
    const from = relation(apps, query);
    if (from === null) continue;
    const { rows } = await sql<{
      id: number;
    }>`select n.id from ${from} order by n.id desc limit ${query.limit}`.execute(tx.kysely);
    if (!mayFallShort || rows.length === query.limit) return rows.map(({ id }) => id);
  }
  return [];
}

/** Notifications that are looked at for a page of a frequent kind. */
const LOOKED_AT = 10_000;

/** One way to find the newest notifications that match, by the index that fits the question. */
interface Shape {
  /** The relation `n` of their ids; null for what it does not answer. */
  readonly relation: (apps: Applications, query: Query) => RawBuilder<unknown> | null;
  /** A page that is not full is asked for again, by the shapes below. */
  readonly mayFallShort?: true;
}

/** Every shape: why it is there, and for which questions. The first that answers is taken. */
const SHAPES: readonly Shape[] = [
  // What was sent, or is of a type, is usually frequent. A type stands for one of each application: thousands would be asked
  // one by one, in each partition.
  {
    relation: (apps, query) => {
      const { status, type, email } = query;
      if (apps !== null || email !== null || (status === null ? type === null : status !== 'sent')) return null;
      const hasStatus = status === null ? sql`true` : sql`m.status = ${status}`;
      const hasType =
        type === null
          ? sql`true`
          : sql`m.notification_type_id = any(array(select t.id from notification_type t where t.code = ${type}))`;
      return sql`(select m.id from (
          select n.id, n.status, n.notification_type_id from notification n where ${isOlder(query)} order by n.id desc limit ${LOOKED_AT}) m
        where ${hasStatus} and ${hasType}) n`;
    },
    mayFallShort: true,
  },
  // A person has few, whatever else is asked of them.
  {
    relation: (apps, query) => {
      const { type, email } = query;
      if (email === null) return null;
      const seen = apps === null ? sql`true` : sql`n.application_id = any(${[...apps]}::bigint[])`;
      const ofType =
        type === null ? sql`true` : sql`n.notification_type_id in (select t.id from ${typesOf(apps, type)})`;
      const person = sql`n.person_id = (select id from person where email = ${email})`;
      return sql`(select n.id from notification n
        where ${sql.join([person, seen, ofType, isOlder(query), hasStatus(query)], sql` and `)}) n`;
    },
  },
  // A type is of one application: its index has the newest that may be seen.
  {
    relation: (apps, query) =>
      query.type === null
        ? null
        : sql`${typesOf(apps, query.type)} cross join lateral (
            select n.id from notification n
             where (n.notification_type_id, n.id) >= (t.id, 0::bigint)
               and (n.notification_type_id, n.id) < (t.id, ${before(query)}::bigint) and ${hasStatus(query)}
             order by n.notification_type_id desc, n.id desc limit ${query.limit}) n`,
  },
  // What is not sent is rare, and has an index over all applications.
  {
    relation: (apps, query) =>
      apps !== null || query.status === null || query.status === 'sent'
        ? null
        : sql`${statusesOf([query.status])} cross join lateral (
            select n.id from notification n where ${ofUnsent(0, before(query))} order by n.status desc, n.id desc limit ${query.limit}) n`,
  },
  // The newest of each application with the status, past whatever lies between.
  {
    relation: (apps, query) =>
      query.status === null
        ? null
        : sql`${applications(apps)} cross join ${statusesOf([query.status])} cross join lateral (
            select n.id from notification n where ${ofStatus(0, before(query))} order by ${BY_STATUS} limit ${query.limit}) n`,
  },
  // All of them, by the primary key.
  {
    relation: (apps, query) =>
      apps === null
        ? sql`(select n.id from notification n where ${isOlder(query)} order by n.id desc limit ${query.limit}) n`
        : null,
  },
  // The newest of each application: one may have next to nothing beside all others.
  {
    relation: (apps, query) => sql`${applications(apps)} cross join lateral (
      select n.id from notification n where ${ofApplication(0, before(query))} order by ${BY_APPLICATION} limit ${query.limit}) n`,
  },
];

function isOlder({ after }: Query): RawBuilder<unknown> {
  return after === null ? sql`true` : sql`n.id < ${after}`;
}

/** An id above all that are asked for. */
function before({ after }: Query): number {
  return after ?? Number.MAX_SAFE_INTEGER;
}

function hasStatus({ status }: Query): RawBuilder<unknown> {
  return status === null ? sql`true` : sql`n.status = ${status}`;
}

/** The relation `t (id)` of the types with that code in these applications. */
function typesOf(apps: Applications, type: string): RawBuilder<unknown> {
  return sql`(select t.id from notification_type t
    where t.code = ${type} and t.application_id in (select a.id from ${applications(apps)})) as t`;
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
    select n.id, (select code from application where id = n.application_id) as app_code
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
