/**
 * The sends of the last hours over several applications, for overviews. By the indexes of the send log alone: how much is stored
 * beside them does not count.
 */

import { type RawBuilder, sql } from 'kysely';
import type { ChannelName } from '../../base/channels.ts';
import type { Tx } from '../database.ts';

/** Ids of applications; null: all of them. */
export type Applications = readonly number[] | null;

/** The relation `a (id)` of these applications. */
export function applications(apps: Applications): RawBuilder<unknown> {
  return apps === null ? sql`(select id from application) as a` : sql`unnest(${[...apps]}::bigint[]) as a (id)`;
}

const EVERY = Number.MAX_SAFE_INTEGER;

/**
 * Whether `n` is of the application `a` and has the status `s`, with an id from `low` to before `high`. As a range of one index, and in
 * its order (`BY_STATUS`): with equalities the planner may walk the primary key for an application that has next to nothing.
 */
export function ofStatus(low = 0, high = EVERY): RawBuilder<unknown> {
  return sql`(n.application_id, n.status, n.id) >= (a.id, s.status, ${low}::bigint)
    and (n.application_id, n.status, n.id) < (a.id, s.status, ${high}::bigint)`;
}
export const BY_STATUS = sql`n.application_id desc, n.status desc, n.id desc`;

/**
 * The same over all applications, for what is not `sent`: in the order of the index `notification_unsent`, whose condition is the first.
 */
export function ofUnsent(low = 0, high = EVERY): RawBuilder<unknown> {
  return sql`n.status <> 'sent' and (n.status, n.id) >= (s.status, ${low}::bigint) and (n.status, n.id) < (s.status, ${high}::bigint)`;
}

/** The same for every status, in the order `BY_APPLICATION`. */
export function ofApplication(low = 0, high = EVERY): RawBuilder<unknown> {
  return sql`(n.application_id, n.id) >= (a.id, ${low}::bigint) and (n.application_id, n.id) < (a.id, ${high}::bigint)`;
}
export const BY_APPLICATION = sql`n.application_id desc, n.id desc`;

/** The relation `s (status)`. */
export function statusesOf(statuses: readonly string[]): RawBuilder<unknown> {
  return sql`unnest(${[...statuses]}::text[]) as s (status)`;
}

/**
 * The id of the first notification that was made in the last `hours`; null without any notification. Ids grow with time, so
 * it is found by bisection: a send that took seconds may be on the wrong side by as much.
 */
export async function firstSince(tx: Tx, hours: number): Promise<number | null> {
  const { rows } = await sql<{ id: number | null }>`
    with recursive search (low, high) as (
      select min(id), max(id) + 1 from notification
      union all
      select case when p.late then s.low else p.id + 1 end, case when p.late then s.mid else s.high end
        from (select low, high, (low + high) / 2 as mid from search where low < high) s
        cross join lateral (
          select n.id, n.created_at >= now() - make_interval(hours => ${hours}) as late
            from notification n where n.id >= s.mid order by n.id limit 1) p
    )
    select max(low) as id from search`.execute(tx.kysely);
  return rows[0]?.id ?? null;
}

/** How many notifications have each status, from the id `from` on. */
export async function countByStatus(tx: Tx, apps: Applications, from: number): Promise<ReadonlyMap<string, number>> {
  const recent =
    apps === null
      ? sql`select n.status from notification n where n.id >= ${from}`
      : sql`select n.status from ${applications(apps)}
          cross join lateral (select n.status from notification n where ${ofApplication(from)} order by ${BY_APPLICATION}) n`;
  const { rows } = await sql<{ status: string; count: number }>`
    select n.status, count(*)::int as count from (${recent}) n group by n.status`.execute(tx.kysely);
  return new Map(rows.map(({ status, count }) => [status, count]));
}

/** When the oldest notification was accepted that still waits for a delivery; null without one. */
export async function oldestQueued(tx: Tx, apps: Applications): Promise<Date | null> {
  const oldest =
    apps === null
      ? sql`select n.created_at as at from notification n where ${ofUnsent()} order by n.status, n.id limit 1`
      : sql`select n.created_at as at from ${applications(apps)} cross join lateral (
          select n.created_at from notification n where ${ofStatus()}
           order by n.application_id, n.status, n.id limit 1) n`;
  const { rows } = await sql<{ at: Date | null }>`
    select min(n.at) as at from ${statusesOf(['queued'])} cross join lateral (${oldest}) n`.execute(tx.kysely);
  return rows[0]?.at ?? null;
}

/** A brand whose mails fail, or are tried again. */
export interface FailingBrandRow {
  slug: string;
  name: string;
  failures: number;
  /** Of the newest of them. */
  reason: string;
}

