/** Time, timers and randomness as one injected value, so that tests can own them. */

import { randomBytes } from 'node:crypto';

export interface Clock {
  /** Wall time in milliseconds since the epoch. Only for timestamps that are stored or displayed, never for durations. */
  now(): number;
  /** Monotonic milliseconds. For TTLs and deadlines. */
  monotonic(): number;
  /** Runs `fn` once after `ms`; the returned function cancels it. The timer never keeps the process alive. */
  after(ms: number, fn: () => void): () => void;
  /** A number in [0, 1). For jitter, never for secrets. */
  random(): number;
  /** Bytes fit for secrets. */
  bytes(count: number): Buffer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  bytes: (count) => randomBytes(count),
};
