/** The roles of an application and their permissions. (docs/reference/administration.md#permissions-and-roles.) */

import { administer, applicationOf, type By, editorOf, knownApplication } from '../administration/administer.ts';
import { isSame, refuseImmutable, refuseStale, refuseSystem, tagOf } from '../administration/records.ts';
import { certain } from '../base/certain.ts';
import { UsherError } from '../base/errors.ts';
import { LEVEL_NAMES } from '../base/level-names.ts';
import { Level } from '../engine/types.ts';
import { findPermissions } from '../persistence/catalog/permissions.ts';
import {
  deleteRole,
  insertRole,
  listRoles,
  lockRole,
  type RolePermission,
  type RoleRow,
  readRolePermissions,
  replaceRolePermissions,
  updateRole,
} from '../persistence/catalog/roles.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { idsOf, permissionField, type Reference, refuseRepeated, unknownCode, unknownReference } from './references.ts';
import { isSystemRecord } from './system.ts';

export type { RolePermission, RoleRow } from '../persistence/catalog/roles.ts';

/** A role's permissions, and the tag for `ifMatch` of a replacement. */
export interface RolePermissions {
  permissions: readonly RolePermission[];
  etag: string;
}

/** One permission of a role in a request; `level` as sent, checked against the permission's type here. */
export interface WantedPermission {
  permission: Reference;
  /** The code sent beside an id: must be the permission's own. */
  code?: string | undefined;
  level: Level;
}

/** The words of a role for people; those that are not sent stay. */
interface RoleFields {
  name?: string | null | undefined;
  description?: string | null | undefined;
}

export class Roles {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All roles, by code; NOT_FOUND for an unknown application. */
  list(app: string): Promise<RoleRow[]> {
    return this.#database.read(async (tx) => await listRoles(tx, await knownApplication(tx, app)));
  }

  /** ALREADY_EXISTS when the code is taken. */
  create(
    app: string,
    { code, name = null, description = null }: { code: string } & RoleFields,
    by: By,
  ): Promise<Committed<RoleRow>> {
    return administer(
      this.#database,
      by,
      { app, action: 'role.created', guard: editorOf(app), policyAlone: true },
      async ({ tx, audit }) => {
        const made = await insertRole(tx, await applicationOf(tx, app), { code, name, description });
        if (made === undefined) throw new UsherError('ALREADY_EXISTS', `Role ${code} exists already.`);
        audit({ subject: code, after: { code, name, description } });
        return { result: made, scopes: [`p:${app}`] };
      },
    );
  }

  /** Changes the fields sent. IMMUTABLE_FIELD for a changed code. */
  change(
    app: string,
    id: number,
    change: { code?: string | undefined } & RoleFields,
    by: By,
  ): Promise<Committed<RoleRow>> {
    return administer(
      this.#database,
      by,
      { app, action: 'role.changed', guard: editorOf(app), policyAlone: true },
      async ({ tx, audit }) => {
        const role = await locked(tx, await applicationOf(tx, app), id);
        refuseImmutable('code', role.code, change.code);
        const before = { name: role.name, description: role.description };
        const after = {
          name: change.name === undefined ? role.name : change.name,
          description: change.description === undefined ? role.description : change.description,
        };
        if (isSame(after, before)) return { result: role, scopes: [] };
        const changed = await updateRole(tx, id, after);
        audit({ subject: role.code, before, after });
        // A name decides nothing, but every write to the table announces its scope: a rule without exceptions.
        return { result: changed, scopes: [`p:${app}`] };
      },
    );
  }

  /** Deletes its assignments too. SYSTEM_RECORD for the panel's own. */
  delete(app: string, id: number, by: By): Promise<Committed<null>> {
    return administer(
      this.#database,
      by,
      { app, action: 'role.deleted', guard: editorOf(app) },
      async ({ tx, audit }) => {
        const appId = await applicationOf(tx, app);
        const role = await locked(tx, appId, id);
        refuseSystem(isSystemRecord(app, 'roles', role.code), `role ${role.code}`);
        const permissions = (await readRolePermissions(tx, appId, id)) ?? [];
        await deleteRole(tx, id);
        audit({
          subject: role.code,
          before: {
            code: role.code,
            name: role.name,
            description: role.description,
            permissions: permissions.map(words),
          },
        });
        // Cached members keep ids of deleted roles; a policy without the role ignores them.
        return { result: null, scopes: [`p:${app}`] };
      },
    );
  }

