/** The send log of an application, and retries of failed deliveries (docs/reference/notifications.md#sends). */

import { administer, applicationOf, type By, editorOf, knownApplication } from '../administration/administer.ts';
import { AUTH_TYPE } from '../administration/panel.ts';
import { UsherError } from '../base/errors.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import { requeue } from '../delivery/queue.ts';
import type { Database } from '../persistence/database.ts';
import { findLogged, type LogQuery, type LogRow, listLog } from '../persistence/notifications/log.ts';
import { unknownReference } from './compose.ts';

/** The states of a notification (docs/reference/notifications.md#status). */
export const STATUSES = ['queued', 'sent', 'partial', 'failed', 'suppressed'] as const;

export type { LogRow } from '../persistence/notifications/log.ts';

export class SendLog {
  readonly #database: Database;
  readonly #ring: () => void;

  /** `ring` wakes the worker after the commit. */
  constructor(database: Database, ring: () => void) {
    this.#database = database;
    this.#ring = ring;
  }

  /** Newest first; NOT_FOUND for an unknown application. Empty for an unknown type or address. */
  list(app: string, query: LogQuery & PageQuery): Promise<Page<LogRow>> {
    return this.#database.read(async (tx) =>
      pageOf(await listLog(tx, await knownApplication(tx, app), oneMore(query)), query),
    );
  }

  /** One of them. NOT_FOUND for an unknown application, and for what another one sent. */
  read(app: string, id: number): Promise<LogRow> {
    return this.#database.read(async (tx) => sentBy(await findLogged(tx, await knownApplication(tx, app), id)));
  }

  /** Queues its failed deliveries again; has no effect without any. UNKNOWN_REFERENCE for a notification of `auth_idp`. */
  async retry(app: string, id: number, by: By): Promise<LogRow> {
    const about = { app, action: 'notification.retried', guard: editorOf(app) };
    const { result } = await administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const before = sentBy(await findLogged(tx, appId, id));
      // A former version accepted such sends: a caller may have chosen the text of a mail with the look of a password mail.
      if (before.type === AUTH_TYPE)
        throw unknownReference('id', `id names a notification of ${AUTH_TYPE}, which no send makes`);
      const { length: deliveries } = await requeue(tx, [id]);
      if (deliveries === 0) return { result: before, scopes: [] };
      audit({ subject: String(id), after: { deliveries } });
      return { result: (await findLogged(tx, appId, id)) ?? before, scopes: [] };
    });
    this.#ring();
    return result;
  }
}

function sentBy(found: LogRow | undefined): LogRow {
  if (found === undefined) throw new UsherError('NOT_FOUND', 'The application did not send this notification.');
  return found;
}
