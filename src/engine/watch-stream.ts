/** One stream of changes, as its reader sees it. */

import type { Change, RevisionToken } from './types.ts';

/** What a reader asks for. */
export interface WatchRequest {
  /** Whom it is for: each kind has a limit of its own. */
  readonly kind?: 'watch' | 'facts';
  /** The codes of the applications whose changes are told; null for all. */
  readonly apps: ReadonlySet<string> | null;
  /** The stream begins with everything after it; null: at the newest revision. */
  readonly since: RevisionToken | null;
  /** Whether the reader may still be told. Counts as a use of its key. */
  readonly admitted?: (() => boolean) | undefined;
}

/** One message of a stream. */
export interface WatchBatch {
  /** Where the message before ended; where this one begins after a reset. */
  readonly from: RevisionToken;
  /** Everything up to this revision has been told. */
  readonly end: RevisionToken;
  /** The rows of the log in between, of all applications; none after a reset. */
  readonly rows: readonly Change[];
  /** What changed since the message before, as scopes of the change log; each once. */
  readonly scopes: readonly string[];
  /** What the reader holds may be of another history, or older than what is kept: it forgets all, and goes on from `revision`. */
  readonly reset: boolean;
}

/** Gets what the stream needs of its reader's side. */
interface Host {
  /** The reader waits. */
  asked(): void;
  over(): void;
}

type Result = IteratorResult<WatchBatch, undefined>;
const DONE: Result = Object.freeze({ done: true, value: undefined });

/** For a single reader, who asks for one message at a time. */
export class WatchStream implements AsyncIterableIterator<WatchBatch, undefined> {
  readonly request: WatchRequest;
  readonly #host: Host;
  #cursor: RevisionToken = { number: 0, nonce: null };
  #toldAt: number;
  #hasBegun = false;
  #wasTold = false;
  #isReading = false;
  readonly #abort = new AbortController();
  #waiting: PromiseWithResolvers<Result> | null = null;
  #failure: unknown;

  /** `now`: monotonic milliseconds. */
  constructor(request: WatchRequest, host: Host, now: number) {
    this.request = request;
    this.#host = host;
    this.#toldAt = now;
  }

  /** The revision up to which the reader has been told. */
  get cursor(): RevisionToken {
    return this.#cursor;
  }

  /** When the reader was last told something, or the stream was opened; monotonic milliseconds. */
  get toldAt(): number {
    return this.#toldAt;
  }

  /** Whether the reader has asked for its first message. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the log is being read for it: nothing else is told to it meanwhile. */
  get isReading(): boolean {
    return this.#isReading;
  }

  get isWaiting(): boolean {
    return this.#waiting !== null;
  }

  get isOver(): boolean {
    return this.#abort.signal.aborted;
  }

  get isAdmitted(): boolean {
    return this.request.admitted?.() ?? true;
  }

  /** Aborted when the stream ends, for callers that wait for the reader and not for messages. */
  get ended(): AbortSignal {
    return this.#abort.signal;
  }

  /** Before the log is read for it. */
  beginReading(): void {
    this.#hasBegun = true;
    this.#isReading = true;
  }

  endReading(): void {
    this.#isReading = false;
  }

  /** The reader is told of all changes after `revision`. */
  beginAt(revision: RevisionToken): void {
    this.#isReading = false;
    this.#cursor = revision;
  }

  /**
   * Moves the cursor of a reader that waits to the end of a message (it may have ended since it was chosen), and says whether it
   * gets that message: one without changes is left out, because the next one names its revision. The first one is not.
   */
  moveTo(batch: WatchBatch): boolean {
    if (this.#waiting === null) return false;
    const isNews = batch.scopes.length > 0 || batch.reset || batch.end.number === this.#cursor.number;
    this.#cursor = batch.end;
    return isNews || !this.#wasTold;
  }

  /** Hands a message over to a reader that waits. */
  say(batch: WatchBatch, now: number): void {
    this.#wasTold = true;
    this.#toldAt = now;
    this.#waiting?.resolve({ done: false, value: batch });
    this.#waiting = null;
  }

  /** Ends it; with an error the reader gets that. */
  end(error?: unknown): void {
    if (this.isOver) return;
    this.#failure = error;
    this.#abort.abort();
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve(this.#last());
    this.#host.over();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next message. Rejects once with the error that ended the stream. */
  next(): Promise<Result> {
    if (this.isOver) return this.#last();
    this.#waiting ??= Promise.withResolvers();
    const { promise } = this.#waiting;
    this.#host.asked();
    return promise;
  }

  return(): Promise<Result> {
    this.end();
    return Promise.resolve(DONE);
  }

  #last(): Promise<Result> {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined ? Promise.resolve(DONE) : Promise.reject(failure);
  }
}
