/**
 * What answers are made of, kept in LRU maps (docs/freshness.md). Every fact in here is live: true at the instance's cursor.
 * Whatever takes a fact out ends its lease in the same turn, and with it every decision made from it.
 */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { EngineCounters } from './counters.ts';
import type { Overrides } from './evaluate.ts';
import { compilePolicy, type Policy } from './policy.ts';
import type { MemberAnswer, MemberFacts, OverrideFacts, PersonFacts, PolicyRows, Revision } from './types.ts';

/** Held by everything made from a fact. Once false, for ever false. */
export interface Lease {
  live: boolean;
}

export interface Fact<T> {
  value: T;
  /** Of the snapshot that it was last read from. */
  revision: Revision;
  /** Monotonic milliseconds: when the statement that last read it was sent. */
  readAt: number;
  /** Monotonic milliseconds: from when on it may not be used, unless it was read for the very question. */
  expires: number;
  readonly lease: Lease;
}

/** A member's overrides for one resource, in the incarnation of the application that they were read in. */
export interface ResourceOverrides {
  readonly appId: number | null;
  readonly levels: Overrides;
}

interface Member {
  fact: Fact<MemberFacts>;
  /** By `{resourceType}:{resourceId}`, the one stored longest ago first. Null as long as there is none. */
  overrides: Map<string, Fact<ResourceOverrides>> | null;
}

export interface FactsOptions {
  clock: Clock;
  counters: EngineCounters;
  /** How long a fact may be used, in ms from when its statement was sent; up to a tenth less at random. */
  ttlMs: number;
  /** Taken off every lifetime, since whoever compares may read a clock that is so much behind. */
  tickMs: number;
  policies: number;
  persons: number;
  members: number;
}

/** A batch of one statement must fit, or its callers would drive out each other's facts before they can use them. */
export const MAX_NEEDS = 256;
const MAX_RESOURCES = 256;

export class Facts {
  readonly #options: FactsOptions;
  readonly #policies: LRUCache<string, Fact<Policy>>;
  readonly #persons: LRUCache<string, Fact<PersonFacts>>;
  readonly #members: LRUCache<string, Member>;

