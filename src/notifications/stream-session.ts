/** One open stream of somebody's notifications: what waits to be written to it, and how it ends. Ten thousand of them lie idle. */

import type { InboxRow } from './inbox.ts';

export type StreamEvent =
  | { readonly event: 'notification'; readonly item: InboxRow }
  | { readonly event: 'unread-count'; readonly count: number }
  /** Keeps proxies from closing a line on which nothing happens. */
  | { readonly event: 'heartbeat' };

/** Events that belong into one write. */
export type StreamEvents = readonly StreamEvent[];

/** Who reads slower than so many events come is cut, and resumes where they stopped. */
const MAX_WAITING = 400;
/** Events of one write: a notification may take 64 KiB. */
const MAX_TOGETHER = 8;
const DONE = Object.freeze({ done: true, value: undefined });

/** What is done when a stream is asked for its first event, and when it is over. */
export interface StreamHost {
  begun(session: StreamSession): void;
  over(session: StreamSession): void;
}

export class StreamSession implements AsyncIterableIterator<StreamEvents, undefined> {
  readonly email: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The id of the last notification that was told. */
  cursor: number;
  /** Monotonic milliseconds: when it was last written to, or told that it is still here. */
  beatAt = 0;
  /** Its name in this instance, once it is open. */
  number = 0;
  readonly #host: StreamHost;
  #count: number | null = null;
  #queue: StreamEvent[] | null = null;
  #state: 'new' | 'open' | 'over' = 'new';
  /** Made for whoever asks: nearly nobody does. */
  #abort: AbortController | null = null;
  #waiting: ((result: IteratorResult<StreamEvents, undefined>) => void) | null = null;

  constructor({ email, expiresAt, cursor }: { email: string; expiresAt: number; cursor: number }, host: StreamHost) {
    this.email = email;
    this.expiresAt = expiresAt;
    this.cursor = cursor;
    this.#host = host;
  }

  /** Aborted with the end, for whoever waits for the reader and not for us. */
  get ended(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#state === 'over') this.#abort.abort();
    return this.#abort.signal;
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** The unread that were told. */
  get count(): number | null {
    return this.#count;
  }

  /** Those of a person's newest notifications that were not told yet, and the count when it is another. */
  tell(items: readonly InboxRow[], count: number): void {
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

  /** What waits is dropped: whoever is no longer allowed to read it does not. */
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

  /** Events as they come, until the end. */
  next(): Promise<IteratorResult<StreamEvents, undefined>> {
    if (this.#state === 'new') {
      this.#state = 'open';
      this.#host.begun(this);
    }
    // It may have been ended by being one too many.
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
