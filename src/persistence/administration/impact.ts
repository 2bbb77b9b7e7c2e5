/**
 * What a write changes of decisions, as its own transaction sees it: who is what before it, and after it. Kept in temporary tables
 * of that transaction, so that a hundred thousand people never leave the database; the six rules are applied to each distinct
 * set of facts outside. (docs/reference/administration.md#dry-runs.)
 */

import { sql } from 'kysely';
import { unavailable } from '../../base/errors.ts';
import type { Tx } from '../database.ts';
import { StatementFailed } from '../driver/failures.ts';
import { countingSql, GRANT_TABLES, held } from '../windows.ts';

const INSUFFICIENT_PRIVILEGE = '42501';

/** Whose decisions a write may change: those of everybody in these applications, or of these people alone. */
export interface Concern {
  readonly apps: readonly string[];
  /** Addresses; null: everybody who has a role, an override or a seat there, and every SuperAdmin. */
  readonly people: readonly string[] | null;
  /** Whether the write may make, change or take away overrides. Where it cannot, they need not be kept: there may be millions. */
  readonly overrides: boolean;
  /** Whether the write changes definitions only. Then the roles and seats of people are read once. */
  readonly policyAlone?: boolean | undefined;
}

/**
 * Facts of a person in an application, as text: `a`, `s` and `m` for active, SuperAdmin and member by a seat, `-` where not, then
 * the ids of the roles as an array of PostgreSQL. '' stands for no record.
 */
export type FactsText = string;

/** People whose facts are the same before the write, and the same after it. */
export interface FactsGroup {
  appId: number;
  before: FactsText;
  after: FactsText;
  people: number;
}

/** Overrides of such people that are the same before and after. A level is null where there is no override; 0 denies. */
export interface OverrideGroup extends Omit<FactsGroup, 'people'> {
  permissionId: number;
  levelBefore: number | null;
  levelAfter: number | null;
  overrides: number;
}

/** Such overrides, with the code of their permission, by which changes are listed. */
export interface NamedGroup extends OverrideGroup {
  code: string;
}

/** A person whose decisions change, with the group that they are of in an application. */
export interface ChangedPerson {
  personId: number;
  email: string;
  appId: number;
  before: FactsText;
  after: FactsText;
}

/** An override of a changed group. */
export interface ChangedOverride {
  personId: number;
  appId: number;
  permissionId: number;
  resourceType: string;
  resourceId: string;
  levelBefore: number | null;
  levelAfter: number | null;
}

/**
 * The codes of the applications in which a person has a role, an override or a seat, by code. Found from the person: asked of each
 * application, thousands would be looked up in three tables, or these be read whole.
 */
