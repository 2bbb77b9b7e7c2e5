import type { Clock } from '../base/clock.ts';
import type { Ahead } from './ahead.ts';
import type { EngineCounters } from './counters.ts';
import type { DecisionFacts } from './decisions.ts';
import { evaluate, type PolicyPermission } from './evaluate.ts';
import type { Fact } from './fact.ts';
import { type Facts, type ResourceOverrides, wasReadBefore } from './facts.ts';
import { hasBound, holdTogether, usable } from './instants.ts';
import type { Loader } from './loader.ts';
import type { Policy } from './policy.ts';
import type { Decision, Question, Subject } from './types.ts';

/**
 * A question that a caller keeps to ask it again. Most of the time of a cached answer goes into walking from map to map in memory
 * that no processor cache holds; the facts that were found last save that, as long as they are live.
 */
export interface KeptQuestion {
  readonly question: Question;
  held: HeldFacts | null;
}

/** The facts behind a question's decision, with what the policy says of its permission: a whole policy is large, and may be dead. */
export interface HeldFacts extends Pick<DecisionFacts, 'person' | 'member' | 'overrides'> {
  readonly permission: PolicyPermission;
  readonly policy: Pick<Fact<Policy>, 'lease' | 'due'>;
}

export function keepQuestion(question: Question): KeptQuestion {
  return { question, held: null };
}

/** The facts to hold with a question; null where the application does not define its codes, which is for the caller to say each time. */
export function holdFacts(question: Question, { policy, person, member, overrides }: DecisionFacts): HeldFacts | null {
  const { permissions, resourceTypes } = policy.value;
  const permission = permissions.get(question.permission);
  const isKnownType =
    question.resourceType === '' || resourceTypes === null || resourceTypes.has(question.resourceType);
  if (permission === undefined || !isKnownType) return null;
  return { policy: { lease: policy.lease, due: policy.due }, permission, person, member, overrides };
}

/** The decision of the question that holds them. */
export function decidedBy({ person, member, permission, overrides }: HeldFacts): Decision {
  return evaluate(person.value, member.value, permission, overrides === null ? null : overrides.value.levels);
}

export interface GroundsParts {
  readonly facts: Facts;
  readonly loader: Loader;
  readonly ahead: Pick<Ahead, 'note'>;
  readonly counters: Pick<EngineCounters, 'boundariesPassed'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Finds the facts that decide a question in the caches, or loads them. */
export class GroundsFinder {
  readonly #facts: Facts;
  readonly #loader: Loader;
  readonly #ahead: Pick<Ahead, 'note'>;
  readonly #counters: Pick<EngineCounters, 'boundariesPassed'>;
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor({ facts, loader, ahead, counters, clock }: GroundsParts) {
    this.#facts = facts;
    this.#loader = loader;
    this.#ahead = ahead;
    this.#counters = counters;
    this.#clock = clock;
  }

  /**
   * The facts of a decision, if all are cached: live, hence true at the cursor, not expired, of one incarnation of the application, and
   * true together at one instant since the question was asked. What is due of them is noted to be read again.
   */
  find(subject: Subject, now: number, asked: number): DecisionFacts | null {
    const policy = this.#facts.policy(subject.app);
    const about = this.#facts.about(subject.email);
    const found = about?.members.get(subject.app);
    const person = about?.person;
    if (policy === undefined || person === undefined || found === undefined) return null;
    const member = found.fact;
    if (!this.isSameApp(policy, member)) return null;
    let overrides: Fact<ResourceOverrides> | null = null;
    if (subject.resourceType !== '') {
      const held = found.overrides?.get(subject.resourceType)?.get(subject.resourceId);
      if (held === undefined || !this.isSameApp(policy, held)) return null;
      overrides = held;
    }
    const isDue =
      policy.due <= now || person.due <= now || member.due <= now || (overrides !== null && overrides.due <= now);
    // Not the object that is returned: if it never leaves, it need not be made.
    if (isDue && !this.#isUsable(subject, { policy, person, member, overrides }, now, asked)) return null;
    return { policy, person, member, overrides };
  }

  /** Of facts some of which are due, or have a bound: whether none has expired, and they hold together. What is due is noted. */
  #isUsable(subject: Subject, facts: DecisionFacts, now: number, asked: number): boolean {
    const { policy, person, member, overrides } = facts;
    if (hasExpired(policy, now, asked) || hasExpired(person, now, asked) || hasExpired(member, now, asked))
      return false;
    if (overrides !== null && hasExpired(overrides, now, asked)) return false;
    if (hasBound(facts)) {
      if (!this.holdTogether(facts, now, asked)) {
        this.#counters.boundariesPassed++;
        return false;
      }
      const toRead = isToRead(policy, now) || isToRead(person, now) || isToRead(member, now);
      if (!toRead && (overrides === null || !isToRead(overrides, now))) return true;
    }
    this.#ahead.note(subject, facts, now);
    return true;
  }

