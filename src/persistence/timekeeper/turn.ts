/**
 * What the timekeeper does to grants with a window: it removes those that have ended, and finds those that have begun
 * (docs/reference/time.md#the-timekeeper). By the clock of the database, and by no other.
 */

import { type RawBuilder, sql } from 'kysely';
import { LEVEL_NAMES } from '../../base/level-names.ts';
import { Level } from '../../engine/types.ts';
import { noteActor } from '../audit.ts';
import type { Scope, Tx } from '../database.ts';
import { planByIndex } from '../driver/prepared.ts';
import { type GrantTable, hasEndedSql, windowJsonSql } from '../windows.ts';

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

/** By the number of the level: arrays of the database begin with 1, and 0 denies. */
const LEVELS = `{${LEVEL_NAMES.slice(1).join(',')}}`;

/** What a turn has done. */
export interface Turned {
  readonly began: number;
  readonly ended: number;
  /** Whom it concerns, each once. */
  readonly scopes: readonly Scope[];
}

/**
 * Takes note of beginnings, then removes grants that have ended, the earliest first; of both together at most `limit`. A grant that has
 * begun and ended since the last turn is in both. The audit records are written where the rows are: a thousand of them would hold up the
 * process. Null while another process does so. Rows that somebody is changing are left for the next turn.
 */
export async function takeTurn(tx: Tx, limit: number): Promise<Turned | null> {
  const { rows } = await sql<{ held: boolean }>`
    select pg_try_advisory_xact_lock(${TIMEKEEPER_LOCK}) as held`.execute(tx.kysely);
  if (rows[0]?.held !== true) return null;
  noteActor(tx, ACTOR);
  await planByIndex(tx);
  const began = await done(tx, beginnings(limit));
  const parts = [began];
  let left = limit - began.count;
  for (const remove of [endedRoles, endedOverrides, endedSeats]) {
    if (left <= 0) break;
    const part = await done(tx, remove(left));
    parts.push(part);
    left -= part.count;
  }
  const ended = limit - left - began.count;
  return { began: began.count, ended, scopes: [...new Set(parts.flatMap(({ scopes }) => scopes))] };
}

interface Part {
  count: number;
  scopes: Scope[];
}

const ACTOR = 'system';

/** Runs `named`, the relations up to `named (action, app, email, before, after)`, and writes a record of each. */
async function done(tx: Tx, named: RawBuilder<unknown>): Promise<Part> {
  const { rows } = await sql<Part>`
    with ${named}, told as (
      insert into audit (actor, action, app_code, subject, before, after)
        select ${ACTOR}, action, app, email, before, after from named)
    select count(*)::int as count, coalesce(array_agg(distinct 'm:' || app || ':' || email), '{}') as scopes
      from named`.execute(tx.kysely);
  return rows[0] ?? { count: 0, scopes: [] };
}

const NAMED = sql`a.code as app, p.email`;
const NAMES = sql`join person p on p.id = g.person_id join application a on a.id = g.application_id`;

/** What was held, with its window. */
const WINDOW = sql.raw(windowJsonSql('g'));
const ROLE = sql`jsonb_build_object('role', r.code, ${WINDOW})`;
const SEAT = sql`jsonb_build_object(${WINDOW})`;
const OVERRIDE = sql`jsonb_build_object('resourceType', g.resource_type, 'resourceId', g.resource_id, 'permission', c.code,
  'granted', g.level <> ${sql.lit(Level.NONE)}, 'accessLevel', (${sql.lit(LEVELS)}::text[])[g.level], ${WINDOW})`;

/** The relation `due` of rows that have ended, locked. */
function due(table: GrantTable, limit: number): RawBuilder<unknown> {
  return sql`due as materialized (
    select g.* from ${sql.table(table)} g where ${sql.raw(hasEndedSql('g'))} order by ends_at limit ${limit}
      for update skip locked)`;
}

function endedRoles(limit: number): RawBuilder<unknown> {
  return sql`${due('user_role', limit)}, g as (
      delete from user_role g using due d
       where (g.person_id, g.application_id, g.role_id) = (d.person_id, d.application_id, d.role_id) returning g.*),
    named as (
      select 'assignment.ended' as action, ${NAMED}, ${ROLE} as before, null::jsonb as after
        from g ${NAMES} join role r on r.id = g.role_id)`;
}

function endedOverrides(limit: number): RawBuilder<unknown> {
  return sql`${due('resource_override', limit)}, g as (
      delete from resource_override g using due d
       where (g.person_id, g.application_id, g.resource_type, g.resource_id, g.permission_id)
           = (d.person_id, d.application_id, d.resource_type, d.resource_id, d.permission_id) returning g.*),
    named as (
      select 'override.ended' as action, ${NAMED}, ${OVERRIDE} as before, null::jsonb as after
        from g ${NAMES} join permission c on c.id = g.permission_id)`;
}

function endedSeats(limit: number): RawBuilder<unknown> {
  return sql`${due('app_admin', limit)}, g as (
      delete from app_admin g using due d
       where (g.person_id, g.application_id) = (d.person_id, d.application_id) returning g.*),
    named as (
      select 'app_admin.ended' as action, ${NAMED}, ${SEAT} as before, null::jsonb as after from g ${NAMES})`;
}

/** A moment goes with its grant, so each that is there has one. */
function beginnings(limit: number): RawBuilder<unknown> {
  return sql`due as materialized (
      select * from grant_moment where what = 'begin' and at <= statement_timestamp() order by at limit ${limit}
        for update skip locked),
    m as (
      delete from grant_moment m using due d
       where (m.kind, m.person_id, m.application_id, m.object_id, m.resource_type, m.resource_id, m.what)
           = (d.kind, d.person_id, d.application_id, d.object_id, d.resource_type, d.resource_id, d.what) returning m.*),
    named as (
      select 'assignment.began' as action, ${NAMED}, null::jsonb as before, ${ROLE} as after
        from m join user_role g on (g.person_id, g.application_id, g.role_id) = (m.person_id, m.application_id, m.object_id)
          ${NAMES} join role r on r.id = g.role_id
       where m.kind = 'role'
      union all
      select 'override.began', ${NAMED}, null, ${OVERRIDE}
        from m join resource_override g on (g.person_id, g.application_id, g.resource_type, g.resource_id, g.permission_id)
            = (m.person_id, m.application_id, m.resource_type, m.resource_id, m.object_id)
          ${NAMES} join permission c on c.id = g.permission_id
       where m.kind = 'override'
      union all
      select 'app_admin.began', ${NAMED}, null, ${SEAT}
        from m join app_admin g on (g.person_id, g.application_id) = (m.person_id, m.application_id) ${NAMES}
       where m.kind = 'app_admin')`;
}