  /** The role's permissions, by code. */
  permissions(app: string, id: number): Promise<RolePermissions> {
    return this.#database.read(async (tx) => {
      const permissions = await readRolePermissions(tx, await knownApplication(tx, app), id);
      if (permissions === undefined) throw unknownRole();
      return { permissions, etag: tagOf(permissions) };
    });
  }

  /**
   * Replaces the set. UNKNOWN_REFERENCE for a permission of another application, INVALID_ACCESS_LEVEL for a level of the other
   * type, IMMUTABLE_FIELD for another permission's code beside an id, STALE when `ifMatch` is of an older set.
   */
  replacePermissions(
    app: string,
    id: number,
    requested: readonly WantedPermission[],
    ifMatch: string | undefined,
    by: By,
  ): Promise<Committed<RolePermissions>> {
    const about = { app, action: 'role_permissions.replaced', guard: editorOf(app), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const role = await locked(tx, appId, id);
      const before = (await readRolePermissions(tx, appId, id)) ?? [];
      refuseStale(ifMatch, tagOf(before));
      const wanted = await fitting(tx, app, appId, requested);
      await replaceRolePermissions(tx, appId, id, wanted);
      const after = (await readRolePermissions(tx, appId, id)) ?? [];
      const etag = tagOf(after);
      if (etag === tagOf(before)) return { result: { permissions: after, etag }, scopes: [] };
      audit({
        subject: role.code,
        before: { permissions: before.map(words) },
        after: { permissions: after.map(words) },
      });
      return { result: { permissions: after, etag }, scopes: [`p:${app}`] };
    });
  }
}

/** For audit records. As text: in an object keyed by codes, `token.read` would be masked as a secret. */
export function words({ code, level }: Pick<RolePermission, 'code' | 'level'>): string {
  return `${code}: ${LEVEL_NAMES[level] ?? ''}`;
}

/** The rows to store; throws for an unknown permission, or a level of the other type. */
async function fitting(
  tx: Tx,
  app: string,
  appId: number,
  requested: readonly WantedPermission[],
): Promise<{ permissionId: number; level: Level }[]> {
  const references = requested.map(({ permission }) => permission);
  const ids = await idsOf(tx, 'permission', app, references);
  refuseRepeated(ids, references);
  const found = await findPermissions(tx, appId, ids);
  const unknown = ids.findIndex((id) => !found.has(id));
  if (unknown >= 0) {
    const reference = references[unknown] as Reference;
    const path = `permissions.${unknown}.${permissionField(reference)}`;
    throw await unknownCode(tx, { app, path, thing: 'permission', reference });
  }
  return requested.map(({ permission: reference, code, level }, index) => {
    const permissionId = certain(ids[index]);
    const permission = found.get(permissionId);
    const path = `permissions.${index}`;
    if (permission === undefined) throw unknownReference(`${path}.${permissionField(reference)}`, 'permission');
    refuseImmutable(`${path}.code`, permission.code, code);
    refuseUnfit(path, permission, level);
    return { permissionId, level };
  });
}

/** Throws for a level of the other type, granted by the item at `path`. */
export function refuseUnfit(path: string, { code, tiered }: { code: string; tiered: boolean }, level: Level): void {
  if (tiered !== (level === Level.ALLOWED)) return;
  const fit = tiered ? 'view or edit' : 'allowed';
  throw new UsherError('INVALID_ACCESS_LEVEL', `${path}.accessLevel of ${code} must be ${fit}.`, {
    details: { path: `${path}.accessLevel` },
  });
}

async function locked(tx: Tx, app: number, id: number): Promise<RoleRow> {
  const role = await lockRole(tx, app, id);
  if (role === undefined) throw unknownRole();
  return role;
}

/** 404 for the id of another application's role, or of none. */
export function unknownRole(): UsherError {
  return new UsherError('NOT_FOUND', 'The application has no role with this id.');
}
