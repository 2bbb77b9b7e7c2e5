/** Who changed what, for those who may know. (Contract 5.) */

import { UsherError } from '../errors.ts';
import { type AuditFilter, type AuditRow, readAudit } from '../persistence/audit.ts';
import { findApplicationBirth } from '../persistence/catalog/applications.ts';
import type { Database } from '../persistence/database.ts';

export type { AuditFilter, AuditRow } from '../persistence/audit.ts';

export interface AuditPage {
  items: readonly AuditRow[];
  /** The id that the next page begins behind; null on the last page. */
  next: number | null;
}

interface PageQuery {
  limit: number;
  after: number | null;
}

export class AuditLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All records, the newest first. */
  read(filter: AuditFilter, page: PageQuery): Promise<AuditPage> {
    return this.#database.read(async (tx) => pageOf(await readAudit(tx, filter, oneMore(page)), page.limit));
  }

  /**
   * Those of one application. An application that was deleted and made again is another one: what happened to the old one is not
   * for the administrators of the new. NOT_FOUND when there is none.
   */
  ofApplication(app: string, filter: Omit<AuditFilter, 'appCode'>, page: PageQuery): Promise<AuditPage> {
    return this.#database.read(async (tx) => {
      const birth = await findApplicationBirth(tx, app);
      if (birth === undefined) throw new UsherError('NOT_FOUND', `There is no application ${app}.`);
      const from = filter.from !== undefined && filter.from > birth ? filter.from : birth;
      return pageOf(await readAudit(tx, { ...filter, appCode: app, from }, oneMore(page)), page.limit);
    });
  }
}

function oneMore({ limit, after }: PageQuery): PageQuery {
  return { limit: limit + 1, after };
}

function pageOf(rows: readonly AuditRow[], limit: number): AuditPage {
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}
