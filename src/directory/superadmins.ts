/** The people who are allowed everything. (docs/reference/callers.md#superadmins.) */

import { administer, type By, superAdmin } from '../administration/administer.ts';
import { UsherError } from '../base/errors.ts';
import type { Committed, Database } from '../persistence/database.ts';
import {
  addSuperadmin,
  findSuperadmin,
  listSuperadmins,
  removeSuperadmin,
  type SuperadminRow,
} from '../persistence/people/superadmins.ts';

export type { SuperadminRow } from '../persistence/people/superadmins.ts';

const GUARD = superAdmin('add or remove SuperAdmins');

export class Superadmins {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** By e-mail. */
  list(): Promise<SuperadminRow[]> {
    return this.#database.read(listSuperadmins);
  }

  /** `made` is false when they already are one: then nothing changes. */
  add(email: string, by: By): Promise<Committed<{ made: boolean; superadmin: SuperadminRow }>> {
    const about = { app: null, action: 'superadmin.added', guard: GUARD, subject: email };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const { result: made, scopes } = await addSuperadmin(tx, email);
      if (made) audit({ subject: email });
      const superadmin = await findSuperadmin(tx, email);
      // Another transaction has removed them between the two statements.
      if (superadmin === undefined) throw new UsherError('UNAVAILABLE', `${email} was removed meanwhile; try again.`);
      return { result: { made, superadmin }, scopes };
    });
  }

  /** NOT_FOUND for a person who is not one, LAST_SUPERADMIN when no active one would be left. */
  remove(email: string, by: By): Promise<Committed<null>> {
    const about = { app: null, action: 'superadmin.removed', guard: GUARD, subject: email };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const { result: removed, scopes } = await removeSuperadmin(tx, email);
      if (!removed) throw new UsherError('NOT_FOUND', `${email} is not a SuperAdmin.`);
      audit({ subject: email });
      return { result: null, scopes };
    });
  }
}
