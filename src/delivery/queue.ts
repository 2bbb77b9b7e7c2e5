/**
 * What is to be sent (docs/reference/notifications.md#sends). The delivery table is the whole truth: a delivery is stored in the transaction that
 * accepts its notification, and workers look into the table. Nothing else has to survive a crash (docs/adr/0008).
 */

import type { ChannelName } from '../base/channels.ts';
import type { Tx } from '../persistence/database.ts';
import type { WrittenDelivery } from '../persistence/delivery/batch.ts';
import { insertDeliveries, requeueFailed, writtenContent } from '../persistence/delivery/enqueue.ts';
import { CHANNELS, type ContentOf } from './channels.ts';

export type { WrittenDelivery };

/** What one notification says by one channel. At most one of each channel. */
export interface NewDelivery<Name extends ChannelName> {
  readonly channel: Name;
  /** The recipient's brand; null for the default one. */
  readonly brandId: number | null;
  readonly content: ContentOf<Name>;
}

/**
 * As it will be stored. `of`: whose it is, since there may be no number yet: it is written while the database is at the notifications.
 */
export function writeDelivery<Name extends ChannelName>(
  of: number,
  { channel, brandId, content }: NewDelivery<Name>,
): WrittenDelivery {
  return { of, channel, lane: CHANNELS[channel].laneOf(brandId), brandId, content: writtenContent(content) };
}

/**
 * Stores deliveries in the transaction that accepts their notifications: they are there when it commits, or neither is. `numbers`
 * answers whose notification has which number: rows by then, with status `queued`.
 */
export async function enqueue(
  tx: Tx,
  deliveries: AsyncIterable<WrittenDelivery>,
  numbers: Promise<ReadonlyMap<number, number>>,
): Promise<void> {
  await insertDeliveries(tx, deliveries, numbers);
}

/**
 * Queues the failed deliveries of a notification again, with all their attempts before them; answers how many there were. What
 * was sent is not sent again.
 */
export async function requeue(tx: Tx, notificationId: number): Promise<number> {
  return await requeueFailed(tx, notificationId);
}

/**
 * Tells this process's worker that something was committed, so that it need not wait for its next look. Losing a call costs a
 * second, never a delivery.
 */
export class DeliveryBell {
  #listener: (() => void) | null = null;

  readonly ring = (): void => this.#listener?.();

  /** The worker's ear; there is at most one worker in a process. */
  listen(listener: () => void): void {
    if (this.#listener !== null) throw new Error('A worker is already listening.');
    this.#listener = listener;
  }
}
