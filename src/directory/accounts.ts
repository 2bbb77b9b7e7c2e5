/** The account at the identity provider, (`iss`, `sub`), that signs a person in (docs/reference/callers.md#accounts). */

import { UsherError } from '../base/errors.ts';
import {
  claimAccounts,
  holdSigningAccount,
  type NewAccount,
  replaceAccount,
  type Subject,
} from '../persistence/accounts.ts';
import { record } from '../persistence/audit.ts';
import type { Tx } from '../persistence/database.ts';

/** The owner of a token. */
export interface Account {
  /** In normal form. */
  readonly email: string;
  readonly issuer: string;
  readonly subject: string;
  /** The token's `iat`, whole seconds. */
  readonly issuedAt: number;
}

/**
 * Keeps the account as the one that signs the person in. A changed account is recorded in the audit, or refused with
 * IDENTITY_CONFLICT where accounts are bound.
 */
export async function bindAccount(
  tx: Tx,
  id: number,
  account: Account,
  bound: boolean,
  requestId: string,
): Promise<void> {
  const { email, issuer, subject } = account;
  const before = await holdSigningAccount(tx, id);
  if (before?.issuer === issuer && before.subject === subject) return;
  if (before === undefined) {
    await claimAccounts(tx, [newAccount(id, account)]);
    return;
  }
  if (bound) throw new IdentityConflict(before);
  await replaceAccount(tx, newAccount(id, account));
  await record(tx, {
    actor: `user:${email}`,
    action: 'user.subject_changed',
    subject: email,
    before: { issuer: before.issuer, subject: before.subject },
    after: { issuer, subject },
    requestId,
  });
}

/** The account as it is kept with a person. */
export function newAccount(personId: number, { issuer, subject, issuedAt }: Account): NewAccount {
  return { personId, issuer, subject, organization: null, mayRule: false, seenAt: new Date(issuedAt * 1000) };
}

/** Accounts are bound, and the address is bound to another one than the caller's. */
export class IdentityConflict extends UsherError {
  /** The stored account. */
  readonly kept: Subject;

  constructor({ issuer, subject }: Subject) {
    super(
      'IDENTITY_CONFLICT',
      'This address belongs to another account of the identity provider; a SuperAdmin can unbind it.',
    );
    this.kept = { issuer, subject };
  }
}
