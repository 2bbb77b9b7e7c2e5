/** One open stream of somebody's notifications: what waits to be written to it, and how it ends. */

import type { InboxRow } from './inbox.ts';

export type StreamEvent =
  | { readonly event: 'notification'; readonly item: InboxRow }
  | { readonly event: 'unread-count'; readonly count: number }
  /** Keeps proxies from closing a line on which nothing happens. */
  | { readonly event: 'heartbeat' };

/** Who reads slower than so many events come is cut, and resumes where they stopped. */
const MAX_WAITING = 400;

export class StreamSession {
  readonly email: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The id of the last notification that was told. */
  cursor: number;
  #count: number | null = null;
  #queue: StreamEvent[] = [];
  readonly #over = new AbortController();
  #wake: () => void = () => undefined;

  constructor(email: string, expiresAt: number, cursor: number) {
    this.email = email;
    this.expiresAt = expiresAt;
    this.cursor = cursor;
  }

  /** Aborted with the end, for whoever waits for the reader and not for us. */
  get ended(): AbortSignal {
    return this.#over.signal;
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
  }

  beat(): void {
    if (this.#queue.length === 0) this.#push({ event: 'heartbeat' });
  }

  /** What waits is dropped: whoever is no longer allowed to read it does not. */
  end(): void {
    this.#over.abort();
    this.#queue = [];
    this.#wake();
  }

  /** Events as they come, until the end. */
  async *events(): AsyncGenerator<StreamEvent> {
    while (!this.ended.aborted) {
      const next = this.#queue.shift();
      if (next !== undefined) yield next;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    }
  }

  #push(event: StreamEvent): void {
    if (this.ended.aborted) return;
    if (this.#queue.length >= MAX_WAITING) this.end();
    else this.#queue.push(event);
    this.#wake();
  }
}
