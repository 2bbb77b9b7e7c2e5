/**
 * Pauses destinations: a brand whose mail server refuses it or does not respond, a push service or a replica that does not answer.
 * Each user of one has its own breaker; another learns the same by one attempt.
 */

import type { Clock } from './clock.ts';

export interface Patience {
  /** Consecutive failures that open the breaker. */
  readonly threshold: number;
  /** The first pause; each further one is twice as long. */
  readonly firstMs: number;
  readonly longestMs: number;
}

/** For deliveries: no caller waits for them. */
const OF_DELIVERIES: Patience = { threshold: 3, firstMs: 5000, longestMs: 5 * 60_000 };
/** Users choose hosts below a push service's name. Beyond this number the oldest destination is forgotten. */
const MAX_DESTINATIONS = 1000;

interface State {
  /** Failures since the last success. */
  failures: number;
  /** Pauses since the last success. */
  pauses: number;
  /** The end of the current pause, in monotonic milliseconds. */
  until: number;
}

export class CircuitBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #patience: Patience;
  readonly #states = new Map<string, State>();

  constructor(clock: Pick<Clock, 'monotonic'>, patience = OF_DELIVERIES) {
    this.#clock = clock;
    this.#patience = patience;
  }

  /** Milliseconds until `key` may be tried again; 0 when it may be tried now. */
  remaining(key: string): number {
    return Math.max(0, (this.#states.get(key)?.until ?? 0) - this.#clock.monotonic());
  }

  /** The keys that are paused now. */
  open(): string[] {
    return [...this.#states.keys()].filter((key) => this.remaining(key) > 0);
  }

  /** Forgets the failures of a destination that works. */
  succeeded(key: string): void {
    this.#states.delete(key);
  }

  /** Counts a failed attempt. One too many in a row begins a pause. */
  failed(key: string): void {
    const { threshold, firstMs } = this.#patience;
    const state = this.#of(key);
    // Attempts under way at the same time fail together and count once.
    if (state.until > this.#clock.monotonic()) return;
    if (++state.failures >= threshold) this.#pause(state, firstMs * 2 ** state.pauses++);
  }

  /** For a failure that lasts until a setting is changed: begins a pause at once, of a minute at first. */
  refused(key: string): void {
    const state = this.#of(key);
    if (state.until > this.#clock.monotonic()) return;
    this.#pause(state, 60_000 * 2 ** state.pauses++);
  }

  #of(key: string): State {
    let state = this.#states.get(key);
    if (state === undefined) {
      const [oldest] = this.#states.keys();
      if (oldest !== undefined && this.#states.size >= MAX_DESTINATIONS) this.#states.delete(oldest);
      state = { failures: 0, pauses: 0, until: 0 };
      this.#states.set(key, state);
    }
    return state;
  }

  #pause(state: State, ms: number): void {
    state.until = this.#clock.monotonic() + Math.min(ms, this.#patience.longestMs);
  }
}
