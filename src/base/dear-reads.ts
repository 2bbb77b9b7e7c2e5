/**
 * Reads that cost more than others (docs/reference/http.md#dear-reads): a few for each caller, and together no more than a part of
 * the connections, so that there are always some for everything else.
 */

import type { Clock } from './clock.ts';
import { UsherError } from './errors.ts';
import { Semaphore } from './semaphore.ts';
import type { Work } from './work.ts';

/** Of one caller at once. */
const OF_A_CALLER = 2;
/** How long one may wait before it begins. */
const WAIT_MS = 2000;
/** Once begun, a refusal would break an answer off: then it waits as long as a call may take. */
const BEGUN_WAIT_MS = 10_000;
/** Of one caller, and in all. Further ones are refused at once: waiting, they would hold memory. */
const MAX_WAITING = { caller: 32, all: 500 } as const;

interface DearReadsOptions {
  readonly clock: Clock;
  /** Connections that they may hold together. */
  readonly connections: number;
  /** For tests. */
  readonly waitMs?: number;
}

/** How many of a pool's connections dear reads may hold: at least half are left. */
export function shareOf({ kind, poolSize }: { kind: 'postgresql' | 'pglite'; poolSize: number }): number {
  return kind === 'pglite' ? 1 : Math.max(1, Math.floor(poolSize / 2));
}

export class DearReads {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #share: Semaphore;
  readonly #callers = new Map<string, Semaphore>();

  constructor({ clock, connections, waitMs = WAIT_MS }: DearReadsOptions) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#share = new Semaphore({ clock, permits: connections, maxWaiting: MAX_WAITING.all, waitMs, busy: tooMany });
  }

  /** How many connections they hold. */
  get inside(): number {
    return this.#share.inside;
  }

  /** How many callers have one, or wait for one. */
  get callers(): number {
    return this.#callers.size;
  }

  /**
   * One of the caller's, when its turn comes: RATE_LIMITED after two seconds, the signal's reason once that is aborted. A caller that gets
   * one calls its `end`.
   *
   * @param caller `user:EMAIL`, `key:NAME`, or an address
   */
  async admit(caller: string, signal: AbortSignal): Promise<DearRead> {
    const until = this.#clock.monotonic() + this.#waitMs;
    const gate = this.#gateOf(caller);
    const leave = (): void => {
      gate.leave();
      this.#forget(caller, gate);
    };
    try {
      await gate.enter({ signal });
    } catch (error) {
      this.#forget(caller, gate);
      throw error;
    }
    return new DearRead({ signal, share: this.#share, left: () => until - this.#clock.monotonic(), leave });
  }

  /** Runs `fn` as one of the caller's. It holds its connection from its beginning to its end. */
  async run<T>(caller: string, signal: AbortSignal, fn: (read: DearRead) => Promise<T>): Promise<T> {
    const read = await this.admit(caller, signal);
    try {
      await read.hold();
      return await fn(read);
    } finally {
      read.end();
    }
  }

  #gateOf(caller: string): Semaphore {
    let gate = this.#callers.get(caller);
    if (gate === undefined) {
      const limits = { permits: OF_A_CALLER, maxWaiting: MAX_WAITING.caller, waitMs: this.#waitMs };
      gate = new Semaphore({ clock: this.#clock, ...limits, busy: tooMany });
      this.#callers.set(caller, gate);
    }
    return gate;
  }

  #forget(caller: string, gate: Semaphore): void {
    if (gate.isIdle && this.#callers.get(caller) === gate) this.#callers.delete(caller);
  }
}

interface DearReadParts {
  readonly signal: AbortSignal;
  readonly share: Semaphore;
  /** Milliseconds that it may still wait for its beginning. */
  readonly left: () => number;
  readonly leave: () => void;
}

/** One of them. It has at most one connection at a time. */
export class DearRead implements Work {
  readonly #parts: DearReadParts;
  #holds = false;
  #hasBegun = false;
  #isOver = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: DearReadParts) {
    this.#parts = parts;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Takes its place among all, until its end. For what is in memory as a whole: that is bounded as connections are. */
  async hold(): Promise<void> {
    await this.#enter();
    this.#holds = true;
  }

  async connected<T>(run: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(async () => {
      if (this.#holds) return await run();
      await this.#enter();
      try {
        return await run();
      } finally {
        this.#parts.share.leave();
      }
    });
    this.#last = mine.catch(() => undefined);
    return await mine;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#holds) this.#parts.share.leave();
    this.#parts.leave();
  }

  async #enter(): Promise<void> {
    const { share, signal, left } = this.#parts;
    await share.enter({ signal, waitMs: this.#hasBegun ? BEGUN_WAIT_MS : Math.max(0, left()) });
    this.#hasBegun = true;
  }
}

/** 429 for one more of them. */
export function tooMany(): UsherError {
  return new UsherError(
    'RATE_LIMITED',
    'Too many exports, searches, dry runs and lists of this kind are being made; try again shortly.',
    { retryAfter: 2 },
  );
}
