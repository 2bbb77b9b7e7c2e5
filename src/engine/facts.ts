/**
 * The facts behind answers, kept in LRU maps (docs/freshness.md). Every fact in here is live: true at the instance's cursor.
 * Removing a fact ends its lease in the same turn, and with it every decision derived from it.
 */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { type Fact, type Lease, LeasedFact, type Timing } from './fact.ts';
import { sizeOfMember, sizeOfOverrides, sizeOfPerson, sizeOfPolicy } from './fact-sizes.ts';
import { gainsBound, WITHOUT_END } from './instants.ts';
import { compilePolicy, type Policy } from './policy.ts';
import {
  type Level,
  MAX_NEEDS,
  type MemberAnswer,
  type MemberFacts,
  type OverrideFacts,
  type PersonFacts,
  type PolicyRows,
  type Revision,
} from './types.ts';

/** A member's overrides for one resource, and the incarnation of the application that they belong to. */
export interface ResourceOverrides {
  readonly appId: number | null;
  readonly levels: ReadonlyMap<number, Level>;
}

export interface Member {
  fact: Fact<MemberFacts>;
  /** By resource type and identifier; at most MAX_RESOURCES in all. Null until the first one: most members have none. */
  overrides: Map<string, Map<string, Fact<ResourceOverrides>>> | null;
  resources: number;
}

/** All facts about one address. Nested maps, because their keys are at hand: building joined keys costs more than everything else. */
interface Entry {
  person: Fact<PersonFacts> | undefined;
  /** By application. */
  readonly members: Map<string, Member>;
}

interface FactsOptions {
  clock: Clock;
  /** How long a fact may be used, in ms from when its statement was sent; up to a tenth less at random. */
  ttlMs: number;
  /** Taken off every lifetime, because expiry is checked against a clock reading that may be this old. */
  tickMs: number;
  policies: number;
  /** At least the needs of one statement; otherwise its callers would evict each other's facts before using them. */
  persons: number;
  /** Like `persons`. */
  members: number;
  /** Of heap (fact-sizes.ts), for all facts. While there are few people in it, it may be twice that. */
  bytes: number;
  /** What of it policies may take; one is kept however large it is. */
  policyBytes: number;
}

const MAX_RESOURCES = 256;
/** Most records that are asked about have no override of that person. */
const NO_LEVELS: ReadonlyMap<number, Level> = new Map();

export class Facts {
  readonly #options: FactsOptions;
  readonly #policies: LRUCache<string, Fact<Policy>>;
  readonly #people: LRUCache<string, Entry>;
  readonly #maxMembers: number;
  #members = 0;
  /** Of people, their members and overrides. */
  #bytes = 0;

