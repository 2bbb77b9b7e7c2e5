import { sql } from 'kysely';
import type { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

export type RoleRow = Omit<Row<'role'>, 'applicationId'>;

/** A role's level of one permission. */
export interface RolePermission extends Omit<RoleLevel, 'roleId'>, Pick<Row<'permission'>, 'code' | 'tiered'> {}

/** One cell of the table of all roles and permissions of an application. */
export type RoleLevel = Pick<Row<'role_permission'>, 'roleId' | 'permissionId' | 'level'>;

const COLUMNS = ['id', 'code', 'name', 'description', 'createdAt', 'updatedAt'] as const;

/** An application's roles, by code. */
export async function listRoles(tx: Tx, app: number): Promise<RoleRow[]> {
  return await tx.kysely.selectFrom('role').select(COLUMNS).where('applicationId', '=', app).orderBy('code').execute();
}

/** One role of the application, locked against other writes until the transaction ends. */
export async function lockRole(tx: Tx, app: number, id: number): Promise<RoleRow | undefined> {
  return await tx.kysely
    .selectFrom('role')
    .select(COLUMNS)
    .where('applicationId', '=', app)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Undefined when the code is taken. */
export async function insertRole(
  tx: Tx,
  app: number,
  role: Pick<RoleRow, 'code' | 'name' | 'description'>,
): Promise<RoleRow | undefined> {
  return await tx.kysely
    .insertInto('role')
    .values({ applicationId: app, ...role })
    .onConflict((oc) => oc.columns(['applicationId', 'code']).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

export async function updateRole(tx: Tx, id: number, change: Pick<RoleRow, 'name' | 'description'>): Promise<RoleRow> {
  return await tx.kysely
    .updateTable('role')
    .set({ ...change, updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Deletes its permissions and assignments too. */
export async function deleteRole(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('role').where('id', '=', id).execute();
}

/** The role's permissions, by code; undefined for a role of another application. */
export async function readRolePermissions(tx: Tx, app: number, id: number): Promise<RolePermission[] | undefined> {
  const role = await tx.kysely
    .selectFrom('role')
    .select('id')
    .where('applicationId', '=', app)
    .where('id', '=', id)
    .executeTakeFirst();
  if (role === undefined) return undefined;
  return await tx.kysely
    .selectFrom('role_permission as rp')
    .innerJoin('permission as p', 'p.id', 'rp.permissionId')
    .select(['rp.permissionId', 'p.code', 'rp.tiered', 'rp.level'])
    .where('rp.applicationId', '=', app)
    .where('rp.roleId', '=', id)
    .orderBy('p.code')
    .execute();
}

/** Makes the set exactly this, in two statements. The levels must be of the types; the permissions must be the application's. */
export async function replaceRolePermissions(
  tx: Tx,
  app: number,
  id: number,
  wanted: readonly { permissionId: number; level: Level }[],
): Promise<void> {
  const ids = wanted.map(({ permissionId }) => permissionId);
  const levels = wanted.map(({ level }) => level);
  await sql`
    delete from role_permission
    where application_id = ${app} and role_id = ${id} and permission_id <> all (${ids}::bigint[])`.execute(tx.kysely);
  await sql`
    insert into role_permission (application_id, role_id, permission_id, tiered, level)
    select p.application_id, ${id}, p.id, p.tiered, w.level
    from unnest(${ids}::bigint[], ${levels}::smallint[]) as w (id, level)
    join permission p on p.id = w.id and p.application_id = ${app}
    order by p.id
    on conflict (application_id, role_id, permission_id) do update set level = excluded.level
    where role_permission.level <> excluded.level`.execute(tx.kysely);
}

/** The levels of all roles of the application, by role, then permission. */
export async function listRoleLevels(tx: Tx, app: number): Promise<RoleLevel[]> {
  return await tx.kysely
    .selectFrom('role_permission')
    .select(['roleId', 'permissionId', 'level'])
    .where('applicationId', '=', app)
    .orderBy('roleId')
    .orderBy('permissionId')
    .execute();
}

/**
 * Sets single levels of roles, in two statements; level 0 deletes. The roles and permissions must be the application's, each pair
 * sent once, and the levels of the permissions' types.
 */
export async function changeRoleLevels(
  tx: Tx,
  app: number,
  changes: readonly { roleId: number; permissionId: number; level: Level }[],
): Promise<void> {
  const roles = changes.map(({ roleId }) => roleId);
  const permissions = changes.map(({ permissionId }) => permissionId);
  const levels = changes.map(({ level }) => level);
  const wanted = sql`unnest(${roles}::bigint[], ${permissions}::bigint[], ${levels}::smallint[]) as w (role, permission, level)`;
  await sql`
    delete from role_permission rp using ${wanted}
    where rp.application_id = ${app} and rp.role_id = w.role and rp.permission_id = w.permission and w.level = 0`.execute(
    tx.kysely,
  );
  await sql`
    insert into role_permission (application_id, role_id, permission_id, tiered, level)
    select p.application_id, w.role, p.id, p.tiered, w.level
    from ${wanted} join permission p on p.id = w.permission and p.application_id = ${app}
    where w.level > 0
    order by w.role, p.id
    on conflict (application_id, role_id, permission_id) do update set level = excluded.level`.execute(tx.kysely);
}
