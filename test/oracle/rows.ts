/**
 * Everything that decides a permission, as plain lists of rows that name things by their codes: what the oracle reads.
 * `applyTo` is the only thing that changes rows; it makes new lists and leaves the old ones as they are, so that the rows of
 * every revision can be kept. Imports nothing of src.
 */

export type PermissionType = 'binary' | 'tiered';
export type AccessLevel = 'allowed' | 'view' | 'edit';

/** When a grant counts: from `startsAt` to before `endsAt`, in ms of the database's clock. Absent: no bound. */
export interface Window {
  readonly startsAt?: number;
  readonly endsAt?: number;
}

export interface Rows {
  /** Users by record; an address without one is not inactive. */
  readonly users: readonly { email: string; active: boolean }[];
  readonly superadmins: readonly { email: string }[];
  /** `id` is never given twice: an application deleted and made again is another one. */
  readonly applications: readonly { app: string; id: number; strict: boolean }[];
  /** The catalog of entities. */
  readonly entities: readonly { app: string; entity: string }[];
  readonly permissions: readonly {
    app: string;
    permission: string;
    id: number;
    type: PermissionType;
    global: boolean;
    groupName: string | null;
  }[];
  readonly roles: readonly { app: string; role: string; id: number }[];
  readonly rolePermissions: readonly { app: string; role: string; permission: string; accessLevel: AccessLevel }[];
  readonly appAdmins: readonly ({ app: string; email: string } & Window)[];
  readonly assignments: readonly ({ app: string; email: string; role: string } & Window)[];
  /** `accessLevel` is null for a denying override. */
  readonly overrides: readonly ({
    app: string;
    email: string;
    resourceType: string;
    resourceId: string;
    permission: string;
    granted: boolean;
    accessLevel: AccessLevel | null;
  } & Window)[];
  readonly lastId: number;
}

export const NO_ROWS: Rows = {
  users: [],
  superadmins: [],
  applications: [],
  entities: [],
  permissions: [],
  roles: [],
  rolePermissions: [],
  appAdmins: [],
  assignments: [],
  overrides: [],
  lastId: 0,
};

/** One policy write. Sets are replaced whole, as the service's PUTs do. What it names is there when it is applied. */
export type Operation =
  | { kind: 'user'; email: string; active: boolean }
  | { kind: 'superadmin'; email: string; is: boolean }
  | { kind: 'app-admin'; app: string; email: string; is: boolean; window?: Window }
  /** `windows` are those of the roles, in their order. */
  | { kind: 'roles-of-user'; app: string; email: string; roles: readonly string[]; windows?: readonly Window[] }
  | {
      kind: 'overrides-of-user';
      app: string;
      email: string;
      resourceType: string;
      resourceId: string;
      overrides: readonly ({ permission: string; granted: boolean; accessLevel: AccessLevel | null } & Window)[];
    }
  | {
      kind: 'permissions-of-role';
      app: string;
      role: string;
      permissions: readonly { permission: string; accessLevel: AccessLevel }[];
    }
  | {
      kind: 'define-permission';
      app: string;
      permission: string;
      type: PermissionType;
      global: boolean;
      groupName: string | null;
    }
  | { kind: 'set-global'; app: string; permission: string; global: boolean }
  | { kind: 'delete-permission'; app: string; permission: string }
  | { kind: 'define-role'; app: string; role: string }
  | { kind: 'delete-role'; app: string; role: string }
  | { kind: 'define-entity'; app: string; entity: string }
  | { kind: 'delete-entity'; app: string; entity: string }
  | { kind: 'set-strict'; app: string; strict: boolean }
  | { kind: 'create-app'; app: string }
  | { kind: 'delete-app'; app: string };

/** The rows that count at that instant: all but grants that have ended by then, or not begun. */
export function countingAt(rows: Rows, instant: number): Rows {
  const counts = ({ startsAt, endsAt }: Window) =>
    (startsAt === undefined || startsAt <= instant) && (endsAt === undefined || instant < endsAt);
  return {
    ...rows,
    appAdmins: rows.appAdmins.filter(counts),
    assignments: rows.assignments.filter(counts),
    overrides: rows.overrides.filter(counts),
  };
}

/** The instants at which a grant begins or ends. */
export function instantsOf({ appAdmins, assignments, overrides }: Rows): number[] {
  const windows: Window[] = [...appAdmins, ...assignments, ...overrides];
  return windows.flatMap(({ startsAt, endsAt }) => [startsAt, endsAt]).filter((instant) => instant !== undefined);
}