  constructor(options: FactsOptions) {
    this.#options = options;
    this.#maxMembers = options.members;
    // `dispose` is called for every entry that leaves, for any reason: deleted, replaced, evicted.
    this.#policies = new LRUCache({
      max: options.policies,
      maxSize: options.policyBytes,
      sizeCalculation: (fact) => Math.min(options.policyBytes, sizeOfPolicy(fact.value)),
      dispose: (fact, _app, why) => this.left(fact.lease, why),
    });
    this.#people = new LRUCache({
      max: options.persons,
      dispose: ({ person, members }, email, why) => {
        this.#bytes -= sizeOfPerson(email);
        if (person !== undefined) this.left(person.lease, why);
        for (const member of members.values()) this.#memberLeft(member, why);
      },
    });
  }

  /** Invalidates decisions derived from an evicted fact; later changes could no longer reach them. */
  protected left(lease: Lease, _why: LRUCache.DisposeReason): void {
    lease.live = false;
  }

  #memberLeft({ fact, overrides }: Member, why: LRUCache.DisposeReason): void {
    this.#members--;
    this.#bytes -= sizeOfMember(fact.value);
    this.left(fact.lease, why);
    for (const byId of overrides?.values() ?? []) {
      for (const [resourceId, { lease, value }] of byId) {
        this.#bytes -= sizeOfOverrides(resourceId, value.levels);
        this.left(lease, why);
      }
    }
  }

  get sizes(): { policies: number; persons: number; members: number } {
    return { policies: this.#policies.size, persons: this.#people.size, members: this.#members };
  }

  /** Estimates of the heap that they take. */
  get bytes(): { policies: number; people: number } {
    return { policies: this.#policies.calculatedSize, people: this.#bytes };
  }

  policy(app: string): Fact<Policy> | undefined {
    return this.#policies.get(app);
  }

  /** The facts about an address. */
  about(email: string): Entry | undefined {
    return this.#people.get(email);
  }

  /** Stores a fact that is true at the cursor: the caller has made sure that no newer change names it (Follower.touched). */
  putPolicy(rows: PolicyRows, revision: Revision, sentAt: number): void {
    const held = this.#policies.get(rows.app);
    if (held === undefined || isOlder(held, revision, sentAt)) {
      this.#policies.set(rows.app, this.#fact(compilePolicy(rows), revision, sentAt, WITHOUT_END, { live: true }));
    }
  }

  /** Like `putPolicy`. An unchanged fact keeps its lease: another resource of the person ends no other decision. */
  putPerson(person: PersonFacts, revision: Revision, sentAt: number, timing = WITHOUT_END): void {
    const entry = this.#entry(person.email);
    const held = entry.person;
    if (held !== undefined) {
      if (!isOlder(held, revision, sentAt)) return;
      if (isSamePerson(held.value, person) && !gainsBound(held, timing)) {
        held.renew({ revision, readAt: sentAt }, this.expiry(sentAt), timing);
        return;
      }
      this.left(held.lease, 'set');
    }
    entry.person = this.#fact(person, revision, sentAt, timing);
  }

  /** Like `putPerson`. A changed member loses its overrides. */
  putMember(member: MemberFacts, revision: Revision, sentAt: number, timing = WITHOUT_END): void {
    const { members } = this.#entry(member.email);
    const held = members.get(member.app);
    if (held !== undefined) {
      if (!isOlder(held.fact, revision, sentAt)) return;
      if (isSameMember(held.fact.value, member) && !gainsBound(held.fact, timing)) {
        held.fact.renew({ revision, readAt: sentAt }, this.expiry(sentAt), timing);
        return;
      }
      members.delete(member.app);
      this.#memberLeft(held, 'set');
    }
    this.#makeRoom(members, sizeOfMember(member));
    members.set(member.app, { fact: this.#fact(member, revision, sentAt, timing), overrides: null, resources: 0 });
    this.#members++;
  }

  /** Like `putPolicy`, after the member of the same answer: overrides live no longer than their member. */
  putOverrides(
    overrides: OverrideFacts,
    { member }: Pick<MemberAnswer, 'member'>,
    revision: Revision,
    sentAt: number,
    timing = WITHOUT_END,
  ): void {
    const members = this.#people.get(overrides.email)?.members;
    const owner = members?.get(overrides.app);
    if (members === undefined || owner === undefined) return;
    const { resourceType, resourceId } = overrides;
    const held = owner.overrides?.get(resourceType)?.get(resourceId);
    if (held !== undefined && !isOlder(held, revision, sentAt)) return;
    if (held !== undefined) this.#overridesLeft(owner, resourceType, resourceId, held, 'set');
    else if (owner.resources >= MAX_RESOURCES) this.#evictOverrides(owner);
    const levels =
      overrides.levels.length === 0
        ? NO_LEVELS
        : new Map(overrides.levels.map(({ permissionId, level }) => [permissionId, level]));
    this.#makeRoom(members, sizeOfOverrides(resourceId, levels), owner);
    const fact = this.#fact({ appId: member.appId, levels }, revision, sentAt, timing);
    owner.overrides ??= new Map();
    const byId = owner.overrides.get(resourceType);
    if (byId === undefined) owner.overrides.set(resourceType, new Map([[resourceId, fact]]));
    else byId.set(resourceId, fact);
    owner.resources++;
  }

  dropPolicy(app: string): void {
    this.#policies.delete(app);
  }

  dropMember(app: string, email: string): void {
    this.#dropMember(this.#people.peek(email), app, 'delete');
  }

  /** Drops all facts that a scope of the change log names, or more. The scope must satisfy `isKnownScope`. */
  kill(scope: string): void {
    const [kind, name = '', email = ''] = scope.split(':');
    switch (kind) {
      case '*':
        this.clear();
        break;
      case 'p':
        this.dropPolicy(name);
        break;
      case 'u':
        // With all memberships; the statement that reads the person again also brings the requested member.
        this.#people.delete(name);
        break;
      case 'm':
        this.dropMember(name, email);
        break;
      case 'a':
        this.dropPolicy(name);
        this.#people.forEach((entry) => {
          this.#dropMember(entry, name, 'delete');
        });
        break;
    }
  }

  clear(): void {
    this.#policies.clear();
    this.#people.clear();
  }

  #entry(email: string): Entry {
    const held = this.#people.get(email);
    if (held !== undefined) return held;
    const entry: Entry = { person: undefined, members: new Map() };
    this.#people.set(email, entry);
    this.#bytes += sizeOfPerson(email);
    return entry;
  }

  /**
   * Counts what is added to a person, and evicts the least recently used people with all memberships for it; when only this one is
   * left, their oldest membership but `kept`.
   */
  #makeRoom(own: ReadonlyMap<string, Member>, bytes: number, kept?: Member): void {
    this.#bytes += bytes;
    const most = kept === undefined ? this.#maxMembers - 1 : this.#maxMembers;
    while (this.#members > most || this.#isOverfull()) {
      const hasOthers = this.#members > most ? this.#members > own.size : this.#people.size > 1;
      if (hasOthers) this.#people.pop();
      else if (!this.#evictMember(own, kept)) return;
    }
  }

  #isOverfull(): boolean {
    const { bytes } = this.#options;
    return this.#bytes + this.#policies.calculatedSize > (this.#people.size > MAX_NEEDS ? bytes : 2 * bytes);
  }

  /** Returns whether there was one. */
  #evictMember(members: ReadonlyMap<string, Member>, kept: Member | undefined): boolean {
    let oldest: Member | undefined;
    for (const member of members.values()) {
      if (member === kept) continue;
      oldest = member;
      break;
    }
    if (oldest === undefined) return false;
    const { app, email } = oldest.fact.value;
    this.#dropMember(this.#people.peek(email), app, 'evict');
    return true;
  }

  #dropMember(entry: Entry | undefined, app: string, why: LRUCache.DisposeReason): void {
    const member = entry?.members.get(app);
    if (entry === undefined || member === undefined) return;
    entry.members.delete(app);
    this.#memberLeft(member, why);
  }

  #evictOverrides(owner: Member): void {
    for (const [resourceType, byId] of owner.overrides ?? []) {
      const [oldest] = byId;
      if (oldest === undefined) continue;
      this.#overridesLeft(owner, resourceType, oldest[0], oldest[1], 'evict');
      break;
    }
  }

  #overridesLeft(
    owner: Member,
    resourceType: string,
    resourceId: string,
    { lease, value }: Fact<ResourceOverrides>,
    why: LRUCache.DisposeReason,
  ): void {
    this.#bytes -= sizeOfOverrides(resourceId, value.levels);
    const byId = owner.overrides?.get(resourceType);
    byId?.delete(resourceId);
    if (byId?.size === 0) owner.overrides?.delete(resourceType);
    owner.resources--;
    this.left(lease, why);
  }

  #fact<T>(value: T, revision: Revision, readAt: number, timing: Timing, lease: Lease | null = null): Fact<T> {
    return new LeasedFact(value, { revision, readAt }, this.expiry(readAt), timing, lease);
  }

  /** Counts from when the statement was sent, not answered. An integer needs no heap object. */
  protected expiry(readAt: number): number {
    const { clock, ttlMs, tickMs } = this.#options;
    return Math.floor(readAt + ttlMs * (1 - 0.1 * clock.random()) - tickMs);
  }
}

const SCOPE = /^(?:\*|[pua]:[^:]+|m:[^:]+:[^:]+)$/;

/** Whether this version understands the scope. An unknown one may name anything. */
export function isKnownScope(scope: string): boolean {
  return SCOPE.test(scope);
}

export function wasReadBefore(a: Fact<unknown>, b: Fact<unknown>): boolean {
  return isOlder(a, b.revision, b.readAt);
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
