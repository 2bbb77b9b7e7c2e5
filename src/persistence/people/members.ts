/** Members of applications, as searches of people read them: who has a row there, and which rows count for that. */

import { type RawBuilder, sql } from 'kysely';
import { endsWithin, type GrantTable, held, isCounting, isHeld } from '../windows.ts';

/** Rows that make a person a match: of one of these tables, in one of these applications (ids). */
export interface Members {
  tables: readonly (GrantTable | 'app_preference')[];
  /** Null: in any. */
  apps: readonly number[] | null;
  /** Of `user_role`, holders of one of these roles only. */
  roles?: readonly number[];
  /** Grants that count now; otherwise those that are held. */
  counting?: boolean;
  /** Grants alone that end within that number of days. */
  endingWithinDays?: number;
  /** SuperAdmins match as well. */
  superadmins?: boolean;
}

/** Members of named applications: they can be read application by application. */
export type NamedMembers = Members & { apps: readonly number[] };

/**
 * The next `most` members of the application `a.id`, after the person `after`. Each table is ordered and limited first:
 * otherwise the planner might read all members. By indexes alone: those whose grants have ended are among them.
 */
export function nextMembers(
  { tables, roles, superadmins, endingWithinDays }: NamedMembers,
  after: number,
  most: number,
): RawBuilder<unknown> {
  const parts = tables.map((table) =>
    table === 'user_role' && roles !== undefined
      ? sql`(select h.person_id from unnest(${roles}::bigint[]) as r (id) cross join lateral (
          select m.person_id from ${held('user_role')} m where m.application_id = a.id and m.role_id = r.id and m.person_id > ${after}
          order by m.person_id limit ${most}) h)`
      : sql`(select distinct m.person_id from ${sql.table(table)} m
          where m.application_id = a.id and m.person_id > ${after} and ${ending(endingWithinDays)} order by m.person_id limit ${most})`,
  );
  if (superadmins === true) {
    parts.push(
      sql`(select m.person_id from superadmin m where m.person_id > ${after} order by m.person_id limit ${most})`,
    );
  }
  return sql`select distinct c.person_id from (${sql.join(parts, sql` union all `)}) c order by c.person_id limit ${most}`;
}

/** Whether the person `id` is of that group. */
export function isOf(group: Members, id: RawBuilder<unknown>): RawBuilder<boolean> {
  const { tables, apps, roles, superadmins, endingWithinDays } = group;
  const has = (table: RawBuilder<unknown>, which: RawBuilder<unknown>): RawBuilder<unknown> => sql`coalesce((
      select true from ${table} m where ${which} limit 1), false)`;
  const of = sql`m.person_id = ${id}`;
  const parts = tables.map((table) => {
    const which = roles === undefined || table !== 'user_role' ? sql`true` : sql`m.role_id = any(${roles}::bigint[])`;
    const place = table === 'app_preference' ? sql`${of} and ${among(apps)}` : inApps(apps, id);
    const state = table === 'app_preference' ? sql`true` : group.counting === true ? isCounting('m') : isHeld('m');
    return has(sql.table(table), sql`${place} and ${which} and ${state} and ${ending(endingWithinDays)}`);
  });
  if (superadmins === true) parts.push(has(sql`superadmin`, of));
  return sql<boolean>`(${sql.join(parts, sql` or `)})`;
}

/** By the index of ends, where grants are asked for by theirs. */
function ending(days: number | undefined): RawBuilder<unknown> {
  return days === undefined ? sql`true` : endsWithin('m', days);
}

/**
 * A grant of the person in these applications. As a range of the primary key: with equalities an index of the application alone costs as
 * much by estimate where the server knows nothing of the table yet, and then all that is there is read for each person.
 */
function inApps(apps: readonly number[] | null, id: RawBuilder<unknown>): RawBuilder<unknown> {
  const [only] = apps ?? [];
  if (apps?.length !== 1) return sql`m.person_id = ${id} and ${among(apps)}`;
  return sql`(m.person_id, m.application_id) >= (${id}, ${only}) and (m.person_id, m.application_id) <= (${id}, ${only})`;
}

/** Of several applications not by the index, which an older PostgreSQL would probe for each of them. */
function among(apps: readonly number[] | null): RawBuilder<unknown> {
  if (apps === null) return sql`true`;
  const [only] = apps;
  return apps.length === 1 ? sql`m.application_id = ${only}` : sql`m.application_id + 0 = any(${apps}::bigint[])`;
}
