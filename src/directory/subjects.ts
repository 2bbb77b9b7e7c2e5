/**
 * Admits users at every listener that takes bearer tokens: the person has a profile as new as the token,
 * and the address still belongs to the same account. Where accounts are bound, every call reads the database: a cache would let
 * two accounts in after a SuperAdmin has unbound the first. Where they are not, a change is only recorded in the audit, and a
 * cache avoids the read.
 */

import { LRUCache } from 'lru-cache';
import type { Logger } from '../base/telemetry.ts';
import type { Database } from '../persistence/database.ts';
import { type KeptAccount, keptAccounts, type Subject } from '../persistence/people/accounts.ts';
import { keepOrganization } from '../persistence/people/token-organizations.ts';
import type { AccountRefusals } from './account-refusals.ts';
import { type Account, type Binding, bindAccount, IdentityConflict, mayRuleAnyway } from './accounts.ts';
import { Batcher } from './batcher.ts';
import { isCurrent, present, type SignedIn, type TokenPolicy } from './presence.ts';
import type { WorkQueue } from './work-queue.ts';

const MAX_KNOWN = 10_000;
/** How long a token's account is not read again where a change is only recorded. */
const KNOWN_MS = 5 * 60_000;
/** The same after a failed read. */
const FAILED_MS = 30_000;
/** Organizations that this process need not keep again. */
const MAX_ORGANIZATIONS = 1000;
/** Concurrent statements that read accounts: while fewer run, a caller waits only for their own. */
const STATEMENTS = 4;

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
  readonly #reads: Batcher<null, KeptAccount>;
  /** By address: the account admitted last. Empty where accounts are bound. */
  readonly #known = new LRUCache<string, Known>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 1000 });
  /** By address: the account of the last check, which creates no profile. */
  readonly #checked = new LRUCache<string, Subject>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 1000 });
  readonly #organizations = new LRUCache<string, true>({ max: MAX_ORGANIZATIONS });

  constructor(options: SubjectsOptions) {
    this.#options = options;
    this.#policy = options.policy;
    const { database, turns } = options;
    const read = async (emails: ReadonlyMap<string, null>) =>
      new Map((await database.once(keptAccounts([...emails.keys()]))).map((kept) => [kept.email, kept]));
    this.#reads = new Batcher(turns, read, STATEMENTS);
  }

  /**
   * For permission checks, which create no profile. Where accounts are bound, a promise that rejects with IDENTITY_CONFLICT for
   * another account than the stored one, and for one that may not sign in an address that rules. Otherwise undefined: a changed
   * account is recorded after the answer, because a check must not wait for the database.
   */
  refuseOther(caller: Account, requestId: string): Promise<void> | undefined {
    const { binding } = this.#policy;
    if (binding !== null) return this.#refuseOther(caller, binding, requestId);
    this.#noticeLater(caller, requestId);
    return undefined;
  }

  async #refuseOther(caller: Account, binding: Binding, requestId: string): Promise<void> {
    const { database, refusals, log } = this.#options;
    await refusals.watch(caller, requestId, async () => {
      const kept = await this.#find(caller);
      refuseForeign(kept, caller);
      if (kept?.rulesUnproven !== true) return;
      refuseHopeless(caller, binding);
      await database.change(async (tx) => {
        await bindAccount(tx, kept.id, caller, binding, requestId);
        return { result: null, scopes: [] };
      });
    });
    this.#keepOrganization(caller)?.catch((error: unknown) => {
      log.warn({ requestId, err: error }, 'organization of a check not kept; will retry');
    });
  }

  /**
   * For everything else. Undefined where nothing needs to be read. Otherwise creates the profile, or updates it from a newer
   * token. Where accounts are bound, IDENTITY_CONFLICT for another account than the stored one, and for one that may not sign in an address
   * that rules.
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
    return this.#policy.binding !== null;
  }

  /** Whether the account needs no check now: it was admitted recently, or every call checks it. */
  isSettled(caller: SignedIn): boolean {
    return this.binding || this.#isKnown(caller);
  }

  /** Call after finding or making it the stored account. */
  noteSettled({ email, issuer, subject, issuedAt }: SignedIn): void {
    if (!this.binding) this.#known.set(email, { issuer, subject, issuedAt });
  }

  async #settle(caller: SignedIn, requestId: string): Promise<void> {
    const { database, turns, refusals } = this.#options;
    const { binding } = this.#policy;
    await refusals.watch(caller, requestId, async () => {
      const kept = await this.#find(caller);
      if (binding !== null) refuseForeign(kept, caller);
      const isProven = binding === null || kept?.rulesUnproven !== true;
      if (!isProven) refuseHopeless(caller, binding);
      if (isProven && kept?.registered === true && isCurrent(kept, caller, this.#policy)) return;
      await turns.take(() =>
        database.change(async (tx) => {
          const { id } = await present(tx, caller, this.#policy, requestId);
          if (!isProven) await bindAccount(tx, id, caller, binding, requestId);
          return { result: null, scopes: [] };
        }),
      );
    });
    await this.#keepOrganization(caller);
    this.noteSettled(caller);
  }

  /** Notes an organization from which a token was admitted; undefined where this process has done so. */
  #keepOrganization({ organization }: Account): Promise<void> | undefined {
    if (organization === null || this.#organizations.has(organization)) return undefined;
    return this.#options.database
      .change(async (tx) => {
        await keepOrganization(tx, organization);
        return { result: null, scopes: [] };
      })
      .then(() => {
        this.#organizations.set(organization, true);
      });
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
      await bindAccount(tx, kept.id, caller, null, requestId);
      return { result: null, scopes: [] };
    });
  }

  #find({ email }: Account): Promise<KeptAccount | undefined> {
    return this.#reads.ask(email, null);
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

/** Refuses by the configuration alone, without a transaction, what the transaction would refuse as well. */
function refuseHopeless({ organization }: Account, binding: Binding): void {
  if (mayRuleAnyway(organization, binding) === false) throw new IdentityConflict(null);
}
