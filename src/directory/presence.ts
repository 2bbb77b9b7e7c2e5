/** Whoever is signed in has a profile, and it is as new as the token (specification, "Profile synchronization"; contract 4). */

import { isStorableUrl } from '../grammar.ts';
import type { Tx } from '../persistence/database.ts';
import {
  applyNames,
  ensureProfile,
  findProfile,
  type Names,
  type ProfileRow,
} from '../persistence/directory/profiles.ts';
import { bindAccount } from './accounts.ts';
import { storableNames } from './names.ts';

/** A signed-in user, as a bearer token vouches for. */
export interface SignedIn {
  /** In normal form. */
  readonly email: string;
  readonly issuer: string;
  readonly subject: string;
  /** The token's `iat`, whole seconds. */
  readonly issuedAt: number;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly name: string | null;
  readonly picture: string | null;
}

/** What decides about tokens, of the configuration. */
export interface TokenPolicy {
  readonly bindSubject: boolean;
  /** Whether `http:` may be stored: outside production. */
  readonly allowHttp: boolean;
}

/**
 * The profile of who is signed in, within a write: made when there is none, brought up to date when the token is newer, the
 * account bound to it. IDENTITY_CONFLICT when accounts are bound and another one is.
 */
export async function present(tx: Tx, caller: SignedIn, policy: TokenPolicy, requestId: string): Promise<ProfileRow> {
  const found = await findProfile(tx, caller.email);
  if (found !== undefined && isCurrent(found, caller)) return found;
  const id = found?.id ?? (await make(tx, caller, policy));
  await bindAccount(tx, id, caller, policy.bindSubject, requestId);
  const names = namesOf(caller);
  if (Object.keys(names).length > 0) await applyNames(tx, id, names, issuedAt(caller), 'laterSecond');
  const settled = await findProfile(tx, caller.email);
  if (settled === undefined) throw new Error('a profile that was there is gone');
  return settled;
}

/** Whether the token says nothing that the profile does not hold: then nothing needs to be written. */
export function isCurrent(profile: ProfileRow, caller: SignedIn): boolean {
  if (profile.issuer !== caller.issuer || profile.subject !== caller.subject) return false;
  const known = profile.namesChangedAt;
  const newer = known === null || caller.issuedAt > Math.floor(known.getTime() / 1000);
  return !newer || Object.keys(namesOf(caller)).length === 0;
}

async function make(tx: Tx, caller: SignedIn, { allowHttp }: TokenPolicy): Promise<number> {
  const { email, issuer, subject, picture } = caller;
  const { id } = await ensureProfile(tx, {
    email,
    names: namesOf(caller),
    at: issuedAt(caller),
    picture: picture !== null && isStorableUrl(picture, allowHttp) ? picture : null,
    issuer,
    subject,
  });
  return id;
}

function namesOf({ givenName, familyName, name }: SignedIn): Partial<Names> {
  return storableNames({ firstName: givenName, lastName: familyName, displayName: name });
}

function issuedAt(caller: SignedIn): Date {
  return new Date(caller.issuedAt * 1000);
}
