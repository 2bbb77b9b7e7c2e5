/**
 * What every door that takes a bearer token asks before it lets a user in: that the person has a profile as new as the token,
 * and that the address is still the same account's. Where accounts are bound, the database is asked each time: a cache would let
 * two accounts in after a SuperAdmin has cleared the first. Where they are not, a change is only recorded in the audit, and a
 * memo spares the question.
 */

import { LRUCache } from 'lru-cache';
import type { Logger } from '../base/telemetry.ts';
import type { Database } from '../persistence/database.ts';
import { findAccount, type KeptAccount, type Subject } from '../persistence/directory/subjects.ts';
import type { AccountRefusals } from './account-refusals.ts';
import { type Account, bindAccount, IdentityConflict } from './accounts.ts';
import { isCurrent, present, type SignedIn, type TokenPolicy } from './presence.ts';
import type { Turns } from './turns.ts';

const MAX_KNOWN = 10_000;
/** How long a token's account is not looked up again where a change of it is only recorded. */
const KNOWN_MS = 5 * 60_000;
/** As long when looking it up failed. */
const FAILED_MS = 30_000;

interface Known extends Subject {
  /** The `iat` of the token that was let in: a newer one may bring newer names. */
  readonly issuedAt: number;
}

export interface SubjectsOptions {
  database: Database;
  policy: TokenPolicy;
  turns: Turns;
  refusals: AccountRefusals;
  log: Pick<Logger, 'warn'>;
}

export class Subjects {
  readonly #options: SubjectsOptions;
  readonly #policy: TokenPolicy;
  /** By address: the account that was let in last. Empty where accounts are bound. */
  readonly #known = new LRUCache<string, Known>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 1000 });
  /** By address: the account of the last check, which makes no profile. */
  readonly #checked = new LRUCache<string, Subject>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 1000 });

  constructor(options: SubjectsOptions) {
    this.#options = options;
    this.#policy = options.policy;
  }

  /**
   * For permission checks, which make no profile. Where accounts are bound, a promise that rejects with IDENTITY_CONFLICT for
   * another account than the one that is kept. Else undefined: a change of the account is recorded behind the answer's back,
   * since a check must not wait for the database.
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
   * For all else. Undefined where nothing needs to be looked up. Else the profile is made, or takes over newer names of the token
   * and the account. Where accounts are bound, IDENTITY_CONFLICT for another one than the one that is kept.
   */
  admit(caller: SignedIn, requestId: string): Promise<void> | undefined {
    return this.#isKnown(caller) ? undefined : this.#settle(caller, requestId);
  }

  /** For routes whose own transaction settles the account: what was remembered of another one is no longer so. */
  noteOwner(caller: SignedIn): void {
    if (!this.#isKnown(caller)) this.#known.delete(caller.email);
  }

  /** Whether every call is to be asked about its account, whatever is remembered. */
  get binding(): boolean {
    return this.#policy.bindSubject;
  }

  /** Whether nobody needs to look the account up now: it was let in a short while ago, or is asked about with each call. */
  isSettled(caller: SignedIn): boolean {
    return this.#policy.bindSubject || this.#isKnown(caller);
  }

  /** For who has just found it to be the one that is kept, or made it so. */
  noteSettled({ email, issuer, subject, issuedAt }: SignedIn): void {
    if (!this.#policy.bindSubject) this.#known.set(email, { issuer, subject, issuedAt });
  }

  async #settle(caller: SignedIn, requestId: string): Promise<void> {
    const { database, turns, refusals } = this.#options;
    await refusals.watch(caller, requestId, async () => {
      const kept = await this.#find(caller);
      if (this.#policy.bindSubject) refuseForeign(kept, caller);
      if (kept !== undefined && isCurrent(kept, caller, this.#policy)) return;
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
      this.#options.log.warn({ requestId, err: error }, 'account of a check not looked up');
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

/** Whether another account than the caller's is kept. */
function isForeign(kept: KeptAccount | undefined, caller: Account): kept is KeptAccount & Subject {
  return kept !== undefined && kept.subject !== null && !isSame(kept, caller);
}

function refuseForeign(kept: KeptAccount | undefined, caller: Account): void {
  if (isForeign(kept, caller)) throw new IdentityConflict(kept);
}
