/** The account at the identity provider, (`iss`, `sub`), that is stored with a user (docs/reference/callers.md#accounts). */

import { UsherError } from '../base/errors.ts';
import { record } from '../persistence/audit.ts';
import type { Tx } from '../persistence/database.ts';
import { claimSubject, replaceSubject, type Subject } from '../persistence/directory/subjects.ts';

/** The owner of a token. */
export interface Account {
  /** In normal form. */
  readonly email: string;
  readonly issuer: string;
  readonly subject: string;
}

/**
 * Stores the account with the person's profile. A changed account is recorded in the audit, or refused with
 * IDENTITY_CONFLICT where accounts are bound.
 */
export async function bindAccount(
  tx: Tx,
  id: number,
  { email, issuer, subject }: Account,
  bound: boolean,
  requestId: string,
): Promise<void> {
  if (await claimSubject(tx, id, { issuer, subject })) return;
  const before = await replaceSubject(tx, id, { issuer, subject });
  if (before === undefined) return;
  // The replacement is rolled back with everything else.
  if (bound) throw new IdentityConflict(before);
  await record(tx, {
    actor: `user:${email}`,
    action: 'user.subject_changed',
    subject: email,
    before,
    after: { issuer, subject },
    requestId,
  });
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
