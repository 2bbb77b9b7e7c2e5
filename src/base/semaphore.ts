import type { Clock } from './clock.ts';
import { unavailable } from './errors.ts';

interface SemaphoreOptions {
  clock: Clock;
  /** How many holders at once. */
  permits: number;
  /** How many may wait; further ones are refused at once. */
  maxWaiting: number;
  /** How long each may wait, in milliseconds. */
  waitMs: number;
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

  /** Resolves once a permit is held; every `enter` needs exactly one `leave`. Rejects with UNAVAILABLE (503). */
  enter(): Promise<void> {
    if (this.#closed) return Promise.reject(unavailable('The service is shutting down.'));
    if (this.#inside < this.#options.permits) {
      this.#inside++;
      return Promise.resolve();
    }
    if (this.#waiting.size >= this.#options.maxWaiting) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        enter: () => {
          cancel();
          resolve();
        },
      };
      const cancel = this.#options.clock.after(this.#options.waitMs, () => {
        this.#waiting.delete(waiter);
        reject(busy());
      });
      this.#waiting.add(waiter);
    });
  }

  leave(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next.enter();
      return;
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

function busy(): Error {
  return unavailable('The database is busy; try again shortly.');
}
