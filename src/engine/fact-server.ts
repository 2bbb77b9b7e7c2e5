/**
 * Gives an engine's facts to other engines, which keep them by the same rules (docs/freshness.md#edges). What is cached here is given
 * as it is, at the revision that it is true of; what is not is loaded as for a question, so that a thousand askers cost one statement.
 */

import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import type { EngineCounters } from './counters.ts';
import type { Fact } from './fact.ts';
import type { Facts, Member, ResourceOverrides } from './facts.ts';
import type { Follower } from './follower.ts';
import type { GroundsFinder } from './grounds.ts';
import { holdTogether, usable } from './instants.ts';
import type { Loader } from './loader.ts';
import { type Policy, rowsOf } from './policy.ts';
import {
  type FactsSource,
  type LogWindow,
  type MemberAnswer,
  type MemberNeed,
  type MembersReply,
  type OverrideFacts,
  type PersonFacts,
  type PolicyReply,
  type PolicyRows,
  type Revision,
  UNBOUNDED,
} from './types.ts';
import { notServing } from './waiting.ts';

export interface FactServerParts {
  readonly source: FactsSource;
  readonly clock: Clock;
  readonly facts: Facts;
  readonly loader: Loader;
  readonly follower: Follower;
  readonly grounds: GroundsFinder;
  readonly counters: Pick<EngineCounters, 'askers'>;
  /** Whether the engine follows the log. */
  readonly isOpen: () => boolean;
}

/** A question for facts: when it arrived, and the read since when facts will do; monotonic milliseconds. */
interface Asked {
  readonly at: number;
  readonly oldest: number;
}

/** The facts of one answer, and when the oldest of them was read. */
interface Found<T> {
  readonly value: T;
  readonly readAt: number;
}

/**
 * A fact that holds for less than this, in ms, is read anew before it is given away. Less may be over when it arrives, and again when the
 * asker has asked once more; what was read for this very question serves theirs, however soon it ends.
 */
const SOON_MS = 50;

/** Facts may be overtaken while they are loaded; then the source itself answers. */
const ATTEMPTS = 3;

export class FactServer {
  readonly #parts: FactServerParts;
  /** The same rows for all who ask, so that what is made of them is made once. */
  readonly #rows = new WeakMap<Policy, PolicyRows>();

  constructor(parts: FactServerParts) {
    this.#parts = parts;
  }

  /** Those who ask, for metrics. */
  get askers(): EngineCounters['askers'] {
    return this.#parts.counters.askers;
  }

  /**
   * As `members` of a source: the answers are of one revision, that of the window.
   *
   * @param maxAgeMs how long ago facts may have been read from the database
   */
  async members(since: Revision, needs: readonly MemberNeed[], maxAgeMs: number): Promise<MembersReply> {
    const asked = this.#asked(maxAgeMs);
    const found = await this.#find(
      since,
      asked,
      (now) => collect(needs.map((need) => this.#member(need, now, asked))),
      (now) =>
        needs.filter((need) => this.#member(need, now, asked) === null).map((need) => this.#parts.loader.member(need)),
    );
    if (found === null) return await this.#parts.source.members(since, needs, maxAgeMs);
    return { window: found.window, answers: found.value, ageMs: found.ageMs };
  }

  /** As `policy` of a source. */
  async policy(since: Revision, app: string, maxAgeMs: number): Promise<PolicyReply> {
    const asked = this.#asked(maxAgeMs);
    const found = await this.#find(
      since,
      asked,
      (now) => {
        const fact = this.#young(this.#parts.facts.policy(app), now, asked);
        return fact === undefined ? null : { value: this.#rowsOf(fact.value), readAt: fact.readAt };
      },
      () => [this.#parts.loader.policy(app)],
    );
    if (found === null) return await this.#parts.source.policy(since, app, maxAgeMs);
    return { window: found.window, policy: found.value, ageMs: found.ageMs };
  }

  /** As `changes` of a source: from memory unless it must be fresh, or begins before what is remembered. */
  async changes(since: Revision, fresh: boolean): Promise<LogWindow> {
    const { source } = this.#parts;
    const { at } = this.#asked(0);
    if (fresh) await this.#syncSince(at);
    else await this.#catchUp(since);
    return this.#windowAfter(since, at) ?? (await source.changes(since, fresh));
  }

  #asked(maxAgeMs: number): Asked {
    const at = this.#parts.clock.monotonic();
    return { at, oldest: at - maxAgeMs };
  }

  /** What `find` gives, with the log at the same revision; null where that must be read elsewhere. */
  async #find<T>(
    since: Revision,
    asked: Asked,
    find: (now: number) => Found<T> | null,
    load: (now: number) => Promise<void>[],
  ): Promise<{ value: T; ageMs: number; window: LogWindow } | null> {
    const { clock } = this.#parts;
    await this.#catchUp(since);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (!this.#parts.isOpen()) throw notServing();
      const now = clock.monotonic();
      const found = find(now);
      if (found !== null) {
        // In the same turn: the facts are true at the cursor, at which the window ends.
        const window = this.#windowAfter(since, asked.at);
        return window === null ? null : { value: found.value, ageMs: age(asked, found.readAt), window };
      }
      await Promise.all(load(now));
    }
    return null;
  }

