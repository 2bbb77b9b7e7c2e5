import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { type GrantWindow, hasEnded, setWindowSql, timesOf } from '../windows.ts';
import type { EntityFields } from './entities.ts';
import type {
  AdminRow,
  AssignmentRow,
  OverrideRow,
  PermissionRow,
  RolePermissionRow,
  RoleRow,
} from './manifest-read.ts';
import { expectRows } from './touched.ts';

/**
 * The statements of an apply. Each takes at most a page of rows (manifest-read.ts), refers to things by code and address, and
 * throws when it touched fewer rows than given: the plan was made on locked rows, so that would be a defect.
 * All run after `lockApplication` in the same transaction.
 */

/** Creates entities, or updates existing ones to these fields. */
export async function putEntities({ kysely }: Tx, app: number, rows: readonly EntityFields[]): Promise<void> {
  expectRows(
    await sql`
      insert into entity (application_id, code, name, description, id_label, list_endpoint, list_search)
      select ${app}, * from unnest(
        ${rows.map((row) => row.code)}::text[], ${rows.map((row) => row.name)}::text[],
        ${rows.map((row) => row.description)}::text[], ${rows.map((row) => row.idLabel)}::text[],
        ${rows.map((row) => row.listEndpoint)}::text[], ${rows.map((row) => row.listSearch)}::boolean[])
      on conflict (application_id, code) do update set name = excluded.name, description = excluded.description,
        id_label = excluded.id_label, list_endpoint = excluded.list_endpoint, list_search = excluded.list_search,
        updated_at = now()`.execute(kysely),
    rows.length,
    'entities',
  );
}

/** Creates permissions, or updates existing ones; `putParents` sets parents once all exist. */
export async function putPermissions({ kysely }: Tx, app: number, rows: readonly PermissionRow[]): Promise<void> {
  expectRows(
    await sql`
      insert into permission (application_id, code, tiered, description, group_name, global)
      select ${app}, * from unnest(
        ${rows.map((row) => row.code)}::text[], ${rows.map((row) => row.tiered)}::boolean[],
        ${rows.map((row) => row.description)}::text[], ${rows.map((row) => row.groupName)}::text[],
        ${rows.map((row) => row.global)}::boolean[])
      on conflict (application_id, code) do update set tiered = excluded.tiered, description = excluded.description,
        group_name = excluded.group_name, global = excluded.global, updated_at = now()`.execute(kysely),
    rows.length,
    'permissions',
  );
}

export async function putParents(
  { kysely }: Tx,
  app: number,
  rows: readonly Pick<PermissionRow, 'code' | 'parent'>[],
): Promise<void> {
  expectRows(
    await sql`
      update permission set parent_id =
        (select id from permission other where other.application_id = ${app} and other.code = t.parent)
      from unnest(${rows.map((row) => row.code)}::text[], ${rows.map((row) => row.parent)}::text[]) as t (code, parent)
      where permission.application_id = ${app} and permission.code = t.code`.execute(kysely),
    rows.length,
    'parents',
  );
}

export async function putRoles({ kysely }: Tx, app: number, rows: readonly RoleRow[]): Promise<void> {
  expectRows(
    await sql`
      insert into role (application_id, code, name, description)
      select ${app}, * from unnest(
        ${rows.map((row) => row.code)}::text[], ${rows.map((row) => row.name)}::text[],
        ${rows.map((row) => row.description)}::text[])
      on conflict (application_id, code) do update set
        name = excluded.name, description = excluded.description, updated_at = now()`.execute(kysely),
    rows.length,
    'roles',
  );
}

export async function putRolePermissions(
  { kysely }: Tx,
  app: number,
  rows: readonly RolePermissionRow[],
): Promise<void> {
  expectRows(
    await sql`
      insert into role_permission (application_id, role_id, permission_id, tiered, level)
      select ${app}, r.id, p.id, p.tiered, t.level
      from unnest(
          ${rows.map((row) => row.role)}::text[], ${rows.map((row) => row.permission)}::text[],
          ${rows.map((row) => row.level as number)}::smallint[]) as t (role, permission, level)
        join role r on r.application_id = ${app} and r.code = t.role
        join permission p on p.application_id = ${app} and p.code = t.permission
      on conflict (application_id, role_id, permission_id) do update set level = excluded.level`.execute(kysely),
    rows.length,
    'role permissions',
  );
}

export async function deleteRolePermissions(
  { kysely }: Tx,
  app: number,
  rows: readonly Omit<RolePermissionRow, 'level'>[],
): Promise<void> {
  expectRows(
    await sql`
      delete from role_permission x
      using unnest(${rows.map((row) => row.role)}::text[], ${rows.map((row) => row.permission)}::text[])
          as t (role, permission), role r, permission p
      where x.application_id = ${app} and r.application_id = ${app} and r.code = t.role and x.role_id = r.id
        and p.application_id = ${app} and p.code = t.permission and x.permission_id = p.id`.execute(kysely),
    rows.length,
    'removal of role permissions',
  );
}

