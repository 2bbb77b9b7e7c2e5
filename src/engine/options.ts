/** How an engine is made, and what a caller may ask for beside an answer. */

import type { Clock } from '../base/clock.ts';
import type { Decisions } from './decisions.ts';
import type { Facts } from './facts.ts';
import type { EngineLog, Follower } from './follower.ts';
import type { Loader } from './loader.ts';
import type { FactsSource, Mark } from './types.ts';

export interface CacheOptions {
  /** How long facts, and decisions made from them, may be used; ms. */
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
  /** Runs a function at the end of this turn of the event loop; `setImmediate` unless a test owns time. */
  defer?: (fn: () => void) => void;
  /** Other makes of the parts, for tests of the tests. */
  parts?: Partial<EngineParts>;
}

export interface EngineParts {
  Facts: typeof Facts;
  Follower: typeof Follower;
  Loader: typeof Loader;
  Decisions: typeof Decisions;
}

export interface AskOptions {
  /** The answer is at least so fresh. UNKNOWN_REVISION when the database never made it. */
  minRevision?: Mark;
  /** Ends this caller's wait, not the work. A reason that is a UsherError is thrown as it is. */
  signal?: AbortSignal;
}
