/**
 * What is to be sent (docs/reference/notifications.md#sends). The delivery table is the whole truth: a delivery is stored in the transaction that
 * accepts its notification, and workers look into the table. Nothing else has to survive a crash (docs/adr/0008).
 */

import type { Tx } from '../persistence/database.ts';
import type { WrittenDelivery } from '../persistence/delivery/batch.ts';
import { insertDeliveries, requeueFailed, writtenContent } from '../persistence/delivery/enqueue.ts';

export type { WrittenDelivery };

/** An e-mail as it was rendered when its send was accepted; the brand's look is put around it when it leaves. */
export interface EmailContent {
  readonly to: string;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  /** The language of subject and body. */
  readonly locale: string;
  /** Displayed instead of the brand's sender name; null for the brand's. */
  readonly fromName: string | null;
  /** What its link ends (RFC 8058); null for mail that cannot be switched off. */
  readonly unsubscribe: UnsubscribeTarget | null;
  /** The same, signed already, as rows have it that a process of the version before has stored during an upgrade. */
  readonly unsubscribeUrl?: string | null;
}

/** Whose mail of which type, by number: the link is signed when the mail leaves, so that no row holds one that works. */
export interface UnsubscribeTarget {
  /** Where the service was reached when the mail was accepted, without a trailing slash. */
  readonly base: string;
  readonly person: number;
  readonly type: number;
}

/** What a browser gets (docs/reference/notifications.md#push-messages). */
export interface PushContent {
  readonly title: string;
  readonly body: string;
  readonly icon: string | null;
  readonly url: string | null;
}

/** What one notification says by one channel. At most one of each channel. */
export type NewDelivery =
  | {
      readonly channel: 'email';
      /** The recipient's brand; null for the default one. */
      readonly brandId: number | null;
      readonly content: EmailContent;
    }
  | {
      readonly channel: 'push';
      readonly brandId: number | null;
      /** Goes to every subscription that the notification's person has when it leaves. */
      readonly content: PushContent;
    };

/** What a brand's mails queue in: a brand that is slow or broken holds up its own. */
export function emailLane(brandId: number | null): string {
  return `brand:${brandId ?? 'default'}`;
}

/**
 * As it will be stored. `of`: whose it is, since there may be no number yet: it is written while the database is at the notifications.
 */
export function writeDelivery(of: number, { channel, brandId, content }: NewDelivery): WrittenDelivery {
  const lane = channel === 'push' ? null : emailLane(brandId);
  return { of, channel, lane, brandId, content: writtenContent(content) };
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
    if (this.#listener !== null) throw new Error('There is a worker already.');
    this.#listener = listener;
  }
}
