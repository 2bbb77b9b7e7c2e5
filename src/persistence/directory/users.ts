import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Prepared, planByIndex } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import type { Members } from '../people/members.ts';
import { findPeopleInOrder, type OrderedPage, type OrderedPeople } from '../people/person-order.ts';
import { type FoundPeople, findPeople, type PeopleFilter } from '../people/person-search.ts';
import { counting, GRANT_TABLES, held, heldSql, isCountingSql, type WindowJson, windowJsonSql } from '../windows.ts';

export type { PeopleOrder, PersonPlace } from '../people/person-order.ts';

/** A known address as administrators see it. */
export interface UserRow {
  id: number;
  email: string;
  displayName: string | null;
  /** Whether they have a record of their own; otherwise the address only appears in other records. */
  registered: boolean;
  active: boolean;
  /** Whether an administrator has blocked them; the provider has a flag of its own. */
  blocked: boolean;
  superadmin: boolean;
  /** The address to which the person was moved; null where they are still here. */
  movedTo: string | null;
  /** The slug of their brand, else of the default brand. */
  brand: string;
  createdAt: Date;
  /** In the requested applications. */
  lastLoginAt: Date | null;
}

/** A person's membership of one application. */
export interface MembershipRow
  extends Pick<Row<'app_preference'>, 'firstLoginAt' | 'lastLoginAt' | 'loginCount' | 'lastActivityAt'> {
  appCode: string;
  admin: boolean;
  roles: string[];
}

export interface UserFilter {
  /** Text in the address or the display name. */
  search: string | null;
  active: boolean | null;
  /** Only users of one of these applications (ids); null: everybody. */
  apps: readonly number[] | null;
  /** Only holders of one of these roles in the one application of `apps`. */
  roles?: readonly number[];
  /** Only people to whom a permission of that one application is allowed: active SuperAdmins, its administrators, and holders of these roles. */
  allowedBy?: readonly number[];
  /** Only inactive people who still hold something in these applications; null: in any, or as a SuperAdmin. */
  orphansOf?: readonly number[] | null;
  /** Only people with a grant in the one application of `apps` that ends within that number of days. */
  endingWithinDays?: number;
  emailPrefix?: string;
}

/** The tables that make a person a user "of" an application (docs/reference/administration.md#users): a role, an override, preferences or a login, an administrator. */
const MEMBERSHIPS = ['user_role', 'resource_override', 'app_preference', 'app_admin'] as const;

/** The ids of the matching users, ascending; at most `limit`, after `after`. The page may be short. */
export async function findUserIds(
  tx: Tx,
  filter: UserFilter,
  { limit, after }: { limit: number; after: number | null },
): Promise<FoundPeople> {
  const people = peopleOf(filter);
  if (people === null) return { ids: [], behind: null };
  return await findPeople(tx, people, { limit, after: after ?? 0 });
}

/** The same in another order. */
export async function findUsersInOrder(tx: Tx, filter: UserFilter, page: OrderedPage): Promise<OrderedPeople> {
  const people = peopleOf(filter);
  if (people === null) return { places: [], behind: null };
  return await findPeopleInOrder(tx, people, page);
}

/** Null for a filter that nobody can match. */
function peopleOf(filter: UserFilter): PeopleFilter | null {
  const { search, active, apps, roles, allowedBy, orphansOf, endingWithinDays, emailPrefix } = filter;
  const activity = new Set([active, allowedBy && true, orphansOf === undefined ? null : false]);
  if (activity.has(true) && activity.has(false)) return null;
  const groups: Members[] = [];
  // The smaller group first: it is the one that is read, member by member.
  if (endingWithinDays !== undefined) groups.push({ tables: GRANT_TABLES, apps, endingWithinDays });
  if (roles !== undefined) groups.push({ tables: ['user_role'], apps, roles });
  if (allowedBy !== undefined)
    groups.push({ tables: ['user_role', 'app_admin'], apps, roles: allowedBy, superadmins: true, counting: true });
  if (groups.length === 0 && apps !== null) groups.push({ tables: MEMBERSHIPS, apps });
  if (orphansOf !== undefined) groups.push({ tables: GRANT_TABLES, apps: orphansOf, superadmins: orphansOf === null });
  const [members = null, ...also] = groups;
  const state = activity.has(true) ? true : activity.has(false) ? false : null;
  return { search, active: state, members, also, ...(emailPrefix === undefined ? {} : { emailPrefix }) };
}

/** The ids of roles of the application; without those of unknown codes. */
export async function findRoleIds({ kysely }: Tx, app: number, codes: readonly string[]): Promise<number[]> {
  const rows = await kysely
    .selectFrom('role')
    .select('id')
    .where('applicationId', '=', app)
    .where('code', 'in', codes)
    .execute();
  return rows.map(({ id }) => id);
}

