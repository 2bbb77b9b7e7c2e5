/**
 * Reads of facts across a failover: a check that finds its connections cut waits for the next primary instead of failing. So does one
 * that the server ended to resolve a deadlock, as with a migration that locks the same tables.
 */

import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/wait.ts';
import { StatementFailed } from '../driver/failures.ts';

/**
 * A lost read is repeated for this time after the last answer of the database: with the last try below the 2 s that a check may hang on
 * a dead connection. Most failovers take less; a longer outage is told at once.
 */
const FAILOVER_MS = 1800;
const PAUSE_MS = 50;

export class Failover {
  readonly #clock: Pick<Clock, 'after' | 'monotonic'>;
  #answeredAt: number;

  constructor(clock: Pick<Clock, 'after' | 'monotonic'>) {
    this.#clock = clock;
    this.#answeredAt = clock.monotonic();
  }

  /** `read`, whose success proves that the database is there. */
  async seen<T>(read: () => Promise<T>): Promise<T> {
    const answer = await read();
    this.#answeredAt = this.#clock.monotonic();
    return answer;
  }

  /** The same, and again where its connection was lost or could not be made, or it was chosen in a deadlock. For what may be read twice. */
  async waitedOut<T>(read: () => Promise<T>): Promise<T> {
    const begun = this.#clock.monotonic();
    for (;;) {
      try {
        return await this.seen(read);
      } catch (error) {
        const since = Math.min(begun, this.#answeredAt);
        if (!isPassing(error) || this.#clock.monotonic() - since >= FAILOVER_MS) throw error;
      }
      await sleep(this.#clock, PAUSE_MS);
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof StatementFailed && (error.lost || error.sqlState === '40P01');
}
