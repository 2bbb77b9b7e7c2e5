/**
 * Many questions about any people, applications and records, answered at one revision (docs/freshness.md#a-batch). The caches need
 * not hold all their facts together: a decision is kept until a change names one of its facts.
 */

import type { Clock } from '../base/clock.ts';
import type { DecisionFacts } from './decisions.ts';
import { DENIED, evaluate } from './evaluate.ts';
import type { Follower } from './follower.ts';
import { decidedBy, type GroundsFinder, holdFacts, type KeptQuestion } from './grounds.ts';
import { type Decision, MAX_NEEDS, type Question, type Revision } from './types.ts';
import type { UnknownCodes } from './unknown-codes.ts';

/** Null for a malformed one: it is denied without reading data. */
export type BatchQuestion = Question | null;

export interface BatchParts {
  readonly follower: Pick<Follower, 'cursor' | 'fence' | 'touched'>;
  readonly unknownCodes: UnknownCodes;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The cached facts for a question that began at `asked`. */
  grounds(question: Question, now: number, asked: number): DecisionFacts | null;
  /** Begins, or joins, the loads of a question's missing facts. */
  load(question: Question, now: number, asked: number): Promise<void>[];
}

/** The decisions, if the facts of all are cached; else null. Throws UnknownCode. */
export function peekBatch(
  questions: readonly (KeptQuestion | null)[],
  unknownCodes: UnknownCodes,
  finder: GroundsFinder,
  now: number,
): Decision[] | null {
  const decisions: Decision[] = [];
  let before: Question | null = null;
  let grounds: DecisionFacts | null = null;
  for (const kept of questions) {
    if (kept === null) {
      decisions.push(DENIED);
      continue;
    }
    const { question, held } = kept;
    if (held !== null && finder.isValid(held, now)) {
      decisions.push(decidedBy(held));
      continue;
    }
    if (grounds === null || before === null || !isSameSubject(question, before)) {
      grounds = finder.find(question, now, Number.POSITIVE_INFINITY);
    }
    if (grounds === null) return null;
    before = question;
    decisions.push(decide(question, grounds, unknownCodes));
    kept.held = holdFacts(question, grounds);
  }
  return decisions;
}

/** Whether the same facts decide both: several permissions for one record are often adjacent. */
function isSameSubject(a: Question, b: Question): boolean {
  return a.resourceId === b.resourceId && a.email === b.email && a.app === b.app && a.resourceType === b.resourceType;
}

function decide(question: Question, grounds: DecisionFacts, codes: UnknownCodes): Decision {
  codes.checkType(grounds.policy.value, question.resourceType);
  const permission = codes.permission(grounds.policy.value, question.permission);
  const { person, member, overrides } = grounds;
  return evaluate(person.value, member.value, permission, overrides === null ? null : overrides.value.levels);
}

interface Made {
  readonly decision: Decision;
  /** The cursor when it was made. */
  readonly at: Revision;
  /** Monotonic milliseconds: the first end of its facts by themselves; null for none. */
  readonly ends: number | null;
}

function endOf({ person, member, overrides }: DecisionFacts): number | null {
  let first: number | null = null;
  for (const fact of [person, member, overrides]) {
    const ends = fact?.bound?.ends ?? null;
    if (ends !== null && (first === null || ends < first)) first = ends;
  }
  return first;
}

/** Whether a grant behind the decision has begun or ended since. */
function hasPassed({ ends }: Made, instant: number): boolean {
  return ends !== null && ends <= instant;
}

/** A batch with facts that must be loaded. */
export class Batch {
  readonly #questions: readonly BatchQuestion[];
  readonly #parts: BatchParts;
  /** In the order of the questions. */
  #made: (Made | undefined)[] = [];
  #fence: number;
  #lacking: Question[] = [];

  constructor(questions: readonly BatchQuestion[], parts: BatchParts) {
    this.#questions = questions;
    this.#parts = parts;
    this.#fence = parts.follower.fence;
  }

  /** Decides every question whose facts are cached. Returns the decisions once all are made and true at the cursor; else null. */
  answer(now: number, asked: number): Decision[] | null {
    const { follower, unknownCodes } = this.#parts;
    if (follower.fence !== this.#fence) {
      // The cache was cleared: earlier decisions may belong to a different history.
      this.#fence = follower.fence;
      this.#made = [];
    }
    this.#lacking = [];
    const instant = this.#parts.clock.monotonic();
    this.#questions.forEach((question, index) => {
      const made = this.#made[index];
      if (
        question === null ||
        (made !== undefined && !hasPassed(made, instant) && !this.isOvertaken(question, made.at))
      )
        return;
      const grounds = this.#parts.grounds(question, now, asked);
      if (grounds === null) this.#lacking.push(question);
      this.#made[index] =
        grounds === null
          ? undefined
          : { decision: decide(question, grounds, unknownCodes), at: follower.cursor, ends: endOf(grounds) };
    });
    if (this.#lacking.length > 0) return null;
    return this.#questions.map((_, index) => this.#made[index]?.decision ?? DENIED);
  }

  /** Whether a change since then may have affected the facts of that question. */
  protected isOvertaken({ email, app }: Question, at: Revision): boolean {
    const { follower } = this.#parts;
    return (
      follower.touched(at, `p:${app}`, app) ||
      follower.touched(at, `u:${email}`, null) ||
      follower.touched(at, `m:${app}:${email}`, app)
    );
  }

  /** Begins loads of missing facts, at most as many as the caches can hold: one need for a person, application and record. */
  load(now: number, asked: number): Promise<void>[] {
    const member = ({ app, email }: Question) => `${app}:${email}`;
    // Facts read with a record's overrides serve the questions without a record too.
    const withResource = new Set(this.#lacking.filter(({ resourceType }) => resourceType !== '').map(member));
    const loads = new Set<Promise<void>>();
    for (const question of this.#lacking) {
      if (loads.size >= MAX_NEEDS) break;
      if (question.resourceType === '' && withResource.has(member(question))) continue;
      for (const load of this.#parts.load(question, now, asked)) loads.add(load);
    }
    return [...loads];
  }
}