/** The ids of the roles of the application that grant the permission at any level; none for an unknown code. */
export async function rolesGranting({ kysely }: Tx, app: number, permission: string): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select role_id as id from role_permission where application_id = ${app}
      and permission_id = (select id from permission where application_id = ${app} and code = ${permission})`.execute(
    kysely,
  );
  return rows.map(({ id }) => id);
}

/**
 * $1 ids, $2 applications. Every table is probed once per person: `limit 1` keeps the planner from joining, which costs more than
 * the rows of a page do.
 */
const USERS = new Prepared<UserRow>(
  'users',
  `
    select p.id, p.email, coalesce(nullif(f.display_name, ''), nullif(concat_ws(' ', f.first_name, f.last_name), '')) as display_name,
      p.registered_at is not null as registered,
      p.provider_active and not p.blocked as active, p.blocked,
      case when p.moved_to is not null then (select q.email from person q where q.id = p.moved_to) end as moved_to,
      coalesce((select true from superadmin s where s.person_id = p.id), false) as superadmin,
      coalesce((select slug from brand where id = f.brand_id), (select slug from brand where is_default)) as brand,
      coalesce(f.created_at, p.created_at) as created_at,
      (select max(l.last_login_at) from app_preference l
        where l.person_id = p.id and ($2::bigint[] is null or l.application_id = any($2::bigint[]))) as last_login_at
    from unnest($1::bigint[]) as u (id)
    cross join lateral (select * from person where id = u.id limit 1) p
    left join lateral (select display_name, first_name, last_name, brand_id, created_at from profile where person_id = u.id limit 1) f on true
    order by p.id`,
);

/** The users of these ids, ascending. `lastLoginAt` covers the applications `apps`; all of them where it is null. */
export async function readUsers(tx: Tx, ids: readonly number[], apps: readonly number[] | null): Promise<UserRow[]> {
  if (ids.length === 0) return [];
  await planByIndex(tx);
  return await USERS.rows(tx, ids, apps);
}

/** $1 ids, $2 an application. */
const ROLES_OF = new Prepared<RolesRow & { id: number }>(
  'roles_of',
  `
    select u.id, coalesce(json_agg(h.code order by h.code) filter (where h.counts), '[]') as roles,
      coalesce(json_agg(json_build_object('code', h.code, ${windowJsonSql('h')}) order by h.code)
        filter (where coalesce(h.starts_at, h.ends_at) is not null), '[]') as role_windows
    from unnest($1::bigint[]) as u (id)
    left join lateral (
      select r.code, x.starts_at, x.ends_at, ${isCountingSql('x')} as counts
      from ${heldSql('user_role')} x join role r on r.id = x.role_id
      where x.application_id = $2 and x.person_id = u.id) h on true
    group by u.id`,
);

/** The roles of a person in an application, by code. */
export interface RolesRow {
  /** Those that count now. */
  roles: string[];
  /** Those with a beginning or an end, to come included. */
  roleWindows: ({ code: string } & WindowJson)[];
}

/** The roles of each of these people in the application. */
export async function readRolesOf(tx: Tx, ids: readonly number[], app: number): Promise<ReadonlyMap<number, RolesRow>> {
  if (ids.length === 0) return new Map();
  await planByIndex(tx);
  const rows = await ROLES_OF.rows(tx, ids, app);
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

/** A person's memberships, by application code; among `apps`, or all where it is null. Roles and the seat are those that count now. */
export async function readMemberships(
  tx: Tx,
  person: number,
  apps: readonly number[] | null,
): Promise<MembershipRow[]> {
  const among = apps === null ? sql`true` : sql`a.id = any(${apps}::bigint[])`;
  const { rows } = await sql<MembershipRow>`
    select a.code as app_code, m.person_id is not null as admin,
      array(select r.code from ${counting('user_role')} ur join role r on r.id = ur.role_id
        where ur.person_id = ${person} and ur.application_id = a.id order by r.code) as roles,
      l.first_login_at, l.last_login_at, coalesce(l.login_count, 0) as login_count,
      l.last_activity_at
    from application a
      left join ${counting('app_admin')} m on m.person_id = ${person} and m.application_id = a.id
      left join app_preference l on l.person_id = ${person} and l.application_id = a.id
    where ${among} and (m.person_id is not null or l.person_id is not null
      or exists (select from ${held('app_admin')} m where m.person_id = ${person} and m.application_id = a.id)
      or exists (select from ${held('user_role')} ur where ur.person_id = ${person} and ur.application_id = a.id)
      or exists (select from ${held('resource_override')} o where o.person_id = ${person} and o.application_id = a.id))
    order by a.code`.execute(tx.kysely);
  return rows;
}

/** A person's roles in all applications that count now, by application and code. */
export async function readRolesEverywhere(tx: Tx, email: string): Promise<{ appCode: string; roleCodes: string[] }[]> {
  const { rows } = await sql<{ appCode: string; roleCodes: string[] }>`
    select a.code as app_code, array_agg(r.code order by r.code) as role_codes
    from ${counting('user_role')} ur join role r on r.id = ur.role_id join application a on a.id = ur.application_id
    where ur.person_id = (select id from person where email = ${email})
    group by a.code order by a.code`.execute(tx.kysely);
  return rows;
}

/** Sets the administrators' flag; returns whether it changed. */
export async function setBlocked(tx: Tx, person: number, blocked: boolean): Promise<boolean> {
  const { numUpdatedRows } = await tx.kysely
    .updateTable('person')
    .set({ blocked })
    .where('id', '=', person)
    .where('blocked', '<>', blocked)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
