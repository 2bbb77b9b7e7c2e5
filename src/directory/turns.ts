/** A bounded queue before the database for what many people do at once, when they all come to work. */

import type { Clock } from '../base/clock.ts';
import { Gate } from '../base/semaphore.ts';

/** Shorter than a call may take; longer than the pool of connections lets anybody wait. */
const WAIT_MS = 8000;
const MAX_WAITING = 5000;

export class Turns {
  readonly #gate: Gate;

  /** `permits`: so many at once, fewer than the database has connections, so that some are left to others. */
  constructor({ permits, clock }: { permits: number; clock: Clock }) {
    this.#gate = new Gate({ clock, permits, maxWaiting: MAX_WAITING, waitMs: WAIT_MS });
  }

  /** Does the work when it is its turn; UNAVAILABLE (503) when that takes too long. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    await this.#gate.enter();
    try {
      return await work();
    } finally {
      this.#gate.leave();
    }
  }
}
