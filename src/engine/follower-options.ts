/** What a follower of the change log is made of. */

import type { Clock } from '../base/clock.ts';
import type { EngineCounters } from './counters.ts';
import type { Facts } from './facts.ts';
import type { FactsSource, Revision } from './types.ts';

/** The engine's log; a pino logger fits. */
export interface EngineLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The state when a statement was sent, needed to make use of its reply. */
export interface Ticket {
  readonly since: Revision;
  readonly fence: number;
  /** The nonce of the log row at `since`, null when it is unknown here. */
  readonly nonce: string | null;
  /** Monotonic milliseconds. */
  readonly sentAt: number;
  /** Another one for each statement. */
  readonly statement: number;
}

export interface FollowerOptions {
  source: FactsSource;
  clock: Clock;
  facts: Facts;
  log: EngineLog;
  counters: EngineCounters;
  /** How many changes are kept to compare with late facts. */
  recent?: number;
  /** Called whenever everything is dropped, after the facts. */
  dropped: () => void;
}
