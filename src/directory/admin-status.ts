/** What a signed-in user may administer, for the panel. (docs/reference/administration.md#admin-status.) */

import { type Reach, reachIn } from '../administration/reach.ts';
import type { Database } from '../persistence/database.ts';
import { readRolesEverywhere } from '../persistence/directory/users.ts';

export interface AdminStatus extends Reach {
  readonly email: string;
  /** Their roles in every application where they hold any. */
  readonly roles: readonly { appCode: string; roleCodes: readonly string[] }[];
}

export class AdminStatuses {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Consistent with one snapshot, in a fixed number of statements. */
  of(email: string): Promise<AdminStatus> {
    return this.#database.read(async (tx) => {
      const reach = await reachIn(tx, email);
      return { ...reach, email, roles: await readRolesEverywhere(tx, email) };
    });
  }
}