  /** Of facts with a bound. `now` may be a while old, which is too old to compare a bound with. */
  protected holdTogether({ person, member, overrides }: DecisionFacts, now: number, asked: number): boolean {
    return holdTogether(person, member, overrides, asked, this.instant(now));
  }

  /** Of this very moment. */
  protected instant(_now: number): number {
    return this.#clock.monotonic();
  }

  /** Whether all are as `find` would find them, and none is due: a lease ends with its fact, whatever the reason. */
  isValid({ policy, person, member, overrides }: HeldFacts, now: number): boolean {
    return (
      isLive(policy, now) &&
      isLive(person, now) &&
      isLive(member, now) &&
      (overrides === null || isLive(overrides, now))
    );
  }

  /** An application that was deleted and created again is a different one: facts of the first do not apply to the second. */
  protected isSameApp(policy: Fact<{ appId: number | null }>, other: Fact<{ appId: number | null }>): boolean {
    return policy.value.appId === other.value.appId;
  }

  /** Begins, or joins, the loads of a subject's missing facts; at least one. */
  load(subject: Subject, now: number, asked: number): Promise<void>[] {
    const { email, app, resourceType, resourceId } = subject;
    this.dropOtherIncarnations(subject);
    const loads: Promise<void>[] = [];
    const policy = this.#facts.policy(app);
    const instant = () => this.instant(now);
    if (usable(policy, now, asked, instant) === undefined) loads.push(this.#loader.policy(app));
    const about = this.#facts.about(email);
    const member = about?.members.get(app);
    const overrides = member?.overrides?.get(resourceType)?.get(resourceId);
    const lacking =
      usable(about?.person, now, asked, instant) === undefined ||
      usable(member?.fact, now, asked, instant) === undefined ||
      (resourceType !== '' && usable(overrides, now, asked, instant) === undefined);
    if (lacking || loads.length === 0) {
      // Reuses the strings of cached facts as keys: strings of a question would keep its whole request in memory.
      const held = { email: about?.person?.value.email ?? email, app: policy?.value.app ?? app };
      loads.push(this.#loader.member({ ...held, resourceType, resourceId }));
    }
    return loads;
  }

  /** Drops the older of two facts about different incarnations of an application. */
  dropOtherIncarnations({ email, app, resourceType, resourceId }: Subject): void {
    const policy = this.#facts.policy(app);
    const member = this.#facts.about(email)?.members.get(app);
    if (policy === undefined || member === undefined) return;
    const overrides = member.overrides?.get(resourceType)?.get(resourceId);
    for (const fact of overrides === undefined ? [member.fact] : [member.fact, overrides]) {
      if (fact.value.appId === policy.value.appId) continue;
      if (wasReadBefore(policy, fact)) this.#facts.dropPolicy(app);
      else this.#facts.dropMember(app, email);
    }
  }
}

function hasExpired({ expires, readAt }: Fact<unknown>, now: number, asked: number): boolean {
  return expires <= now && readAt < asked;
}

/** Whether it is due to be read ahead. */
function isToRead({ bound, due }: Fact<unknown>, now: number): boolean {
  return (bound === null ? due : bound.due) <= now;
}

function isLive({ lease, due }: Pick<Fact<unknown>, 'lease' | 'due'>, now: number): boolean {
  return lease.live && due > now;
}
