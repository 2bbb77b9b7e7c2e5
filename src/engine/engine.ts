/**
 * The permission engine, which every transport calls (docs/reference/decisions.md#revisions; docs/freshness.md). Each answer is exactly what the database says
 * at the answer's revision. Trouble is never an answer: UNAVAILABLE, or the caller's DEADLINE_EXCEEDED.
 */

import type { Clock } from '../base/clock.ts';
import { Batch, type BatchQuestion, peekBatch } from './batch.ts';
import { EngineCounters } from './counters.ts';
import { type DecisionFacts, Decisions, type QuestionKey, questionKey } from './decisions.ts';
import { itemsOf } from './effective.ts';
import { evaluate } from './evaluate.ts';
import { type ExplainedAt, Explainer } from './explain.ts';
import type { Fact } from './fact.ts';
import type { FactServer } from './fact-server.ts';
import type { Facts } from './facts.ts';
import type { Follower } from './follower.ts';
import { decidedBy, type GroundsFinder, holdFacts, type KeptQuestion } from './grounds.ts';
import { hasBound, usable } from './instants.ts';
import { Lists } from './lists.ts';
import type { Loader } from './loader.ts';
import type { AskOptions, EngineOptions } from './options.ts';
import { makeParts } from './parts.ts';
import type { Policy } from './policy.ts';
import type {
  Decision,
  EffectiveItem,
  MemberFacts,
  PersonFacts,
  Question,
  Revision,
  RevisionToken,
  Subject,
} from './types.ts';
import { UnknownCodes } from './unknown-codes.ts';
import { notServing } from './waiting.ts';
import { ATTEMPTS, Waits } from './waits.ts';
import type { ChangeTail } from './watch.ts';

export type { EngineLog } from './follower.ts';
export type { AskOptions, CacheOptions, EngineOptions, EngineParts } from './options.ts';

/**
 * Expiry is checked against a clock reading that is up to this old (older only while the event loop itself is blocked):
 * reading the clock would be a fifth of a hot answer. Lifetimes are shortened by as much.
 */
const TICK_MS = 100;

export class Engine {
  readonly counters = new EngineCounters();
  /** Codes in questions that the application does not define. */
  readonly unknownCodes: UnknownCodes;
  /** The lists of people and of reachable resources. */
  readonly lists: Lists;
  /** The facts, for other engines. */
  readonly served: FactServer;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #tickMs: number;
  readonly #facts: Facts;
  readonly #decisions: Decisions;
  readonly #follower: Follower;
  readonly #loader: Loader;
  readonly #grounds: GroundsFinder;
  readonly #explainer: Explainer;
  readonly #Batch: typeof Batch;
  readonly #waits: Waits;
  #open = false;
  #now: number;
  #cancelTick: (() => void) | undefined;
  readonly #instant = () => this.#clock.monotonic();

