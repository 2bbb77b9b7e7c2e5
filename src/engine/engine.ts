/**
 * The permission engine: what every door asks (docs/reference/decisions.md#revisions; docs/freshness.md). Each answer is exactly what the database says
 * at the revision that comes with it. Trouble is never an answer: UNAVAILABLE, or the caller's DEADLINE_EXCEEDED.
 */

import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import { EngineCounters } from './counters.ts';
import { Decisions, type Grounds, type QuestionKey, questionKey } from './decisions.ts';
import { evaluate } from './evaluate.ts';
import { type Fact, Facts, usable, wasReadBefore } from './facts.ts';
import { Follower } from './follower.ts';
import { Loader } from './loader.ts';
import type { AskOptions, EngineOptions } from './options.ts';
import {
  type Decision,
  type EffectiveItem,
  MAX_NEEDS,
  type Mark,
  type MemberFacts,
  type PersonFacts,
  type Question,
  type Revision,
  type Subject,
} from './types.ts';
import { UnknownCodes } from './unknown-codes.ts';
import { untilAborted } from './waiting.ts';

export type { EngineLog } from './follower.ts';
export type { AskOptions, CacheOptions, EngineOptions, EngineParts } from './options.ts';

/**
 * A time is compared against a clock that is up to so much behind (more only as long as the event loop itself is held up):
 * a reading would be a fifth of a hot answer. Facts live that much shorter.
 */
const TICK_MS = 100;
/** Facts can be overtaken by writes while they are read; then they are read again, so many times in all. */
const ATTEMPTS = 5;

export class Engine {
  readonly counters = new EngineCounters();
  /** What questions name that the application asked about does not define. */
  readonly unknownCodes: UnknownCodes;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #tickMs: number;
  readonly #facts: Facts;
  readonly #decisions: Decisions;
  readonly #follower: Follower;
  readonly #loader: Loader;
  #open = false;
  #now: number;
  #cancelTick: (() => void) | undefined;

