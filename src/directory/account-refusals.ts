/**
 * Audit records of calls that were refused because another account is bound to the address, or none may be bound to it by this token. A
 * refusal is recorded once in five minutes for each address, bound account and refused account, in each instance: a client that
 * retries in a loop must not fill the audit.
 */

import { LRUCache } from 'lru-cache';
import { record } from '../persistence/audit.ts';
import type { Database } from '../persistence/database.ts';
import type { Subject } from '../persistence/people/accounts.ts';
import { type Account, IdentityConflict } from './accounts.ts';

const MAX_REMEMBERED = 10_000;
const QUIET_MS = 5 * 60_000;

export class AccountRefusals {
  readonly #database: Database;
  readonly #recorded = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: QUIET_MS, ttlResolution: 1000 });

  constructor(database: Database) {
    this.#database = database;
  }

  /** Runs `work`. Records an account refusal in a transaction of its own, because the work's transaction is rolled back. */
  async watch<T>(caller: Account, requestId: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof IdentityConflict) await this.#record(caller, error.kept, requestId);
      throw error;
    }
  }

  async #record(caller: Account, kept: Subject | null, requestId: string): Promise<void> {
    const { email, issuer, subject, organization } = caller;
    const key = JSON.stringify([email, kept?.issuer, kept?.subject, issuer, subject]);
    if (this.#recorded.has(key)) return;
    this.#recorded.set(key, true);
    try {
      await this.#database.change(async (tx) => {
        await record(tx, {
          actor: `user:${email}`,
          action: kept === null ? 'user.subject_bound.refused' : 'user.subject_changed.refused',
          subject: email,
          before: kept,
          after: { issuer, subject, ...(kept === null ? { organization } : {}) },
          requestId,
        });
        return { result: null, scopes: [] };
      });
    } catch (error) {
      // Let the next refusal be recorded in its place.
      this.#recorded.delete(key);
      throw error;
    }
  }
}
