/** How an engine is configured, and the options of a question. */

import type { Clock } from '../base/clock.ts';
import type { Ahead } from './ahead.ts';
import type { Batch } from './batch.ts';
import type { Decisions } from './decisions.ts';
import { PERSON } from './fact-sizes.ts';
import type { Facts } from './facts.ts';
import type { EngineLog, Follower } from './follower.ts';
import type { GroundsFinder } from './grounds.ts';
import type { Loader } from './loader.ts';
import type { Replica } from './replica.ts';
import type { EngineTraces } from './traces.ts';
import { type FactsSource, type ListSource, MAX_NEEDS, type ReplicaSource, type RevisionToken } from './types.ts';

export interface CacheOptions {
  /** How long facts, and decisions derived from them, may be used; ms. */
  readonly ttlMs: number;
  /** Decisions. */
  readonly maxEntries: number;
  /** Of heap, for facts and for the messages of repeated questions; about. */
  readonly megabytes: number;
  readonly policies: number;
  /** Upper bounds beside the memory; null for none. */
  readonly persons: number | null;
  readonly members: number | null;
}

const MEGABYTE = 2 ** 20;

/**
 * How the memory of the caches is shared out, in bytes. A repeated check takes about as much as the facts that it holds. Policies are
 * few, and many decisions need each: people make room for them.
 */
export function sharesOf({ megabytes }: Pick<CacheOptions, 'megabytes'>) {
  const bytes = megabytes * MEGABYTE;
  return { checks: (bytes * 7) / 16, facts: (bytes * 9) / 16, policies: bytes / 4 };
}

/** The bounds of facts. Those of one statement must fit: otherwise its callers would evict each other's before using them. */
export function boundsOf(cache: CacheOptions) {
  const { facts, policies } = sharesOf(cache);
  return {
    policies: cache.policies,
    persons: Math.max(cache.persons ?? Math.ceil(facts / PERSON), MAX_NEEDS),
    members: Math.max(cache.members ?? Number.POSITIVE_INFINITY, MAX_NEEDS),
    bytes: facts,
    policyBytes: policies,
  };
}

export interface EngineOptions {
  source: FactsSource;
  /** A replica of the source, asked for facts first. */
  replica?: ReplicaSource | null;
  clock: Clock;
  cache: CacheOptions;
  log: EngineLog;
  /** What lists are read from; without it they are UNAVAILABLE. */
  lists?: ListSource;
  /** 32 bytes that seal the cursors of lists, the same in every instance; without it cursors are good in this process alone. */
  cursorKey?: () => Promise<Uint8Array>;
  /** Runs a function at the end of this turn of the event loop; `setImmediate` unless a test owns time. */
  defer?: (fn: () => void) => void;
  /** Where traces are kept. */
  traces?: EngineTraces | undefined;
  /** Replacement parts, for tests of the tests. */
  parts?: Partial<EngineParts>;
}

export interface EngineParts {
  Facts: typeof Facts;
  Follower: typeof Follower;
  Loader: typeof Loader;
  Ahead: typeof Ahead;
  Replica: typeof Replica;
  Decisions: typeof Decisions;
  GroundsFinder: typeof GroundsFinder;
  Batch: typeof Batch;
}

export interface AskOptions {
  /** The answer is at least this fresh. UNKNOWN_REVISION when the database never made it. */
  minRevision?: RevisionToken;
  /** Ends this caller's wait, not the work. A reason that is a UsherError is thrown as it is. */
  signal?: AbortSignal;
}
