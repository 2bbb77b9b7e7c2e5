import { LRUCache } from 'lru-cache';
import type { Fact, Lease, ResourceOverrides } from './facts.ts';
import type { Policy } from './policy.ts';
import type { Decision, MemberFacts, PersonFacts, Question } from './types.ts';

/** The fields of a question in the order of the key. The free text stands last, so that no two questions share a key. */
export const KEY_FIELDS = [
  'email',
  'app',
  'permission',
  'resourceType',
  'resourceId',
] as const satisfies readonly (keyof Question)[];

type FieldOutsideTheKey = Exclude<keyof Question, (typeof KEY_FIELDS)[number]>;

/** A question, as long as all its fields are in the key; with a new field nothing that asks for a key compiles. */
export type KeyedQuestion = [FieldOutsideTheKey] extends [never] ? Question : never;

/** What a decision is found by. Only `questionKey` makes one. */
export type QuestionKey = string & { readonly [questionKeyed]: true };
declare const questionKeyed: unique symbol;

/** `{email}:{appCode}:{permissionCode}:{resourceType}:{resourceId}` (docs/reference/decisions.md#the-cache). */
export function questionKey(question: KeyedQuestion): QuestionKey {
  const { email, app, permission, resourceType, resourceId } = question;
  return `${email}:${app}:${permission}:${resourceType}:${resourceId}` as QuestionKey;
}

/** What one decision is made of; `overrides` is null when the question names no resource. */
export interface Grounds {
  readonly policy: Fact<Policy>;
  readonly person: Fact<PersonFacts>;
  readonly member: Fact<MemberFacts>;
  readonly overrides: Fact<ResourceOverrides> | null;
}

interface Held {
  readonly decision: Decision;
  /** Monotonic milliseconds: when the first of its facts expires. */
  readonly expires: number;
  readonly policy: Lease;
  readonly person: Lease;
  readonly member: Lease;
  readonly overrides: Lease;
}

/** Stands in where there is no resource, so that all entries have one shape. */
const ALWAYS: Lease = Object.freeze({ live: true });

/**
 * Decisions by question. An entry counts as long as all its leases are live and none of its facts has expired; the cache
 * beneath knows nothing of time.
 *
 * Once it is full a decision is stored only when it has been made before not long ago: where more questions go round than
 * there is room for, each would drive out one that is asked more often, and storing costs several times what making does.
 */
export class Decisions {
  readonly #entries: LRUCache<string, Held>;
  /** Hashes of keys whose decisions were not stored, each in the one place that it has. A collision only stores one sooner. */
  readonly #made: Int32Array;

  constructor(maxEntries: number) {
    this.#entries = new LRUCache({ max: maxEntries });
    this.#made = new Int32Array(2 ** Math.ceil(Math.log2(maxEntries)));
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: QuestionKey, now: number): Decision | undefined {
    const held = this.#entries.get(key);
    return held !== undefined && this.isValid(held, now) ? held.decision : undefined;
  }

  protected isValid(held: Held, now: number): boolean {
    return held.expires > now && held.policy.live && held.person.live && held.member.live && held.overrides.live;
  }

  put(key: QuestionKey, decision: Decision, { policy, person, member, overrides }: Grounds): void {
    if (this.#entries.size >= this.#entries.max && !this.#wasMade(key)) return;
    let expires = policy.expires;
    if (person.expires < expires) expires = person.expires;
    if (member.expires < expires) expires = member.expires;
    if (overrides !== null && overrides.expires < expires) expires = overrides.expires;
    this.#entries.set(key, {
      decision,
      expires,
      policy: policy.lease,
      person: person.lease,
      member: member.lease,
      overrides: overrides === null ? ALWAYS : overrides.lease,
    });
  }

  /** How many of them could still answer. Looks at each. */
  live(now: number): number {
    let count = 0;
    for (const held of this.#entries.values()) if (this.isValid(held, now)) count++;
    return count;
  }

  /** Whether it was asked of this key before, and of no other since that has the same place. */
  #wasMade(key: QuestionKey): boolean {
    let hash = 0;
    for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
    const place = (hash ^ (hash >>> 15)) & (this.#made.length - 1);
    if (this.#made[place] === hash) return true;
    this.#made[place] = hash;
    return false;
  }

  clear(): void {
    this.#entries.clear();
  }
}
