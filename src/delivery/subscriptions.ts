/** The push subscriptions of signed-in users (docs/reference/notifications.md#push-subscriptions). */

import { UsherError, unavailable, validationFailed } from '../base/errors.ts';
import type { Database } from '../persistence/database.ts';
import {
  listSubscriptions,
  type PushSubscriptionRow,
  removeByEndpoint,
  removeById,
  upsertSubscription,
} from '../persistence/delivery/push-subscriptions.ts';
import { ensurePeople } from '../persistence/people/people.ts';
import type { EndpointRules } from './endpoints.ts';
import { readBytes, readP256Point } from './p256.ts';

export type { PushSubscriptionRow } from '../persistence/delivery/push-subscriptions.ts';

/** One more replaces the least recently used. */
export const MAX_SUBSCRIPTIONS = 20;

export interface PushSubscriptionsParts {
  database: Database;
  rules: EndpointRules;
  /** The VAPID key that browsers subscribe with; null without Web Push. */
  publicKey: string | null;
}

/** A subscription as the browser's PushManager returns it. */
export interface Subscribe {
  subscription: { endpoint: string; keys: { p256dh: string; auth: string } };
  deviceLabel: string;
}

export class PushSubscriptions {
  readonly #parts: PushSubscriptionsParts;

  constructor(parts: PushSubscriptionsParts) {
    this.#parts = parts;
  }

  /** The public VAPID key; UNAVAILABLE without a configured one. */
  vapidKey(): string {
    if (this.#parts.publicKey !== null) return this.#parts.publicKey;
    throw unavailable(
      'Web Push is not configured here: set push.publicKey, push.privateKey and push.subject (PUSH_PUBLIC_KEY, PUSH_PRIVATE_KEY, PUSH_SUBJECT).',
    );
  }

  /**
   * Stores a subscription of the user, or updates the one with the same endpoint. VALIDATION_FAILED for an endpoint that is not
   * allowed and for invalid keys; ENDPOINT_TAKEN for another user's endpoint, unless the keys are the same.
   */
  async subscribe(
    email: string,
    { subscription, deviceLabel }: Subscribe,
  ): Promise<PushSubscriptionRow & { created: boolean }> {
    const vapidKey = this.vapidKey();
    const { endpoint } = subscription;
    const problem = this.#parts.rules.problemOf(endpoint);
    const p256dh = readP256Point(subscription.keys.p256dh);
    const auth = readBytes(subscription.keys.auth, 16);
    const issues = [
      ...(problem === null ? [] : [{ path: 'subscription.endpoint', message: problem }]),
      ...(p256dh === null
        ? [{ path: 'subscription.keys.p256dh', message: 'must be a point on P-256: 65 bytes in base64url' }]
        : []),
      ...(auth === null ? [{ path: 'subscription.keys.auth', message: 'must be 16 bytes in base64url' }] : []),
    ];
    if (p256dh === null || auth === null || issues.length > 0) throw validationFailed(issues);
    const { result } = await this.#parts.database.change(async (tx) => {
      const person = (await ensurePeople(tx, [email])).get(email);
      if (person === undefined) throw new Error('the inserted address has no row');
      const row = { endpoint, p256dh, auth, deviceLabel, vapidKey };
      return { result: await upsertSubscription(tx, person, row, MAX_SUBSCRIPTIONS), scopes: [] };
    });
    if (result !== undefined) return result;
    throw new UsherError('ENDPOINT_TAKEN', 'This endpoint belongs to another user; unsubscribe in the browser first.');
  }

  /** Whether the user had a subscription with that endpoint. */
  async unsubscribe(email: string, endpoint: string): Promise<boolean> {
    const { result } = await this.#parts.database.change(async (tx) => ({
      result: await removeByEndpoint(tx, email, endpoint),
      scopes: [],
    }));
    return result;
  }

  /** The user's subscriptions, oldest first. */
  list(email: string): Promise<PushSubscriptionRow[]> {
    return this.#parts.database.read((tx) => listSubscriptions(tx, email));
  }

  /** NOT_FOUND for another user's subscription. */
  async delete(email: string, id: number): Promise<void> {
    const { result } = await this.#parts.database.change(async (tx) => ({
      result: await removeById(tx, email, id),
      scopes: [],
    }));
    if (!result) throw new UsherError('NOT_FOUND', 'Unknown push subscription.');
  }
}
