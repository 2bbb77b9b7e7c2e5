/** The identity provider as the keeper of names (specification, "Profile synchronization", step 1). */

import type { NameDirectory, Names } from '../directory/names.ts';
import { UsherError } from '../errors.ts';
import type { AdminApi } from './admin-api.ts';

export class IdpNames implements NameDirectory {
  readonly #api: AdminApi;

  constructor(api: AdminApi) {
    this.#api = api;
  }

  /** The provider takes all names at once: those that are not given are written as they are there. */
  async writeNames(email: string, names: Partial<Names>): Promise<void> {
    const user = await this.#api.findUser(email);
    if (user === null) throw new UsherError('IDP_REJECTED', 'The identity provider knows no user with this address.');
    await this.#api.setNames({
      id: user.id,
      givenName: names.firstName === undefined ? user.givenName : (names.firstName ?? ''),
      familyName: names.lastName === undefined ? user.familyName : (names.lastName ?? ''),
      displayName: names.displayName === undefined ? user.displayName : (names.displayName ?? ''),
    });
  }
}
