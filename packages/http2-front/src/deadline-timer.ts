/** One timer for the deadlines of a connection's calls: most calls end long before theirs, and need none. */

import type { Clock } from './service.ts';

/** The longest time of a timer; a deadline beyond it is looked at again then. */
const LONGEST_MS = 2 ** 31 - 1;

export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #endLate: (now: number) => number;
  /** Monotonic milliseconds; infinite without a timer. */
  #at = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  /** @param endLate ends what is late, and returns the next deadline, or infinity */
  constructor(clock: Clock, endLate: (now: number) => number) {
    this.#clock = clock;
    this.#endLate = endLate;
  }

  /** A call with that deadline waits. */
  watch(deadline: number): void {
    if (deadline >= this.#at) return;
    this.cancel();
    this.#at = deadline;
    this.#cancel = this.#clock.after(Math.min(LONGEST_MS, Math.max(1, deadline - this.#clock.monotonic())), () => {
      this.#at = Number.POSITIVE_INFINITY;
      this.watch(this.#endLate(this.#clock.monotonic()));
    });
  }

  cancel(): void {
    this.#cancel?.();
    this.#at = Number.POSITIVE_INFINITY;
  }
}
