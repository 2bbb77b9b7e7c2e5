import type { Level } from '../../src/engine/types.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { ensurePeople } from '../../src/persistence/people/people.ts';

/** Rows straight into the tables, for tests that need some to look at. Callers announce what they touch. */

export interface AppRows {
  id: number;
  /** Permission ids by code. */
  permissions: Record<string, number>;
  /** Role ids by code. */
  roles: Record<string, number>;
}

/** Permissions by code: `tiered` and `global` as named. Roles by code: the levels that they grant, by permission code. */
export interface AppShape {
  permissions?: Record<string, { tiered?: boolean; global?: boolean; groupName?: string }>;
  roles?: Record<string, Record<string, Exclude<Level, 0>>>;
}

export async function insertApplication(tx: Tx, code: string, shape: AppShape = {}): Promise<AppRows> {
  const { id } = await tx.kysely
    .insertInto('application')
    .values({ code, name: code })
    .returning('id')
    .executeTakeFirstOrThrow();
  const rows: AppRows = { id, permissions: {}, roles: {} };
  for (const [permission, { tiered = false, global = false, groupName }] of Object.entries(shape.permissions ?? {})) {
    const made = await tx.kysely
      .insertInto('permission')
      .values({ applicationId: id, code: permission, tiered, global, groupName: groupName ?? null })
      .returning('id')
      .executeTakeFirstOrThrow();
    rows.permissions[permission] = made.id;
  }
  for (const [role, grants] of Object.entries(shape.roles ?? {})) {
    const made = await tx.kysely
      .insertInto('role')
      .values({ applicationId: id, code: role })
      .returning('id')
      .executeTakeFirstOrThrow();
    rows.roles[role] = made.id;
    for (const [permission, level] of Object.entries(grants)) {
      await tx.kysely
        .insertInto('role_permission')
        .values({
          applicationId: id,
          roleId: made.id,
          permissionId: idOf(rows.permissions, permission),
          tiered: shape.permissions?.[permission]?.tiered ?? false,
          level,
        })
        .execute();
    }
  }
  return rows;
}

export async function personId(tx: Tx, email: string): Promise<number> {
  const id = (await ensurePeople(tx, [email])).get(email);
  if (id === undefined) throw new Error(`no row for ${email}`);
  return id;
}

export async function insertUserRole(tx: Tx, app: AppRows, email: string, role: string): Promise<void> {
  await tx.kysely
    .insertInto('user_role')
    .values({ personId: await personId(tx, email), applicationId: app.id, roleId: idOf(app.roles, role) })
    .execute();
}

export async function insertOverride(
  tx: Tx,
  app: AppRows,
  email: string,
  override: { type: string; id: string; permission: string; tiered?: boolean; level: Level },
): Promise<void> {
  await tx.kysely
    .insertInto('resource_override')
    .values({
      personId: await personId(tx, email),
      applicationId: app.id,
      resourceType: override.type,
      resourceId: override.id,
      permissionId: idOf(app.permissions, override.permission),
      tiered: override.tiered ?? false,
      level: override.level,
    })
    .execute();
}

function idOf(ids: Record<string, number>, code: string): number {
  const id = ids[code];
  if (id === undefined) throw new Error(`no row for ${code}`);
  return id;
}
