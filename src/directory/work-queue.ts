/** A bounded queue in front of the database, for the mornings when everybody signs in at once. */

import type { Clock } from '../base/clock.ts';
import { Semaphore } from '../base/semaphore.ts';

/** Shorter than a call may take; longer than the connection pool lets anybody wait. */
const WAIT_MS = 8000;
const MAX_WAITING = 5000;

export class WorkQueue {
  readonly #gate: Semaphore;

  /** `permits`: how many at once; fewer than the database's connections, so that others get some. */
  constructor({ permits, clock }: { permits: number; clock: Clock }) {
    this.#gate = new Semaphore({ clock, permits, maxWaiting: MAX_WAITING, waitMs: WAIT_MS });
  }

  /** Runs `work` when its turn comes; UNAVAILABLE (503) when that takes too long. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    await this.#gate.enter();
    try {
      return await work();
    } finally {
      this.#gate.leave();
    }
  }
}
