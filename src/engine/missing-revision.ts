import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import { sleep } from '../base/wait.ts';
import { unknownRevision } from './question.ts';

/** The next snapshot contains every revision that a write returned; one more reading distinguishes a failover from an invented revision. */
const READINGS = 2;
/** How long a standby may take to receive a revision that somebody waits for, and the pause before it is read again. */
const STANDBY_MS = 5000;
const PAUSE_MS = 20;

/** The wait of one question for a revision that the log, as it was read, does not have. */
export class MissingRevision {
  readonly #clock: Clock;
  readonly #until: number;
  #readings = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#until = clock.monotonic() + STANDBY_MS;
  }

  /**
   * Call it after each reading without the revision; resolves when the log is to be read again. On a primary the second such
   * reading is UNKNOWN_REVISION: the write was lost, or never was. On a standby nothing tells that from a write on its way, so it
   * is waited for, and then UNAVAILABLE.
   */
  async again(onStandby: boolean): Promise<void> {
    if (!onStandby) {
      if (++this.#readings >= READINGS) throw unknownRevision();
      return;
    }
    if (this.#clock.monotonic() >= this.#until) {
      throw unavailable('This revision has not arrived at the standby that answers here; try again shortly.');
    }
    await sleep(this.#clock, PAUSE_MS);
  }
}
