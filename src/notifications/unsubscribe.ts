/**
 * Links that switch off one type's mail for one user, without a login (docs/reference/notifications.md#unsubscription; RFC 8058). The
 * token names the person and the type by id, not by address, and is signed with a key for this purpose. It does not expire, since
 * the mail that holds it does not.
 */

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { perChannel } from '../base/channels.ts';
import { isSameSecret } from '../base/constant-time.ts';
import { UsherError, validationFailed } from '../base/errors.ts';
import { lazy } from '../base/lazy.ts';
import type { UnsubscribeTarget } from '../delivery/channels.ts';
import type { Database } from '../persistence/database.ts';
import { holdSwitchable, keepPreferences } from '../persistence/notifications/preferences.ts';
import { findSubscription, type Subscription } from '../persistence/notifications/unsubscribe.ts';

export type { Subscription } from '../persistence/notifications/unsubscribe.ts';

const PURPOSE = 'unsubscribe';
export const UNSUBSCRIBE_PATH = '/api/notifications/unsubscribe';

export interface UnsubscriptionsOptions {
  readonly database: Database;
  /** The service's secret key: 32 bytes for each purpose. */
  readonly secret: { derive(purpose: string): Promise<Buffer> };
  /** The public URL of this service; known once it listens. */
  readonly publicUrl: () => string;
}

/** PREFERENCE_LOCKED, with the data for a page in the layout of the mail. */
export class MailLocked extends UsherError {
  readonly subscription: Subscription;
  constructor(subscription: Subscription) {
    super('PREFERENCE_LOCKED', 'Mail of this type cannot be switched off.');
    this.subscription = subscription;
  }
}

export class Unsubscriptions {
  readonly #options: UnsubscriptionsOptions;
  /** Cached as a key object: from bytes, Node creates one for each link, which takes five times as long. */
  readonly #key: () => Promise<KeyObject>;

  constructor(options: UnsubscriptionsOptions) {
    this.#options = options;
    this.#key = lazy(async () => createSecretKey(await options.secret.derive(PURPOSE)));
  }

  /** The target stored with a mail. `link` signs it when the mail is sent. */
  target(person: number, type: number): UnsubscribeTarget {
    return { base: this.#options.publicUrl(), person, type };
  }

  /** Rejects with UNAVAILABLE where the key cannot be read. */
  async link({ base, person, type }: UnsubscribeTarget): Promise<string> {
    return `${base}${UNSUBSCRIBE_PATH}?token=${sign(await this.#key(), person, type)}`;
  }

  /**
   * The subscription that the token names. VALIDATION_FAILED for a token that this service did not sign, NOT_FOUND when the person or
   * the type no longer exists, PREFERENCE_LOCKED (as `MailLocked`) when users may no longer switch it.
   */
  async describe(token: string): Promise<Subscription> {
    const { person, type } = await this.#read(token);
    const found = await this.#options.database.read((tx) => findSubscription(tx, person, type));
    if (found === undefined) throw gone();
    if (!found.switchable) throw new MailLocked(found);
    return found;
  }

  /** Switches that mail off or on; idempotent. Rejects as `describe` does. */
  async switchMail(token: string, email: boolean): Promise<Subscription> {
    const { person, type } = await this.#read(token);
    const { result } = await this.#options.database.change(async (tx) => {
      // Locked, so that the type's switches cannot change before the write.
      const switchable = (await holdSwitchable(tx, [type])).get(type);
      const found = await findSubscription(tx, person, type);
      if (switchable === undefined || found === undefined) throw gone();
      if (!switchable) throw new MailLocked(found);
      await keepPreferences(tx, person, [{ notificationTypeId: type, ...perChannel(() => null), email }]);
      return { result: { ...found, email }, scopes: [] };
    });
    return result;
  }

  async #read(token: string): Promise<{ person: number; type: number }> {
    const [, person, type] = /^([1-9]\d{0,15})\.([1-9]\d{0,15})\.[A-Za-z0-9_-]{43}$/.exec(token) ?? [];
    if (person !== undefined && type !== undefined) {
      const expected = sign(await this.#key(), Number(person), Number(type));
      if (isSameSecret(expected, token)) return { person: Number(person), type: Number(type) };
    }
    throw validationFailed([{ path: 'token', message: 'is not a token of this service; use the link in the mail' }]);
  }
}

function sign(key: KeyObject, person: number, type: number): string {
  const named = `${person}.${type}`;
  return `${named}.${createHmac('sha256', key).update(named).digest('base64url')}`;
}

function gone(): UsherError {
  return new UsherError(
    'NOT_FOUND',
    'Nothing to unsubscribe from: the notification type or the user no longer exists.',
  );
}
