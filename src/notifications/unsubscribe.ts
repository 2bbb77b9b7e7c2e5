/**
 * Links that switch off one type's mail for one user, without a login (contract 6; RFC 8058). The token names the person and the
 * type by number, never by address, and is signed for this purpose alone. It does not expire: neither does the mail that holds it.
 */

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { isSameSecret } from '../constant-time.ts';
import type { UnsubscribeTarget } from '../delivery/queue.ts';
import { UsherError, validationFailed } from '../errors.ts';
import { onDemand } from '../on-demand.ts';
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
  /** Where this service is reached; known once it listens. */
  readonly publicUrl: () => string;
}

export class Unsubscriptions {
  readonly #options: UnsubscriptionsOptions;
  /** Kept as an object: of bytes node makes one anew for each link, which takes five times as long. */
  readonly #key: () => Promise<KeyObject>;

  constructor(options: UnsubscriptionsOptions) {
    this.#options = options;
    this.#key = onDemand(async () => createSecretKey(await options.secret.derive(PURPOSE)));
  }

  /** What is stored with a mail; `link` makes its link of it when it leaves. */
  target(person: number, type: number): UnsubscribeTarget {
    return { base: this.#options.publicUrl(), person, type };
  }

  /** Rejects with UNAVAILABLE where the key cannot be read. */
  async link({ base, person, type }: UnsubscribeTarget): Promise<string> {
    return `${base}${UNSUBSCRIBE_PATH}?token=${sign(await this.#key(), person, type)}`;
  }

  /** What the token would switch off. VALIDATION_FAILED for a token that was not made here; NOT_FOUND when the type is no more. */
  async describe(token: string): Promise<Subscription> {
    const { person, type } = await this.#read(token);
    const found = await this.#options.database.read((tx) => findSubscription(tx, person, type));
    if (found === undefined) throw gone();
    return found;
  }

  /** Switches it off; again is no error. PREFERENCE_LOCKED where users may no longer switch. */
  async unsubscribe(token: string): Promise<void> {
    const { person, type } = await this.#read(token);
    await this.#options.database.change(async (tx) => {
      const switchable = (await holdSwitchable(tx, [type])).get(type);
      if (switchable === undefined || (await findSubscription(tx, person, type)) === undefined) throw gone();
      if (!switchable) throw new UsherError('PREFERENCE_LOCKED', 'Mail of this type cannot be switched off.');
      await keepPreferences(tx, person, [{ notificationTypeId: type, email: false, push: null }]);
      return { result: null, scopes: [] };
    });
  }

  async #read(token: string): Promise<{ person: number; type: number }> {
    const [, person, type] = /^([1-9]\d{0,15})\.([1-9]\d{0,15})\.[A-Za-z0-9_-]{43}$/.exec(token) ?? [];
    if (person !== undefined && type !== undefined) {
      const expected = sign(await this.#key(), Number(person), Number(type));
      if (isSameSecret(expected, token)) return { person: Number(person), type: Number(type) };
    }
    throw validationFailed([{ path: 'token', message: 'is not one that this service made: use the link of the mail' }]);
  }
}

function sign(key: KeyObject, person: number, type: number): string {
  const named = `${person}.${type}`;
  return `${named}.${createHmac('sha256', key).update(named).digest('base64url')}`;
}

function gone(): UsherError {
  return new UsherError('NOT_FOUND', 'There is nothing to unsubscribe from any more.');
}
