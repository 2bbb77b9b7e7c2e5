import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/base/clock.ts';

/** Time that a test owns. */
export class FakeClock implements Clock {
  time = 1000;
  fraction = 0;
  #timers: { at: number; fn: () => void }[] = [];

  now = () => this.time;
  monotonic = () => this.time;
  random = () => this.fraction;
  bytes = (count: number) => Buffer.alloc(count);

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.time + ms, fn };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Lets time pass, timer by timer, and every promise run after each. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.time = Math.max(this.time, next.at);
      next.fn();
      await turn();
    }
    this.time = end;
    await turn();
  }
}
