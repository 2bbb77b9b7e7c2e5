/** What every role of an application grants, as one table. (docs/reference/administration.md#the-matrix.) */

import { administer, applicationAlone, type By, editorOf, knownApplication } from '../administration/administer.ts';
import { refuseField, refuseImmutable, refuseStale, tagOf } from '../administration/records.ts';
import { certain } from '../base/certain.ts';
import { Level } from '../engine/types.ts';
import { countHolders } from '../persistence/catalog/assignments.ts';
import { listPermissions, type PermissionRecord } from '../persistence/catalog/permissions.ts';
import {
  changeRoleLevels,
  listRoleLevels,
  listRoles,
  type RoleLevel,
  type RoleRow,
} from '../persistence/catalog/roles.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { idsOf, permissionField, type Reference, unknownAmong } from './references.ts';
import { refuseUnfit, words } from './roles.ts';

export type { RoleLevel } from '../persistence/catalog/roles.ts';

export interface MatrixRole extends RoleRow {
  /** How many people hold it. */
  holders: number;
}

export interface Matrix {
  permissions: readonly PermissionRecord[];
  roles: readonly MatrixRole[];
  levels: readonly RoleLevel[];
  etag: string;
}

/** One cell of a request; NONE takes the level away. */
export interface WantedCell {
  role: Reference;
  permission: Reference;
  /** The code sent beside an id: must be the permission's own. */
  code?: string | undefined;
  level: Level;
}

/** A cell by its records; NONE for an empty one. */
interface Cell {
  roleId: number;
  permissionId: number;
  level: Level;
}

/** The second part of a tag: no write is STALE because a role was assigned. */
const HOLDERS = /\.[\w-]{22}(?=(?:[-;:+]+[a-z]+)?")/g;

export class Matrices {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Permissions and roles by code; NOT_FOUND for an unknown application. */
  read(app: string): Promise<Matrix> {
    return this.#database.read(async (tx) => await read(tx, await knownApplication(tx, app)));
  }

  /**
   * Changes the cells sent and keeps the others. UNKNOWN_REFERENCE for a role or permission of another application,
   * INVALID_ACCESS_LEVEL for a level of the other type, IMMUTABLE_FIELD for another permission's code beside an id, STALE when
   * `ifMatch` is of older roles, permissions or levels. The application is locked alone: of two writers with one tag, one is STALE.
   */
  change(
    app: string,
    requested: readonly WantedCell[],
    ifMatch: string | undefined,
    by: By,
  ): Promise<Committed<Matrix>> {
    const about = { app, action: 'role_permissions.replaced', guard: editorOf(app), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationAlone(tx, app);
      const before = await read(tx, appId);
      const [definitions = ''] = before.etag.split('.');
      refuseStale(ifMatch?.replaceAll(HOLDERS, ''), definitions);
      const present = new Map(before.levels.map((cell) => [keyOf(cell), cell.level]));
      const wanted = await fitting(tx, app, before, requested);
      const changes = wanted.filter((cell) => cell.level !== (present.get(keyOf(cell)) ?? Level.NONE));
      if (changes.length === 0) return { result: before, scopes: [] };
      await changeRoleLevels(tx, appId, changes);
      const after = { ...before, levels: await listRoleLevels(tx, appId) };
      const changed = new Set(changes.map(({ roleId }) => roleId));
      for (const { id, code } of before.roles.filter((role) => changed.has(role.id))) {
        audit({ subject: code, before: granted(before, id), after: granted(after, id) });
      }
      return { result: tagged(after), scopes: [`p:${app}`] };
    });
  }
}

async function read(tx: Tx, app: number): Promise<Matrix> {
  const holders = await countHolders(tx, app);
  const roles = (await listRoles(tx, app)).map((role) => ({ ...role, holders: holders.get(role.id) ?? 0 }));
  return tagged({ permissions: await listPermissions(tx, app), roles, levels: await listRoleLevels(tx, app) });
}

/** Two tags in one: of the definitions, and of the numbers of holders. */
function tagged({ permissions, roles, levels }: Omit<Matrix, 'etag'>): Matrix {
  const counts = roles.map(({ holders }) => holders);
  const definitions = [permissions, roles.map((role) => ({ ...role, holders: 0 })), levels];
  const etag = `${tagOf(definitions)}.${tagOf(counts)}`;
  return { permissions, roles, levels, etag };
}

/** The requested cells; throws for one that the application does not have, that is sent twice, or whose level does not fit. */
async function fitting(tx: Tx, app: string, before: Matrix, requested: readonly WantedCell[]): Promise<Cell[]> {
  const references = {
    role: requested.map(({ role }) => role),
    permission: requested.map(({ permission }) => permission),
  };
  const roleIds = await idsOf(tx, 'role', app, references.role);
  const permissionIds = await idsOf(tx, 'permission', app, references.permission);
  const roles = new Set(before.roles.map(({ id }) => id));
  const permissions = new Map(before.permissions.map((permission) => [permission.id, permission]));
  const seen = new Set<string>();
  return requested.map(({ role, permission: reference, code, level }, index) => {
    const path = `changes.${index}`;
    const cell = { roleId: certain(roleIds[index]), permissionId: certain(permissionIds[index]), level };
    if (!roles.has(cell.roleId)) {
      const named = { app, path: `${path}.${typeof role === 'number' ? 'roleId' : 'role'}`, thing: 'role' } as const;
      throw unknownAmong(before.roles, { ...named, reference: role });
    }
    const permission = permissions.get(cell.permissionId);
    const field = `${path}.${permissionField(reference)}`;
    if (permission === undefined)
      throw unknownAmong(before.permissions, { app, path: field, thing: 'permission', reference });
    refuseImmutable(`${path}.code`, permission.code, code);
    if (seen.has(keyOf(cell)))
      refuseField(field, 'repeats role and permission of an earlier item; send each pair once');
    seen.add(keyOf(cell));
    if (level !== Level.NONE) refuseUnfit(path, permission, level);
    return cell;
  });
}

function keyOf({ roleId, permissionId }: Omit<Cell, 'level'>): string {
  return `${roleId}:${permissionId}`;
}

/** What a role grants, for audit records: by permission code. */
function granted({ permissions, levels }: Pick<Matrix, 'permissions' | 'levels'>, role: number) {
  const held = new Map(levels.filter(({ roleId }) => roleId === role).map((cell) => [cell.permissionId, cell.level]));
  return {
    permissions: permissions.flatMap(({ id, code }) => {
      const level = held.get(id);
      return level === undefined ? [] : [words({ code, level })];
    }),
  };
}
