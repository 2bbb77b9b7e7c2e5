import type { Clock } from './clock.ts';
import { unavailable } from './errors.ts';

export interface GateOptions {
  clock: Clock;
  /** How many may be inside at once. */
  permits: number;
  /** How many may wait; one more is refused at once. */
  maxWaiting: number;
  /** How long one may wait, in milliseconds. */
  waitMs: number;
}

interface Waiter {
  enter: () => void;
}

/**
 * A bounded first-come-first-served queue in front of something scarce: connections, or PGlite's one session.
 * Waiting happens here and nowhere behind it, so that a burst of first requests does not use up the time that a
 * connection takes to be made.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #waiting = new Set<Waiter>();
  #inside = 0;
  #closed = false;
  #emptied: (() => void) | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** How many are inside. */
  get inside(): number {
    return this.#inside;
  }

  /** Resolves once inside; every entry needs exactly one `leave`. Rejects with UNAVAILABLE (503). */
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

  /** Lets nobody new in; resolves when the last has left. Those already waiting still get their turn. */
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
