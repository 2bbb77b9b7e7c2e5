/**
 * The six rules (docs/reference/decisions.md#the-six-rules): one pure function for every surface and every guard.
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

/** A permission that an application defines, with the level that each of its roles gives of it. */
export interface PolicyPermission {
  readonly id: number;
  readonly code: string;
  readonly tiered: boolean;
  readonly global: boolean;
  readonly groupName: string | null;
  /** By role id. A role that does not hold the permission is not in it. */
  readonly levels: ReadonlyMap<number, Level>;
}

/** A person's overrides for the resource asked about, by permission id; NONE denies. */
export type Overrides = Pick<ReadonlyMap<number, Level>, 'get'>;

const decision = (level: Level, source: Source, tiered: boolean): Decision =>
  Object.freeze({ granted: level !== Level.NONE, level, source, tiered });

/** Nothing granted it: rules 1 and 6. The same value for what is malformed and therefore denied at the door. */
export const DENIED: Decision = decision(Level.NONE, Source.NONE, true);

const DENIED_BY_OVERRIDE = decision(Level.NONE, Source.OVERRIDE, true);
const BY_SUPERADMIN = decision(Level.EDIT, Source.SUPERADMIN, true);
const BY_APP_ADMIN = {
  tiered: decision(Level.EDIT, Source.APP_ADMIN, true),
  binary: decision(Level.ALLOWED, Source.APP_ADMIN, false),
};

/** By level, for each type. A level that does not fit the type grants nothing; the database does not hold any. */
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
 * What `person` holds of one permission. All facts must be of one revision, and of the same application.
 *
 * @param permission the application's definition; undefined when it defines none of that code, or does not exist
 * @param overrides of the resource that the question names; null when it names none
 */
export function evaluate(
  person: Pick<PersonFacts, 'active' | 'superadmin'>,
  member: Pick<MemberFacts, 'admin' | 'roleIds'>,
  permission: PolicyPermission | undefined,
  overrides: Overrides | null,
): Decision {
  if (!person.active) return DENIED; // rule 1
  if (person.superadmin) return BY_SUPERADMIN; // rule 2
  if (member.admin) return permission?.tiered ? BY_APP_ADMIN.tiered : BY_APP_ADMIN.binary; // rule 3
  if (permission === undefined) return DENIED;
  const type = permission.tiered ? 'tiered' : 'binary';
  if (overrides !== null && !permission.global) {
    const level = overrides.get(permission.id); // rule 4
    if (level !== undefined) return BY_OVERRIDE[type][level];
  }
  return BY_ROLE[type][highest(permission.levels, member.roleIds)]; // rules 5 and 6
}

function highest(levels: ReadonlyMap<number, Level>, roleIds: readonly number[]): Level {
  let best: Level = Level.NONE;
  for (const roleId of roleIds) {
    const level = levels.get(roleId);
    if (level !== undefined && level > best) best = level;
  }
  return best;
}

/** The permission of that code among rows as storage gives them; undefined when there is none. */
export function permissionIn(rows: PolicyRows, code: string): PolicyPermission | undefined {
  const row = rows.permissions.find((permission) => permission.code === code);
  if (row === undefined) return undefined;
  const held = rows.rolePermissions.filter(({ permissionId }) => permissionId === row.id);
  return { ...row, levels: new Map(held.map(({ roleId, level }) => [roleId, level])) };
}

/**
 * The same decision, straight from rows of one snapshot: for guards of writes, which decide on what their own transaction
 * sees. `answer.overrides` must be those of the resource asked about, null when none is.
 */
export function evaluateRows(rows: PolicyRows, answer: MemberAnswer, permission: string): Decision {
  const overrides =
    answer.overrides === null
      ? null
      : new Map(answer.overrides.levels.map(({ permissionId, level }) => [permissionId, level]));
  return evaluate(answer.person, answer.member, permissionIn(rows, permission), overrides);
}
