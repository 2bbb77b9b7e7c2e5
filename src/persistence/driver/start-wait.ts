import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/telemetry.ts';
import { sleep } from '../../base/wait.ts';
import { Refused, Unready } from './refused.ts';

/** How long a start waits for its database, in ms. */
export interface StartWait {
  readonly ms: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called once, when the wait begins. */
  readonly began?: (() => Promise<void>) | undefined;
}

/** The wait was ended by its signal. */
export class StartEnded extends Refused {
  constructor(cause: unknown) {
    super('The start was ended while it waited for the database.', cause);
    this.name = 'StartEnded';
  }
}

/** The first delay between attempts; it doubles. */
const AGAIN_MS = 250;
const MOST_AGAIN_MS = 5000;

/**
 * Attempts again while the database is away, starting, full or a standby that lacks migrations, for at most that long. All else is the operator's to mend
 * and rejects at once.
 */
export async function withPatience<T>(
  attempt: () => Promise<T>,
  wait: StartWait,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<T> {
  const began = clock.monotonic();
  let told: string | undefined;
  for (let attempts = 0; ; attempts++) {
    try {
      const result = await attempt();
      if (attempts > 0) log.info({ waitedMs: Math.round(clock.monotonic() - began) }, 'database reached');
      return result;
    } catch (error) {
      const left = wait.ms - (clock.monotonic() - began);
      if (!(error instanceof Unready) || left <= 0) throw error;
      if (error.message !== told)
        log.warn({ reason: error.message, leftMs: Math.round(left) }, 'waiting for the database');
      told = error.message;
      if (attempts === 0) await wait.began?.();
      const delay = Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** attempts) * (0.8 + 0.4 * clock.random());
      await sleep(clock, Math.min(delay, left), wait.signal);
      if (wait.signal?.aborted) throw new StartEnded(error);
    }
  }
}