  constructor(options: EngineOptions) {
    const { source, clock, cache, log, parts, lists, cursorKey } = options;
    this.unknownCodes = new UnknownCodes(clock, log);
    this.#clock = clock;
    this.#now = clock.monotonic();
    this.#ttlMs = cache.ttlMs;
    this.#tickMs = Math.min(TICK_MS, cache.ttlMs / 10);
    const made = makeParts(options, {
      counters: this.counters,
      tickMs: this.#tickMs,
      dropped: () => this.#decisions.clear(),
      isOpen: () => this.#open,
    });
    this.#facts = made.facts;
    this.#follower = made.follower;
    this.#loader = made.loader;
    this.#grounds = made.grounds;
    this.served = made.served;
    this.#waits = new Waits({
      clock,
      follower: made.follower,
      traces: options.traces,
      isOpen: () => this.#open,
      counters: this.counters,
      noteNow: (now) => {
        this.#now = now;
      },
    });
    this.#explainer = new Explainer(source, clock);
    this.#Batch = parts?.Batch ?? Batch;
    this.#decisions = new (parts?.Decisions ?? Decisions)(cache.maxEntries);
    this.lists = new Lists({ source: lists, clock, unknownCodes: this.unknownCodes, engine: this, cursorKey });
  }

  /** Reads the change log for the first time, then follows it. Rejects when the database is unavailable. */
  async start(): Promise<void> {
    await this.#follower.start();
    this.#open = true;
    this.#tick();
  }

  /** Stops following. Later questions, and those that still wait for facts, are UNAVAILABLE. */
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

  /** Every answer given without waiting is true of this revision, as callers see it. */
  get revision(): string {
    return this.#follower.revision;
  }

  /** The number of that revision. */
  get cursor(): Revision {
    return this.#follower.cursor;
  }

  /** The end of the change log, for those who are told of changes. */
  get tail(): ChangeTail {
    return this.#follower;
  }

  /** Whether answers given now are at least as fresh as `mark`. False also where that is unknown without a read: `reach` it. */
  isReached(mark: RevisionToken): boolean {
    return this.#follower.isReached(mark);
  }

  /**
   * The answer if the cache of decisions or the cached facts give it without waiting; else null: call `check`.
   * Synchronous; a cached decision allocates only its key. Its revision is `revision` in the same turn.
   * Throws UnknownCode, like everything here that decides.
   */
  peek(question: Question): Decision | null {
    const key = questionKey(question);
    return this.recall(key) ?? this.peekFacts(question, key);
  }

  /** The first half of `peek`: a cached decision by its key. Null means only that none is cached. */
  recall(key: QuestionKey): Decision | null {
    const decision = this.#decisions.get(key, this.#now);
    if (decision === undefined) return null;
    this.counters.decisionHits++;
    return decision;
  }

  /**
   * As `peek`, of a question that its caller keeps to ask it again: the facts found are held with it. Null also for unknown codes:
   * `check` counts and refuses them.
   */
  peekKept(kept: KeptQuestion, now = this.#now): Decision | null {
    const { question, held } = kept;
    if (held !== null && this.#grounds.isValid(held, now)) {
      this.counters.decisionHits++;
      return decidedBy(held);
    }
    const grounds = this.#grounds.find(question, now, Number.POSITIVE_INFINITY);
    kept.held = grounds === null ? null : holdFacts(question, grounds);
    return grounds === null || kept.held === null
      ? null
      : this.#decide(hasBound(grounds) ? null : questionKey(question), question.permission, grounds);
  }

  /** The second half, where `recall` returned null. `key` is that of the question. */
  peekFacts(question: Question, key: QuestionKey): Decision | null {
    const grounds = this.#grounds.find(question, this.#now, Number.POSITIVE_INFINITY);
    if (grounds === null) return null;
    this.unknownCodes.checkType(grounds.policy.value, question.resourceType);
    return this.#decide(key, question.permission, grounds);
  }

  /** One decision and its revision. */
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
   * The answer of `bulk` if all facts are cached; else null: call `bulk`. Synchronous, like `peek`. Neither looks decisions up
   * nor stores them: with cached facts, making one costs a tenth of its key.
   */
  peekBulk(subject: Subject, permissions: readonly string[]): Decision[] | null {
    const grounds = this.#grounds.find(subject, this.#now, Number.POSITIVE_INFINITY);
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

  /** A decision for each of the permissions, in their order; all of one revision. Each is cached like a single answer. */
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

  /** A decision for each question, in their order, if all facts are here; else null. Synchronous, as `peek`; stores none, as `peekBulk`. */
  peekBatch(questions: readonly (KeptQuestion | null)[]): Decision[] | null {
    const decisions = peekBatch(questions, this.unknownCodes, this.#grounds, this.#now);
    this.counters.decisionMisses += decisions?.length ?? 0;
    return decisions;
  }

  /** The same, waiting for what lacks; all of one revision. */
  batch(
    questions: readonly BatchQuestion[],
    options: AskOptions = {},
  ): Promise<{ decisions: Decision[]; revision: string }> {
    const batch = new this.#Batch(questions, {
      follower: this.#follower,
      unknownCodes: this.unknownCodes,
      clock: this.#clock,
      grounds: (question, now, asked) => this.#grounds.find(question, now, asked),
      load: (question, now, asked) => this.#grounds.load(question, now, asked),
    });
    const answer = (now: number, asked: number) => {
      const decisions = batch.answer(now, asked);
      if (decisions === null) return null;
      this.counters.decisionMisses += decisions.length;
      return { decisions, revision: this.revision };
    };
    // Each load decides at least one question more, unless it is overtaken.
    return this.#waits.until(options, answer, (now, asked) => batch.load(now, asked), ATTEMPTS + questions.length);
  }

  /** Why a question is answered as it is, read from the database in one statement. Unknown codes are never refused. */
  explain(question: Question, options: AskOptions = {}): Promise<ExplainedAt> {
    if (!this.#open) return Promise.reject(notServing());
    return this.#explainer.explain(question, options);
  }

  /** Every permission that the application defines, with what the subject holds of it; all of one revision. */
  effective(subject: Subject, options: AskOptions = {}): Promise<{ items: EffectiveItem[]; revision: string }> {
    return this.#ask(subject, options, (grounds) => {
      return { items: itemsOf(subject, grounds, this.unknownCodes), revision: this.revision };
    });
  }

  /** The items of `effective` if all facts are cached; else null: call `effective`. Synchronous, like `peek`. */
  peekEffective(subject: Subject): EffectiveItem[] | null {
    const grounds = this.#grounds.find(subject, this.#now, Number.POSITIVE_INFINITY);
    return grounds === null ? null : itemsOf(subject, grounds, this.unknownCodes);
  }

  /**
   * An application's policy, for questions whose meaning depends on it. While it is the same object it has not changed.
   */
  policy(app: string, options: AskOptions = {}): Promise<{ policy: Policy; revision: string }> {
    return this.#waits.until(
      options,
      (now, askedAt) => {
        const fact = usable(this.#facts.policy(app), now, askedAt, this.#instant);
        return fact === undefined ? null : { policy: fact.value, revision: this.revision };
      },
      () => [this.#loader.policy(app)],
    );
  }

  /** The answer of `policy` if it is cached; else null. Synchronous, like `peek`. */
  peekPolicy(app: string): Policy | null {
    return this.#peek(this.#facts.policy(app));
  }

  #peek<T>(fact: Fact<T> | undefined): T | null {
    return usable(fact, this.#now, Number.POSITIVE_INFINITY, this.#instant)?.value ?? null;
  }

  /** The facts about a person, for guards of reads. */
  person(email: string, options: AskOptions = {}): Promise<{ person: PersonFacts; revision: string }> {
    return this.#waits.until(
      options,
      (now, askedAt) => {
        const fact = usable(this.#facts.about(email)?.person, now, askedAt, this.#instant);
        return fact === undefined ? null : { person: fact.value, revision: this.revision };
      },
      () => [this.#loader.member({ email, app: '', resourceType: '', resourceId: '' })],
    );
  }

  /** The facts about a person in an application, for guards of reads. */
  member(app: string, email: string, options: AskOptions = {}): Promise<{ member: MemberFacts; revision: string }> {
    return this.#ask({ email, app, resourceType: '', resourceId: '' }, options, ({ member }) => {
      return { member: member.value, revision: this.revision };
    });
  }

  /** The answer of `person` if it is cached; else null. Synchronous, like `peek`. */
  peekPerson(email: string): PersonFacts | null {
    return this.#peek(this.#facts.about(email)?.person);
  }

  /** The same for `member`. */
  peekMember(app: string, email: string): MemberFacts | null {
    const subject = { email, app, resourceType: '', resourceId: '' };
    return this.#grounds.find(subject, this.#now, Number.POSITIVE_INFINITY)?.member.value ?? null;
  }

  /** Drops the whole cache. Returns the number of decisions that were valid until now. */
  clear(): number {
    const live = this.#decisions.live(this.#clock.monotonic());
    this.dropAll();
    return live;
  }

  /**
   * For a committed write: resolves when answers are at least as fresh as `mark`. Reads the log at least
   * once after the call. Rejects with UNKNOWN_REVISION or UNAVAILABLE; then call `dropAll` before acknowledging the write.
   */
  reach(mark: RevisionToken): Promise<void> {
    return this.#follower.reach(mark);
  }

  /** Drops every cached fact and decision, and discards loads in flight. */
  dropAll(): void {
    this.#follower.dropAll();
  }

  /** `ready` while the change log was read within the TTL (or within the last second, if that is longer). */
  status(): { revision: string; lastSyncAgeMs: number; ready: boolean } {
    const lastSyncAgeMs = this.#clock.monotonic() - this.#follower.syncedAt;
    const ready = this.#open && lastSyncAgeMs <= Math.max(this.#ttlMs, 1000);
    return { revision: this.revision, lastSyncAgeMs, ready };
  }

  /** The sizes of the caches, for metrics. */
  sizes(): { decisions: number; policies: number; persons: number; members: number } {
    return { decisions: this.#decisions.size, ...this.#facts.sizes };
  }

  /** What the cached facts take of the heap, about. */
  bytes(): { policies: number; people: number } {
    return this.#facts.bytes;
  }

  #decide(key: QuestionKey | null, permission: string, grounds: DecisionFacts): Decision {
    const { policy, person, member, overrides } = grounds;
    const decision = evaluate(
      person.value,
      member.value,
      this.unknownCodes.permission(policy.value, permission),
      overrides === null ? null : overrides.value.levels,
    );
    this.counters.decisionMisses++;
    if (key !== null) this.#decisions.put(key, decision, grounds);
    return decision;
  }

  #ask<T>(subject: Subject, options: AskOptions, answer: (grounds: DecisionFacts) => T): Promise<T> {
    return this.#waits.until(
      options,
      (now, asked) => {
        const grounds = this.#grounds.find(subject, now, asked);
        return grounds === null ? null : answer(grounds);
      },
      (now, asked) => this.#grounds.load(subject, now, asked),
    );
  }
}
