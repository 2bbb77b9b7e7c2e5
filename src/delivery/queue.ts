/**
 * The delivery queue (docs/reference/notifications.md#sends). The delivery table is the only state that has to survive a crash: a
 * delivery is stored in the transaction that accepts its notification, and workers poll the table (docs/adr/0008).
 */

import type { ChannelName } from '../base/channels.ts';
import type { Tx } from '../persistence/database.ts';
import type { WrittenDelivery } from '../persistence/delivery/batch.ts';
import { type BrandFilter, insertDeliveries, requeueFailed, writtenContent } from '../persistence/delivery/enqueue.ts';
import { type TakenBack, takeBackOf } from '../persistence/delivery/take-back.ts';
import { type Caused, CHANNELS, type ContentOf } from './channels.ts';

export type { TakenBack, WrittenDelivery };

/** One notification by one channel; at most one for each channel. */
export interface NewDelivery<Name extends ChannelName> {
  readonly channel: Name;
  /** The recipient's brand; null for the default one. */
  readonly brandId: number | null;
  readonly content: ContentOf<Name> & Caused;
}

/**
 * The row of a delivery. `of` is the recipient: the id of the notification is unknown while the database still inserts it.
 */
export function writeDelivery<Name extends ChannelName>(
  of: number,
  { channel, brandId, content }: NewDelivery<Name>,
): WrittenDelivery {
  return { of, channel, lane: CHANNELS[channel].laneOf(brandId), brandId, content: writtenContent(content) };
}

/**
 * Stores deliveries in the transaction that accepts their notifications. `numbers` resolves to the notification id of each
 * recipient, once the notifications are rows with status `queued`.
 */
export async function enqueue(
  tx: Tx,
  deliveries: AsyncIterable<WrittenDelivery>,
  numbers: Promise<ReadonlyMap<number, number>>,
): Promise<void> {
  await insertDeliveries(tx, deliveries, numbers);
}

/**
 * Queues the failed deliveries of notifications again, with all attempts available; returns the notification of each delivery. Sent
 * deliveries are not sent again. With `brand`, only those that go by it.
 */
export async function requeue(
  tx: Tx,
  notifications: readonly number[],
  brand: BrandFilter | null = null,
): Promise<number[]> {
  return await requeueFailed(tx, notifications, brand);
}

/**
 * Takes back the deliveries of notifications that have not left; with `withdraw` unread ones leave the inbox, too. What a worker has
 * claimed leaves now or never.
 */
export async function takeBack(tx: Tx, notifications: readonly number[], withdraw: boolean): Promise<TakenBack> {
  return await takeBackOf(tx, notifications, withdraw);
}

/**
 * Wakes the worker of this process after a commit, so that it need not wait for its next poll. A lost call delays a delivery by a
 * second.
 */
export class DeliveryBell {
  #listener: (() => void) | null = null;

  readonly ring = (): void => this.#listener?.();

  /** Sets the listener of the worker; a process has at most one worker. */
  listen(listener: () => void): void {
    if (this.#listener !== null) throw new Error('A worker is already listening.');
    this.#listener = listener;
  }
}
