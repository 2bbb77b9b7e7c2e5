/**
 * What is not to be troubled just now: a brand whose server takes no credentials or does not answer, a push service that asked
 * for patience. Kept by each worker for itself: another one learns it by one attempt of its own.
 */

import type { Clock } from '../base/clock.ts';

/** So many failures in a row, and the other side is left alone for a while. */
const PATIENCE = 3;
const FIRST_MS = 5000;
const LONGEST_MS = 5 * 60_000;
/** Users choose endpoints below a push service's name: the oldest is forgotten, and learned again. */
const MAX_HOLDS = 1000;

interface Hold {
  /** Failures since the last success. */
  failures: number;
  /** Pauses since the last success. */
  pauses: number;
  /** Monotonic milliseconds. */
  until: number;
}

export class Holds {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #holds = new Map<string, Hold>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Milliseconds until `key` may be troubled again; 0 when it may now. */
  remaining(key: string): number {
    return Math.max(0, (this.#holds.get(key)?.until ?? 0) - this.#clock.monotonic());
  }

  /** The keys that are held now. */
  held(): string[] {
    return [...this.#holds.keys()].filter((key) => this.remaining(key) > 0);
  }

  /** It works: whatever was held against it is forgotten. */
  succeeded(key: string): void {
    this.#holds.delete(key);
  }

  /** It failed. After three times in a row it is held: 5 s, then twice as long each time, at most 5 minutes. */
  failed(key: string): void {
    const hold = this.#of(key);
    // What was under way together fails together, and counts once.
    if (hold.until > this.#clock.monotonic()) return;
    if (++hold.failures >= PATIENCE) this.#pause(hold, FIRST_MS * 2 ** hold.pauses++);
  }

  /** It will not work before somebody has done something: held at once, first for a minute, then longer. */
  refused(key: string): void {
    const hold = this.#of(key);
    if (hold.until > this.#clock.monotonic()) return;
    this.#pause(hold, 60_000 * 2 ** hold.pauses++);
  }

  /** It asked to be left alone for so long. */
  asked(key: string, ms: number): void {
    const hold = this.#of(key);
    hold.until = Math.max(hold.until, this.#clock.monotonic() + ms);
  }

  #of(key: string): Hold {
    let hold = this.#holds.get(key);
    if (hold === undefined) {
      const [oldest] = this.#holds.keys();
      if (oldest !== undefined && this.#holds.size >= MAX_HOLDS) this.#holds.delete(oldest);
      hold = { failures: 0, pauses: 0, until: 0 };
      this.#holds.set(key, hold);
    }
    return hold;
  }

  #pause(hold: Hold, ms: number): void {
    hold.until = this.#clock.monotonic() + Math.min(ms, LONGEST_MS);
  }
}
