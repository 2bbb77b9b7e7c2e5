/**
 * Admits users at every listener that takes bearer tokens: the person has a profile as new as the token,
 * and the address still belongs to the same account. Where accounts are bound, every call reads the database: a cache would let
 * two accounts in after a SuperAdmin has unbound the first. Where they are not, a change is only recorded in the audit, and a
 * cache avoids the read.
 */

import { LRUCache } from 'lru-cache';
import type { Logger } from '../base/telemetry.ts';
import type { Subject } from '../persistence/accounts.ts';
import type { Database } from '../persistence/database.ts';
import { findAccount, type KeptAccount } from '../persistence/directory/subjects.ts';
import type { AccountRefusals } from './account-refusals.ts';
import { type Account, bindAccount, IdentityConflict } from './accounts.ts';
import { isCurrent, present, type SignedIn, type TokenPolicy } from './presence.ts';
import type { WorkQueue } from './work-queue.ts';

const MAX_KNOWN = 10_000;
/** How long a token's account is not read again where a change is only recorded. */
const KNOWN_MS = 5 * 60_000;
/** The same after a failed read. */
const FAILED_MS = 30_000;

interface Known extends Subject {
  /** The `iat` of the admitted token: a newer one may have newer names. */
  readonly issuedAt: number;
}

interface SubjectsOptions {
  database: Database;
  policy: TokenPolicy;
  turns: WorkQueue;
  refusals: AccountRefusals;
  log: Pick<Logger, 'warn'>;
}

export class Subjects {
  readonly #options: SubjectsOptions;
  readonly #policy: TokenPolicy;
  /** By address: the account admitted last. Empty where accounts are bound. */
  readonly #known = new LRUCache<string, Known>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 1000 });
  /** By address: the account of the last check, which creates no profile. */
  readonly #checked = new LRUCache<string, Subject>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 1000 });

  constructor(options: SubjectsOptions) {
    this.#options = options;
    this.#policy = options.policy;
  }

  /**
   * For permission checks, which create no profile. Where accounts are bound, a promise that rejects with IDENTITY_CONFLICT for
   * another account than the stored one. Otherwise undefined: a changed account is recorded after the answer, because a check must
   * not wait for the database.
   */
  refuseOther(caller: Account, requestId: string): Promise<void> | undefined {
    if (this.#policy.bindSubject) return this.#refuseOther(caller, requestId);
    this.#noticeLater(caller, requestId);
    return undefined;
  }

  async #refuseOther(caller: Account, requestId: string): Promise<void> {
    await this.#options.refusals.watch(caller, requestId, async () => {
      refuseForeign(await this.#find(caller), caller);
    });
  }

  /**
   * For everything else. Undefined where nothing needs to be read. Otherwise creates the profile, or updates it from a newer
   * token. Where accounts are bound, IDENTITY_CONFLICT for another account than the stored one.
   */
  admit(caller: SignedIn, requestId: string): Promise<void> | undefined {
    return this.#isKnown(caller) ? undefined : this.#settle(caller, requestId);
  }

  /** For routes whose own transaction stores the account: forgets another account of the address. */
  noteOwner(caller: SignedIn): void {
    if (!this.#isKnown(caller)) this.#known.delete(caller.email);
  }

  /** Whether every call checks its account in the database. */
  get binding(): boolean {
    return this.#policy.bindSubject;
  }

  /** Whether the account needs no check now: it was admitted recently, or every call checks it. */
  isSettled(caller: SignedIn): boolean {
    return this.#policy.bindSubject || this.#isKnown(caller);
  }

  /** Call after finding or making it the stored account. */
  noteSettled({ email, issuer, subject, issuedAt }: SignedIn): void {
    if (!this.#policy.bindSubject) this.#known.set(email, { issuer, subject, issuedAt });
  }

  async #settle(caller: SignedIn, requestId: string): Promise<void> {
    const { database, turns, refusals } = this.#options;
    await refusals.watch(caller, requestId, async () => {
      const kept = await this.#find(caller);
      if (this.#policy.bindSubject) refuseForeign(kept, caller);
      if (kept?.registered === true && isCurrent(kept, caller, this.#policy)) return;
      await turns.take(() =>
        database.change(async (tx) => {
          await present(tx, caller, this.#policy, requestId);
          return { result: null, scopes: [] };
        }),
      );
    });
    this.noteSettled(caller);
  }

  #noticeLater(caller: Account, requestId: string): void {
    const { email, issuer, subject } = caller;
    const last = this.#known.get(email) ?? this.#checked.get(email);
    if (last !== undefined && isSame(last, caller)) return;
    this.#checked.set(email, { issuer, subject });
    this.#notice(caller, requestId).catch((error: unknown) => {
      this.#checked.set(email, { issuer, subject }, { ttl: FAILED_MS });
      this.#options.log.warn({ requestId, err: error }, 'account of a check not read; will retry');
    });
  }

  async #notice(caller: Account, requestId: string): Promise<void> {
    const { database } = this.#options;
    const kept = await this.#find(caller);
    if (!isForeign(kept, caller)) return;
    this.#known.delete(caller.email);
    await database.change(async (tx) => {
      await bindAccount(tx, kept.id, caller, false, requestId);
      return { result: null, scopes: [] };
    });
  }

  #find({ email }: Account): Promise<KeptAccount | undefined> {
    return this.#options.database.read((tx) => findAccount(tx, email));
  }

  #isKnown(caller: SignedIn): boolean {
    const known = this.#known.get(caller.email);
    return known !== undefined && isSame(known, caller) && caller.issuedAt <= known.issuedAt;
  }
}

function isSame(kept: Pick<KeptAccount, 'issuer' | 'subject'>, { issuer, subject }: Account): boolean {
  return kept.issuer === issuer && kept.subject === subject;
}

/** Whether another account than the caller's is stored. */
function isForeign(kept: KeptAccount | undefined, caller: Account): kept is KeptAccount & Subject {
  return kept !== undefined && kept.subject !== null && !isSame(kept, caller);
}

function refuseForeign(kept: KeptAccount | undefined, caller: Account): void {
  if (isForeign(kept, caller)) throw new IdentityConflict(kept);
}