  constructor({ source, clock, cache, log, defer, parts }: EngineOptions) {
    const counters = this.counters;
    this.unknownCodes = new UnknownCodes(clock, log);
    this.#clock = clock;
    this.#now = clock.monotonic();
    this.#ttlMs = cache.ttlMs;
    this.#tickMs = Math.min(TICK_MS, cache.ttlMs / 10);
    const facts = new (parts?.Facts ?? Facts)({
      clock,
      ttlMs: cache.ttlMs,
      tickMs: this.#tickMs,
      policies: cache.policies,
      persons: Math.max(cache.persons, MAX_NEEDS),
      members: Math.max(cache.members, MAX_NEEDS),
    });
    const dropped = () => {
      this.#decisions.clear();
      this.#loader.forget();
    };
    const follower = new (parts?.Follower ?? Follower)({ source, clock, facts, log, counters, dropped });
    this.#facts = facts;
    this.#follower = follower;
    this.#decisions = new (parts?.Decisions ?? Decisions)(cache.maxEntries);
    this.#loader = new (parts?.Loader ?? Loader)({
      source,
      clock,
      facts,
      follower,
      counters,
      defer: defer ?? ((fn) => void setImmediate(fn)),
    });
  }

  /** Reads the change log for the first time, then follows it. Rejects when the database is away. */
  async start(): Promise<void> {
    await this.#follower.start();
    this.#open = true;
    this.#tick();
  }

  /** Stops following. Questions from now on, and those that still wait for facts, are UNAVAILABLE. */
  async close(): Promise<void> {
    this.#open = false;
    this.#cancelTick?.();
    await this.#follower.close();
    this.#follower.dropAll();
  }

  #tick(): void {
    this.#now = this.#clock.monotonic();
    if (this.#open) this.#cancelTick = this.#clock.after(this.#tickMs, () => this.#tick());
  }

  /** Every answer given in this turn is true of this revision, as callers see it. */
  get revision(): string {
    return this.#follower.revision;
  }

  /** The number of that revision. */
  get cursor(): Revision {
    return this.#follower.cursor;
  }

  /** Whether every answer given in this turn is at least so fresh. No is also what cannot be told in this turn: `reach` it. */
  isReached(mark: Mark): boolean {
    return this.#follower.isReached(mark);
  }

  /**
   * The answer if it can be given in this turn, from the cache of decisions or from facts; else null: `check` it.
   * Synchronous, and nothing is allocated for a cached decision but its key. Its revision is `revision` in the same turn.
   * Throws UnknownCode, as everything here that decides.
   */
  peek(question: Question): Decision | null {
    const key = questionKey(question);
    return this.recall(key) ?? this.peekFacts(question, key);
  }

  /** The first half of `peek`: a cached decision by its key alone. Null says nothing but that there is none. */
  recall(key: QuestionKey): Decision | null {
    const decision = this.#decisions.get(key, this.#now);
    if (decision === undefined) return null;
    this.counters.decisionHits++;
    return decision;
  }

  /** The other half, for what `recall` does not know. `key` is that of the question. */
  peekFacts(question: Question, key: QuestionKey): Decision | null {
    const grounds = this.#grounds(question, this.#now, Number.POSITIVE_INFINITY);
    if (grounds === null) return null;
    this.unknownCodes.checkType(grounds.policy.value, question.resourceType);
    return this.#decide(key, question.permission, grounds);
  }

  /** One decision, and the revision that it is true of. */
  check(question: Question, options: AskOptions = {}): Promise<{ decision: Decision; revision: string }> {
    if (options.minRevision === undefined || this.isReached(options.minRevision)) {
      try {
        const decision = this.peek(question);
        if (decision !== null) return Promise.resolve({ decision, revision: this.revision });
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return this.#ask(question, options, (grounds) => {
      this.unknownCodes.checkType(grounds.policy.value, question.resourceType);
      return { decision: this.#decide(questionKey(question), question.permission, grounds), revision: this.revision };
    });
  }

  /**
   * What `bulk` would answer, if all facts are here; else null: `bulk` it. Synchronous, as `peek`. Neither looks decisions up
   * nor stores them: with the facts at hand, making one costs a tenth of its key.
   */
  peekBulk(subject: Subject, permissions: readonly string[]): Decision[] | null {
    const grounds = this.#grounds(subject, this.#now, Number.POSITIVE_INFINITY);
    if (grounds === null) return null;
    const { person, member } = grounds;
    const policy = grounds.policy.value;
    this.unknownCodes.checkType(policy, subject.resourceType);
    const overrides = grounds.overrides === null ? null : grounds.overrides.value.levels;
    this.counters.decisionMisses += permissions.length;
    return permissions.map((code) =>
      evaluate(person.value, member.value, this.unknownCodes.permission(policy, code), overrides),
    );
  }

  /** A decision for each of the permissions, in their order; all of one revision. Each is cached as if it had been asked alone. */
  bulk(
    subject: Subject,
    permissions: readonly string[],
    options: AskOptions = {},
  ): Promise<{ decisions: Decision[]; revision: string }> {
    return this.#ask(subject, options, (grounds) => {
      const { email, app, resourceType, resourceId } = subject;
      this.unknownCodes.checkType(grounds.policy.value, resourceType);
      const decisions = permissions.map((permission) => {
        const key = questionKey({ email, app, permission, resourceType, resourceId });
        return this.recall(key) ?? this.#decide(key, permission, grounds);
      });
      return { decisions, revision: this.revision };
    });
  }

  /** Every permission that the application defines, with what the subject holds of it; all of one revision. */
  effective(subject: Subject, options: AskOptions = {}): Promise<{ items: EffectiveItem[]; revision: string }> {
    return this.#ask(subject, options, (grounds) => {
      const { policy, person, member, overrides } = grounds;
      this.unknownCodes.checkType(policy.value, subject.resourceType);
      const levels = overrides === null ? null : overrides.value.levels;
      const items = policy.value.ordered.map((permission): EffectiveItem => {
        const { code, tiered, groupName, global } = permission;
        const { level, granted, source } = evaluate(person.value, member.value, permission, levels);
        return { code, tiered, groupName, global, level, granted, source };
      });
      return { items, revision: this.revision };
    });
  }

  /** What is known of a person, for guards of reads. */
  person(email: string, options: AskOptions = {}): Promise<{ person: PersonFacts; revision: string }> {
    return this.#until(
      options,
      (now, asked) => {
        const fact = usable(this.#facts.about(email)?.person, now, asked);
        return fact === undefined ? null : { person: fact.value, revision: this.revision };
      },
      () => [this.#loader.member({ email, app: '', resourceType: '', resourceId: '' })],
    );
  }

  /** What a person is in an application, for guards of reads. */
  member(app: string, email: string, options: AskOptions = {}): Promise<{ member: MemberFacts; revision: string }> {
    return this.#ask({ email, app, resourceType: '', resourceId: '' }, options, ({ member }) => {
      return { member: member.value, revision: this.revision };
    });
  }

  /** What `person` would answer, if it is here; else null. Synchronous, as `peek`. */
  peekPerson(email: string): PersonFacts | null {
    return usable(this.#facts.about(email)?.person, this.#now, Number.POSITIVE_INFINITY)?.value ?? null;
  }

  /** The same for `member`. */
  peekMember(app: string, email: string): MemberFacts | null {
    const subject = { email, app, resourceType: '', resourceId: '' };
    return this.#grounds(subject, this.#now, Number.POSITIVE_INFINITY)?.member.value ?? null;
  }

  /** Forgets everything that is cached. Answers how many decisions could have answered until now. */
  clear(): number {
    const live = this.#decisions.live(this.#clock.monotonic());
    this.dropAll();
    return live;
  }

  /**
   * For a write that has been committed: resolves when answers are at least as fresh as `mark`. Reads the log at least
   * once after the call. Rejects with UNKNOWN_REVISION or UNAVAILABLE; then `dropAll` before the write is acknowledged.
   */
  reach(mark: Mark): Promise<void> {
    return this.#follower.reach(mark);
  }

  /** Forgets every cached fact and decision, and whatever is on its way. */
  dropAll(): void {
    this.#follower.dropAll();
  }

  /** `ready` while the change log has been read within the TTL (at least within the last second). */
  status(): { revision: string; lastSyncAgeMs: number; ready: boolean } {
    const lastSyncAgeMs = this.#clock.monotonic() - this.#follower.syncedAt;
    const ready = this.#open && lastSyncAgeMs <= Math.max(this.#ttlMs, 1000);
    return { revision: this.revision, lastSyncAgeMs, ready };
  }

  /** How much is held, for metrics. */
  sizes(): { decisions: number; policies: number; persons: number; members: number } {
    return { decisions: this.#decisions.size, ...this.#facts.sizes };
  }

  #decide(key: QuestionKey, permission: string, grounds: Grounds): Decision {
    const { policy, person, member, overrides } = grounds;
    const decision = evaluate(
      person.value,
      member.value,
      this.unknownCodes.permission(policy.value, permission),
      overrides === null ? null : overrides.value.levels,
    );
    this.counters.decisionMisses++;
    this.#decisions.put(key, decision, grounds);
    return decision;
  }

  /** All that a decision needs, if it is here: live, hence true at the cursor, not expired, of one incarnation of the application. */
  #grounds(subject: Subject, now: number, asked: number): Grounds | null {
    const policy = usable(this.#facts.policy(subject.app), now, asked);
    if (policy === undefined) return null;
    const about = this.#facts.about(subject.email);
    const found = about?.members.get(subject.app);
    const person = usable(about?.person, now, asked);
    const member = usable(found?.fact, now, asked);
    if (person === undefined || member === undefined || !this.isSameApp(policy, member)) return null;
    if (subject.resourceType === '') return { policy, person, member, overrides: null };
    const overrides = usable(found?.overrides?.get(subject.resourceType)?.get(subject.resourceId), now, asked);
    if (overrides === undefined || !this.isSameApp(policy, overrides)) return null;
    return { policy, person, member, overrides };
  }

  /** An application deleted and made again is another one: what was read of the first says nothing of the second. */
  protected isSameApp(policy: Fact<{ appId: number | null }>, other: Fact<{ appId: number | null }>): boolean {
    return policy.value.appId === other.value.appId;
  }

  #ask<T>(subject: Subject, options: AskOptions, answer: (grounds: Grounds) => T): Promise<T> {
    return this.#until(
      options,
      (now, asked) => {
        const grounds = this.#grounds(subject, now, asked);
        return grounds === null ? null : answer(grounds);
      },
      (now, asked) => this.#load(subject, now, asked),
    );
  }

  /** Answers in the turn in which all facts are there; loads what lacks until they are. */
  async #until<T>(
    { minRevision, signal }: AskOptions,
    answer: (now: number, asked: number) => T | null,
    load: (now: number, asked: number) => Promise<void>[],
  ): Promise<T> {
    const asked = this.#clock.monotonic();
    let waits = 0;
    for (let attempt = 0; ; attempt++) {
      // Looked at anew each time: what was reached may have been lost while facts were read, by a failover.
      while (minRevision !== undefined && !this.#follower.isMet(minRevision, waits > 0)) {
        if (waits++ >= ATTEMPTS) throw unavailable('The service is catching up with the database.');
        await untilAborted(this.#follower.reach(minRevision), signal);
      }
      if (!this.#open) throw unavailable('The service is not running.');
      const now = this.#clock.monotonic();
      this.#now = now;
      const answered = answer(now, asked);
      if (answered !== null) return answered;
      if (attempt >= ATTEMPTS) throw unavailable('The facts change faster than they can be read.');
      const loads = load(now, asked);
      const [one] = loads;
      await untilAborted<unknown>(one !== undefined && loads.length === 1 ? one : Promise.all(loads), signal);
    }
  }

  /** Begins, or joins, the loads of what a subject lacks; at least one. */
  #load(subject: Subject, now: number, asked: number): Promise<void>[] {
    const { email, app, resourceType, resourceId } = subject;
    this.#dropOtherIncarnations(subject);
    const loads: Promise<void>[] = [];
    const policy = this.#facts.policy(app);
    if (usable(policy, now, asked) === undefined) loads.push(this.#loader.policy(app));
    const about = this.#facts.about(email);
    const member = about?.members.get(app);
    const overrides = member?.overrides?.get(resourceType)?.get(resourceId);
    const lacking =
      usable(about?.person, now, asked) === undefined ||
      usable(member?.fact, now, asked) === undefined ||
      (resourceType !== '' && usable(overrides, now, asked) === undefined);
    if (lacking || loads.length === 0) {
      // What is held already is named by the strings it is held by: those of a question keep its whole request in memory.
      const held = { email: about?.person?.value.email ?? email, app: policy?.value.app ?? app };
      loads.push(this.#loader.member({ ...held, resourceType, resourceId }));
    }
    return loads;
  }

  /** Of two facts about different incarnations of an application the one that was read earlier goes. */
  #dropOtherIncarnations({ email, app, resourceType, resourceId }: Subject): void {
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
