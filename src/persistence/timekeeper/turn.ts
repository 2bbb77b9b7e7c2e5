/**
 * What the timekeeper does to grants with a window: it removes those that have ended, and finds those that have begun
 * (docs/reference/time.md#the-timekeeper). By the clock of the database, and by no other.
 */

import { type RawBuilder, sql } from 'kysely';
import type { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { planByIndex } from '../driver/prepared.ts';
import { hasEndedSql } from '../windows.ts';

/** Held by the transaction of a turn: one process at a time works. */
export const TIMEKEEPER_LOCK = 7_411_532_004;

/** What is due, and when something is next. */
export interface Boundaries {
  /** Milliseconds until the next beginning or end; at most 0 where one is due, null without any. */
  nextMs: number | null;
  /** Whether somebody is to be told that a grant of theirs ends soon. */
  isTellingDue: boolean;
}

/** Looks at the ends of four indexes, however many grants there are. */
export async function readBoundaries(tx: Tx): Promise<Boundaries> {
  const { rows } = await sql<Boundaries>`
    select (extract(epoch from least(
        (select min(ends_at) from user_role where ends_at is not null),
        (select min(ends_at) from resource_override where ends_at is not null),
        (select min(ends_at) from app_admin where ends_at is not null),
        (select min(at) from grant_moment where what = 'begin')) - statement_timestamp()) * 1000)::float8 as next_ms,
      exists (select from grant_moment where what = 'warning' and at <= statement_timestamp()) as is_telling_due`.execute(
    tx.kysely,
  );
  return rows[0] ?? { nextMs: null, isTellingDue: false };
}

/** A grant that has ended, or has begun. */
export interface TurnedGrant {
  kind: 'role' | 'override' | 'app_admin';
  app: string;
  email: string;
  startsAt: Date | null;
  endsAt: Date | null;
  /** Of a role. */
  role: string | null;
  /** Of an override, as the others below. */
  permission: string | null;
  resourceType: string | null;
  resourceId: string | null;
  level: Level | null;
}

export interface Turned {
  readonly began: readonly TurnedGrant[];
  readonly ended: readonly TurnedGrant[];
}

/**
 * Takes note of beginnings, then removes grants that have ended, the earliest first; of both together at most `limit`. A grant that has
 * begun and ended since the last turn is in both. Null while another process does so. Rows that somebody is changing are left for the
 * next turn.
 */
export async function takeTurn(tx: Tx, limit: number): Promise<Turned | null> {
  const { rows } = await sql<{ held: boolean }>`
    select pg_try_advisory_xact_lock(${TIMEKEEPER_LOCK}) as held`.execute(tx.kysely);
  if (rows[0]?.held !== true) return null;
  await planByIndex(tx);
  const { rows: began } = await beginnings(limit).execute(tx.kysely);
  const ended: TurnedGrant[] = [];
  for (const remove of [endedRoles, endedOverrides, endedSeats]) {
    const left = limit - began.length - ended.length;
    if (left > 0) ended.push(...(await remove(left).execute(tx.kysely)).rows);
  }
  return { began, ended };
}

const NAMED = sql`a.code as app, p.email`;
const NAMES = sql`join person p on p.id = g.person_id join application a on a.id = g.application_id`;
const WINDOW = sql`g.starts_at, g.ends_at`;
const NO_OVERRIDE = sql`null as permission, null as resource_type, null as resource_id, null::smallint as level`;
const OVERRIDE = sql`null as role, c.code as permission, g.resource_type, g.resource_id, g.level`;

/** The relation `due` of rows that have ended, locked. */
function due(table: string, limit: number): RawBuilder<unknown> {
  return sql`due as materialized (
    select g.* from ${sql.table(table)} g where ${sql.raw(hasEndedSql('g'))} order by ends_at limit ${limit} for update skip locked)`;
}

function endedRoles(limit: number): RawBuilder<TurnedGrant> {
  return sql`
    with ${due('user_role', limit)}, g as (
      delete from user_role g using due d
       where (g.person_id, g.application_id, g.role_id) = (d.person_id, d.application_id, d.role_id) returning g.*)
    select 'role' as kind, ${NAMED}, ${WINDOW}, r.code as role, ${NO_OVERRIDE}
      from g ${NAMES} join role r on r.id = g.role_id`;
}

function endedOverrides(limit: number): RawBuilder<TurnedGrant> {
  return sql`
    with ${due('resource_override', limit)}, g as (
      delete from resource_override g using due d
       where (g.person_id, g.application_id, g.resource_type, g.resource_id, g.permission_id)
           = (d.person_id, d.application_id, d.resource_type, d.resource_id, d.permission_id) returning g.*)
    select 'override' as kind, ${NAMED}, ${WINDOW}, ${OVERRIDE} from g ${NAMES} join permission c on c.id = g.permission_id`;
}

function endedSeats(limit: number): RawBuilder<TurnedGrant> {
  return sql`
    with ${due('app_admin', limit)}, g as (
      delete from app_admin g using due d
       where (g.person_id, g.application_id) = (d.person_id, d.application_id) returning g.*)
    select 'app_admin' as kind, ${NAMED}, ${WINDOW}, null as role, ${NO_OVERRIDE} from g ${NAMES}`;
}

/** A moment goes with its grant, so each that is there has one. */
function beginnings(limit: number): RawBuilder<TurnedGrant> {
  return sql`
    with due as materialized (
      select * from grant_moment where what = 'begin' and at <= now() order by at limit ${limit} for update skip locked),
    m as (
      delete from grant_moment m using due d
       where (m.kind, m.person_id, m.application_id, m.object_id, m.resource_type, m.resource_id, m.what)
           = (d.kind, d.person_id, d.application_id, d.object_id, d.resource_type, d.resource_id, d.what) returning m.*)
    select m.kind, ${NAMED}, ${WINDOW}, r.code as role, ${NO_OVERRIDE}
      from m join user_role g on (g.person_id, g.application_id, g.role_id) = (m.person_id, m.application_id, m.object_id)
        ${NAMES} join role r on r.id = g.role_id
     where m.kind = 'role'
    union all
    select m.kind, ${NAMED}, ${WINDOW}, ${OVERRIDE}
      from m join resource_override g on (g.person_id, g.application_id, g.resource_type, g.resource_id, g.permission_id)
          = (m.person_id, m.application_id, m.resource_type, m.resource_id, m.object_id)
        ${NAMES} join permission c on c.id = g.permission_id
     where m.kind = 'override'
    union all
    select m.kind, ${NAMED}, ${WINDOW}, null as role, ${NO_OVERRIDE}
      from m join app_admin g on (g.person_id, g.application_id) = (m.person_id, m.application_id) ${NAMES}
     where m.kind = 'app_admin'`;
}
