/** What roles grant, as a table: the answer of the matrix, indexed for drawing and for drafts. */

import type { Out } from '../../../../../src/gen/api.ts';

export type MatrixAnswer = Out<'GET /api/applications/{appCode}/matrix'>;
export type PermissionRecord = MatrixAnswer['permissions'][number];
export type RoleRecord = MatrixAnswer['roles'][number];
/** What a cell holds; null is nothing. */
export type CellLevel = 'allowed' | 'view' | 'edit' | null;

export interface MatrixTable {
  readonly permissions: readonly PermissionRecord[];
  readonly roles: readonly RoleRecord[];
  readonly permissionOf: ReadonlyMap<number, PermissionRecord>;
  readonly roleOf: ReadonlyMap<number, RoleRecord>;
  /** Levels by permission, then by role. */
  readonly levels: ReadonlyMap<number, ReadonlyMap<number, Exclude<CellLevel, null>>>;
}

export function tableOf({ permissions, roles, levels }: MatrixAnswer): MatrixTable {
  const rows = new Map<number, Map<number, Exclude<CellLevel, null>>>();
  for (const { roleId, permissionId, accessLevel } of levels) {
    let row = rows.get(permissionId);
    if (row === undefined) {
      row = new Map();
      rows.set(permissionId, row);
    }
    row.set(roleId, accessLevel);
  }
  return {
    permissions,
    roles,
    permissionOf: new Map(permissions.map((permission) => [permission.id, permission])),
    roleOf: new Map(roles.map((role) => [role.id, role])),
    levels: rows,
  };
}

export function levelAt(table: MatrixTable, roleId: number, permissionId: number): CellLevel {
  return table.levels.get(permissionId)?.get(roleId) ?? null;
}

/** The levels of a type of permission, from none to the highest. */
export function levelsOf(type: PermissionRecord['type']): readonly CellLevel[] {
  return type === 'binary' ? [null, 'allowed'] : [null, 'view', 'edit'];
}

/** The level after this one; after the highest comes none. */
export function nextLevel(type: PermissionRecord['type'], level: CellLevel): CellLevel {
  const all = levelsOf(type);
  return all[(all.indexOf(level) + 1) % all.length] ?? null;
}

/**
 * What a wish means for a permission: a binary one is held or not, so `view` and `edit` mean `allowed`; of a tiered one
 * `allowed` means `view`, the least that allows anything.
 */
export function fitted(type: PermissionRecord['type'], level: CellLevel): CellLevel {
  if (level === null) return null;
  if (type === 'binary') return 'allowed';
  return level === 'allowed' ? 'view' : level;
}

/** A row that is drawn: a heading of a group, or a permission with its depth below its parents. */
export type MatrixRow =
  | { readonly kind: 'group'; readonly name: string | null; readonly size: number }
  | { readonly kind: 'permission'; readonly permission: PermissionRecord; readonly depth: number };

/** Permissions by group, each below its parent where that is of the same group. A group without a name comes last. */
export function rowsOf(permissions: readonly PermissionRecord[]): MatrixRow[] {
  const groups = new Map<string | null, PermissionRecord[]>();
  for (const permission of permissions) {
    const name = permission.groupName === '' ? null : permission.groupName;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [permission]);
    else group.push(permission);
  }
  const names = [...groups.keys()].sort((a, b) => (a === null ? 1 : b === null ? -1 : a < b ? -1 : 1));
  return names.flatMap((name) => {
    const group = groups.get(name) ?? [];
    const rows = treeOf(group);
    return names.length === 1 && name === null ? rows : [{ kind: 'group' as const, name, size: group.length }, ...rows];
  });
}

function treeOf(group: readonly PermissionRecord[]): MatrixRow[] {
  const ids = new Set(group.map(({ id }) => id));
  const children = new Map<number | null, PermissionRecord[]>();
  for (const permission of group) {
    const { parentPermissionId } = permission;
    const parent = parentPermissionId !== null && ids.has(parentPermissionId) ? parentPermissionId : null;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [permission]);
    else siblings.push(permission);
  }
  const rows: MatrixRow[] = [];
  // An own stack: a chain of ten thousand parents is legal.
  const open = (children.get(null) ?? []).map((permission) => ({ permission, depth: 0 })).reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { permission, depth } = next;
    rows.push({ kind: 'permission', permission, depth });
    const below = children.get(permission.id) ?? [];
    for (const child of [...below].reverse()) open.push({ permission: child, depth: depth + 1 });
  }
  return rows;
}

interface Narrowing {
  /** Part of a permission's code, group or description. */
  readonly permissions: string;
  /** Part of a role's code or description; a comma separates several. */
  readonly roles: string;
  /** Two codes of roles: only these, and only where they differ. */
  readonly compare: readonly [string, string] | null;
  /** Whether only rows and columns with a change are wanted. */
  readonly changed: boolean;
}

/** The permissions and roles that the filters leave. `at` says what a cell holds with the draft. */
export function narrowed(
  { permissions, roles }: MatrixTable,
  { permissions: wanted, roles: wantedRoles, compare, changed }: Narrowing,
  at: (roleId: number, permissionId: number) => CellLevel,
  changes: Iterable<{ readonly roleId: number; readonly permissionId: number }>,
): { permissions: readonly PermissionRecord[]; roles: readonly RoleRecord[] } {
  let columns = roles;
  let rows = permissions;
  if (compare !== null) {
    columns = compare.flatMap((code) => roles.filter((role) => role.code === code));
  } else {
    const parts = wantedRoles
      .toLowerCase()
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean);
    if (parts.length > 0)
      columns = roles.filter((role) => parts.some((part) => contains(part, role.code, role.name, role.description)));
  }
  const part = wanted.trim().toLowerCase();
  if (part !== '') {
    rows = rows.filter(({ code, groupName, description }) => contains(part, code, groupName, description));
  }
  if (changed) {
    const all = [...changes];
    const changedRoles = new Set(all.map(({ roleId }) => roleId));
    const changedPermissions = new Set(all.map(({ permissionId }) => permissionId));
    columns = columns.filter(({ id }) => changedRoles.has(id));
    rows = rows.filter(({ id }) => changedPermissions.has(id));
  }
  const [one, two] = columns;
  if (compare !== null && one !== undefined && two !== undefined) {
    rows = rows.filter(({ id }) => at(one.id, id) !== at(two.id, id));
  }
  return { permissions: rows, roles: columns };
}

function contains(part: string, ...texts: (string | null)[]): boolean {
  return texts.some((text) => text?.toLowerCase().includes(part) === true);
}
