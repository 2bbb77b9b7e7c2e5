import type { Clock } from './clock.ts';
import { unavailable } from './errors.ts';
import { reasonOf } from './wait.ts';

interface SemaphoreOptions {
  clock: Clock;
  /** How many holders at once. */
  permits: number;
  /** How many may wait; further ones are refused at once. */
  maxWaiting: number;
  /** How long each may wait, in milliseconds. */
  waitMs: number;
  /** What those are told for whom there is no turn; UNAVAILABLE (503) by default. */
  busy?: () => Error;
}

interface EnterOptions {
  /** Ends the wait; `enter` rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** In place of the semaphore's own. */
  waitMs?: number;
  /** Lets everybody else go first, also those that come later. */
  last?: boolean;
}

interface Waiter {
  enter: () => void;
}

/**
 * A bounded first-come-first-served queue in front of a scarce resource: connections, or PGlite's one session.
 * Callers wait here and nowhere behind it, so that a burst of first requests does not use up the time that a new
 * connection takes to open.
 */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #waiting = new Set<Waiter>();
  readonly #waitingLast = new Set<Waiter>();
  #inside = 0;
  #closed = false;
  #emptied: (() => void) | undefined;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** The number of holders. */
  get inside(): number {
    return this.#inside;
  }

  /** Whether nobody holds a permit or waits for one. */
  get isIdle(): boolean {
    return this.#inside === 0 && this.#waiting.size === 0 && this.#waitingLast.size === 0;
  }

  /** Resolves once a permit is held; every `enter` needs exactly one `leave`. Rejects with `busy`, or UNAVAILABLE (503). */
  enter({ signal, waitMs = this.#options.waitMs, last = false }: EnterOptions = {}): Promise<void> {
    if (signal?.aborted) return Promise.reject(reasonOf(signal));
    if (this.#closed) return Promise.reject(unavailable('The service is shutting down.'));
    if (this.#inside < this.#options.permits) {
      this.#inside++;
      return Promise.resolve();
    }
    const { maxWaiting, clock, busy = databaseIsBusy } = this.#options;
    if (this.#waiting.size + this.#waitingLast.size >= maxWaiting) return Promise.reject(busy());
    const queue = last ? this.#waitingLast : this.#waiting;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        cancel();
        signal?.removeEventListener('abort', leave);
        queue.delete(waiter);
      };
      const leave = (): void => {
        stop();
        reject(reasonOf(signal));
      };
      const waiter: Waiter = {
        enter: () => {
          stop();
          resolve();
        },
      };
      const cancel = clock.after(waitMs, () => {
        stop();
        reject(busy());
      });
      signal?.addEventListener('abort', leave, { once: true });
      queue.add(waiter);
    });
  }

  leave(): void {
    for (const queue of [this.#waiting, this.#waitingLast]) {
      for (const next of queue) {
        next.enter();
        return;
      }
    }
    this.#inside--;
    if (this.#inside === 0) this.#emptied?.();
  }

  /** Refuses new entries; resolves when the last holder has left. Those already waiting still get their turn. */
  close(): Promise<void> {
    this.#closed = true;
    if (this.#inside === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }
}

function databaseIsBusy(): Error {
  return unavailable('The database is busy; try again shortly.');
}
