/**
 * The users of the provider's list, by the person here whom each stands for. Several may have one address, one in each organization: each
 * is compared, and the address counts once. The person is active while one of them is, and has the names of the account that signs in.
 */

import type { KnownPerson } from '../persistence/provider/reconciliation.ts';
import { type Drift, driftOf } from './drift.ts';
import type { ProviderUser } from './user-list.ts';

interface Differing {
  readonly user: ProviderUser;
  readonly known: KnownPerson | undefined;
  readonly application: number | null;
}

export class Gathered {
  /** People whom the list has, by id. Numbers alone: the list may have a million. */
  readonly seen = new Set<number>();
  readonly #active = new Set<number>();
  readonly #unsure = new Set<number>();
  readonly #several = new Set<number>();
  readonly #differing = new Map<string, Differing[]>();
  users = 0;

  /** `user.email` is the person's address here. */
  add(user: ProviderUser, known: KnownPerson | undefined, application: number | null): void {
    this.users++;
    if (known !== undefined) {
      if (this.seen.has(known.id)) this.#several.add(known.id);
      this.seen.add(known.id);
      if (user.active === true) this.#active.add(known.id);
      if (user.active === null) this.#unsure.add(known.id);
    }
    if (driftOf(user, known, application).length === 0) return;
    const others = this.#differing.get(user.email);
    if (others === undefined) this.#differing.set(user.email, [{ user, known, application }]);
    else others.push({ user, known, application });
  }

  /** What differs once all are there. */
  drifts(): Drift[] {
    return [...this.#differing.values()].flatMap((all) => this.#driftsOf(all));
  }

  #driftsOf(all: readonly Differing[]): Drift[] {
    const [first] = all;
    if (first === undefined) return [];
    const { known } = first;
    if (known?.registered !== true) {
      // One record, by the user who is active, and of those by the account that signs in.
      const own = all.filter(({ user }) => user.id === known?.ownUserId);
      const chosen = [...own, ...all].find(({ user }) => user.active !== false) ?? first;
      return driftOf(chosen.user, known, chosen.application);
    }
    const active = this.#active.has(known.id) || (this.#unsure.has(known.id) ? null : false);
    // Of others only where no account signs in: they may be anybody's.
    const hasOwnNames = ({ user }: Differing) =>
      known.ownUserId === null ? !this.#several.has(known.id) : user.id === known.ownUserId;
    const drifts = all.flatMap((one) =>
      driftOf(one.user, known, one.application, { active, hasOwnNames: hasOwnNames(one) }),
    );
    const kinds = new Map(
      drifts.map((drift) => [`${drift.event} ${drift.event === 'user.created' ? drift.user?.orgId : ''}`, drift]),
    );
    return [...kinds.values()];
  }
}
