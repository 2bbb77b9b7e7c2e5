/** One open stream of events to a signed-in user: its queue and its end. Sized for ten thousand idle streams. */

/** Keeps proxies from closing an idle connection. */
export interface Heartbeat {
  readonly event: 'heartbeat';
}

/** A reader with more unread events is disconnected; the client resumes after the last event it received. */
const MAX_WAITING = 400;
/** The most events of one write: one may take 64 KiB. */
const MAX_TOGETHER = 8;
const DONE = Object.freeze({ done: true, value: undefined });

/** Gets the start of a stream, when its first event is requested, and its end. */
export interface StreamHost<E> {
  begun(stream: EventStream<E>): void;
  over(stream: EventStream<E>): void;
}

/** The events of one write. */
type Result<E> = IteratorResult<readonly (E | Heartbeat)[], undefined>;

export class EventStream<E> implements AsyncIterableIterator<readonly (E | Heartbeat)[], undefined> {
  readonly email: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The time of the last heartbeat, or of the start; monotonic milliseconds. */
  beatAt = 0;
  readonly #host: StreamHost<E>;
  #queue: (E | Heartbeat)[] | null = null;
  #state: 'new' | 'open' | 'over' = 'new';
  /** Created on demand: few callers need it. */
  #abort: AbortController | null = null;
  #waiting: ((result: Result<E>) => void) | null = null;

  constructor({ email, expiresAt }: { email: string; expiresAt: number }, host: StreamHost<E>) {
    this.email = email;
    this.expiresAt = expiresAt;
    this.#host = host;
  }

  /** Aborted when the stream ends, for callers that wait for the reader and not for events. */
  get ended(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#state === 'over') this.#abort.abort();
    return this.#abort.signal;
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Queues an event; `flush` hands it over. Ends the stream of a reader that is too far behind. */
  push(event: E | Heartbeat): void {
    if (this.#state === 'over') return;
    this.#queue ??= [];
    if (this.#queue.length >= MAX_WAITING) this.end();
    else this.#queue.push(event);
  }

  flush(): void {
    if (this.#waiting === null) return;
    const value = this.#take();
    if (value === null) return;
    this.#waiting({ done: false, value });
    this.#waiting = null;
  }

  beat(): void {
    if (this.#queue !== null) return;
    this.push({ event: 'heartbeat' });
    this.flush();
  }

  /** Drops the queue: a reader who lost access must not receive it. */
  end(): void {
    if (this.#state === 'over') return;
    const begun = this.#state === 'open';
    this.#state = 'over';
    this.#abort?.abort();
    this.#queue = null;
    this.#waiting?.(DONE);
    this.#waiting = null;
    if (begun) this.#host.over(this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next events; done after the end. */
  next(): Promise<Result<E>> {
    if (this.#state === 'new') {
      this.#state = 'open';
      this.#host.begun(this);
    }
    // `begun` may have ended it: it exceeded the limit.
    if (this.isOver) return Promise.resolve(DONE);
    const value = this.#take();
    if (value !== null) return Promise.resolve({ done: false, value });
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  return(): Promise<Result<E>> {
    this.end();
    return Promise.resolve(DONE);
  }

  #take(): (E | Heartbeat)[] | null {
    const queue = this.#queue;
    if (queue === null) return null;
    if (queue.length <= MAX_TOGETHER) {
      this.#queue = null;
      return queue;
    }
    return queue.splice(0, MAX_TOGETHER);
  }
}
