/** What the identity provider says of a person against what is known here, as the events that must have been lost on the way. Pure. */

import { storableNames } from '../directory/names.ts';
import type { KnownPerson } from '../persistence/provider/reconciliation.ts';
import type { LifecycleEvent } from './lifecycle.ts';
import type { ProviderUser } from './user-list.ts';

/** A person about whom an event was lost. */
export interface Drift {
  readonly event: LifecycleEvent;
  readonly email: string;
  /** Null: the provider's list lacks the address. */
  readonly user: ProviderUser | null;
  /** Whether it makes somebody inactive who is active here. */
  readonly deactivates: boolean;
}

/** What holds for the address where several users have it. */
interface Merged {
  /** Of all of them: active while one is. */
  readonly active: boolean | null;
  /** Whether this one's names are the person's. */
  readonly hasOwnNames: boolean;
}

/** `application`: that of the user's organization; null where it has none. */
export function driftOf(
  user: ProviderUser,
  known: KnownPerson | undefined,
  application: number | null,
  merged: Merged = { active: user.active, hasOwnNames: true },
): Drift[] {
  const { email } = user;
  const lost = (event: LifecycleEvent): Drift => {
    return { event, email, user, deactivates: event === 'user.deactivated' && known?.active === true };
  };
  if (known?.registered !== true) return [lost(user.active === false ? 'user.deactivated' : 'user.created')];
  const { active, hasOwnNames } = merged;
  const switched = active !== null && active !== known.active;
  const isNewcomer = user.active === true && application !== null && !known.applications.includes(application);
  return [
    ...(switched ? [lost(active ? 'user.reactivated' : 'user.deactivated')] : []),
    ...(hasOwnNames && isRenamed(user, known) ? [lost('user.updated')] : []),
    // Without making or waking anybody, it adds the preferences.
    ...(isNewcomer ? [lost('user.created')] : []),
  ];
}

/** Of undated names nobody knows whether they are the newer ones. */
function isRenamed({ names, changedAt }: ProviderUser, known: KnownPerson): boolean {
  if (changedAt === null || (known.namesChangedAt !== null && known.namesChangedAt > changedAt)) return false;
  return Object.entries(storableNames(names)).some(([name, value]) => known[name as keyof typeof names] !== value);
}
