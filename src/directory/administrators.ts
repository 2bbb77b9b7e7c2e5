/** Whether a person administers any application: the guard of lists across applications needs this beside the engine. */

import type { Database } from '../persistence/database.ts';
import { isAppAdmin } from '../persistence/directory/administrators.ts';

export class Administrators {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether the address is an AppAdmin of any application; read afresh each time. */
  isAppAdmin(email: string): Promise<boolean> {
    return this.#database.read((tx) => isAppAdmin(tx, email));
  }
}
