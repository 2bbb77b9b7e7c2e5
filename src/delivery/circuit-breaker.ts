/**
 * Which destinations to leave alone for now: a brand whose mail server refuses its credentials or does not answer, a push service
 * that asked for patience. Each worker keeps its own; another one learns the same by one attempt.
 */

import type { Clock } from '../base/clock.ts';

/** Failures in a row that open the breaker. */
const PATIENCE = 3;
const FIRST_MS = 5000;
const LONGEST_MS = 5 * 60_000;
/** Users choose endpoints below a push service's name: beyond this many destinations the oldest is forgotten, and learned again. */
const MAX_DESTINATIONS = 1000;

interface State {
  /** Failures since the last success. */
  failures: number;
  /** Pauses since the last success. */
  pauses: number;
  /** The end of the present pause, in monotonic milliseconds. */
  until: number;
}

export class CircuitBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #states = new Map<string, State>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Milliseconds until `key` may be tried again; 0 when it may be tried now. */
  remaining(key: string): number {
    return Math.max(0, (this.#states.get(key)?.until ?? 0) - this.#clock.monotonic());
  }

  /** The keys that may not be tried now. */
  open(): string[] {
    return [...this.#states.keys()].filter((key) => this.remaining(key) > 0);
  }

  /** The destination works: its failures are forgotten. */
  succeeded(key: string): void {
    this.#states.delete(key);
  }

  /** An attempt failed. The third in a row begins a pause of 5 s; each further pause is twice as long, at most 5 minutes. */
  failed(key: string): void {
    const state = this.#of(key);
    // Attempts that were under way together fail together, and count once.
    if (state.until > this.#clock.monotonic()) return;
    if (++state.failures >= PATIENCE) this.#pause(state, FIRST_MS * 2 ** state.pauses++);
  }

  /** It will fail until somebody changes something: the pause begins at once, a minute at first. */
  refused(key: string): void {
    const state = this.#of(key);
    if (state.until > this.#clock.monotonic()) return;
    this.#pause(state, 60_000 * 2 ** state.pauses++);
  }

  /** The destination asked for a pause of that many milliseconds. */
  asked(key: string, ms: number): void {
    const state = this.#of(key);
    state.until = Math.max(state.until, this.#clock.monotonic() + ms);
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
    state.until = this.#clock.monotonic() + Math.min(ms, LONGEST_MS);
  }
}
