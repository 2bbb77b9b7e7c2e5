/** "Did you mean": the application that an administrator most likely meant (docs/reference/errors.md#did-you-mean). */

import { UsherError } from '../base/errors.ts';
import { nearest, orMeant } from '../base/nearest.ts';
import { applicationCodes } from '../persistence/catalog/references.ts';
import type { Database } from '../persistence/database.ts';
import { sightIn } from './reach.ts';

export class Suggestions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The refusal of a request about `app` with the nearest code among the applications that the caller may see. It says the same of an
   * application that does not exist and of one that they may not see.
   */
  async forApplication(error: UsherError, email: string, app: string): Promise<UsherError> {
    const known = await this.#database.read(async (tx) => {
      const { applications } = await sightIn(tx, email, null);
      const codes = applications?.map(({ code }) => code) ?? (await applicationCodes(tx, null));
      return codes.includes(app) ? null : nearest(app, codes);
    });
    if (known === null) return error;
    const message = `${error.message.replace(/\.$/, '')}${orMeant(known)}`;
    return new UsherError(error.reason ?? error.code, message, { details: { ...error.details, known } });
  }
}
