/**
 * Each of the six rules by itself, and the first that applies (docs/reference/decisions.md#explain). Pure: the panel runs it
 * in the browser, too.
 */

import { DENIED, permissionIn, RULES } from './evaluate.ts';
import { type Decision, type GroundRows, Level } from './types.ts';

/** The outcome of one rule for a question. */
export interface RuleOutcome {
  /** Whether its condition holds, even if an earlier rule decides. */
  readonly applies: boolean;
  readonly decides: boolean;
  /** The level that it alone would give. */
  readonly level: Level;
}

export interface Explanation {
  /** As `evaluate` decides. */
  readonly decision: Decision;
  /** The number of the rule that decides, 1 to 6. */
  readonly rule: number;
  /** The six, in their order. */
  readonly rules: readonly RuleOutcome[];
  /** The override that rule 4 finds; null without one, or for a global permission. */
  readonly override: { readonly granted: boolean; readonly level: Level } | null;
  /** Every role that the person holds in the application, by code, with the level of the permission that it grants. */
  readonly roles: readonly { readonly code: string; readonly level: Level }[];
  readonly known: { readonly user: boolean; readonly application: boolean; readonly permission: boolean };
}

/** The outcomes of the six rules for these rows. */
export function explainRows({ answer, userKnown, policy, roles }: GroundRows, code: string): Explanation {
  const { person, member } = answer;
  const permission = permissionIn(policy, code);
  const levels = answer.overrides?.levels.map(({ permissionId, level }) => [permissionId, level] as const);
  const override = RULES.override(permission, levels === undefined ? null : new Map(levels));
  const outcomes = [
    RULES.inactive(person),
    RULES.superadmin(person),
    RULES.appAdmin(member, permission),
    override,
    RULES.roles(permission, member.roleIds),
    DENIED,
  ];
  const held = roles
    .map((role) => ({ code: role.code, level: RULES.roles(permission, [role.id])?.level ?? Level.NONE }))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
  return explained(outcomes, override, held, {
    user: userKnown,
    application: policy.appId !== null,
    permission: permission !== undefined,
  });
}

/** The explanation of a question that is denied before any rule, because an address or a code in it is malformed. */
export function explainMalformed(known: Explanation['known']): Explanation {
  return explained([null, null, null, null, null, DENIED], null, [], known);
}

function explained(
  outcomes: readonly (Decision | null)[],
  override: Decision | null,
  roles: Explanation['roles'],
  known: Explanation['known'],
): Explanation {
  const first = outcomes.findIndex((outcome) => outcome !== null);
  return {
    decision: outcomes[first] ?? DENIED,
    rule: first + 1,
    rules: outcomes.map((outcome, index) => ({
      applies: outcome !== null,
      decides: index === first,
      level: outcome?.level ?? Level.NONE,
    })),
    override: override === null ? null : { granted: override.granted, level: override.level },
    roles,
    known,
  };
}