/** The rows after the operation. */
export function applyTo(rows: Rows, operation: Operation): Rows {
  switch (operation.kind) {
    case 'user': {
      const { email, active } = operation;
      return { ...rows, users: [...rows.users.filter((row) => row.email !== email), { email, active }] };
    }
    case 'superadmin': {
      const others = rows.superadmins.filter((row) => row.email !== operation.email);
      return { ...rows, superadmins: operation.is ? [...others, { email: operation.email }] : others };
    }
    case 'app-admin': {
      const { app, email, is, window } = operation;
      const others = rows.appAdmins.filter((row) => !(row.app === app && row.email === email));
      return { ...rows, appAdmins: is ? [...others, { app, email, ...window }] : others };
    }
    case 'roles-of-user': {
      const { app, email, roles, windows } = operation;
      const others = rows.assignments.filter((row) => !(row.app === app && row.email === email));
      const own = roles.map((role, index) => ({ app, email, role, ...windows?.[index] }));
      return { ...rows, assignments: [...others, ...own] };
    }
    case 'overrides-of-user': {
      const { app, email, resourceType, resourceId, overrides } = operation;
      const others = rows.overrides.filter(
        (row) =>
          !(
            row.app === app &&
            row.email === email &&
            row.resourceType === resourceType &&
            row.resourceId === resourceId
          ),
      );
      const own = overrides.map((override) => ({ app, email, resourceType, resourceId, ...override }));
      return { ...rows, overrides: [...others, ...own] };
    }
    case 'permissions-of-role': {
      const { app, role, permissions } = operation;
      const others = rows.rolePermissions.filter((row) => !(row.app === app && row.role === role));
      return { ...rows, rolePermissions: [...others, ...permissions.map((held) => ({ app, role, ...held }))] };
    }
    default:
      return applyToCatalog(rows, operation);
  }
}

function applyToCatalog(
  rows: Rows,
  operation: Extract<
    Operation,
    { kind: `define-${string}` | `delete-${string}` | `create-${string}` | `set-${string}` }
  >,
): Rows {
  const { app } = operation;
  const id = rows.lastId + 1;
  switch (operation.kind) {
    case 'define-permission': {
      const { permission, type, global, groupName } = operation;
      return {
        ...rows,
        lastId: id,
        permissions: [...rows.permissions, { app, permission, id, type, global, groupName }],
      };
    }
    case 'set-global': {
      const { permission, global } = operation;
      const change = (row: Rows['permissions'][number]) =>
        row.app === app && row.permission === permission ? { ...row, global } : row;
      return { ...rows, permissions: rows.permissions.map(change) };
    }
    case 'delete-permission': {
      const kept = (row: { app: string; permission: string }) =>
        !(row.app === app && row.permission === operation.permission);
      return {
        ...rows,
        permissions: rows.permissions.filter(kept),
        rolePermissions: rows.rolePermissions.filter(kept),
        overrides: rows.overrides.filter(kept),
      };
    }
    case 'define-role':
      return { ...rows, lastId: id, roles: [...rows.roles, { app, role: operation.role, id }] };
    case 'delete-role': {
      const kept = (row: { app: string; role: string }) => !(row.app === app && row.role === operation.role);
      return {
        ...rows,
        roles: rows.roles.filter(kept),
        rolePermissions: rows.rolePermissions.filter(kept),
        assignments: rows.assignments.filter(kept),
      };
    }
    case 'create-app':
      return { ...rows, lastId: id, applications: [...rows.applications, { app, id, strict: false }] };
    case 'set-strict': {
      const change = (row: Rows['applications'][number]) =>
        row.app === app ? { ...row, strict: operation.strict } : row;
      return { ...rows, applications: rows.applications.map(change) };
    }
    case 'define-entity':
      return { ...rows, entities: [...rows.entities, { app, entity: operation.entity }] };
    case 'delete-entity': {
      const kept = (row: { app: string; entity: string }) => !(row.app === app && row.entity === operation.entity);
      return { ...rows, entities: rows.entities.filter(kept) };
    }
    case 'delete-app': {
      const kept = (row: { app: string }) => row.app !== app;
      return {
        ...rows,
        applications: rows.applications.filter(kept),
        entities: rows.entities.filter(kept),
        permissions: rows.permissions.filter(kept),
        roles: rows.roles.filter(kept),
        rolePermissions: rows.rolePermissions.filter(kept),
        appAdmins: rows.appAdmins.filter(kept),
        assignments: rows.assignments.filter(kept),
        overrides: rows.overrides.filter(kept),
      };
    }
  }
}
