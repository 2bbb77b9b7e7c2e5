/** The comparison with the identity provider that a worker makes every day: one of all instances. */

import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Database } from '../persistence/database.ts';
import { keepNight, lastNight } from '../persistence/provider/reconciliation.ts';
import type { Reconciliation } from './reconciliation.ts';

const LOOK_MS = 60_000;
const DAY_MS = 86_400_000;
/** How long a run that failed is tried again, and one that nobody was there for is made up for. */
const WINDOW_MS = 3 * 3_600_000;
const RETRY_MS = 15 * 60_000;

interface NightlyOptions {
  readonly reconciliation: Pick<Reconciliation, 'run'>;
  readonly database: Database;
  readonly clock: Pick<Clock, 'after' | 'now' | 'monotonic'>;
  readonly log: Pick<Logger, 'warn'>;
  /** `HH:MM` in UTC. */
  readonly at: string;
}

export class Nightly {
  readonly #options: NightlyOptions;
  readonly #ending = new AbortController();
  #cancel: () => void = () => undefined;
  #looking: Promise<unknown> = Promise.resolve();
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(options: NightlyOptions) {
    this.#options = options;
  }

  /** Looks at the clock every minute, until `stop`. */
  start(): void {
    if (this.#ending.signal.aborted) return;
    this.#cancel = this.#options.clock.after(LOOK_MS, () => this.#lookAgain());
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#cancel();
    await this.#looking;
  }

  #lookAgain(): void {
    this.#looking = this.look().then(() => this.start());
  }

  /** Makes the comparison that is due, if one is; whether it was made. Never rejects. */
  async look(): Promise<boolean> {
    const { clock, database, log, reconciliation } = this.#options;
    const night = this.#night();
    if (night === null || clock.monotonic() < this.#retryAt) return false;
    try {
      if ((await database.read(lastNight)) === night) return false;
      const run = { isDryRun: false, requestId: `nightly-${night}`, signal: this.#ending.signal };
      await reconciliation.run(run).catch((error: unknown) => {
        // It has read everything and says so itself; tried again it would say the same.
        if (error instanceof UsherError && error.reason === 'RECONCILIATION_BRAKED') return;
        throw error;
      });
      await database.change(async (tx) => {
        await keepNight(tx, night);
        return { result: null, scopes: [] };
      });
      return true;
    } catch (error) {
      this.#retryAt = clock.monotonic() + RETRY_MS;
      const isRunning = error instanceof UsherError && error.reason === 'RECONCILIATION_RUNNING';
      if (!isRunning) log.warn({ err: error }, 'nightly comparison not made; retrying in a quarter of an hour');
      return false;
    }
  }

  /** The time that has come and is not long ago, as it is kept; null where there is none. */
  #night(): string | null {
    const { clock, at } = this.#options;
    const now = clock.now();
    const [hours = 0, minutes = 0] = at.split(':').map(Number);
    const today = Math.floor(now / DAY_MS) * DAY_MS + (hours * 60 + minutes) * 60_000;
    const due = today <= now ? today : today - DAY_MS;
    return now - due < WINDOW_MS ? new Date(due).toISOString() : null;
  }
}
