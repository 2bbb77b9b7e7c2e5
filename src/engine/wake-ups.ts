import type { Clock } from '../base/clock.ts';

/**
 * The least time between two readings of the log because of notifications. Every instance hears of every write: without it many
 * instances under many writes would read the log as often as both multiplied.
 */
const APART_MS = 20;

/** Reads at once when notified, and what comes within 20 ms of that together at their end. Polls and waits are not counted. */
export class WakeUps {
  readonly #clock: Clock;
  readonly #read: () => void;
  #quietUntil = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, read: () => void) {
    this.#clock = clock;
    this.#read = read;
  }

  wake(): void {
    if (this.#cancel !== undefined) return;
    const left = this.#quietUntil - this.#clock.monotonic();
    if (left > 0) this.#cancel = this.#clock.after(left, () => this.#begin());
    else this.#begin();
  }

  close(): void {
    this.#cancel?.();
  }

  #begin(): void {
    this.#cancel = undefined;
    this.#quietUntil = this.#clock.monotonic() + APART_MS;
    this.#read();
  }
}
