/** Questions that wait for facts. Each is answered in the turn in which all of its facts are present, hence at one revision. */

import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import type { EngineCounters } from './counters.ts';
import type { Follower } from './follower.ts';
import type { EngineTraces } from './traces.ts';
import { notServing, untilAborted, type Wait } from './waiting.ts';

/** Writes can overtake facts while they are read; then they are read again, up to this many times. */
export const ATTEMPTS = 5;
/**
 * So does the beginning or the end of a grant, about which facts are read again and again from 10 ms before it (instants.ts) until it is
 * over. That counts as no attempt, for this long after the question came.
 */
const BOUNDARY_MS = 1000;

interface WaitsOptions {
  readonly clock: Clock;
  readonly follower: Follower;
  readonly traces: EngineTraces | undefined;
  readonly isOpen: () => boolean;
  readonly counters: Pick<EngineCounters, 'boundariesPassed'>;
  /** Is told of each reading of the clock, in monotonic ms. */
  readonly noteNow: (now: number) => void;
}

export class Waits {
  readonly #options: WaitsOptions;

  constructor(options: WaitsOptions) {
    this.#options = options;
  }

  /** Answers in the turn in which all facts are present; loads the missing ones until then. */
  until<T>(...wait: Wait<T>): Promise<T> {
    return this.#options.traces?.waiting(() => this.#wait(...wait)) ?? this.#wait(...wait);
  }

  async #wait<T>(...[{ minRevision, signal }, answer, load, attempts = ATTEMPTS]: Wait<T>): Promise<T> {
    const { clock, follower, isOpen, counters, noteNow } = this.#options;
    const askedAt = clock.monotonic();
    let waits = 0;
    for (let attempt = 0; ; ) {
      // Checked again each time: a failover may have undone a reached revision while facts were read.
      while (minRevision !== undefined && !follower.isMet(minRevision, waits > 0)) {
        if (waits++ >= ATTEMPTS) throw unavailable('The service is catching up with the database; try again shortly.');
        await untilAborted(follower.reach(minRevision), signal);
      }
      if (!isOpen()) throw notServing();
      const now = clock.monotonic();
      noteNow(now);
      const { boundariesPassed } = counters;
      const answered = answer(now, askedAt);
      if (answered !== null) return answered;
      const isBoundary = counters.boundariesPassed > boundariesPassed && now - askedAt < BOUNDARY_MS;
      if (!isBoundary && attempt++ >= attempts) {
        throw unavailable('The data changes faster than it can be read; try again shortly.');
      }
      const loads = load(now, askedAt);
      const [one] = loads;
      await untilAborted<unknown>(one !== undefined && loads.length === 1 ? one : Promise.all(loads), signal);
    }
  }
}
