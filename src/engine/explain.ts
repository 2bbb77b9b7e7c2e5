/**
 * Explains decisions: each of the six rules by itself, and the first that applies (docs/reference/decisions.md#explain).
 * The rules are those of `evaluate`; nothing here is cached.
 */

import type { Clock } from '../base/clock.ts';
import { Semaphore } from '../base/semaphore.ts';
import { DENIED, permissionIn, RULES } from './evaluate.ts';
import { STATEMENT_MS } from './follower.ts';
import type { AskOptions } from './options.ts';
import { unknownRevision } from './question.ts';
import {
  ANY_REVISION,
  type Decision,
  type FactsSource,
  formatRevision,
  type GroundRows,
  isOfOtherHistory,
  Level,
  type LogHead,
  type Question,
  type RevisionToken,
} from './types.ts';
import { toUnavailable, untilAborted, within } from './waiting.ts';

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

export interface ExplainedAt extends Explanation {
  readonly revision: string;
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

/** Concurrent statements: explanations must leave connections for the loads of checks. */
const AT_ONCE = 2;
const MAX_WAITING = 1024;
/** The next snapshot contains every revision that a write returned; one more reading distinguishes a failover from an invented revision. */
const READINGS = 2;

/** Reads the facts of a question and explains the decision. */
export class Explainer {
  readonly #source: Pick<FactsSource, 'grounds'>;
  readonly #clock: Clock;
  readonly #gate: Semaphore;

  constructor(source: Pick<FactsSource, 'grounds'>, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
    this.#gate = new Semaphore({ clock, permits: AT_ONCE, maxWaiting: MAX_WAITING, waitMs: STATEMENT_MS });
  }

  /** One snapshot's explanation. Rejects with UNKNOWN_REVISION or UNAVAILABLE, never answers in part. */
  async explain(question: Question, { minRevision = ANY_REVISION, signal }: AskOptions = {}): Promise<ExplainedAt> {
    const { grounds, window } = await untilAborted(this.#read(question, minRevision), signal);
    const revision = formatRevision({ number: window.head, nonce: window.headNonce });
    return { ...explainRows(grounds, question.permission), revision };
  }

  async #read(question: Question, minRevision: RevisionToken): Promise<{ window: LogHead; grounds: GroundRows }> {
    await this.#gate.enter();
    try {
      for (let reading = 1; reading <= READINGS; reading++) {
        const read = await within(this.#clock, STATEMENT_MS, this.#source.grounds(minRevision.number, question));
        if (isReached(read.window, minRevision)) return read;
      }
    } catch (error) {
      throw toUnavailable(error);
    } finally {
      this.#gate.leave();
    }
    throw unknownRevision();
  }
}

/** Whether the snapshot is as fresh as `mark`. A row that has been pruned is a week old, and in every snapshot. */
function isReached({ head, sinceNonce }: LogHead, mark: RevisionToken): boolean {
  return head >= mark.number && !isOfOtherHistory(mark, sinceNonce);
}