  constructor(options: FactsOptions) {
    this.#options = options;
    // Called for whatever leaves, for any reason: deleted, replaced, evicted.
    const dispose = <T>(fact: Fact<T>, _key: string, reason: LRUCache.DisposeReason) => this.left(fact.lease, reason);
    this.#policies = new LRUCache({ max: options.policies, dispose });
    this.#persons = new LRUCache({ max: Math.max(options.persons, MAX_NEEDS), dispose });
    this.#members = new LRUCache({
      max: Math.max(options.members, MAX_NEEDS),
      dispose: (member, _key, reason) => {
        this.left(member.fact.lease, reason);
        for (const fact of member.overrides?.values() ?? []) this.left(fact.lease, reason);
      },
    });
  }

  /** Ends what was made from a fact that is here no longer: nobody would tell it of a change. */
  protected left(lease: Lease, _reason: LRUCache.DisposeReason): void {
    lease.live = false;
  }

  get sizes(): { policies: number; persons: number; members: number } {
    return { policies: this.#policies.size, persons: this.#persons.size, members: this.#members.size };
  }

  policy(app: string): Fact<Policy> | undefined {
    return this.#policies.get(app);
  }

  person(email: string): Fact<PersonFacts> | undefined {
    return this.#persons.get(email);
  }

  member(app: string, email: string): Member | undefined {
    return this.#members.get(memberKey(app, email));
  }

  /** Stores what is true at the cursor: the caller has made sure that nothing newer names it (Follower.touched). */
  putPolicy(rows: PolicyRows, revision: Revision, sentAt: number): void {
    const held = this.#policies.get(rows.app);
    if (held === undefined || isOlder(held, revision, sentAt)) {
      this.#policies.set(rows.app, this.#fact(compilePolicy(rows), revision, sentAt));
    }
  }

  /** As `putPolicy`. What says the same as before keeps its lease: one more resource of a person ends no other decision. */
  putPerson(person: PersonFacts, revision: Revision, sentAt: number): void {
    const held = this.#persons.get(person.email);
    if (held === undefined) this.#persons.set(person.email, this.#fact(person, revision, sentAt));
    else if (isOlder(held, revision, sentAt)) {
      if (isSamePerson(held.value, person)) this.#renew(held, revision, sentAt);
      else this.#persons.set(person.email, this.#fact(person, revision, sentAt));
    }
  }

  /** As `putPerson`. A member that is said otherwise than before takes its overrides along. */
  putMember(member: MemberFacts, revision: Revision, sentAt: number): void {
    const key = memberKey(member.app, member.email);
    const held = this.#members.get(key);
    if (held !== undefined && !isOlder(held.fact, revision, sentAt)) return;
    if (held !== undefined && isSameMember(held.fact.value, member)) this.#renew(held.fact, revision, sentAt);
    else this.#members.set(key, { fact: this.#fact(member, revision, sentAt), overrides: null });
  }

  /** As `putPolicy`, after the member of the same answer: overrides live no longer than their member. */
  putOverrides(overrides: OverrideFacts, { member }: MemberAnswer, revision: Revision, sentAt: number): void {
    const owner = this.#members.get(memberKey(overrides.app, overrides.email));
    if (owner === undefined) return;
    owner.overrides ??= new Map();
    const key = resourceKey(overrides.resourceType, overrides.resourceId);
    const held = owner.overrides.get(key);
    if (held !== undefined) {
      if (!isOlder(held, revision, sentAt)) return;
      this.#drop(owner.overrides, key, held, 'set');
    } else if (owner.overrides.size >= MAX_RESOURCES) {
      for (const [oldest, fact] of owner.overrides) {
        this.#drop(owner.overrides, oldest, fact, 'evict');
        break;
      }
    }
    const levels = new Map(overrides.levels.map(({ permissionId, level }) => [permissionId, level]));
    owner.overrides.set(key, this.#fact({ appId: member.appId, levels }, revision, sentAt));
  }

  dropPolicy(app: string): void {
    this.#policies.delete(app);
  }

  dropMember(app: string, email: string): void {
    this.#members.delete(memberKey(app, email));
  }

  /** Ends all facts that a scope of the change log names. The scope must be of a kind that `isKnownScope` knows. */
  kill(scope: string): void {
    const name = scope.slice(2);
    switch (scope[0]) {
      case '*':
        this.clear();
        break;
      case 'p':
        this.#policies.delete(name);
        break;
      case 'u':
        this.#persons.delete(name);
        break;
      case 'm':
        this.#members.delete(name);
        break;
      case 'a':
        this.#policies.delete(name);
        this.#membersOf(name).forEach((key) => void this.#members.delete(key));
        break;
    }
  }

  #membersOf(app: string): string[] {
    return Array.from(this.#members.keys()).filter((key) => key.startsWith(`${app}:`));
  }

  clear(): void {
    this.#policies.clear();
    this.#persons.clear();
    this.#members.clear();
  }

  #fact<T>(value: T, revision: Revision, readAt: number): Fact<T> {
    return { value, revision, readAt, expires: this.#expires(readAt), lease: { live: true } };
  }

  /** Decisions made from it before keep the expiry that they were given. */
  #renew<T>(fact: Fact<T>, revision: Revision, readAt: number): void {
    fact.revision = revision;
    fact.readAt = readAt;
    fact.expires = this.#expires(readAt);
  }

  #expires(readAt: number): number {
    const { clock, ttlMs, tickMs } = this.#options;
    return readAt + ttlMs * (1 - 0.1 * clock.random()) - tickMs;
  }

  #drop(
    from: Map<string, Fact<ResourceOverrides>>,
    key: string,
    fact: Fact<ResourceOverrides>,
    reason: 'set' | 'evict',
  ) {
    from.delete(key);
    this.left(fact.lease, reason);
  }
}

const SCOPE = /^(?:\*|[pua]:[^:]+|m:[^:]+:[^:]+)$/;

/** Whether this version knows what the scope names. One that it does not know may name anything. */
export function isKnownScope(scope: string): boolean {
  return SCOPE.test(scope);
}

/** Codes and addresses hold no colon; so it is also the name in the scope `m:APP:EMAIL`. */
export function memberKey(app: string, email: string): string {
  return `${app}:${email}`;
}

/** A type holds no colon, and the identifier stands last. */
export function resourceKey(resourceType: string, resourceId: string): string {
  return `${resourceType}:${resourceId}`;
}

function isOlder(held: Fact<unknown>, revision: Revision, sentAt: number): boolean {
  return held.revision < revision || (held.revision === revision && held.readAt < sentAt);
}

function isSamePerson(a: PersonFacts, b: PersonFacts): boolean {
  return a.active === b.active && a.superadmin === b.superadmin;
}

function isSameMember(a: MemberFacts, b: MemberFacts): boolean {
  return (
    a.appId === b.appId &&
    a.admin === b.admin &&
    a.roleIds.length === b.roleIds.length &&
    a.roleIds.every((id) => b.roleIds.includes(id))
  );
}
