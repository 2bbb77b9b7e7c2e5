import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { findPeople } from '../people/person-search.ts';

/** A role that a person holds. */
export type AssignedRole = Pick<Row<'role'>, 'id' | 'code' | 'name' | 'description'>;

/** The holder of a role. */
export interface HolderRow {
  id: number;
  email: string;
  displayName: string | null;
  registered: boolean;
  active: boolean;
  assignedAt: Date;
}

const USER_ROLES = new Prepared<AssignedRole>(
  'user_roles',
  `select r.id, r.code, r.name, r.description from user_role ur join role r on r.id = ur.role_id
   where ur.person_id = $1 and ur.application_id = $2 order by r.code`,
);

/** The roles that a person holds in an application, by code. */
export async function readUserRoles(tx: Tx, app: number, person: number): Promise<AssignedRole[]> {
  return await USER_ROLES.rows(tx, person, app);
}

/** The rows that a replacement keeps locked until the transaction ends. */
export interface HeldForRoles {
  /** Against deletion; null for an unknown application. */
  app: number | null;
  /** The requested roles of the application, by id, against deletion. */
  roles: ReadonlyMap<number, AssignedRole>;
  /** Against other writes about the same person; null for an unknown address. */
  person: number | null;
}

// One lock order for all writers, so that they cannot deadlock: the application, its roles by id, the person. Everything that
// depends on these rows is read by the next statement, which sees what was committed while this one waited.
const HOLD = new Prepared<{
  app: number | null;
  roles: [id: number, code: string, name: string | null, description: string | null][];
  person: number | null;
}>(
  'hold_for_roles',
  `with a as materialized (select id from application where code = $1 for key share),
    r as materialized (select id, code, name, description from role
      where application_id = (select id from a) and id = any($2::bigint[]) order by id for key share)
   select (select id from a) as app,
    coalesce((select json_agg(json_build_array(id, code, name, description)) from r), '[]') as roles,
    (select id from person where email = $3 for no key update) as person`,
);

/** Locks everything that a replacement of a person's roles depends on, in one statement. */
export async function holdForRoles(tx: Tx, app: string, ids: readonly number[], email: string): Promise<HeldForRoles> {
  const { roles, ...held } = await HOLD.row(tx, app, ids, email);
  return {
    ...held,
    roles: new Map(roles.map(([id, code, name, description]) => [id, { id, code, name, description }])),
  };
}

/** One role of the application, locked against deletion until the transaction ends. */
export async function holdRole(tx: Tx, app: number, id: number): Promise<AssignedRole | undefined> {
  return await tx.kysely
    .selectFrom('role')
    .select(['id', 'code', 'name', 'description'])
    .where('applicationId', '=', app)
    .where('id', '=', id)
    .forKeyShare()
    .executeTakeFirst();
}

export async function hasRole(tx: Tx, app: number, id: number): Promise<boolean> {
  const { rows } = await sql`select from role where application_id = ${app} and id = ${id}`.execute(tx.kysely);
  return rows.length > 0;
}

const REPLACE = new Prepared<never>(
  'replace_user_roles',
  `with gone as (
    delete from user_role where person_id = $1 and application_id = $2 and role_id <> all ($3::bigint[]))
   insert into user_role (person_id, application_id, role_id) select $1, $2, id from unnest($3::bigint[]) as w (id)
    on conflict (person_id, application_id, role_id) do nothing`,
);

/** Makes the set exactly this, in one statement. The roles must be the application's. */
export async function replaceUserRoles(tx: Tx, app: number, person: number, ids: readonly number[]): Promise<void> {
  await REPLACE.rows(tx, person, app, ids);
}

/** Adds one role that the person does not hold. The role must be the application's, locked against deletion. */
export async function insertUserRole(tx: Tx, app: number, person: number, role: number): Promise<void> {
  await tx.kysely
    .insertInto('user_role')
    .values({ personId: person, applicationId: app, roleId: role })
    .onConflict((oc) => oc.columns(['personId', 'applicationId', 'roleId']).doNothing())
    .execute();
}

export async function deleteUserRole(tx: Tx, app: number, person: number, role: number): Promise<void> {
  await tx.kysely
    .deleteFrom('user_role')
    .where('personId', '=', person)
    .where('applicationId', '=', app)
    .where('roleId', '=', role)
    .execute();
}

/** Those of the people who hold the role. */
export async function holdersAmong(
  tx: Tx,
  app: number,
  role: number,
  people: readonly number[],
): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ person: number }>`
    select person_id as person from user_role
    where application_id = ${app} and role_id = ${role} and person_id = any(${people}::bigint[])`.execute(tx.kysely);
  return new Set(rows.map(({ person }) => person));
}

/** As `insertUserRole`, for many people. */
export async function insertHolders(tx: Tx, app: number, role: number, people: readonly number[]): Promise<void> {
  await sql`
    insert into user_role (person_id, application_id, role_id) select id, ${app}, ${role}
    from unnest(${people}::bigint[]) as w (id) order by id
    on conflict (person_id, application_id, role_id) do nothing`.execute(tx.kysely);
}

/** As `deleteUserRole`, for many people. */
export async function deleteHolders(tx: Tx, app: number, role: number, people: readonly number[]): Promise<void> {
  await sql`
    delete from user_role
    where application_id = ${app} and role_id = ${role} and person_id = any(${people}::bigint[])`.execute(tx.kysely);
}

/** How many people hold each role of the application; roles without holders are left out. */
export async function countHolders(tx: Tx, app: number): Promise<Map<number, number>> {
  const { rows } = await sql<{ role: number; holders: number }>`
    select role_id as role, count(*)::int as holders from user_role where application_id = ${app} group by role_id`.execute(
    tx.kysely,
  );
  return new Map(rows.map(({ role, holders }) => [role, holders]));
}

/**
 * The holders of a role, in the order in which their addresses first appeared; at most `limit`, after the id `after`. `behind` is
 * the end of a short page, as in FoundPeople.
 */
export async function listHolders(
  tx: Tx,
  app: number,
  role: number,
  { limit, after, search }: { limit: number; after: number | null; search: string | null },
): Promise<{ rows: HolderRow[]; behind: number | null }> {
  const members = { tables: ['user_role'] as const, apps: [app], roles: [role] };
  const found =
    search === null ? null : await findPeople(tx, { search, active: null, members }, { limit, after: after ?? 0 });
  // The page first, with a limit of its own: for a plain join the planner would read everybody.
  const fits = found === null ? sql`true` : sql`m.person_id = any(${found.ids}::bigint[])`;
  const { rows } = await sql<HolderRow>`
    select p.id, p.email,
      coalesce(nullif(f.display_name, ''), nullif(concat_ws(' ', f.first_name, f.last_name), '')) as display_name,
      p.registered_at is not null as registered,
      p.provider_active and not p.blocked as active, ur.created_at as assigned_at
    from (select m.person_id, m.created_at from user_role m
        where m.application_id = ${app} and m.role_id = ${role} and m.person_id > ${after ?? 0} and ${fits}
        order by m.person_id limit ${limit}) ur
      join person p on p.id = ur.person_id
      left join profile f on f.person_id = p.id
    order by p.id`.execute(tx.kysely);
  return { rows, behind: found?.behind ?? null };
}
