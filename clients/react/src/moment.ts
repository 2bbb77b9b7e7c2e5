/** Points in time whose age counts sleep and clocks that are set. */

/** By both clocks: the monotonic one may stand still while the machine sleeps, the other one may be set back. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export function now(): Moment {
  return { wall: Date.now(), monotonic: performance.now() };
}

/** Milliseconds since then, by the clock that has gone further. */
export function ageOf({ wall, monotonic }: Moment): number {
  return Math.max(Date.now() - wall, performance.now() - monotonic);
}
