/** One attempt at one delivery: its outcome, and the interface of a channel. */

import type { Claimed } from '../persistence/delivery/claims.ts';
import type { PushTarget } from '../persistence/delivery/push-subscriptions.ts';
import type { Settlement } from '../persistence/delivery/settle.ts';
import type { Held } from './in-flight.ts';

/** The outcome of an attempt, to be stored. */
export interface Attempt extends Settlement {
  /** Subscriptions that accepted the push. */
  used?: readonly number[];
  /** Subscriptions that no longer exist at the push service. */
  gone?: readonly Pick<PushTarget, 'id' | 'updatedAt'>[];
  /** What a mail server said of its end; undefined where it says nothing about the server. */
  mailEnd?: MailEndOf | undefined;
}

/** Null for a mail that was sent; else the words of a refusal, hashed, and when to try again should they concern the sender. */
export interface MailEndOf {
  readonly refusal: string | null;
  readonly againInMs: number | null;
}

/** Sends the deliveries of one channel. */
export interface Channel {
  /** Rejects only for a fault of this service. Ends soon after `signal` is aborted. */
  attempt(claimed: Held, signal: AbortSignal): Promise<Attempt>;
}

/** Milliseconds for which data read at the claim counts as current, so that deliveries claimed together need no further read. */
export const FRESH_MS = 500;

/** The delivery has failed for good. */
export function failed(error: string, { attempted = true } = {}): Attempt {
  return { sent: false, againInMs: null, attempted, error, pushDone: [] };
}

/** Nothing was attempted; the delivery is due again later. */
export function postponed(claimed: Pick<Claimed, 'pushDone'>, againInMs: number): Attempt {
  return { sent: false, againInMs, attempted: false, error: null, pushDone: claimed.pushDone };
}
