/** The permissions that an application defines. (docs/reference/administration.md#permissions-and-roles.) */

import { administer, applicationAlone, type By, editorOf, knownApplication } from '../administration/administer.ts';
import { isSame, merged, refuseField, refuseImmutable, refuseSystem, type Sent } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import {
  deletePermission,
  findPermissions,
  insertPermission,
  isBelow,
  isPermissionUsed,
  listPermissions,
  lockPermission,
  type PermissionFields,
  type PermissionRecord,
  updatePermission,
} from '../persistence/catalog/permissions.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { idsOf, type Reference, unknownCode } from './references.ts';
import { isSystemRecord } from './system.ts';

export type { PermissionFields, PermissionRecord } from '../persistence/catalog/permissions.ts';

/** A permission's parent in the tree, with the body's field for it; null for none. */
export type Parent = { field: 'parentPermissionId' | 'parentPermission'; reference: Reference } | null;

type PermissionChange = Sent<Omit<PermissionFields, 'parentPermissionId'>> & {
  code?: string | undefined;
  parent?: Parent | undefined;
};

/** Writes lock the application alone: no cycle of parents may arise, and the checked rows must not change meanwhile. */
export class Permissions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All permissions, by code; NOT_FOUND for an unknown application. */
  list(app: string): Promise<PermissionRecord[]> {
    return this.#database.read(async (tx) => await listPermissions(tx, await knownApplication(tx, app)));
  }

  /** ALREADY_EXISTS; UNKNOWN_REFERENCE for a parent of another application. */
  create(
    app: string,
    { parent, ...requested }: Omit<PermissionFields, 'parentPermissionId'> & { code: string; parent: Parent },
    by: By,
  ): Promise<Committed<PermissionRecord>> {
    const about = { app, action: 'permission.created', guard: editorOf(app), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationAlone(tx, app);
      const fields = { ...requested, parentPermissionId: await parentOf(tx, app, appId, parent) };
      const made = await insertPermission(tx, appId, fields);
      if (made === undefined) throw new UsherError('ALREADY_EXISTS', `Permission ${fields.code} exists already.`);
      audit({ subject: made.code, after: content(made) });
      return { result: made, scopes: [`p:${app}`] };
    });
  }

  /**
   * Changes the fields sent. IMMUTABLE_FIELD for a changed code; UNKNOWN_REFERENCE for a parent of another application,
   * VALIDATION_FAILED for one below this permission; TYPE_IN_USE for a changed type while a role or an override refers to it;
   * SYSTEM_RECORD for a changed type or `global` of the panel's own.
   */
  change(app: string, id: number, change: PermissionChange, by: By): Promise<Committed<PermissionRecord>> {
    const about = { app, action: 'permission.changed', guard: editorOf(app), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationAlone(tx, app);
      const before = await locked(tx, appId, id);
      refuseImmutable('code', before.code, change.code);
      const { parent, ...others } = change;
      const parentPermissionId =
        parent === undefined || parent?.reference === before.parentPermissionId
          ? before.parentPermissionId
          : await parentOf(tx, app, appId, parent);
      const { tiered, description, groupName, global } = before;
      const wanted = { ...merged({ tiered, description, groupName, global }, others), parentPermissionId };
      if (wanted.parentPermissionId !== before.parentPermissionId) {
        await refuseCircle(tx, appId, id, wanted.parentPermissionId);
      }
      const moved = wanted.tiered !== before.tiered || wanted.global !== before.global;
      refuseSystem(moved && isSystemRecord(app, 'permissions', before.code), `permission ${before.code} as it is`);
      if (wanted.tiered !== before.tiered) await refuseUsed(tx, appId, before);
      if (isSame(content({ ...before, ...wanted }), content(before))) return { result: before, scopes: [] };
      const after = await updatePermission(tx, id, wanted);
      audit({ subject: before.code, before: content(before), after: content(after) });
      return { result: after, scopes: [`p:${app}`] };
    });
  }

  /** Deletes its levels in roles and its overrides too; children lose their parent. SYSTEM_RECORD for the panel's own. */
  delete(app: string, id: number, by: By): Promise<Committed<null>> {
    const about = { app, action: 'permission.deleted', guard: editorOf(app), overrides: true, policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const before = await locked(tx, await applicationAlone(tx, app), id);
      refuseSystem(isSystemRecord(app, 'permissions', before.code), `permission ${before.code}`);
      await deletePermission(tx, id);
      audit({ subject: before.code, before: content(before) });
      // Cached members keep overrides of a deleted permission; a policy without it ignores them.
      return { result: null, scopes: [`p:${app}`] };
    });
  }
}

async function parentOf(tx: Tx, app: string, appId: number, parent: Parent): Promise<number | null> {
  if (parent === null) return null;
  const [id] = await idsOf(tx, 'permission', app, [parent.reference]);
  if (id === undefined || !(await findPermissions(tx, appId, [id])).has(id)) {
    throw await unknownCode(tx, { app, path: parent.field, thing: 'permission', reference: parent.reference });
  }
  return id;
}

async function refuseCircle(tx: Tx, app: number, id: number, parent: number | null): Promise<void> {
  if (parent !== null && (await isBelow(tx, app, parent, id))) {
    refuseField('parentPermissionId', 'must not be the permission itself or one below it');
  }
}

async function refuseUsed(tx: Tx, app: number, { id, code }: PermissionRecord): Promise<void> {
  if (!(await isPermissionUsed(tx, app, id))) return;
  throw new UsherError('TYPE_IN_USE', `The type of ${code} cannot change while roles or overrides refer to it.`);
}

function content({ code, tiered, description, groupName, parentPermissionId, global }: PermissionRecord) {
  return { code, type: tiered ? 'tiered' : 'binary', description, groupName, parentPermissionId, global };
}

async function locked(tx: Tx, app: number, id: number): Promise<PermissionRecord> {
  const permission = await lockPermission(tx, app, id);
  if (permission === undefined) throw new UsherError('NOT_FOUND', 'The application has no permission with this id.');
  return permission;
}
