/** Ensures that signed-in users have a profile as new as their token (docs/reference/people.md#profiles). */

import { isStorableUrl } from '../base/grammar.ts';
import { languageCodes } from '../base/language-tags.ts';
import type { Tx } from '../persistence/database.ts';
import {
  applyNames,
  findProfile,
  insertProfiles,
  type Names,
  nameBits,
  type ProfileRow,
} from '../persistence/directory/profiles.ts';
import { type Account, type Binding, bindAccount, claimFirst } from './accounts.ts';
import { storableNames } from './names.ts';

/** A signed-in user, as the bearer token vouches for them. */
export interface SignedIn extends Account {
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly name: string | null;
  readonly picture: string | null;
  /** As the provider writes it; for a new profile alone. */
  readonly locale: string | null;
}

/** The part of the configuration that concerns tokens. */
export interface TokenPolicy {
  /** Null where accounts are not bound. */
  readonly binding: Binding | null;
  /** Whether `http:` may be stored: outside production. */
  readonly allowHttp: boolean;
  /** Whether names changed here take precedence over tokens: true without a provider to write them to. */
  readonly ownNames: boolean;
}

/**
 * The profile of a signed-in user, within a write: created when missing, brought up to date when the token is newer, with the
 * account bound to it. IDENTITY_CONFLICT when accounts are bound and another one is stored.
 */
export async function present(tx: Tx, caller: SignedIn, policy: TokenPolicy, requestId: string): Promise<ProfileRow> {
  const { email } = caller;
  const found = (await findProfile(tx, email)) ?? (await makeProfiles(tx, [caller], policy)).get(email);
  if (found === undefined) return await present(tx, caller, policy, requestId);
  return isCurrent(found, caller, policy) ? found : await settle(tx, found.id, caller, policy, requestId);
}

/**
 * Creates the profiles of people who had none a moment ago, by distinct address, with the account that signs them in: the token's, unless
 * the address has one already. A person who got a profile meanwhile is left out: call `present` for them.
 */
export async function makeProfiles(
  tx: Tx,
  callers: readonly SignedIn[],
  policy: TokenPolicy,
): Promise<Map<string, ProfileRow>> {
  const profiles = callers.map((caller) => {
    const { email, picture, locale } = caller;
    const storable = picture !== null && isStorableUrl(picture, policy.allowHttp);
    const avatar = storable ? picture : null;
    return {
      email,
      names: namesOf(caller),
      at: issuedAt(caller),
      picture: avatar,
      languages: locale === null ? [] : languageCodes(locale),
    };
  });
  const made = await insertProfiles(tx, profiles);
  const claims = callers.flatMap((account) => {
    const profile = made.get(account.email);
    return profile === undefined ? [] : [{ id: profile.id, account }];
  });
  const accounts = await claimFirst(tx, claims, policy.binding);
  return new Map([...made].map(([email, profile]) => [email, { ...profile, ...accounts.get(profile.id) }]));
}

async function settle(
  tx: Tx,
  id: number,
  caller: SignedIn,
  policy: TokenPolicy,
  requestId: string,
): Promise<ProfileRow> {
  await bindAccount(tx, id, caller, policy.binding, requestId);
  const names = namesOf(caller);
  const own = policy.ownNames ? 'respect' : undefined;
  await applyNames(tx, id, { names, at: issuedAt(caller), rule: 'laterSecond', own });
  return await read(tx, caller.email);
}

async function read(tx: Tx, email: string): Promise<ProfileRow> {
  const profile = await findProfile(tx, email);
  if (profile === undefined) throw new Error('profile vanished within its transaction');
  return profile;
}

/** The fields of a profile that a token may renew. */
export type TokenFields = Pick<ProfileRow, 'issuer' | 'subject' | 'namesChangedAt' | 'namesKept'>;

/** Whether the token has nothing new for the profile, so that no write is needed. */
export function isCurrent(profile: TokenFields, caller: SignedIn, policy: Pick<TokenPolicy, 'ownNames'>): boolean {
  if (profile.issuer !== caller.issuer || profile.subject !== caller.subject) return false;
  const known = profile.namesChangedAt;
  const newer = known === null || caller.issuedAt > Math.floor(known.getTime() / 1000);
  if (!newer) return true;
  const kept = policy.ownNames ? profile.namesKept : 0;
  return (nameBits(namesOf(caller)) & ~kept) === 0;
}

function namesOf({ givenName, familyName, name }: SignedIn): Partial<Names> {
  return storableNames({ firstName: givenName, lastName: familyName, displayName: name });
}

/** The names in the token, as bits. */
export function namesBrought(caller: SignedIn): number {
  return nameBits(namesOf(caller));
}

function issuedAt(caller: SignedIn): Date {
  return new Date(caller.issuedAt * 1000);
}
