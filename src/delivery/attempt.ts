/** One attempt at one delivery: what a channel makes of a claim, and how the worker hears of it. */

import type { Claimed } from '../persistence/delivery/claims.ts';
import type { PushTarget } from '../persistence/delivery/push-subscriptions.ts';
import type { Settlement } from '../persistence/delivery/settle.ts';
import type { Held } from './in-flight.ts';

/** What is to be written about an attempt. */
export interface Attempt extends Settlement {
  /** Subscriptions that took the push. */
  used?: readonly number[];
  /** Subscriptions that are no more. */
  gone?: readonly Pick<PushTarget, 'id' | 'updatedAt'>[];
}

/** A way to reach somebody. */
export interface Channel {
  /** Rejects only where something is wrong on our side. After `signal` it comes to an end soon. */
  attempt(claimed: Held, signal: AbortSignal): Promise<Attempt>;
}

/** What was read when a delivery was claimed counts as present for so many milliseconds: then the next of its claim need not ask. */
export const FRESH_MS = 500;

/** It never will arrive. */
export function failed(error: string, { attempted = true } = {}): Attempt {
  return { sent: false, againInMs: null, attempted, error, pushDone: [] };
}

/** Nothing was tried; it is due again later. */
export function postponed(claimed: Pick<Claimed, 'pushDone'>, againInMs: number): Attempt {
  return { sent: false, againInMs, attempted: false, error: null, pushDone: claimed.pushDone };
}
