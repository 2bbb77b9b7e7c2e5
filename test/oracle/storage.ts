/** The oracle's rows as storage would give them to the engine, and the scopes that a write of them announces. */
import {
  type Decision,
  type GroundRows,
  Level,
  type MemberAnswer,
  type MemberNeed,
  type PolicyRows,
  type Question,
  Source,
  UNBOUNDED,
} from '../../src/engine/types.ts';
import type { OracleAnswer } from './oracle.ts';
import { type AccessLevel, countingAt, type Operation, type Rows, type Window } from './rows.ts';

const LEVELS: Record<AccessLevel, Level> = { allowed: Level.ALLOWED, view: Level.VIEW, edit: Level.EDIT };
const SOURCES = {
  role: Source.ROLE,
  override: Source.OVERRIDE,
  superadmin: Source.SUPERADMIN,
  app_admin: Source.APP_ADMIN,
} as const;

/** What the oracle says, in the engine's words; without `tiered`, of which the oracle knows nothing. */
export function asDecision({ granted, accessLevel, source }: OracleAnswer): Omit<Decision, 'tiered'> {
  return {
    granted,
    level: accessLevel === null ? Level.NONE : LEVELS[accessLevel],
    source: source === null ? Source.NONE : SOURCES[source],
  };
}

export function policyOf(rows: Rows, app: string): PolicyRows {
  const roles = new Map(rows.roles.filter((row) => row.app === app).map(({ role, id }) => [role, id]));
  const permissions = rows.permissions.filter((row) => row.app === app);
  const ids = new Map(permissions.map(({ permission, id }) => [permission, id]));
  return {
    app,
    appId: appId(rows, app),
    strictCodes: rows.applications.some((row) => row.app === app && row.strict),
    resourceTypes: rows.entities.filter((row) => row.app === app).map(({ entity }) => entity),
    permissions: permissions.map(({ id, permission, type, global, groupName }) => {
      return { id, code: permission, tiered: type === 'tiered', global, groupName };
    }),
    rolePermissions: rows.rolePermissions
      .filter((row) => row.app === app)
      .map(({ role, permission, accessLevel }) => {
        return { roleId: known(roles, role), permissionId: known(ids, permission), level: LEVELS[accessLevel] };
      }),
  };
}

/** What a statement answers that is executed at that instant of the database's clock. */
export function memberAt(rows: Rows, need: MemberNeed, instant: number): MemberAnswer {
  const { member, overrides } = grantsOf(rows, need);
  return {
    ...memberOf(countingAt(rows, instant), need),
    boundaries: { person: null, member: untilNext(member, instant), overrides: untilNext(overrides, instant) },
  };
}

/** The same of a replica, whose clock nobody trusts: a boundary says that there are beginnings or ends. */
export function memberOfReplica(rows: Rows, need: MemberNeed, instant: number): MemberAnswer {
  const { member, overrides } = grantsOf(rows, need);
  const isTimed = (grants: readonly Window[]) =>
    grants.some(({ startsAt, endsAt }) => startsAt !== undefined || endsAt !== undefined) ? 0 : null;
  return {
    ...memberOf(countingAt(rows, instant), need),
    boundaries: { person: null, member: isTimed(member), overrides: isTimed(overrides) },
  };
}

function grantsOf(rows: Rows, { email, app, resourceType, resourceId }: MemberNeed) {
  const own = (row: { app: string; email: string }) => row.app === app && row.email === email;
  return {
    member: [...rows.assignments.filter(own), ...rows.appAdmins.filter(own)],
    overrides: rows.overrides.filter((row) => {
      return own(row) && row.resourceType === resourceType && row.resourceId === resourceId;
    }),
  };
}

function untilNext(grants: readonly Window[], instant: number): number | null {
  const ahead = grants
    .flatMap(({ startsAt, endsAt }) => [startsAt, endsAt])
    .filter((at) => at !== undefined && at > instant) as number[];
  return ahead.length === 0 ? null : Math.floor(Math.min(...ahead) - instant);
}

/** Without a look at beginnings and ends: of rows that have none, or of those that count. */
export function memberOf(rows: Rows, { email, app, resourceType, resourceId }: MemberNeed): MemberAnswer {
  const own = (row: { app: string; email: string }) => row.app === app && row.email === email;
  const roles = new Map(rows.roles.filter((row) => row.app === app).map(({ role, id }) => [role, id]));
  const ids = new Map(rows.permissions.filter((row) => row.app === app).map(({ permission, id }) => [permission, id]));
  const levels = rows.overrides
    .filter((row) => own(row) && row.resourceType === resourceType && row.resourceId === resourceId)
    .map(({ permission, accessLevel }) => {
      return { permissionId: known(ids, permission), level: accessLevel === null ? Level.NONE : LEVELS[accessLevel] };
    });
  return {
    person: {
      email,
      active: rows.users.find((row) => row.email === email)?.active ?? true,
      superadmin: rows.superadmins.some((row) => row.email === email),
    },
    member: {
      app,
      email,
      appId: appId(rows, app),
      admin: rows.appAdmins.some(own),
      roleIds: rows.assignments.filter(own).map(({ role }) => known(roles, role)),
    },
    overrides: resourceType === '' ? null : { app, email, resourceType, resourceId, levels },
    boundaries: UNBOUNDED,
  };
}

export function groundsOf(rows: Rows, question: Question): GroundRows {
  const answer = memberOf(rows, question);
  const roles = rows.roles.filter((row) => row.app === question.app && answer.member.roleIds.includes(row.id));
  return {
    answer,
    userKnown: rows.users.some(({ email }) => email === question.email),
    policy: policyOf(rows, question.app),
    roles: roles.map(({ id, role }) => ({ id, code: role })),
  };
}

/** What `database.change` would announce. */
export function scopesOf(operation: Operation): string[] {
  switch (operation.kind) {
    case 'user':
    case 'superadmin':
      return [`u:${operation.email}`];
    case 'app-admin':
    case 'roles-of-user':
    case 'overrides-of-user':
      return [`m:${operation.app}:${operation.email}`];
    default:
      return [`p:${operation.app}`];
  }
}

function appId(rows: Rows, app: string): number | null {
  return rows.applications.find((row) => row.app === app)?.id ?? null;
}

function known(ids: ReadonlyMap<string, number>, code: string): number {
  const id = ids.get(code);
  if (id === undefined) throw new Error(`${code} is not defined`);
  return id;
}
