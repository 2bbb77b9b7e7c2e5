/**
 * The six rules (docs/reference/decisions.md#the-six-rules): one pure function for every transport and every guard.
 * Default deny; the first rule that matches decides.
 */

import {
  type Decision,
  Level,
  type MemberAnswer,
  type MemberFacts,
  type PersonFacts,
  type PolicyRows,
  Source,
} from './types.ts';

/** A permission that an application defines, with the level that each role grants. */
export interface PolicyPermission {
  readonly id: number;
  readonly code: string;
  readonly tiered: boolean;
  readonly global: boolean;
  readonly groupName: string | null;
  /** By role id. Roles without the permission are absent. */
  readonly levels: ReadonlyMap<number, Level>;
}

/** A person's overrides for the resource in question, by permission id; NONE denies. */
export type Overrides = Pick<ReadonlyMap<number, Level>, 'get'>;

const decision = (level: Level, source: Source, tiered: boolean): Decision =>
  Object.freeze({ granted: level !== Level.NONE, level, source, tiered });

/** Not granted: rules 1 and 6. Also the answer to malformed questions, which are denied before they reach the engine. */
export const DENIED: Decision = decision(Level.NONE, Source.NONE, true);

const DENIED_BY_OVERRIDE = decision(Level.NONE, Source.OVERRIDE, true);
const BY_SUPERADMIN = decision(Level.EDIT, Source.SUPERADMIN, true);
const BY_APP_ADMIN = {
  tiered: decision(Level.EDIT, Source.APP_ADMIN, true),
  binary: decision(Level.ALLOWED, Source.APP_ADMIN, false),
};

/** By level, for each type. A level of the other type grants nothing; the database contains none. */
const BY_OVERRIDE = {
  tiered: [
    DENIED_BY_OVERRIDE,
    DENIED_BY_OVERRIDE,
    decision(Level.VIEW, Source.OVERRIDE, true),
    decision(Level.EDIT, Source.OVERRIDE, true),
  ],
  binary: [DENIED_BY_OVERRIDE, decision(Level.ALLOWED, Source.OVERRIDE, false), DENIED_BY_OVERRIDE, DENIED_BY_OVERRIDE],
} as const satisfies Record<'tiered' | 'binary', readonly [Decision, Decision, Decision, Decision]>;
const BY_ROLE = {
  tiered: [DENIED, DENIED, decision(Level.VIEW, Source.ROLE, true), decision(Level.EDIT, Source.ROLE, true)],
  binary: [DENIED, decision(Level.ALLOWED, Source.ROLE, false), DENIED, DENIED],
} as const satisfies Record<'tiered' | 'binary', readonly [Decision, Decision, Decision, Decision]>;

/**
 * The decision on one permission for `person`. All facts must be of one revision, and of the same application.
 *
 * @param permission the application's definition; undefined when it defines no such code, or does not exist
 * @param overrides those of the question's resource; null without a resource
 */
export function evaluate(
  person: Pick<PersonFacts, 'active' | 'superadmin'>,
  member: Pick<MemberFacts, 'admin' | 'roleIds'>,
  permission: PolicyPermission | undefined,
  overrides: Overrides | null,
): Decision {
  return (
    RULES.inactive(person) ??
    RULES.superadmin(person) ??
    RULES.appAdmin(member, permission) ??
    RULES.override(permission, overrides) ??
    RULES.roles(permission, member.roleIds) ??
    DENIED // rule 6
  );
}

/** Rules 1 to 5, each by itself: its decision, or null where its condition does not hold. */
export const RULES = {
  inactive: ({ active }: Pick<PersonFacts, 'active'>): Decision | null => (active ? null : DENIED),

  superadmin: ({ superadmin }: Pick<PersonFacts, 'superadmin'>): Decision | null => (superadmin ? BY_SUPERADMIN : null),

  appAdmin({ admin }: Pick<MemberFacts, 'admin'>, permission: PolicyPermission | undefined): Decision | null {
    if (!admin) return null;
    return permission?.tiered ? BY_APP_ADMIN.tiered : BY_APP_ADMIN.binary;
  },

  override(permission: PolicyPermission | undefined, overrides: Overrides | null): Decision | null {
    if (permission === undefined || overrides === null || permission.global) return null;
    const level = overrides.get(permission.id);
    return level === undefined ? null : BY_OVERRIDE[permission.tiered ? 'tiered' : 'binary'][level];
  },

  roles(permission: PolicyPermission | undefined, roleIds: readonly number[]): Decision | null {
    if (permission === undefined) return null;
    const decision = BY_ROLE[permission.tiered ? 'tiered' : 'binary'][highest(permission.levels, roleIds)];
    return decision === DENIED ? null : decision;
  },
};

function highest(levels: ReadonlyMap<number, Level>, roleIds: readonly number[]): Level {
  let best: Level = Level.NONE;
  for (const roleId of roleIds) {
    const level = levels.get(roleId);
    if (level !== undefined && level > best) best = level;
  }
  return best;
}

/** The permission with that code among rows from storage; undefined when it does not exist. */
export function permissionIn(rows: PolicyRows, code: string): PolicyPermission | undefined {
  const row = rows.permissions.find((permission) => permission.code === code);
  if (row === undefined) return undefined;
  const held = rows.rolePermissions.filter(({ permissionId }) => permissionId === row.id);
  return { ...row, levels: new Map(held.map(({ roleId, level }) => [roleId, level])) };
}

/**
 * The same decision from the rows of one snapshot: for guards of writes, which decide on the rows of their own transaction.
 * `answer.overrides` must be those of the resource in question, null without one.
 */
export function evaluateRows(rows: PolicyRows, answer: MemberAnswer, permission: string): Decision {
  const overrides =
    answer.overrides === null
      ? null
      : new Map(answer.overrides.levels.map(({ permissionId, level }) => [permissionId, level]));
  return evaluate(answer.person, answer.member, permissionIn(rows, permission), overrides);
}
