/**
 * People's own records: made on first access, kept in step with the identity provider, changed by their owners.
 * (Specification, "User profile", "Profile synchronization"; contract 4, 5.)
 */

import { UsherError } from '../errors.ts';
import { isStorableUrl } from '../grammar.ts';
import { record } from '../persistence/audit.ts';
import type { Tx } from '../persistence/database.ts';
import {
  applyNames,
  ensureProfile,
  findProfile,
  type Names,
  type ProfileRow,
} from '../persistence/directory/profiles.ts';
import { claimSubject, replaceSubject } from '../persistence/directory/subjects.ts';
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
  await bind(tx, id, caller, policy, requestId);
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

/** Another account for a known address is told in the audit, or refused where accounts are bound (contract 4). */
async function bind(tx: Tx, id: number, caller: SignedIn, policy: TokenPolicy, requestId: string): Promise<void> {
  const { issuer, subject } = caller;
  if (await claimSubject(tx, id, { issuer, subject })) return;
  const before = await replaceSubject(tx, id, { issuer, subject });
  if (before === undefined) return;
  // What was replaced is rolled back with all else.
  if (policy.bindSubject) throw identityConflict();
  await record(tx, {
    actor: `user:${caller.email}`,
    action: 'user.subject_changed',
    subject: caller.email,
    before,
    after: { issuer, subject },
    requestId,
  });
}

export function identityConflict(): UsherError {
  return new UsherError(
    'IDENTITY_CONFLICT',
    'This address belongs to another account of the identity provider; a SuperAdmin can clear that.',
  );
}

function namesOf({ givenName, familyName, name }: SignedIn): Partial<Names> {
  return storableNames({ firstName: givenName, lastName: familyName, displayName: name });
}

function issuedAt(caller: SignedIn): Date {
  return new Date(caller.issuedAt * 1000);
}
