import { randomBytes } from 'node:crypto';
import type { Clock } from '../../src/base/clock.ts';

/** A clock that stands still until told. Timers run, as fast as wanted: what they limit here is real I/O. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 1_000_000;

  readonly #speed: number;

  constructor({ now = Date.now(), speed = 1 } = {}) {
    this.#now = now;
    this.#speed = speed;
  }

  advance(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, fn: () => void): () => void {
    const timer = setTimeout(fn, ms / this.#speed);
    timer.unref();
    return () => clearTimeout(timer);
  }

  random(): number {
    return 0.5;
  }

  bytes(count: number): Buffer {
    return randomBytes(count);
  }
}
