import { byGroupAndCode } from '../base/order.ts';
import type { PolicyPermission } from './evaluate.ts';
import type { Level, PolicyRows, RolePermissionRow } from './types.ts';

/** One application's policy, compiled for questions. Codes such as `constructor` are legal, hence Maps. */
export interface Policy {
  readonly app: string;
  /** Null when there is no such application; then nothing is defined. */
  readonly appId: number | null;
  /** Whether a question with an unknown permission or resource type is refused. */
  readonly strictCodes: boolean;
  /** Null where the entity catalog is empty: then every type is accepted. */
  readonly resourceTypes: ReadonlySet<string> | null;
  readonly permissions: ReadonlyMap<string, PolicyPermission>;
  /** In the order of Effective: by group, those without a group last, then by code, both by UTF-16 code units (docs/reference/decisions.md#bulk-and-effective). */
  readonly ordered: readonly PolicyPermission[];
}

export function compilePolicy(rows: PolicyRows): Policy {
  const roles = levelsByPermission(rows.rolePermissions);
  const ordered: PolicyPermission[] = rows.permissions
    .map(({ id, code, tiered, global, groupName }) => {
      return { id, code, tiered, global, groupName, levels: roles.get(id) ?? NO_LEVELS };
    })
    .sort(byGroupAndCode);
  return {
    app: rows.app,
    appId: rows.appId,
    strictCodes: rows.strictCodes,
    resourceTypes: rows.resourceTypes.length === 0 ? null : new Set(rows.resourceTypes),
    permissions: new Map(ordered.map((permission) => [permission.code, permission])),
    ordered,
  };
}

/** The rows that the policy was compiled from, in another order. */
export function rowsOf({ app, appId, strictCodes, resourceTypes, ordered }: Policy): PolicyRows {
  return {
    app,
    appId,
    strictCodes,
    resourceTypes: [...(resourceTypes ?? [])],
    permissions: ordered,
    rolePermissions: ordered.flatMap(({ id, levels }) =>
      [...levels].map(([roleId, level]) => ({ roleId, permissionId: id, level })),
    ),
  };
}

const NO_LEVELS: ReadonlyMap<number, Level> = new Map();

function levelsByPermission(rows: readonly RolePermissionRow[]): Map<number, Map<number, Level>> {
  const all = new Map<number, Map<number, Level>>();
  for (const { roleId, permissionId, level } of rows) {
    const levels = all.get(permissionId);
    if (levels === undefined) all.set(permissionId, new Map([[roleId, level]]));
    else levels.set(roleId, level);
  }
  return all;
}
