/** When to try again: longer each time, and never in step with other pages. */

const FIRST_MS = 400;
const LONGEST_MS = 15_000;

export class Backoff {
  #failures = 0;

  /** A pause of random length, at least as long as the service asks for. */
  next(leastMs: number | null = null): number {
    const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(this.#failures, 10));
    this.#failures++;
    return (leastMs ?? 0) + most * (0.5 + Math.random() / 2);
  }

  succeeded(): void {
    this.#failures = 0;
  }
}

/** Ends early when `signal` does. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done);
  });
}
