/** The notification preferences of users (docs/reference/notifications.md#preferences). */

import { knownApplication } from '../administration/administer.ts';
import { refuseImmutable, type Sent } from '../administration/records.ts';
import { certain } from '../base/certain.ts';
import { type ChannelName, perChannel } from '../base/channels.ts';
import { UsherError } from '../base/errors.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  holdSwitchable,
  keepPreferences,
  listPreferences,
  type PreferenceRow,
  preferencesOf,
} from '../persistence/notifications/preferences.ts';
import { ensurePeople } from '../persistence/people/people.ts';

export type { PreferenceRow } from '../persistence/notifications/preferences.ts';

/** A change of the switches of one type. */
export interface SwitchUpdate extends Sent<Record<ChannelName, boolean>> {
  readonly notificationTypeId: number;
  /** Accepted if it is the type's own, so that clients can send back what they read. */
  readonly code?: string | undefined;
}

export class Preferences {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Every type of the application with the user's switches, by code; NOT_FOUND for an unknown application. */
  list(email: string, app: string): Promise<PreferenceRow[]> {
    return this.#database.read(async (tx) => await listPreferences(tx, await knownApplication(tx, app), email));
  }

  /**
   * Changes the given switches of one type. NOT_FOUND for an unknown type, PREFERENCE_LOCKED when users may not switch it,
   * IMMUTABLE_FIELD for a changed code.
   */
  async change(email: string, update: SwitchUpdate): Promise<PreferenceRow> {
    const [changed] = await this.#keep(
      email,
      [update],
      () => new UsherError('NOT_FOUND', 'Unknown notification type.'),
    );
    return certain(changed);
  }

  /** All or nothing, each type at most once; UNKNOWN_REFERENCE for an unknown type. Returns the preferences in the order of `updates`. */
  changeAll(email: string, updates: readonly SwitchUpdate[]): Promise<PreferenceRow[]> {
    return this.#keep(email, updates, (index) => {
      const path = `updates.${index}.notificationTypeId`;
      return new UsherError('UNKNOWN_REFERENCE', `${path}: unknown notification type.`, { details: { path } });
    });
  }

  async #keep(
    email: string,
    updates: readonly SwitchUpdate[],
    unknown: (index: number) => UsherError,
  ): Promise<PreferenceRow[]> {
    const ids = updates.map(({ notificationTypeId }) => notificationTypeId);
    const { result } = await this.#database.change(async (tx) => {
      await refuseLocked(tx, ids, unknown);
      const person = certain((await ensurePeople(tx, [email])).get(email));
      const changes = updates.map((update) => ({
        notificationTypeId: update.notificationTypeId,
        ...perChannel((name) => update[name] ?? null),
      }));
      await keepPreferences(tx, person, changes);
      const after = await preferencesOf(tx, email, ids);
      for (const { notificationTypeId: id, code } of updates) refuseImmutable('code', after.get(id)?.code ?? '', code);
      return { result: ids.map((id) => certain(after.get(id))), scopes: [] };
    });
    return result;
  }
}

async function refuseLocked(tx: Tx, ids: readonly number[], unknown: (index: number) => UsherError): Promise<void> {
  const switchable = await holdSwitchable(tx, ids);
  ids.forEach((id, index) => {
    if (!switchable.has(id)) throw unknown(index);
  });
  if (ids.every((id) => switchable.get(id))) return;
  throw new UsherError('PREFERENCE_LOCKED', 'Users cannot switch notifications of this type.');
}
