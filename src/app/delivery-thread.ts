/**
 * Deliveries in a thread of their own (docs/adr/0012): permission checks do not wait behind mails and pushes, nor
 * behind their garbage collection. The thread is started with the first delivery.
 */

import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { FailureLog, type Logger } from '../base/telemetry.ts';
import { workerUrl } from '../base/worker-url.ts';
import type { Config } from '../config/config.ts';
import type { DeliveryMetrics } from '../delivery/metrics.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import type { Database } from '../persistence/database.ts';
import { isAnythingWaiting } from '../persistence/delivery/claims.ts';

/** The data passed to the thread, which builds everything else itself. */
export interface ThreadData {
  readonly config: Config;
}

/** `ring`: deliveries were committed. `close`: finish and exit. `logLevel`: a reload has changed it. */
export type ToThread = 'ring' | 'close' | { readonly logLevel: string };

/** The outcome of an attempt: arguments of `DeliveryMetrics.count`. */
export type Counted = Parameters<DeliveryMetrics['count']>;

/** `closed`: the worker has finished. */
export type FromThread = readonly Counted[] | 'closed';

export interface DeliveryThreadParts {
  config: Config;
  database: Database;
  clock: Clock;
  log: Logger;
  bell: DeliveryBell;
  metrics: Pick<DeliveryMetrics, 'count'>;
}

/** Poll interval for due deliveries while no thread runs; a running thread polls by itself. */
const LOOK_MS = 1000;
/** Restart delay after a crash: deliveries in flight become due when their leases end. */
const AGAIN_MS = 5000;
/** Initial size of the thread's old generation. */
const HEAP_MB = 32;
/** Time limit for closing: longer than the limits of the worker and of its dependencies. */
const CLOSE_MS = 20_000;

export class DeliveryThread {
  readonly #parts: DeliveryThreadParts;
  readonly #looks: FailureLog;
  #thread: Worker | undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #cancelLook: () => void = () => undefined;
  #closing = false;
  #logLevel: Config['log']['level'];

  constructor(parts: DeliveryThreadParts) {
    this.#parts = parts;
    this.#logLevel = parts.config.log.level;
    this.#looks = new FailureLog({
      log: parts.log,
      clock: parts.clock,
      failing: 'delivery poll failed; retrying',
      working: 'delivery poll works again',
    });
  }

  /** For this thread, and for those that replace it. */
  setLogLevel(level: Config['log']['level']): void {
    this.#logLevel = level;
    this.#thread?.postMessage({ logLevel: level } satisfies ToThread);
  }

  /** Whether a thread runs. */
  get running(): boolean {
    return this.#thread !== undefined;
  }

  /** Begins to poll for deliveries. */
  async start(): Promise<void> {
    this.#parts.bell.listen(() => {
      this.#begin();
      this.#thread?.postMessage('ring' satisfies ToThread);
    });
    this.#look();
  }

  /** Deliveries in flight finish, or are released after a few seconds. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelLook();
    await this.#looking;
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    const cancel = this.#parts.clock.after(CLOSE_MS, () => {
      this.#parts.log.warn('delivery thread did not exit; its deliveries become due after their leases');
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
    const workerData: ThreadData = { config: { ...config, log: { ...config.log, level: this.#logLevel } } };
    // V8 reads the flag whenever it creates a heap: with the main thread's (package.json), 100 MB of garbage would accumulate. No option of
    // a Worker sets it, and threads that are started later get it too (docs/adr/0014).
    setFlagsFromString(`--initial-old-space-size=${HEAP_MB}`);
    const thread = new Worker(workerUrl(import.meta.url, 'delivery-thread.main'), { workerData, stdin: false });
    this.#thread = thread;
    thread.on('message', (message: FromThread) => {
      if (message === 'closed') void thread.terminate();
      else for (const one of message) metrics.count(...one);
    });
    thread.on('error', (error) => log.error({ err: error }, 'delivery thread failed'));
    thread.on('exit', (code) => {
      this.#thread = undefined;
      if (this.#closing) return;
      this.#notBefore = clock.monotonic() + AGAIN_MS;
      log.error({ code }, 'delivery thread exited; restarting in a few seconds');
    });
  }
}
