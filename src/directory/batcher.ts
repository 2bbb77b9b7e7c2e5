/** Batches concurrent requests of many people: one statement, or one transaction, for all of them. */

import { forEverybody } from '../base/work.ts';
import type { WorkQueue } from './work-queue.ts';

/** Requests in one batch at most. */
const BATCH = 256;
/** Concurrent batches by default: while they run, further requests are collected for the next one. */
const AT_ONCE = 2;

/** Does the work for a batch; a key missing from the result resolves to undefined. */
export type Work<Input, Output> = (inputs: ReadonlyMap<string, Input>) => Promise<ReadonlyMap<string, Output>>;

interface Waiter<Input, Output> {
  input: Input;
  settled: PromiseWithResolvers<Output | undefined>;
}

export class Batcher<Input, Output> {
  readonly #turns: WorkQueue;
  readonly #work: Work<Input, Output>;
  readonly #atOnce: number;
  #waiting = new Map<string, Waiter<Input, Output>>();
  #running = 0;
  #deferred = false;

  constructor(turns: WorkQueue, work: Work<Input, Output>, atOnce = AT_ONCE) {
    this.#turns = turns;
    this.#work = work;
    this.#atOnce = atOnce;
  }

  /**
   * The result for a key; of several concurrent inputs for one key the first counts. The work begins after this call, never
   * before: a caller who has just written finds their own write.
   */
  ask(key: string, input: Input): Promise<Output | undefined> {
    let waiter = this.#waiting.get(key);
    if (waiter === undefined) {
      waiter = { input, settled: Promise.withResolvers() };
      this.#waiting.set(key, waiter);
      this.#defer();
    }
    return waiter.settled.promise;
  }

  /** Begins at the end of this turn of the event loop, so that all requests read in it are included. */
  #defer(): void {
    if (this.#deferred || this.#running >= this.#atOnce) return;
    this.#deferred = true;
    const send = (): void => {
      this.#deferred = false;
      void this.#send();
    };
    // The one that asked first may leave; the batch is everybody's.
    forEverybody(() => setImmediate(send));
  }

  /** Never rejects: failures go to the waiting callers. */
  async #send(): Promise<void> {
    const batch = this.#take();
    this.#running++;
    try {
      const inputs = new Map([...batch].map(([key, waiter]) => [key, waiter.input]));
      const outputs = await this.#turns.take(() => this.#work(inputs));
      for (const [key, { settled }] of batch) settled.resolve(outputs.get(key));
    } catch (error) {
      for (const { settled } of batch.values()) settled.reject(error);
    } finally {
      this.#running--;
      if (this.#waiting.size > 0) this.#defer();
    }
  }

  #take(): Map<string, Waiter<Input, Output>> {
    const all = this.#waiting;
    if (all.size <= BATCH) {
      this.#waiting = new Map();
      return all;
    }
    const batch = new Map([...all].slice(0, BATCH));
    for (const key of batch.keys()) all.delete(key);
    // The next batch need not wait for this one.
    queueMicrotask(() => this.#defer());
    return batch;
  }
}
