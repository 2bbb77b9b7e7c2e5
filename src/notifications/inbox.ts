/** A user's inbox. (docs/reference/notifications.md#inbox.) */

import { UsherError } from '../base/errors.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import type { Database } from '../persistence/database.ts';
import { countUnread, type InboxRow, listInbox, markAllRead, markRead } from '../persistence/notifications/inbox.ts';

export type { InboxRow } from '../persistence/notifications/inbox.ts';

export class Inbox {
  readonly #database: Database;
  readonly #changed: (emails: readonly string[]) => void;

  /** `changed` is told whose unread count is another, after the commit. */
  constructor(database: Database, changed: (emails: readonly string[]) => void) {
    this.#database = database;
    this.#changed = changed;
  }

  /** Newest first. An application that does not exist has none. */
  async list(email: string, asked: PageQuery & { unreadOnly: boolean; app: string | null }): Promise<Page<InboxRow>> {
    return pageOf(await this.#database.read((tx) => listInbox(tx, email, oneMore(asked))), asked);
  }

  unreadCount(email: string): Promise<number> {
    return this.#database.read((tx) => countUnread(tx, email));
  }

  /** A read one stays as it is. NOT_FOUND for one that is not in this inbox. */
  async markRead(email: string, id: number): Promise<void> {
    const { result } = await this.#database.change(async (tx) => ({
      result: await markRead(tx, email, id),
      scopes: [],
    }));
    if (result === undefined) throw new UsherError('NOT_FOUND', 'Your inbox does not contain this notification.');
    if (result === 'read') this.#changed([email]);
  }

  /** How many became read; of one application where `app` names one. */
  async markAllRead(email: string, app: string | null): Promise<number> {
    const { result } = await this.#database.change(async (tx) => ({
      result: await markAllRead(tx, email, app),
      scopes: [],
    }));
    if (result > 0) this.#changed([email]);
    return result;
  }
}
