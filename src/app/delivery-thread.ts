/**
 * Deliveries in a thread of their own (docs/adr/0012): whoever asks for permissions does not wait behind mails and pushes, nor
 * behind what the collection of their garbage takes. There is none before there is something to deliver.
 */

import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { FailureLog, type Logger } from '../base/telemetry.ts';
import { programBeside } from '../base/worker-url.ts';
import type { Config } from '../config/config.ts';
import type { DeliveryMetrics } from '../delivery/metrics.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import type { Database } from '../persistence/database.ts';
import { isAnythingWaiting } from '../persistence/delivery/claims.ts';

/** What a thread is made of; it builds everything else by itself. */
export interface ThreadData {
  readonly config: Config;
}

/** `ring`: something was committed. `close`: come to an end. */
export type ToThread = 'ring' | 'close';

/** What came of an attempt, as it is told to `DeliveryMetrics.count`. */
export type Counted = Parameters<DeliveryMetrics['count']>;

/** `closed`: it has come to its end. */
export type FromThread = readonly Counted[] | 'closed';

export interface DeliveryThreadParts {
  config: Config;
  database: Database;
  clock: Clock;
  log: Logger;
  bell: DeliveryBell;
  metrics: Pick<DeliveryMetrics, 'count'>;
}

/** Between looks into the table while there is no thread, which looks by itself. */
const LOOK_MS = 1000;
/** After one that ended by itself: what it had in hand is due when its leases end. */
const AGAIN_MS = 5000;
/** Of its old generation before that is collected for the first time. */
const HEAP_MB = 32;
/** At close: the worker's own limits, and those of what it stands on. */
const CLOSE_MS = 20_000;

export class DeliveryThread {
  readonly #parts: DeliveryThreadParts;
  readonly #looks: FailureLog;
  #thread: Worker | undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #cancelLook: () => void = () => undefined;
  #closing = false;

  constructor(parts: DeliveryThreadParts) {
    this.#parts = parts;
    this.#looks = new FailureLog({
      log: parts.log,
      clock: parts.clock,
      failing: 'deliveries cannot be looked for; retrying',
      working: 'deliveries are looked for again',
    });
  }

  /** Whether there is a thread. */
  get running(): boolean {
    return this.#thread !== undefined;
  }

  /** Begins to look for what is to be delivered. */
  async start(): Promise<void> {
    this.#parts.bell.listen(() => {
      this.#begin();
      this.#thread?.postMessage('ring' satisfies ToThread);
    });
    this.#look();
  }

  /** What is in hand is finished, or released after a few seconds. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelLook();
    await this.#looking;
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    const cancel = this.#parts.clock.after(CLOSE_MS, () => {
      this.#parts.log.warn('the thread of deliveries did not end: what it has in hand is due after its lease');
      void thread.terminate();
    });
    thread.postMessage('close' satisfies ToThread);
    await ended;
    cancel();
  }

  #look(): void {
    this.#looking = this.#lookOnce().finally(() => {
      if (!this.#closing) this.#cancelLook = this.#parts.clock.after(LOOK_MS, () => this.#look());
    });
  }

  async #lookOnce(): Promise<void> {
    if (this.#thread !== undefined) return;
    try {
      const isAnything = await this.#parts.database.read(isAnythingWaiting);
      this.#looks.succeeded();
      if (isAnything) this.#begin();
    } catch (error) {
      this.#looks.failed(error);
    }
  }

  #begin(): void {
    const { config, clock, metrics, log } = this.#parts;
    if (this.#closing || this.#thread !== undefined || clock.monotonic() < this.#notBefore) return;
    const workerData: ThreadData = { config };
    // Read when a heap is made: what the main thread's begins with (package.json) would be filled with garbage here.
    setFlagsFromString(`--initial-old-space-size=${HEAP_MB}`);
    const thread = new Worker(programBeside(import.meta.url, 'delivery-thread.main'), { workerData, stdin: false });
    this.#thread = thread;
    thread.on('message', (message: FromThread) => {
      if (message === 'closed') void thread.terminate();
      else for (const one of message) metrics.count(...one);
    });
    thread.on('error', (error) => log.error({ err: error }, 'the thread of deliveries failed'));
    thread.on('exit', (code) => {
      this.#thread = undefined;
      if (this.#closing) return;
      this.#notBefore = clock.monotonic() + AGAIN_MS;
      log.error({ code }, 'the thread of deliveries ended: another one begins in a few seconds');
    });
  }
}
