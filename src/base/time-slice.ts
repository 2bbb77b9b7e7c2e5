/**
 * Long work in time slices. Checks share the event loop with all other work of the process: a long computation does one
 * slice per turn, and pending requests are answered between slices.
 */

import { setImmediate } from 'node:timers/promises';
import type { Sliced } from './slices.ts';

/** The duration of a slice. */
export const SLICE_MS = 1;

/** Hands out turns of the event loop, first come, first served, to at most `width` callers per turn. */
export class TurnQueue {
  readonly #width: number;
  #last: Promise<void> = Promise.resolve();
  /** Callers that may still join the last turn. */
  #room = 0;

  constructor(width = 1) {
    this.#width = width;
  }

  turn(): Promise<void> {
    if (this.#room > 0) {
      this.#room--;
      return this.#last;
    }
    this.#room = this.#width - 1;
    this.#last = this.#last.then(() => setImmediate());
    return this.#last;
  }
}

/** Shared by the work of all requests: many at once then take as much of a turn as one. */
const REQUESTS = new TurnQueue();

/** Resolves in a later turn. */
export function turn(): Promise<void> {
  return REQUESTS.turn();
}

/** Long work cut into slices. */
export class TimeSlicer {
  readonly #most: number;
  #steps = 0;
  #until = performance.now() + SLICE_MS;

  /** `most`: steps per slice, for work whose cost falls at the end of the turn, where the clock misses it: writing to sockets. */
  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /** Await this before each of many steps: it continues at once, or in a later turn when the slice is used up. */
  next(): Promise<void> | undefined {
    return ++this.#steps <= this.#most && performance.now() < this.#until ? undefined : this.#turn();
  }

  async #turn(): Promise<void> {
    await REQUESTS.turn();
    this.#steps = 1;
    this.#until = performance.now() + SLICE_MS;
  }
}

/** Does work that can be interrupted, in slices. */
export async function inSlices<R>(work: Sliced<R>): Promise<R> {
  const pieces = new TimeSlicer();
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    const turn = pieces.next();
    if (turn !== undefined) await turn;
  }
}

/** `all.map(work)`, in slices. */
export async function mapInSlices<T, R>(all: readonly T[], work: (one: T, at: number) => R): Promise<R[]> {
  const pieces = new TimeSlicer();
  const made: R[] = [];
  for (const [at, one] of all.entries()) {
    await pieces.next();
    made.push(work(one, at));
  }
  return made;
}
