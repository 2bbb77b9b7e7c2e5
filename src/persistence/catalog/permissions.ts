import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** The writable fields of a permission. */
export interface PermissionFields extends Pick<Row<'permission'>, 'tiered' | 'description' | 'groupName' | 'global'> {
  parentPermissionId: number | null;
}

export type PermissionRecord = PermissionFields & Pick<Row<'permission'>, 'id' | 'code' | 'createdAt' | 'updatedAt'>;

const COLUMNS = [
  'id',
  'code',
  'tiered',
  'description',
  'groupName',
  'parentId as parentPermissionId',
  'global',
  'createdAt',
  'updatedAt',
] as const;

/** An application's permissions, by code. */
export async function listPermissions(tx: Tx, app: number): Promise<PermissionRecord[]> {
  return await tx.kysely
    .selectFrom('permission')
    .select(COLUMNS)
    .where('applicationId', '=', app)
    .orderBy('code')
    .execute();
}

/** The application's permissions with these ids, by id. */
export async function findPermissions(
  tx: Tx,
  app: number,
  ids: readonly number[],
): Promise<Map<number, { code: string; tiered: boolean; global: boolean }>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.kysely
    .selectFrom('permission')
    .select(['id', 'code', 'tiered', 'global'])
    .where('applicationId', '=', app)
    .where('id', 'in', [...new Set(ids)])
    .execute();
  return new Map(rows.map(({ id, ...permission }) => [id, permission]));
}

/** One permission of the application, locked against other writes until the transaction ends. */
export async function lockPermission(tx: Tx, app: number, id: number): Promise<PermissionRecord | undefined> {
  return await tx.kysely
    .selectFrom('permission')
    .select(COLUMNS)
    .where('applicationId', '=', app)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Undefined when the code is taken. The parent must be the application's. */
export async function insertPermission(
  tx: Tx,
  app: number,
  { code, ...fields }: PermissionFields & { code: string },
): Promise<PermissionRecord | undefined> {
  return await tx.kysely
    .insertInto('permission')
    .values({ applicationId: app, code, ...valuesOf(fields) })
    .onConflict((oc) => oc.columns(['applicationId', 'code']).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

export async function updatePermission(tx: Tx, id: number, fields: PermissionFields): Promise<PermissionRecord> {
  return await tx.kysely
    .updateTable('permission')
    .set({ ...valuesOf(fields), updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Deletes its levels in roles and its overrides too; its children lose their parent. */
export async function deletePermission(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('permission').where('id', '=', id).execute();
}

/** Whether `ancestor` is `id` itself or above it. */
export async function isBelow(tx: Tx, app: number, id: number, ancestor: number): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    with recursive line (id) as (
      select ${id}::bigint
      union
      select p.parent_id from line join permission p on p.application_id = ${app} and p.id = line.id
      where p.parent_id is not null)
    select exists (select from line where id = ${ancestor}) as found`.execute(tx.kysely);
  return rows[0]?.found ?? false;
}

/** Whether a role or an override refers to it; one that has ended does, too, until its row is gone, since that holds the type. */
export async function isPermissionUsed(tx: Tx, app: number, id: number): Promise<boolean> {
  const { rows } = await sql<{ used: boolean }>`
    select exists (select from role_permission where application_id = ${app} and permission_id = ${id})
      or exists (select from resource_override where application_id = ${app} and permission_id = ${id}) as used`.execute(
    tx.kysely,
  );
  return rows[0]?.used ?? false;
}

function valuesOf({ parentPermissionId, ...rest }: PermissionFields) {
  return { ...rest, parentId: parentPermissionId };
}