/** Notifications examined of each application and status, and in all; of all applications, those of each status that are looked at. */
const EXAMINED_EACH = 200;
const EXAMINED = 5000;
const LOOKED_AT = 20_000;
/** More than a notification has deliveries: a limit keeps the planner from joining whole tables. */
const DELIVERIES = sql.lit(8);

/** The brand `b` of the delivery `d`: the default one where it has none, or one that is gone. */
const BRAND = sql`coalesce((select b.id from brand b where b.id = d.brand_id), (select b.id from brand b where b.is_default))`;

/** The relation `n (id)` of those from `from` on that failed or wait. */
function troubled(apps: Applications, from: number): RawBuilder<unknown> {
  const statuses = statusesOf(['failed', 'partial', 'queued']);
  if (apps !== null) {
    return sql`${applications(apps)} cross join ${statuses} cross join lateral (
      select n.id from notification n where ${ofStatus(from)} order by ${BY_STATUS} limit ${EXAMINED_EACH}) n`;
  }
  return sql`(
    select m.id, row_number() over (partition by m.application_id, m.status order by m.id desc) as place
      from ${statuses} cross join lateral (
        select n.id, n.application_id, n.status from notification n where ${ofUnsent(from)}
         order by n.status desc, n.id desc limit ${LOOKED_AT}) m) n
    where n.place <= ${EXAMINED_EACH}`;
}

/** Brands with mails that failed since the notification `from`, the most failures first. Counts the newest notifications alone. */
export async function findFailingBrands(tx: Tx, apps: Applications, from: number): Promise<FailingBrandRow[]> {
  const { rows } = await sql<FailingBrandRow>`
    with troubled as (
      select n.id from ${troubled(apps, from)} order by n.id desc limit ${EXAMINED}
    ), failing as (
      select d.id, d.error, ${BRAND} as brand from troubled n cross join lateral (
        select d.id, d.error, d.brand_id, d.channel, d.status from delivery d
         where d.notification_id = n.id limit ${DELIVERIES}) d
       where d.channel = 'email' and d.status not in ('sent', 'skipped') and d.error is not null
    )
    select b.slug, b.name, count(*)::int as failures, (array_agg(f.error order by f.id desc))[1] as reason
      from failing f join brand b on b.id = f.brand group by b.id order by failures desc, b.slug`.execute(tx.kysely);
  return rows;
}

/** Deliveries of one hour with one outcome. */
export interface StatisticRow {
  hour: Date;
  channel: ChannelName;
  /** The slug. */
  brand: string;
  /** Null: sent. */
  reason: string | null;
  count: number;
}

/** The relation `n (id, at)` of the newest notifications from `from` on. */
function newest(apps: Applications, from: number, limit: number): RawBuilder<unknown> {
  if (apps === null) {
    return sql`select n.id, n.created_at as at from notification n where n.id >= ${from} order by n.id desc limit ${limit}`;
  }
  return sql`select n.id, n.at from ${applications(apps)} cross join lateral (
      select n.id, n.created_at as at from notification n where ${ofApplication(from)}
       order by ${BY_APPLICATION} limit ${limit}) n
    order by n.id desc limit ${limit}`;
}

/**
 * Attempted deliveries by hour, channel, brand and outcome, the newest hour first; of the newest `limit` notifications from `from`
 * on. `since` is the time of the oldest of them where there are more, else null.
 */
export async function countOutcomes(
  tx: Tx,
  apps: Applications,
  { from, limit }: { from: number; limit: number },
): Promise<{ rows: StatisticRow[]; since: Date | null }> {
  const { rows: bounds } = await sql<{ count: number; since: Date | null }>`
    select count(*)::int as count, min(n.at) as since from (${newest(apps, from, limit)}) n`.execute(tx.kysely);
  const { rows } = await sql<StatisticRow>`
    with n as (${newest(apps, from, limit)}),
    d as (
      select date_trunc('hour', n.at, 'UTC') as hour, d.channel, ${BRAND} as brand,
             case when d.status <> 'sent' then d.error end as reason
        from n cross join lateral (
          select d.channel, d.brand_id, d.status, d.error from delivery d
           where d.notification_id = n.id limit ${DELIVERIES}) d
       where d.status = 'sent' or (d.status <> 'skipped' and d.error is not null)
    )
    select d.hour, d.channel, b.slug as brand, d.reason, count(*)::int as count
      from d join brand b on b.id = d.brand group by d.hour, d.channel, b.slug, d.reason
     order by d.hour desc, d.channel, b.slug, d.reason nulls first`.execute(tx.kysely);
  const [bound] = bounds;
  return { rows, since: bound !== undefined && bound.count >= limit ? bound.since : null };
}
