/** A user's inbox (docs/reference/notifications.md#inbox). */

import { UsherError } from '../base/errors.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import type { Database } from '../persistence/database.ts';
import { countUnread, type InboxRow, listInbox, markAllRead, markRead } from '../persistence/notifications/inbox.ts';

export type { InboxRow } from '../persistence/notifications/inbox.ts';

export class Inbox {
  readonly #database: Database;
  readonly #changed: (emails: readonly string[]) => void;

  /** `changed` gets the addresses whose unread count changed, after the commit. */
  constructor(database: Database, changed: (emails: readonly string[]) => void) {
    this.#database = database;
    this.#changed = changed;
  }

  /** Newest first; empty for an unknown application. */
  async list(email: string, query: PageQuery & { unreadOnly: boolean; app: string | null }): Promise<Page<InboxRow>> {
    return pageOf(await this.#database.read((tx) => listInbox(tx, email, oneMore(query))), query);
  }

  unreadCount(email: string): Promise<number> {
    return this.#database.read((tx) => countUnread(tx, email));
  }

  /** Idempotent. NOT_FOUND for a notification outside this inbox. */
  async markRead(email: string, id: number): Promise<void> {
    const { result } = await this.#database.change(async (tx) => ({
      result: await markRead(tx, email, id),
      scopes: [],
    }));
    if (result === undefined) throw new UsherError('NOT_FOUND', 'Your inbox does not contain this notification.');
    if (result === 'read') this.#changed([email]);
  }

  /** Returns how many became read. `app` limits it to one application. */
  async markAllRead(email: string, app: string | null): Promise<number> {
    const { result } = await this.#database.change(async (tx) => ({
      result: await markAllRead(tx, email, app),
      scopes: [],
    }));
    if (result > 0) this.#changed([email]);
    return result;
  }
}