export async function applicationsOf(tx: Tx, email: string): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select a.code from person p
      cross join lateral (
        select application_id as id from ${held('user_role')} r where r.person_id = p.id
        union select application_id from ${held('app_admin')} m where m.person_id = p.id
        union select application_id from ${held('resource_override')} o where o.person_id = p.id) m
      join application a on a.id = m.id
     where p.email = ${email} order by a.code`.execute(tx.kysely);
  return rows.map(({ code }) => code);
}

/** Keeps what the concerned are now. To be called before the write; the tables end with the transaction. */
export async function keepFacts(tx: Tx, concerns: readonly Concern[]): Promise<void> {
  await makeTables(tx);
  for (const concern of concerns) {
    await (concern.policyAlone === true
      ? sql`insert into dry_run_member select application_id, person_id, email, facts, facts from (${factsOf(concern)}) f`
      : sql`insert into dry_run_before ${factsOf(concern)}`
    ).execute(tx.kysely);
    if (!concern.overrides) continue;
    await sql`insert into dry_run_override_before ${overridesOf(concern)}`.execute(tx.kysely);
  }
}

async function makeTables(tx: Tx): Promise<void> {
  try {
    await sql`create temporary table dry_run_before (
      application_id bigint, person_id bigint, email text collate "C", facts text) on commit drop`.execute(tx.kysely);
  } catch (error) {
    if (!(error instanceof StatementFailed) || error.sqlState !== INSUFFICIENT_PRIVILEGE) throw error;
    throw unavailable(
      'Dry runs need temporary tables, which the role of Usher may not make in this database: its operator must `grant temporary on database DATABASE to ROLE`.',
      error,
    );
  }
  await sql`create temporary table dry_run_member (
    application_id bigint, person_id bigint, email text collate "C", before text, after text) on commit drop`.execute(
    tx.kysely,
  );
  await sql`create temporary table dry_run_override_before (
    application_id bigint, person_id bigint, permission_id bigint, resource_type text collate "C",
    resource_id text collate "C", level smallint) on commit drop`.execute(tx.kysely);
}

/** Compares the facts kept before the write with the present ones. Returns the distinct changes, with the number of people for each. */
export async function compareFacts(tx: Tx, concerns: readonly Concern[]): Promise<FactsGroup[]> {
  const written = concerns.filter(({ policyAlone }) => policyAlone !== true);
  if (written.length > 0) {
    const now = sql.join(written.map(factsOf), sql` union all `);
    await sql`insert into dry_run_member
      select application_id, person_id, coalesce(a.email, b.email), coalesce(b.facts, ''), coalesce(a.facts, '')
        from dry_run_before b full join (${now}) a using (application_id, person_id)`.execute(tx.kysely);
  }
  const { rows } = await sql<FactsGroup>`
    select application_id as app_id, before, after, count(*)::int as people
      from dry_run_member group by application_id, before, after`.execute(tx.kysely);
  return rows;
}

/**
 * The same for overrides with a possibly different effect: those that the write changed, those of people whose facts it changed, and
 * those of permissions whose definition it changed.
 */
export async function compareOverrides(
  tx: Tx,
  concerns: readonly Concern[],
  permissionIds: readonly number[],
): Promise<OverrideGroup[]> {
  await sql`create temporary table dry_run_override (
    application_id bigint, person_id bigint, permission_id bigint, resource_type text collate "C",
    resource_id text collate "C", level_before smallint, level_after smallint) on commit drop`.execute(tx.kysely);
  const kept = concerns.filter(({ overrides }) => !overrides);
  const written = concerns.filter(({ overrides }) => overrides);
  const same = kept.map(
    (concern) => sql`select o.application_id, o.person_id, o.permission_id, o.resource_type, o.resource_id,
      o.level as level_before, o.level as level_after from ${COUNTING.resource_override} o where ${within('o', concern)}`,
  );
  const other = sql`select application_id, person_id, permission_id, resource_type, resource_id,
      coalesce(b.level, -1) as level_before, coalesce(a.level, -1) as level_after
    from dry_run_override_before b full join (${sql.join(written.map(overridesOf), sql` union all `)}) a
    using (application_id, person_id, permission_id, resource_type, resource_id)`;
  for (const rows of written.length === 0 ? same : [...same, other]) {
    await sql`insert into dry_run_override
      select o.* from (${rows}) o join dry_run_member m using (application_id, person_id)
       where o.level_before <> o.level_after or m.before <> m.after
          or o.permission_id = any(${permissionIds}::bigint[])`.execute(tx.kysely);
  }
  const { rows } = await sql<OverrideGroup>`
    select o.application_id as app_id, m.before, m.after, o.permission_id,
           nullif(level_before, -1) as level_before, nullif(level_after, -1) as level_after, count(*)::int as overrides
      from dry_run_override o join dry_run_member m using (application_id, person_id)
     group by o.application_id, m.before, m.after, o.permission_id, level_before, level_after`.execute(tx.kysely);
  return rows;
}

/** People of the groups given, by address: how many, and the first of them. */
export async function changedPeople(
  tx: Tx,
  { groups, overrides }: { groups: readonly FactsGroup[]; overrides: readonly NamedGroup[] },
  limit: number,
): Promise<{ people: number; first: ChangedPerson[] }> {
  await sql`create temporary table dry_run_person on commit drop as
    select m.person_id, m.email from dry_run_member m
      join (${groupRows(groups)}) g on g.application_id = m.application_id and g.before = m.before and g.after = m.after
    union
    select m.person_id, m.email from ${overridesIn(overrides)}`.execute(tx.kysely);
  const counted = await sql<{ people: number }>`select count(*)::int as people from dry_run_person`.execute(tx.kysely);
  const { rows: first } = await sql<ChangedPerson>`
    select p.person_id, p.email, m.application_id as app_id, m.before, m.after
      from (select * from dry_run_person order by email limit ${limit}) p join dry_run_member m using (person_id)
     order by p.email, m.application_id`.execute(tx.kysely);
  return { people: counted.rows[0]?.people ?? 0, first };
}

/** The overrides of changed groups that belong to these people, in the order in which changes are listed, up to `limit`. */
export async function changedOverrides(
  tx: Tx,
  { people, overrides }: { people: readonly number[]; overrides: readonly NamedGroup[] },
  limit: number,
): Promise<ChangedOverride[]> {
  const { rows } = await sql<ChangedOverride>`
    select o.person_id, o.application_id as app_id, o.permission_id, o.resource_type, o.resource_id,
           nullif(o.level_before, -1) as level_before, nullif(o.level_after, -1) as level_after
      from ${overridesIn(overrides)}
     where o.person_id = any(${people}::bigint[])
     order by m.email, g.code, o.application_id, o.resource_type, o.resource_id
     limit ${limit}`.execute(tx.kysely);
  return rows;
}

/** Grants that count at the instant of the transaction: before the write and after it the same one. */
const COUNTING = {
  user_role: sql.raw(countingSql('user_role', 'now()')),
  app_admin: sql.raw(countingSql('app_admin', 'now()')),
  resource_override: sql.raw(countingSql('resource_override', 'now()')),
};

/** Rows (application_id, person_id, email, facts) as they are now. */
function factsOf(concern: Concern) {
  const { apps, people } = concern;
  const members = GRANT_TABLES.map(
    (table) => sql`select x.application_id, x.person_id from ${COUNTING[table]} x where ${within('x', concern)}`,
  );
  const superadmins = sql`select a.id, s.person_id from application a, superadmin s
    where a.code = any(${apps}::text[]) ${people === null ? sql`` : sql`and s.person_id in (${idsOf(people)})`}`;
  return sql`
    select c.application_id, c.person_id, p.email,
           case when p.provider_active and not p.blocked then 'a' else '-' end
           || case when s.person_id is null then '-' else 's' end
           || case when m.person_id is null then '-' else 'm' end
           || coalesce(r.ids::text, '{}') as facts
      from (${sql.join([...members, superadmins], sql` union `)}) c
      join person p on p.id = c.person_id
      left join superadmin s on s.person_id = c.person_id
      left join ${COUNTING.app_admin} m on m.person_id = c.person_id and m.application_id = c.application_id
      left join (select x.application_id, x.person_id, array_agg(x.role_id order by x.role_id) as ids from ${COUNTING.user_role} x
                  where ${within('x', concern)} group by x.application_id, x.person_id) r
        on r.application_id = c.application_id and r.person_id = c.person_id`;
}

/**
 * The earliest beginning or end after this instant of any grant that these concern; null for none. By the indexes of beginnings and
 * ends: each is read from now on, up to the first that fits.
 */
export async function nextBoundary(tx: Tx, concerns: readonly Concern[]): Promise<Date | null> {
  const times = concerns.flatMap((concern) =>
    GRANT_TABLES.flatMap((table) =>
      (['starts_at', 'ends_at'] as const).map(
        (column) => sql`(select x.${sql.ref(column)} as at from ${sql.table(table)} x
          where x.${sql.ref(column)} > now() and ${within('x', concern)} order by x.${sql.ref(column)} limit 1)`,
      ),
    ),
  );
  if (times.length === 0) return null;
  const { rows } = await sql<{
    at: Date | null;
  }>`select min(t.at) as at from (${sql.join(times, sql` union all `)}) t`.execute(tx.kysely);
  return rows[0]?.at ?? null;
}

function overridesOf(concern: Concern) {
  return sql`select o.application_id, o.person_id, o.permission_id, o.resource_type, o.resource_id, o.level
    from ${COUNTING.resource_override} o where ${within('o', concern)}`;
}

function within(table: string, { apps, people }: Concern) {
  const inApps = sql`${sql.ref(`${table}.application_id`)} in (select id from application where code = any(${apps}::text[]))`;
  return people === null ? inApps : sql`${inApps} and ${sql.ref(`${table}.person_id`)} in (${idsOf(people)})`;
}

function idsOf(people: readonly string[]) {
  return sql`select id from person where email = any(${people}::text[])`;
}

function groupRows(groups: readonly Pick<FactsGroup, 'appId' | 'before' | 'after'>[]) {
  return sql`select * from unnest(${groups.map(({ appId }) => appId)}::bigint[], ${groups.map(({ before }) => before)}::text[],
    ${groups.map(({ after }) => after)}::text[]) as g (application_id, before, after)`;
}

/** The overrides `o` of these groups, with their member `m` and their group `g`. */
function overridesIn(groups: readonly NamedGroup[]) {
  return sql`dry_run_override o
    join dry_run_member m using (application_id, person_id)
    join (${overrideRows(groups)}) g on g.application_id = m.application_id and g.before = m.before
     and g.after = m.after and g.permission_id = o.permission_id
     and g.level_before = o.level_before and g.level_after = o.level_after`;
}

function overrideRows(groups: readonly NamedGroup[]) {
  const column = <T>(of: (group: NamedGroup) => T): T[] => groups.map(of);
  return sql`select * from unnest(${column(({ appId }) => appId)}::bigint[], ${column(({ before }) => before)}::text[],
    ${column(({ after }) => after)}::text[], ${column(({ permissionId }) => permissionId)}::bigint[],
    ${column(({ levelBefore }) => levelBefore ?? -1)}::smallint[], ${column(({ levelAfter }) => levelAfter ?? -1)}::smallint[],
    ${column(({ code }) => code)}::text[])
    as g (application_id, before, after, permission_id, level_before, level_after, code)`;
}
