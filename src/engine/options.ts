/** How an engine is configured, and the options of a question. */

import type { Clock } from '../base/clock.ts';
import type { Batch } from './batch.ts';
import type { Decisions } from './decisions.ts';
import type { Facts } from './facts.ts';
import type { EngineLog, Follower } from './follower.ts';
import type { GroundsFinder } from './grounds.ts';
import type { Loader } from './loader.ts';
import type { FactsSource, ListSource, RevisionToken } from './types.ts';

export interface CacheOptions {
  /** How long facts, and decisions derived from them, may be used; ms. */
  readonly ttlMs: number;
  /** Decisions. */
  readonly maxEntries: number;
  readonly policies: number;
  readonly persons: number;
  readonly members: number;
}

export interface EngineOptions {
  source: FactsSource;
  clock: Clock;
  cache: CacheOptions;
  log: EngineLog;
  /** What lists are read from; without it they are UNAVAILABLE. */
  lists?: ListSource;
  /** 32 bytes that seal the cursors of lists, the same in every instance; without it cursors are good in this process alone. */
  cursorKey?: () => Promise<Uint8Array>;
  /** Runs a function at the end of this turn of the event loop; `setImmediate` unless a test owns time. */
  defer?: (fn: () => void) => void;
  /** Replacement parts, for tests of the tests. */
  parts?: Partial<EngineParts>;
}

export interface EngineParts {
  Facts: typeof Facts;
  Follower: typeof Follower;
  Loader: typeof Loader;
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
