/**
 * What every door that takes a bearer token asks before it lets a user in: whether the address is still the same account's
 * (contract 4). Where accounts are bound, the database is asked each time: a cache would let two accounts in after a
 * SuperAdmin has cleared the first. Where they are not, a change is only told in the audit, and a memo spares the question.
 */

import { LRUCache } from 'lru-cache';
import { record } from '../persistence/audit.ts';
import type { Database } from '../persistence/database.ts';
import { findProfile } from '../persistence/directory/profiles.ts';
import { findSubject, type Subject } from '../persistence/directory/subjects.ts';
import { type Account, bindAccount, identityConflict } from './accounts.ts';
import { present, type SignedIn, type TokenPolicy } from './presence.ts';

const MAX_KNOWN = 10_000;
/** How long a token's account is not looked up again where a change of it is only told. */
const KNOWN_MS = 5 * 60_000;

export class Subjects {
  readonly #database: Database;
  readonly #policy: TokenPolicy;
  /** By address: the account that was let in last, or that was last refused. */
  readonly #known = new LRUCache<string, Subject>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 1000 });

  constructor({ database, policy }: { database: Database; policy: TokenPolicy }) {
    this.#database = database;
    this.#policy = policy;
  }

  /**
   * For permission checks, which write nothing. Undefined, at no cost, where accounts are not bound; else a promise that rejects
   * with IDENTITY_CONFLICT for another account than the one that is kept.
   */
  refuseOther(caller: Account): Promise<void> | undefined {
    return this.#policy.bindSubject ? this.#refuseOther(caller) : undefined;
  }

  async #refuseOther(caller: Account): Promise<void> {
    const kept = await this.#database.read((tx) => findSubject(tx, caller.email));
    if (kept && !isSame(kept, caller)) throw identityConflict();
  }

  /**
   * For all else. Undefined where nothing needs to be looked up. Where accounts are bound, the first one to call is kept, with a
   * profile; IDENTITY_CONFLICT for another one.
   */
  admit(caller: SignedIn, requestId: string): Promise<void> | undefined {
    if (this.#policy.bindSubject) return this.#insist(caller, requestId);
    return this.#isKnown(caller) ? undefined : this.#notice(caller, requestId);
  }

  /** For routes whose own transaction settles the account: what was remembered of another one is no longer so. */
  noteOwner(caller: Account): void {
    if (this.#policy.bindSubject) return;
    if (!this.#isKnown(caller)) this.#known.delete(caller.email);
  }

  /** Whether every call is to be asked about its account, whatever is remembered. */
  get binding(): boolean {
    return this.#policy.bindSubject;
  }

  /** Whether nobody needs to look the account up now: it was let in a short while ago, or is asked about with each call. */
  isSettled(caller: Account): boolean {
    return this.#policy.bindSubject || this.#isKnown(caller);
  }

  /** For who has just found it to be the one that is kept, or made it so. */
  noteSettled(caller: Account): void {
    if (!this.#policy.bindSubject) this.#remember(caller);
  }

  async #notice(caller: SignedIn, requestId: string): Promise<void> {
    const kept = await this.#database.read((tx) => findSubject(tx, caller.email));
    if (kept && !isSame(kept, caller)) {
      await this.#database.change(async (tx) => {
        const profile = await findProfile(tx, caller.email);
        if (profile) await bindAccount(tx, profile.id, caller, false, requestId);
        return { result: null, scopes: [] };
      });
    }
    this.#remember(caller);
  }

  async #insist(caller: SignedIn, requestId: string): Promise<void> {
    const kept = await this.#database.read((tx) => findSubject(tx, caller.email));
    if (kept && isSame(kept, caller)) return;
    if (kept) {
      await this.#tellRefused(caller, kept, requestId);
      throw identityConflict();
    }
    await this.#database.change(async (tx) => {
      await present(tx, caller, this.#policy, requestId);
      return { result: null, scopes: [] };
    });
  }

  /** Once for each account in a while: whoever is refused may come again and again. */
  async #tellRefused(caller: Account, kept: Subject, requestId: string): Promise<void> {
    if (this.#isKnown(caller)) return;
    await this.#database.change(async (tx) => {
      const { email, issuer, subject } = caller;
      const named = { actor: `user:${email}`, action: 'user.subject_changed.refused', subject: email, requestId };
      await record(tx, { ...named, before: kept, after: { issuer, subject } });
      return { result: null, scopes: [] };
    });
    this.#remember(caller);
  }

  #isKnown(caller: Account): boolean {
    const known = this.#known.get(caller.email);
    return known !== undefined && isSame(known, caller);
  }

  #remember({ email, issuer, subject }: Account): void {
    this.#known.set(email, { issuer, subject });
  }
}

function isSame(kept: Subject, { issuer, subject }: Account): boolean {
  return kept.issuer === issuer && kept.subject === subject;
}