  /** Who asks may have been answered by somebody further on: then what is known here is not of another history, but old. */
  async #catchUp(since: Revision): Promise<void> {
    const { follower, isOpen } = this.#parts;
    if (!isOpen()) throw notServing();
    if (since > follower.cursor) await follower.sync();
  }

  /** Reads the log by a statement that begins after `at`. */
  async #syncSince(at: number): Promise<void> {
    const { follower, isOpen } = this.#parts;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (!isOpen()) throw notServing();
      // A reply is discarded where everything was forgotten meanwhile.
      if ((await follower.sync()) !== null && follower.syncedAt >= at) return;
    }
    throw unavailable('The service is catching up with the database; try again shortly.');
  }

  #windowAfter(since: Revision, askedAt: number): LogWindow | null {
    const { follower } = this.#parts;
    const window = follower.windowAfter(since);
    return window === null ? null : { ...window, ageMs: Math.max(0, Math.ceil(askedAt - follower.syncedAt)) };
  }

  #rowsOf(policy: Policy): PolicyRows {
    const rows = this.#rows.get(policy) ?? rowsOf(policy);
    this.#rows.set(policy, rows);
    return rows;
  }

  #member(need: MemberNeed, now: number, asked: Asked): Found<MemberAnswer> | null {
    const { facts, grounds } = this.#parts;
    const { email, app, resourceType, resourceId } = need;
    if (app !== '') grounds.dropOtherIncarnations(need);
    const about = facts.about(email);
    const person = this.#young(about?.person, now, asked);
    if (person === undefined) return null;
    const boundaries = { ...UNBOUNDED, person: this.left(person, asked) };
    if (app === '') return { value: { ...personAlone(person.value), boundaries }, readAt: person.readAt };
    const held = about?.members.get(app);
    const member = this.#young(held?.fact, now, asked);
    if (member === undefined) return null;
    const overrides = resourceType === '' ? null : this.#young(overridesOf(held, resourceType, resourceId), now, asked);
    if (overrides === undefined || !holdTogether(person, member, overrides, asked.at, now)) return null;
    const readAt = Math.min(person.readAt, member.readAt);
    const value = { person: person.value, member: member.value };
    boundaries.member = this.left(member, asked);
    if (overrides === null) return { value: { ...value, overrides: null, boundaries }, readAt };
    if (overrides.value.appId !== member.value.appId) return null;
    boundaries.overrides = this.left(overrides, asked);
    return {
      value: { ...value, overrides: overrideFacts(need, overrides.value), boundaries },
      readAt: Math.min(readAt, overrides.readAt),
    };
  }

  /** A fact that may still be given away: those who get it count its age from when it was read. */
  #young<T>(fact: Fact<T> | undefined, now: number, { at, oldest }: Asked): Fact<T> | undefined {
    const held = usable(fact, now, at, () => now + SOON_MS);
    return held !== undefined && held.readAt >= oldest ? held : undefined;
  }

  /**
   * The boundary of a fact for who asked, in ms: what was left of it when the question arrived. They count it from when they sent that,
   * as they count ages, so that it is never too long, whatever the wire took.
   */
  protected left({ bound }: Fact<unknown>, { at }: Asked): number | null {
    return bound === null ? null : Math.max(0, Math.floor(bound.ends - at));
  }
}

function age({ at }: Asked, readAt: number): number {
  return Math.max(0, Math.ceil(at - readAt));
}

function collect(answers: readonly (Found<MemberAnswer> | null)[]): Found<MemberAnswer[]> | null {
  const value: MemberAnswer[] = [];
  let readAt = Number.POSITIVE_INFINITY;
  for (const answer of answers) {
    if (answer === null) return null;
    value.push(answer.value);
    readAt = Math.min(readAt, answer.readAt);
  }
  return { value, readAt };
}

/** As storage answers a need without an application. */
function personAlone(person: PersonFacts): Omit<MemberAnswer, 'boundaries'> {
  return {
    person,
    member: { app: '', email: person.email, appId: null, admin: false, roleIds: [] },
    overrides: null,
  };
}

function overridesOf(member: Member | undefined, type: string, id: string): Fact<ResourceOverrides> | undefined {
  return member?.overrides?.get(type)?.get(id);
}

function overrideFacts(
  { email, app, resourceType, resourceId }: MemberNeed,
  { levels }: ResourceOverrides,
): OverrideFacts {
  return {
    app,
    email,
    resourceType,
    resourceId,
    levels: [...levels].map(([permissionId, level]) => ({ permissionId, level })),
  };
}
