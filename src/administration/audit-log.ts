/** Who changed what, for those who may know. (docs/reference/administration.md#audit.) */

import { UsherError } from '../base/errors.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import { type AuditFilter, type AuditRow, readAudit } from '../persistence/audit.ts';
import { findApplicationBirth } from '../persistence/catalog/applications.ts';
import type { Database } from '../persistence/database.ts';

export type { AuditFilter, AuditRow } from '../persistence/audit.ts';

export class AuditLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All records, the newest first. */
  read(filter: AuditFilter, page: PageQuery): Promise<Page<AuditRow>> {
    return this.#database.read(async (tx) => pageOf(await readAudit(tx, filter, oneMore(page)), page));
  }

  /**
   * Those of one application. An application that was deleted and made again is another one: what happened to the old one is not
   * for the administrators of the new. NOT_FOUND when there is none.
   */
  ofApplication(app: string, filter: Omit<AuditFilter, 'appCode'>, page: PageQuery): Promise<Page<AuditRow>> {
    return this.#database.read(async (tx) => {
      const birth = await findApplicationBirth(tx, app);
      if (birth === undefined) throw new UsherError('NOT_FOUND', `There is no application ${app}.`);
      const from = filter.from !== undefined && filter.from > birth ? filter.from : birth;
      return pageOf(await readAudit(tx, { ...filter, appCode: app, from }, oneMore(page)), page);
    });
  }
}
