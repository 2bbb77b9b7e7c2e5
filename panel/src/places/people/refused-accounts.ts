/** The accounts that came with an address and were refused, out of its audit records. */

import type { AuditRecord } from '../activity/changes.ts';

export interface RefusedAccount {
  readonly issuer: string;
  readonly subject: string;
  /** In the token; null where it named none. */
  readonly organization: string | null;
  readonly at: string;
}

/** Bound to another account, or of a person who rules and by no token that shows that it may. */
const ACTIONS: ReadonlySet<string> = new Set(['user.subject_bound.refused', 'user.subject_changed.refused']);

/** Each once, the newest first. */
export function refusedAccounts(records: readonly AuditRecord[]): readonly RefusedAccount[] {
  const found = new Map<string, RefusedAccount>();
  for (const { action, after, at } of records) {
    if (!ACTIONS.has(action) || typeof after !== 'object' || after === null) continue;
    const { issuer, subject, organization } = after as Readonly<Record<string, unknown>>;
    if (typeof issuer !== 'string' || typeof subject !== 'string') continue;
    const key = `${issuer}\n${subject}`;
    if (found.has(key)) continue;
    found.set(key, { issuer, subject, organization: typeof organization === 'string' ? organization : null, at });
  }
  return [...found.values()];
}
