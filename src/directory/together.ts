/** What many people ask of the database at one moment, asked together: one statement, or one transaction, for all of them. */

import type { Turns } from './turns.ts';

/** People at once at most. */
const BATCH = 256;
/** Batches at once, unless told otherwise: while they are under way, who comes is collected for the next one. */
const AT_ONCE = 2;

/** Does the work for all; whoever is left out of its answer is answered undefined. */
export type Work<Asked, Answer> = (asked: ReadonlyMap<string, Asked>) => Promise<ReadonlyMap<string, Answer>>;

interface Waiter<Asked, Answer> {
  asked: Asked;
  settled: PromiseWithResolvers<Answer | undefined>;
}

export class Together<Asked, Answer> {
  readonly #turns: Turns;
  readonly #work: Work<Asked, Answer>;
  readonly #atOnce: number;
  #waiting = new Map<string, Waiter<Asked, Answer>>();
  #running = 0;
  #deferred = false;

  constructor(turns: Turns, work: Work<Asked, Answer>, atOnce = AT_ONCE) {
    this.#turns = turns;
    this.#work = work;
    this.#atOnce = atOnce;
  }

  /**
   * The answer to whoever the key names; of several who ask for one key at a moment the first one's question counts. The work
   * begins after this call, never before: whoever has written, and asks then, finds what he wrote.
   */
  ask(key: string, asked: Asked): Promise<Answer | undefined> {
    let waiter = this.#waiting.get(key);
    if (waiter === undefined) {
      waiter = { asked, settled: Promise.withResolvers() };
      this.#waiting.set(key, waiter);
      this.#defer();
    }
    return waiter.settled.promise;
  }

  /** Begins once this turn of the event loop is over, so that all requests that were read in it are in. */
  #defer(): void {
    if (this.#deferred || this.#running >= this.#atOnce) return;
    this.#deferred = true;
    setImmediate(() => {
      this.#deferred = false;
      void this.#send();
    });
  }

  /** Never rejects: what goes wrong is told to those who wait. */
  async #send(): Promise<void> {
    const batch = this.#take();
    this.#running++;
    try {
      const asked = new Map([...batch].map(([key, waiter]) => [key, waiter.asked]));
      const answers = await this.#turns.take(() => this.#work(asked));
      for (const [key, { settled }] of batch) settled.resolve(answers.get(key));
    } catch (error) {
      for (const { settled } of batch.values()) settled.reject(error);
    } finally {
      this.#running--;
      if (this.#waiting.size > 0) this.#defer();
    }
  }

  #take(): Map<string, Waiter<Asked, Answer>> {
    const all = this.#waiting;
    if (all.size <= BATCH) {
      this.#waiting = new Map();
      return all;
    }
    const batch = new Map([...all].slice(0, BATCH));
    for (const key of batch.keys()) all.delete(key);
    // The next ones need not wait for these.
    queueMicrotask(() => this.#defer());
    return batch;
  }
}