/** Deletes definitions of an application, by code. Rows that depend on them are gone by then. */
export async function deleteDefinitions(
  { kysely }: Tx,
  table: 'entity' | 'permission' | 'role' | 'notification_type',
  app: number,
  codes: readonly string[],
): Promise<void> {
  expectRows(
    await sql`delete from ${sql.table(table)} where application_id = ${app} and code = any(${codes}::text[])`.execute(
      kysely,
    ),
    codes.length,
    `removal (${table})`,
  );
}

/** The people of these rows have a record already (people.ts). */
export async function putAdmins({ kysely }: Tx, app: number, rows: readonly AdminRow[]): Promise<void> {
  const { startsAt, endsAt } = timesOf(rows);
  expectRows(
    await sql`
      insert into app_admin (person_id, application_id, starts_at, ends_at)
      select person.id, ${app}, t.starts_at, t.ends_at
      from unnest(${rows.map((row) => row.email)}::text[], ${startsAt}::timestamptz[], ${endsAt}::timestamptz[])
          as t (email, starts_at, ends_at)
        join person on person.email = t.email
      on conflict (person_id, application_id) ${sql.raw(setWindowSql('app_admin', 'always'))}`.execute(kysely),
    rows.length,
    'admins',
  );
}

/** Another transaction may have removed one meanwhile: people's rows are not locked. */
export async function deleteAdmins({ kysely }: Tx, app: number, emails: readonly string[]): Promise<void> {
  await sql`
    delete from app_admin x using person
    where x.application_id = ${app} and person.id = x.person_id and person.email = any(${emails}::text[])`.execute(
    kysely,
  );
}

export async function putAssignments({ kysely }: Tx, app: number, rows: readonly AssignmentRow[]): Promise<void> {
  const { startsAt, endsAt } = timesOf(rows);
  expectRows(
    await sql`
      insert into user_role (person_id, application_id, role_id, starts_at, ends_at)
      select person.id, ${app}, r.id, t.starts_at, t.ends_at
      from unnest(${rows.map((row) => row.email)}::text[], ${rows.map((row) => row.role)}::text[],
          ${startsAt}::timestamptz[], ${endsAt}::timestamptz[]) as t (email, role, starts_at, ends_at)
        join person on person.email = t.email
        join role r on r.application_id = ${app} and r.code = t.role
      on conflict (person_id, application_id, role_id) ${sql.raw(setWindowSql('user_role', 'always'))}`.execute(kysely),
    rows.length,
    'assignments',
  );
}

export async function deleteAssignments(
  { kysely }: Tx,
  app: number,
  rows: readonly Pick<AssignmentRow, 'email' | 'role'>[],
): Promise<void> {
  await sql`
    delete from user_role x
    using unnest(${rows.map((row) => row.email)}::text[], ${rows.map((row) => row.role)}::text[]) as t (email, role),
      person, role r
    where x.application_id = ${app} and person.email = t.email and x.person_id = person.id
      and r.application_id = ${app} and r.code = t.role and x.role_id = r.id`.execute(kysely);
}

/** Creates overrides, or updates existing ones to this level and window. */
export async function putOverrides({ kysely }: Tx, app: number, rows: readonly OverrideRow[]): Promise<void> {
  expectRows(
    await sql`
      insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level, starts_at, ends_at)
      select person.id, ${app}, t.type, t.id, p.id, p.tiered, t.level, t.starts_at, t.ends_at
      from ${overrideKeys(rows, rows)}
        join person on person.email = t.email
        join permission p on p.application_id = ${app} and p.code = t.permission
      on conflict (person_id, application_id, resource_type, resource_id, permission_id)
        do update set level = excluded.level, tiered = excluded.tiered, starts_at = excluded.starts_at, ends_at = excluded.ends_at,
          created_at = case when ${hasEnded('resource_override')} then now() else resource_override.created_at end`.execute(
      kysely,
    ),
    rows.length,
    'overrides',
  );
}

/**
 * The record is named by a range of the primary key: with equalities an index on the type of the resource costs as much by estimate
 * where the server knows nothing of the table yet, and then all overrides of that type are read for each row.
 */
export async function deleteOverrides({ kysely }: Tx, app: number, rows: readonly OverrideName[]): Promise<void> {
  await sql`
    with named as materialized (
      select person.id as person, t.type, t.id, p.id as permission
      from ${overrideKeys(rows, [])}
        join person on person.email = t.email
        join permission p on p.application_id = ${app} and p.code = t.permission)
    delete from resource_override x using named n
    where x.person_id = n.person and x.application_id = ${app}
      and (x.resource_type, x.resource_id, x.permission_id) >= (n.type, n.id, n.permission)
      and (x.resource_type, x.resource_id, x.permission_id) <= (n.type, n.id, n.permission)`.execute(kysely);
}

type OverrideName = Omit<OverrideRow, 'level' | keyof GrantWindow>;

function overrideKeys(rows: readonly OverrideName[], full: readonly OverrideRow[]) {
  const { startsAt, endsAt } = timesOf(full);
  return sql`unnest(
    ${rows.map((row) => row.email)}::text[], ${rows.map((row) => row.resourceType)}::text[],
    ${rows.map((row) => row.resourceId)}::text[], ${rows.map((row) => row.permission)}::text[],
    ${full.map((row) => row.level as number)}::smallint[], ${startsAt}::timestamptz[], ${endsAt}::timestamptz[])
    as t (email, type, id, permission, level, starts_at, ends_at)`;
}
