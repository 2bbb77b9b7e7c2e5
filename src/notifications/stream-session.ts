/** One open stream of a user's notifications: its queue and its end. Sized for ten thousand idle streams. */

import type { InboxRow } from './inbox.ts';

export type StreamEvent =
  | { readonly event: 'notification'; readonly item: InboxRow }
  | { readonly event: 'unread-count'; readonly count: number }
  /** Keeps proxies from closing an idle connection. */
  | { readonly event: 'heartbeat' };

/** Events of one write. */
export type StreamEvents = readonly StreamEvent[];

/** A reader with more unread events is disconnected; the client resumes after the last event it received. */
const MAX_WAITING = 400;
/** The most events of one write: a notification may take 64 KiB. */
const MAX_TOGETHER = 8;
const DONE = Object.freeze({ done: true, value: undefined });

/** Gets the start of a stream, when its first event is requested, and its end. */
export interface StreamHost {
  begun(session: StreamSession): void;
  over(session: StreamSession): void;
}

export class StreamSession implements AsyncIterableIterator<StreamEvents, undefined> {
  readonly email: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The id of the last notification sent. */
  cursor: number;
  /** The time of the last heartbeat, or of the start; monotonic milliseconds. */
  beatAt = 0;
  /** Its number in this instance; 0 until it opens. */
  number = 0;
  readonly #host: StreamHost;
  #count: number | null = null;
  #queue: StreamEvent[] | null = null;
  #state: 'new' | 'open' | 'over' = 'new';
  /** Created on demand: few callers need it. */
  #abort: AbortController | null = null;
  #waiting: ((result: IteratorResult<StreamEvents, undefined>) => void) | null = null;

  constructor({ email, expiresAt, cursor }: { email: string; expiresAt: number; cursor: number }, host: StreamHost) {
    this.email = email;
    this.expiresAt = expiresAt;
    this.cursor = cursor;
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

  /** The last unread count sent. */
  get count(): number | null {
    return this.#count;
  }

  /** Queues the notifications not sent yet, and the count if it changed. */
  update(items: readonly InboxRow[], count: number): void {
    for (const item of items) {
      if (item.id <= this.cursor) continue;
      this.cursor = item.id;
      this.#push({ event: 'notification', item });
    }
    if (count !== this.#count) this.#push({ event: 'unread-count', count });
    this.#count = count;
    this.#flush();
  }

  beat(): void {
    if (this.#queue !== null) return;
    this.#push({ event: 'heartbeat' });
    this.#flush();
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
  next(): Promise<IteratorResult<StreamEvents, undefined>> {
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

  return(): Promise<IteratorResult<StreamEvents, undefined>> {
    this.end();
    return Promise.resolve(DONE);
  }

  #push(event: StreamEvent): void {
    if (this.#state === 'over') return;
    this.#queue ??= [];
    if (this.#queue.length >= MAX_WAITING) this.end();
    else this.#queue.push(event);
  }

  #take(): StreamEvents | null {
    const queue = this.#queue;
    if (queue === null) return null;
    if (queue.length <= MAX_TOGETHER) {
      this.#queue = null;
      return queue;
    }
    return queue.splice(0, MAX_TOGETHER);
  }

  #flush(): void {
    if (this.#waiting === null) return;
    const value = this.#take();
    if (value === null) return;
    this.#waiting({ done: false, value });
    this.#waiting = null;
  }
}
