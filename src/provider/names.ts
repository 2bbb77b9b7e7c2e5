/** The identity provider as the owner of names (docs/reference/people.md#names, step 1). */

import { UsherError } from '../base/errors.ts';
import type { NameDirectory, Names, NameTurn } from '../directory/names.ts';
import type { AdminApi, IdpUser } from './admin-api.ts';
import type { ProviderLocks } from './administration.ts';

type Owner = Parameters<NameDirectory['writeNames']>[0];

/** Longer than a call may take to begin its write (10 s), plus its three requests with a second try each (4 s a try). */
const LEASE_S = 30;

export class IdpNames implements NameDirectory {
  readonly #api: AdminApi;
  readonly #locks: ProviderLocks;

  readonly #issuer: string | null;

  /** `issuer`: of the provider's own tokens, whose accounts are its users. */
  constructor(api: AdminApi, locks: ProviderLocks, issuer: string | null) {
    this.#api = api;
    this.#locks = locks;
    this.#issuer = issuer;
  }

  inTurn<T>(person: number, signal: AbortSignal, work: (turn: NameTurn) => Promise<T>): Promise<T> {
    const hold = { signal, leaseS: LEASE_S };
    return this.#locks.hold(`names:${person}`, ({ giveBack }) => work({ end: giveBack }), hold);
  }

  /** The provider replaces all names at once: those not given are written back unchanged. */
  async writeNames(account: Owner, names: Partial<Names>): Promise<void> {
    const user = await this.#userOf(account);
    if (user === null) throw new UsherError('IDP_REJECTED', 'The identity provider has no user with this address.');
    await this.#api.setNames({
      id: user.id,
      givenName: names.firstName === undefined ? user.givenName : (names.firstName ?? ''),
      familyName: names.lastName === undefined ? user.familyName : (names.lastName ?? ''),
      displayName: names.displayName === undefined ? user.displayName : (names.displayName ?? ''),
    });
  }

  /** By the account first: several users may have one address. */
  async #userOf({ email, issuer, subject }: Owner): Promise<IdpUser | null> {
    const own = issuer === this.#issuer ? await this.#api.user(subject) : null;
    return own ?? (await this.#api.findUser(email));
  }
}
