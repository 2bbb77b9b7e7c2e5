/** One open stream of a user's notifications: what it has sent. */

import { EventStream, type Heartbeat, type StreamHost } from '../base/event-stream.ts';
import type { InboxRow } from './inbox.ts';

type InboxEvent =
  | { readonly event: 'notification'; readonly item: InboxRow }
  | { readonly event: 'unread-count'; readonly count: number };

export type StreamEvent = InboxEvent | Heartbeat;

export class StreamSession extends EventStream<InboxEvent> {
  /** The id of the last notification sent. */
  cursor: number;
  /** Its number in this instance; 0 until it opens. */
  number = 0;
  #count: number | null = null;

  constructor(
    { cursor, ...reader }: { email: string; expiresAt: number; cursor: number },
    host: StreamHost<InboxEvent>,
  ) {
    super(reader, host);
    this.cursor = cursor;
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
      this.push({ event: 'notification', item });
    }
    if (count !== this.#count) this.push({ event: 'unread-count', count });
    this.#count = count;
    this.flush();
  }
}
