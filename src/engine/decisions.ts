import { LRUCache } from 'lru-cache';
import type { Fact, Lease } from './fact.ts';
import { NOT_KEPT } from './fact.ts';
import type { ResourceOverrides } from './facts.ts';
import type { Policy } from './policy.ts';
import type { Decision, MemberFacts, PersonFacts, Question } from './types.ts';

/**
 * The fields of a question in the order of the key. No two questions share a key: the free text comes last, and of the others
 * only a permission can hold `:`, which is written `%3A` (no code holds `%`).
 */
export const KEY_FIELDS = [
  'email',
  'app',
  'permission',
  'resourceType',
  'resourceId',
] as const satisfies readonly (keyof Question)[];

type FieldOutsideTheKey = Exclude<keyof Question, (typeof KEY_FIELDS)[number]>;

/** A question, as long as all its fields are in the key; a new field that is not breaks every use of `questionKey`. */
export type KeyedQuestion = [FieldOutsideTheKey] extends [never] ? Question : never;

/** The cache key of a decision. Only `questionKey` makes one. */
export type QuestionKey = string & { readonly [questionKeyed]: true };
declare const questionKeyed: unique symbol;

/** `{email}:{appCode}:{permissionCode}:{resourceType}:{resourceId}` (docs/reference/decisions.md#the-cache). */
export function questionKey(question: KeyedQuestion): QuestionKey {
  const { email, app, permission, resourceType, resourceId } = question;
  return `${email}:${app}:${keyPart(permission)}:${resourceType}:${resourceId}` as QuestionKey;
}

/** A permission's code as a part of a key. */
function keyPart(permission: string): string {
  return permission.includes(':') ? permission.replaceAll(':', '%3A') : permission;
}

/** The facts behind one decision; `overrides` is null when the question has no resource. */
export interface DecisionFacts {
  readonly policy: Fact<Policy>;
  readonly person: Fact<PersonFacts>;
  readonly member: Fact<MemberFacts>;
  readonly overrides: Fact<ResourceOverrides> | null;
}

interface CachedDecision {
  readonly decision: Decision;
  /** Monotonic milliseconds: when the first of its facts is due. It is made from facts again then, so that they are read ahead. */
  readonly due: number;
  readonly policy: Lease;
  readonly person: Lease;
  readonly member: Lease;
  readonly overrides: Lease;
}

/** The lease of absent overrides, so that all entries have one shape. */
const ALWAYS: Lease = Object.freeze({ live: true });

/**
 * Decisions by question. An entry is valid while all its leases are live and none of its facts is due; the LRU map
 * itself knows nothing of time.
 *
 * A full cache stores a decision only when it was made before, not long ago: where more questions alternate than fit, each
 * would evict one that is asked more often, and storing costs several times what deciding does.
 */
export class Decisions {
  readonly #entries: LRUCache<string, CachedDecision>;
  /** Hashes of keys whose decisions were not stored, each at its own place. A collision merely stores one decision early. */
  readonly #made: Int32Array;

  constructor(maxEntries: number) {
    this.#entries = new LRUCache({ max: maxEntries });
    this.#made = new Int32Array(2 ** Math.ceil(Math.log2(maxEntries)));
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: QuestionKey, now: number): Decision | undefined {
    const cached = this.#entries.get(key);
    return cached !== undefined && this.isValid(cached, now) ? cached.decision : undefined;
  }

  protected isValid(cached: CachedDecision, now: number): boolean {
    return cached.due > now && cached.policy.live && cached.person.live && cached.member.live && cached.overrides.live;
  }

  put(key: QuestionKey, decision: Decision, { policy, person, member, overrides }: DecisionFacts): void {
    // A single fact with a bound, and the decision is made from facts each time.
    let due = policy.due;
    if (person.due < due) due = person.due;
    if (member.due < due) due = member.due;
    if (overrides !== null && overrides.due < due) due = overrides.due;
    if (due === NOT_KEPT || (this.#entries.size >= this.#entries.max && !this.#wasMade(key))) return;
    this.#entries.set(key, {
      decision,
      due,
      policy: policy.lease,
      person: person.lease,
      member: member.lease,
      overrides: overrides === null ? ALWAYS : overrides.lease,
    });
  }

  /** The number of valid entries. Looks at each. */
  live(now: number): number {
    let count = 0;
    for (const cached of this.#entries.values()) if (this.isValid(cached, now)) count++;
    return count;
  }

  /** Whether this key was made before, and since then no other key with the same place. */
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
