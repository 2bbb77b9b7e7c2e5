import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { type Applications, applications } from '../notifications/recent.ts';
import { endsWithin, GRANT_TABLES, held, memberRows } from '../windows.ts';

/** What the applications of a reader hold. */
export interface RegistryCounts {
  applications: number;
  /** People of these applications; everybody for all of them. */
  people: number;
  /** Whether there may be more people. */
  morePeople: boolean;
  roles: number;
  permissions: number;
  /** People who are administrators of an application. */
  appAdmins: number;
}

/** Rows of each table that are read to count the people of some applications. */
const MAX_ROWS = 50_000;
/** People that are counted for those who may see everybody. */
const MAX_PEOPLE = 100_000;

/** The tables that make a person a user "of" an application (docs/reference/administration.md#users). */
const MEMBERSHIPS = ['user_role', 'app_preference', 'app_admin', 'resource_override'] as const;

export async function countRegistry(tx: Tx, apps: Applications): Promise<RegistryCounts> {
  const of = applications(apps);
  // For all applications nothing asks of which one a row is.
  const within = (table: RawBuilder<unknown>) =>
    apps === null ? sql`${table} m` : sql`${of} join ${table} m on m.application_id = a.id`;
  const { rows } = await sql<Omit<RegistryCounts, 'people' | 'morePeople'>>`
    select (select count(*)::int from ${of}) as applications,
           (select count(*)::int from ${within(sql`role`)}) as roles,
           (select count(*)::int from ${within(sql`permission`)}) as permissions,
           (select count(distinct m.person_id)::int from ${within(held('app_admin'))}) as app_admins
  `.execute(tx.kysely);
  const [counts] = rows;
  if (counts === undefined) throw new Error('a statement of counts must return one row');
  return { ...counts, ...(apps === null ? await countEverybody(tx) : await countPeople(tx, apps)) };
}

/** Days within which an end is soon. */
const SOON_DAYS = 7;

/** Grants in these applications that end soon. */
export async function countEndingSoon(tx: Tx, apps: Applications): Promise<number> {
  const among = apps === null ? sql`true` : sql`x.application_id = any(${[...apps]}::bigint[])`;
  const counts = GRANT_TABLES.map(
    (table) => sql`(select count(*) from ${sql.table(table)} x where ${endsWithin('x', SOON_DAYS)} and ${among})`,
  );
  const { rows } = await sql<{ ending: number }>`select (${sql.join(counts, sql` + `)})::int as ending`.execute(
    tx.kysely,
  );
  return rows[0]?.ending ?? 0;
}

type People = Pick<RegistryCounts, 'people' | 'morePeople'>;

/** As far as an overview may make the database count: a million people would take their whole table. */
async function countEverybody(tx: Tx): Promise<People> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (select id from person order by id limit ${MAX_PEOPLE + 1}) p`.execute(
    tx.kysely,
  );
  const { count = 0 } = rows[0] ?? {};
  return { people: Math.min(count, MAX_PEOPLE), morePeople: count > MAX_PEOPLE };
}

/** A part of each table is read: an application with millions of overrides must not make its administrators wait. */
async function countPeople(tx: Tx, apps: readonly number[]): Promise<People> {
  const parts = MEMBERSHIPS.map(
    (table, at) => sql`
      select ${sql.lit(at)} as part, m.person_id from (
        select x.person_id from ${memberRows(table)} x where x.application_id = any(${[...apps]}::bigint[]) limit ${MAX_ROWS}) m`,
  );
  const { rows } = await sql<People>`
    with m as materialized (${sql.join(parts, sql` union all `)})
    select (select count(distinct m.person_id)::int from m) as people,
           exists (select from m group by m.part having count(*) >= ${MAX_ROWS}) as more_people`.execute(tx.kysely);
  return rows[0] ?? { people: 0, morePeople: false };
}
