/**
 * The account at the identity provider that signs a person in (docs/reference/callers.md#accounts). An address that rules is signed in only
 * by an account that was named, or that showed by its organization that it may (docs/reference/callers.md#several-organizations).
 */

import { UsherError } from '../base/errors.ts';
import { record } from '../persistence/audit.ts';
import type { Tx } from '../persistence/database.ts';
import {
  claimAccounts,
  holdSigningAccount,
  isRuling,
  letRule,
  type NewAccount,
  replaceAccount,
  type Subject,
} from '../persistence/people/accounts.ts';
import { isOnlyOrganization } from '../persistence/people/token-organizations.ts';

/** The owner of a token. */
export interface Account {
  /** In normal form. */
  readonly email: string;
  readonly issuer: string;
  readonly subject: string;
  /** In the token (`auth.organizationClaim`); null where it names none. */
  readonly organization: string | null;
  /** The token's `iat`, whole seconds. */
  readonly issuedAt: number;
}

/** How accounts are bound, where they are (`auth.bindSubject`). */
export interface Binding {
  /** `auth.adminOrganizations`; empty: `first` decides. */
  readonly adminOrganizations: ReadonlySet<string>;
  /** `auth.bindFirst`; null: while at most one organization is known. */
  readonly first: boolean | null;
  /** The organizations that the configuration names (`idp.orgToApp`). */
  readonly configured: readonly string[];
}

/**
 * Keeps the account as the one that signs the person in. A changed account is recorded in the audit, or refused with
 * IDENTITY_CONFLICT where accounts are bound. So is, there, an account that does not show that it may sign in an address that rules.
 * `binding` null: accounts are not bound.
 */
export async function bindAccount(
  tx: Tx,
  id: number,
  account: Account,
  binding: Binding | null,
  requestId: string,
): Promise<void> {
  const { email, issuer, subject, organization } = account;
  const before = await holdSigningAccount(tx, id);
  if (before === undefined) {
    const claimed = await claimFirst(tx, [{ id, account }], binding);
    if (!claimed.has(id)) throw new IdentityConflict(null);
    return;
  }
  if (before.issuer === issuer && before.subject === subject) {
    if (binding === null || before.mayRule || !(await isRuling(tx, id))) return;
    if (!(await mayRule(tx, organization, binding))) throw new IdentityConflict(null);
    await letRule(tx, id, organization);
    return;
  }
  if (binding !== null) throw new IdentityConflict(before);
  await replaceAccount(tx, newAccount(id, account, false));
  await record(tx, {
    actor: `user:${email}`,
    action: 'user.subject_changed',
    subject: email,
    before: { issuer: before.issuer, subject: before.subject },
    after: { issuer, subject },
    requestId,
  });
}

/**
 * Makes the accounts of tokens those that sign their people in, where these have none; returns the accounts that do now, by person. Where
 * accounts are bound a person who rules is left without one unless the token shows that it may be. The people's rows must be locked.
 */
export async function claimFirst(
  tx: Tx,
  claims: readonly { readonly id: number; readonly account: Account }[],
  binding: Binding | null,
): Promise<Map<number, Subject>> {
  const organizations = new Map<string | null, boolean>();
  for (const { account } of claims) {
    const { organization } = account;
    if (organizations.has(organization)) continue;
    organizations.set(organization, binding !== null && (await mayRule(tx, organization, binding)));
  }
  const accounts = claims.map(({ id, account }) =>
    newAccount(id, account, organizations.get(account.organization) === true),
  );
  return await claimAccounts(tx, accounts, binding !== null);
}

/** Whether a token of that organization may sign in an address that rules, which no account was named for. */
async function mayRule(tx: Tx, organization: string | null, binding: Binding): Promise<boolean> {
  return mayRuleAnyway(organization, binding) ?? (await isOnlyOrganization(tx, organization, binding.configured));
}

/** The same where the configuration alone says so; null where the organizations that are known decide. */
export function mayRuleAnyway(organization: string | null, { adminOrganizations, first }: Binding): boolean | null {
  if (adminOrganizations.size > 0) return organization !== null && adminOrganizations.has(organization);
  return first;
}

function newAccount(
  personId: number,
  { issuer, subject, organization, issuedAt }: Account,
  isAllowed: boolean,
): NewAccount {
  return { personId, issuer, subject, organization, mayRule: isAllowed, seenAt: new Date(issuedAt * 1000) };
}

const NAMING = 'a SuperAdmin names the account that it belongs to (PUT /api/users/EMAIL/account)';

/** Accounts are bound, and the address is not the caller's to use. */
export class IdentityConflict extends UsherError {
  /** The account that the address is bound to; null where it rules and has none yet. */
  readonly kept: Subject | null;

  constructor(kept: Subject | null) {
    super(
      'IDENTITY_CONFLICT',
      kept === null
        ? `This address has administrative rights, and the token does not show that it is its owner's: ${NAMING}.`
        : 'This address belongs to another account of the identity provider; a SuperAdmin can unbind it.',
    );
    this.kept = kept === null ? null : { issuer: kept.issuer, subject: kept.subject };
  }
}
