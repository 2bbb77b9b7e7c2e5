/** Audit records, for the people who may read them. (docs/reference/administration.md#audit.) */

import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import { type AuditFilter, type AuditRow, readAudit } from '../persistence/audit.ts';
import { findApplicationBirth } from '../persistence/catalog/applications.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { unknownApplication } from './records.ts';

export type { AuditFilter, AuditRow } from '../persistence/audit.ts';

export class AuditLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All records, the newest first. With a text a page may be short. */
  read(filter: AuditFilter, page: PageQuery): Promise<Page<AuditRow>> {
    return this.#database.read((tx) => pageIn(tx, filter, page));
  }

  /**
   * The records of one application. An application that was deleted and created again is a new one: the old one's history is not
   * for the administrators of the new one. NOT_FOUND for an unknown one.
   */
  ofApplication(app: string, filter: Omit<AuditFilter, 'appCode'>, page: PageQuery): Promise<Page<AuditRow>> {
    return this.#database.read(async (tx) => {
      const birth = await findApplicationBirth(tx, app);
      if (birth === undefined) throw unknownApplication(app);
      const from = filter.from !== undefined && filter.from > birth ? filter.from : birth;
      return await pageIn(tx, { ...filter, appCode: app, from }, page);
    });
  }
}

async function pageIn(tx: Tx, filter: AuditFilter, page: PageQuery): Promise<Page<AuditRow>> {
  const { rows, behind } = await readAudit(tx, filter, oneMore(page));
  return pageOf(rows, page, behind);
}
