import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { findPeople } from '../people/person-search.ts';
import { type GrantWindow, held, heldSql, isHeldSql, setWindowSql, timesOf } from '../windows.ts';

/** A role of an application. */
export type FoundRole = Pick<Row<'role'>, 'id' | 'code' | 'name' | 'description'>;

/** A role that a person holds, and when. */
export type AssignedRole = FoundRole & GrantWindow;

/** The holder of a role. */
export interface HolderRow extends GrantWindow {
  id: number;
  email: string;
  displayName: string | null;
  registered: boolean;
  active: boolean;
  assignedAt: Date;
}

const USER_ROLES = new Prepared<AssignedRole>(
  'user_roles',
  `select r.id, r.code, r.name, r.description, ur.starts_at, ur.ends_at from ${heldSql('user_role')} ur join role r on r.id = ur.role_id
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
  roles: ReadonlyMap<number, FoundRole>;
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
export async function holdRole(tx: Tx, app: number, id: number): Promise<FoundRole | undefined> {
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
    delete from user_role x where x.person_id = $1 and x.application_id = $2 and x.role_id <> all ($3::bigint[])
      and ${isHeldSql('x')})
   insert into user_role (person_id, application_id, role_id, starts_at, ends_at)
    select $1, $2, w.* from unnest($3::bigint[], $4::timestamptz[], $5::timestamptz[]) as w (id, starts_at, ends_at)
    on conflict (person_id, application_id, role_id) ${setWindowSql('user_role')}`,
);

/** A role to be held, and when. */
export type WindowedRole = { readonly id: number } & GrantWindow;

/** Makes the set exactly this, in one statement. The roles must be the application's. */
export async function replaceUserRoles(
  tx: Tx,
  app: number,
  person: number,
  roles: readonly WindowedRole[],
): Promise<void> {
  const { startsAt, endsAt } = timesOf(roles);
  await REPLACE.rows(
    tx,
    person,
    app,
    roles.map(({ id }) => id),
    startsAt,
    endsAt,
  );
}

const PUT = new Prepared<never>(
  'put_user_role',
  `insert into user_role (person_id, application_id, role_id, starts_at, ends_at) values ($1, $2, $3, $4, $5)
    on conflict (person_id, application_id, role_id) ${setWindowSql('user_role')}`,
);

/** Adds one role, or gives one that is held this window. The role must be the application's, locked against deletion. */
export async function putUserRole(tx: Tx, app: number, person: number, role: WindowedRole): Promise<void> {
  await PUT.rows(tx, person, app, role.id, role.startsAt, role.endsAt);
}

export async function deleteUserRole(tx: Tx, app: number, person: number, role: number): Promise<void> {
  await tx.kysely
    .deleteFrom('user_role')
    .where('personId', '=', person)
    .where('applicationId', '=', app)
    .where('roleId', '=', role)
    .execute();
}

/** Those of the people who hold the role, and when. */
export async function holdersAmong(
  tx: Tx,
  app: number,
  role: number,
  people: readonly number[],
): Promise<ReadonlyMap<number, GrantWindow>> {
  const { rows } = await sql<{ person: number } & GrantWindow>`
    select h.person_id as person, h.starts_at, h.ends_at from ${held('user_role')} h
    where application_id = ${app} and role_id = ${role} and person_id = any(${people}::bigint[])`.execute(tx.kysely);
  return new Map(rows.map(({ person, ...window }) => [person, window]));
}

/** As `putUserRole`, for many people. */
export async function putHolders(
  tx: Tx,
  app: number,
  role: number,
  holders: readonly ({ readonly person: number } & GrantWindow)[],
): Promise<void> {
  const { startsAt, endsAt } = timesOf(holders);
  await sql`
    insert into user_role (person_id, application_id, role_id, starts_at, ends_at)
    select w.id, ${app}, ${role}, w.starts_at, w.ends_at
    from unnest(${holders.map(({ person }) => person)}::bigint[], ${startsAt}::timestamptz[], ${endsAt}::timestamptz[])
      as w (id, starts_at, ends_at) order by w.id
    on conflict (person_id, application_id, role_id) ${sql.raw(setWindowSql('user_role'))}`.execute(tx.kysely);
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
    select role_id as role, count(*)::int as holders from ${held('user_role')} h where application_id = ${app} group by role_id`.execute(
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
      p.provider_active and not p.blocked as active, ur.created_at as assigned_at, ur.starts_at, ur.ends_at
    from (select m.person_id, m.created_at, m.starts_at, m.ends_at from ${held('user_role')} m
        where m.application_id = ${app} and m.role_id = ${role} and m.person_id > ${after ?? 0} and ${fits}
        order by m.person_id limit ${limit}) ur
      join person p on p.id = ur.person_id
      left join profile f on f.person_id = p.id
    order by p.id`.execute(tx.kysely);
  return { rows, behind: found?.behind ?? null };
}
