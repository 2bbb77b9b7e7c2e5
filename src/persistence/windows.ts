/**
 * Grants in time, as statements see them (docs/reference/time.md): a grant is *held* until its end, and *counts* from its beginning to
 * its end. Every read of the three tables goes by what stands here; a test of the architecture holds that. The clock is the primary's.
 */

import { type RawBuilder, sql } from 'kysely';
import { certain } from '../base/certain.ts';
import type { Tx } from './database.ts';

/** The present instant, and the latest end that a grant may be given at it, ten years ahead. */
export async function readLimits({ kysely }: Tx): Promise<{ now: Date; latest: Date }> {
  const { rows } = await sql<{ now: Date; latest: Date }>`
    select statement_timestamp() as now, statement_timestamp() + interval '10 years' as latest`.execute(kysely);
  return certain(rows[0]);
}

/** The tables whose rows are grants. */
export const GRANT_TABLES = ['user_role', 'app_admin', 'resource_override'] as const;
export type GrantTable = (typeof GRANT_TABLES)[number];

/** When a grant begins and when it has ended; null: no bound. */
export interface GrantWindow {
  readonly startsAt: Date | null;
  readonly endsAt: Date | null;
}

export const NO_WINDOW: GrantWindow = { startsAt: null, endsAt: null };

/** The instant of a statement. A comparison of two statements takes that of their transaction instead, `now()`. */
const STATEMENT = 'statement_timestamp()';

/** Whether the row `alias` is held. */
export const isHeldSql = (alias: string, at = STATEMENT): string =>
  `(${alias}.ends_at is null or ${alias}.ends_at > ${at})`;

/** Whether the row `alias` has ended, and waits for its removal: it is as if it were not there. */
export const hasEndedSql = (alias: string): string => `(${alias}.ends_at <= ${STATEMENT})`;

/** Whether the row `alias` counts. */
export const isCountingSql = (alias: string, at = STATEMENT): string =>
  `((${alias}.starts_at is null or ${alias}.starts_at <= ${at}) and ${isHeldSql(alias, at)})`;

/** When the grant of the row `alias` begins or ends next; null where it does neither any more. */
export const nextOfSql = (alias: string, at = STATEMENT): string =>
  `case when ${alias}.starts_at > ${at} then ${alias}.starts_at when ${alias}.ends_at > ${at} then ${alias}.ends_at end`;

/**
 * The grants that are held, to come included: for lists and sets, and for what a write finds. Stands in place of the table behind
 * `from` or `join`, with an alias; the planner sees through it.
 */
export const heldSql = (table: GrantTable): string => `(select * from ${table} x where ${isHeldSql('x')})`;

/** The grants that count: for what says or decides what somebody may do at this moment. */
export const countingSql = (table: GrantTable, at = STATEMENT): string =>
  `(select * from ${table} x where ${isCountingSql('x', at)})`;

/** The window of the row `alias`, as members of a JSON object; null or a time in ISO 8601. */
export const windowJsonSql = (alias: string): string =>
  (['starts_at', 'ends_at'] as const)
    .map((column) => `'${column === 'starts_at' ? 'startsAt' : 'endsAt'}', ${isoSql(`${alias}.${column}`)}`)
    .join(', ');

const isoSql = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A window as JSON of the database has it. */
export interface WindowJson {
  startsAt: string | null;
  endsAt: string | null;
}

/** The same for Kysely. */
export const held = (table: GrantTable): RawBuilder<unknown> => sql.raw(heldSql(table));
export const counting = (table: GrantTable): RawBuilder<unknown> => sql.raw(countingSql(table));
export const hasEnded = (alias: string): RawBuilder<boolean> => sql.raw(hasEndedSql(alias));
export const isHeld = (alias: string): RawBuilder<boolean> => sql.raw(isHeldSql(alias));
export const isCounting = (alias: string): RawBuilder<boolean> => sql.raw(isCountingSql(alias));

/** Whether the grant `alias` ends within that number of days: by the index of ends. */
export const endsWithin = (alias: string, days: number): RawBuilder<boolean> =>
  sql<boolean>`(${sql.raw(alias)}.ends_at > ${sql.raw(STATEMENT)} and ${sql.raw(alias)}.ends_at <= ${sql.raw(STATEMENT)} + make_interval(days => ${days}::int))`;

/** A table of memberships: of a table of grants those that are held. */
export function memberRows(table: GrantTable | 'app_preference'): RawBuilder<unknown> {
  return table === 'app_preference' ? sql.table(table) : held(table);
}

/**
 * For an insert that meets a row with the same key: one that has ended gives way to the new grant, any other stays. What is returned
 * are new grants alone.
 */
export const unlessHeldSql = (table: GrantTable): string =>
  `do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at, created_at = now() where ${hasEndedSql(table)}`;

/**
 * For an insert that meets a row with the same key: its window becomes that of the insert. One that has ended gives way to a new grant.
 * Nothing is written where the window is the same, unless `always`.
 */
export const setWindowSql = (table: GrantTable, when: 'changed' | 'always' = 'changed'): string =>
  `do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at,
    created_at = case when ${hasEndedSql(table)} then now() else ${table}.created_at end
   ${when === 'always' ? '' : `where (${table}.starts_at, ${table}.ends_at) is distinct from (excluded.starts_at, excluded.ends_at)`}`;

/** The bounds of grants as two lists of the driver. */
export function timesOf(grants: readonly GrantWindow[]): { startsAt: (Date | null)[]; endsAt: (Date | null)[] } {
  return { startsAt: grants.map(({ startsAt }) => startsAt), endsAt: grants.map(({ endsAt }) => endsAt) };
}
