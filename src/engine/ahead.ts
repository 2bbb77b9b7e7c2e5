/**
 * Facts in use are read again before they expire (docs/freshness.md#reading-ahead), so that an outage of the database finds each with
 * half of its life left. From two fifths of its life on a fact is due: the next question that uses it is answered from it as before, and
 * puts it on a list. The list is read in the background, and nobody waits for that. The loader reads it, so nothing is stored that a
 * question's own read would not store.
 */

import type { Clock } from '../base/clock.ts';
import type { AheadCounters } from './counters.ts';
import type { DecisionFacts } from './decisions.ts';
import type { Fact } from './fact.ts';
import type { Loader } from './loader.ts';
import type { MemberNeed, Subject } from './types.ts';

export interface AheadOptions {
  clock: Clock;
  loader: Pick<Loader, 'everHasSpare' | 'hasSpare' | 'policyAgain' | 'membersAgain'>;
  counters: AheadCounters;
  /** Between two turns of reading, in ms. */
  paceMs: number;
  /** How long after a fact was noted a question may note it once more, in ms; after a failure longer. */
  againMs: number;
  isOpen: () => boolean;
}

/** Of one turn, one at a time: 40 a second at most. Each reads a policy, or NEEDS of people and members. */
const STATEMENTS = 4;
/** So few that a question which waits behind them for a connection waits a millisecond or two. */
const NEEDS = 64;
/** Of each kind: two seconds of reading. What is left out is noted again, so that this bounds only memory. */
const MAX_WAITING = 4096;
/** Pauses after failures in a row are doubled this many times at most. */
const DOUBLINGS = 2;

interface Noted<N> {
  readonly need: N;
  /** One that was due, and when it had been read: another time means that nothing is left to do. */
  readonly fact: Fact<unknown>;
  readonly readAt: number;
}

export class Ahead {
  readonly #options: AheadOptions;
  #policies: Noted<string>[] = [];
  #members: Noted<MemberNeed>[] = [];
  #isScheduled = false;
  #failures = 0;
  /** Monotonic milliseconds: nothing is noted before, since reads failed. */
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: AheadOptions) {
    this.#options = options;
  }

  /** Notes the due facts of a question, once: each is due again only after a while. */
  note(subject: Subject, { policy, person, member, overrides }: DecisionFacts, now: number): void {
    if (!this.#options.loader.everHasSpare) {
      for (const fact of [policy, person, member, overrides])
        if (fact !== null) (fact.bound ?? fact).due = fact.expires;
      return;
    }
    const again = Math.max(this.#pausedUntil, Math.floor(now + this.#options.againMs));
    const isNoted = (fact: Fact<unknown>): boolean => {
      // One with a bound is not kept by anybody, whenever it is read ahead.
      const noted = fact.bound ?? fact;
      // One that has expired was read for this very question: the next is read as that was.
      if (noted.due > now || fact.expires <= now) return false;
      noted.due = Math.min(fact.expires, again);
      return now >= this.#pausedUntil;
    };
    if (isNoted(policy)) this.#add(this.#policies, policy.value.app, policy);
    const [ofPerson, ofMember] = [isNoted(person), isNoted(member)];
    const { email } = person.value;
    const { app } = member.value;
    if (overrides !== null && isNoted(overrides)) {
      const { resourceType, resourceId } = subject;
      this.#add(this.#members, { email, app, resourceType, resourceId }, overrides);
    } else if (ofMember || ofPerson) {
      this.#add(this.#members, { email, app, resourceType: '', resourceId: '' }, ofMember ? member : person);
    }
  }

  #add<N>(waiting: Noted<N>[], need: N, fact: Fact<unknown>): void {
    if (waiting.length >= MAX_WAITING) {
      this.#options.counters.outcomes['left-out']++;
      return;
    }
    waiting.push({ need, fact, readAt: fact.readAt });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const { clock, paceMs } = this.#options;
    clock.after(paceMs, () => void this.#turn());
  }

  /** Never rejects. */
  async #turn(): Promise<void> {
    const { loader, isOpen } = this.#options;
    for (let left = STATEMENTS; left > 0 && isOpen() && loader.hasSpare; left--) {
      if (!(await this.#next())) break;
    }
    this.#isScheduled = false;
    if (!isOpen()) this.#forget();
    else if (this.#policies.length + this.#members.length > 0) this.#schedule();
  }

  /** Reads some facts again: policies first, since all of an application depend on each. Returns whether to go on. */
  async #next(): Promise<boolean> {
    const [policy] = this.#take(this.#policies, 1);
    const needs = policy === undefined ? this.#take(this.#members, NEEDS) : [];
    if (policy === undefined && needs.length === 0) return false;
    const { loader, counters } = this.#options;
    const { outcomes } = counters;
    const count = policy === undefined ? needs.length : 1;
    try {
      await (policy === undefined ? loader.membersAgain(needs) : loader.policyAgain(policy));
      outcomes.read += count;
      this.#failures = 0;
      return true;
    } catch {
      // The loader counts it, and the follower's own reads of the log tell the log of an outage.
      outcomes.failed += count;
      this.#pause();
      return false;
    }
  }

  /** Up to `count` of the first whose facts are as they were. */
  #take<N>(waiting: Noted<N>[], count: number): N[] {
    const taken: N[] = [];
    let at = 0;
    for (; at < waiting.length && taken.length < count; at++) {
      const { need, fact, readAt } = waiting[at] as Noted<N>;
      if (fact.lease.live && fact.readAt === readAt) taken.push(need);
      else this.#options.counters.outcomes.overtaken++;
    }
    waiting.splice(0, at);
    return taken;
  }

  /** Questions note what is due once more, after the pause. */
  #pause(): void {
    const { clock, againMs } = this.#options;
    this.#forget();
    this.#pausedUntil = Math.floor(clock.monotonic() + againMs * 2 ** Math.min(DOUBLINGS, this.#failures++));
  }

  #forget(): void {
    this.#policies = [];
    this.#members = [];
  }
}
