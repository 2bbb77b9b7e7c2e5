/**
 * Finds the people about whom an event of the webhook was lost, and applies that event as if it came now
 * (docs/reference/identity-provider.md#reconciliation). Nobody is held missing or switched by a list alone: each is asked for by address
 * first, and nothing is done where more people would be deactivated than the brake allows.
 */

import type { By } from '../administration/administer.ts';
import type { Clock } from '../base/clock.ts';
import { UsherError, unavailable } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { findErasure } from '../persistence/directory/erasure.ts';
import { noteAccounts } from '../persistence/people/accounts.ts';
import { holdPerson } from '../persistence/people/people.ts';
import {
  activePeople,
  applicationsOfOrganizations,
  type KnownPerson,
  keepReconciliation,
  knownPeople,
  ownersOfAccounts,
} from '../persistence/provider/reconciliation.ts';
import { claimLease, releaseLease, renewLease } from '../persistence/settings.ts';
import { administerProvider } from './administration.ts';
import type { IdpClient } from './client.ts';
import type { Drift } from './drift.ts';
import { reasonOf } from './events.ts';
import { Gathered } from './gathered.ts';
import type { Lifecycle } from './lifecycle.ts';
import { type NativeEvents, providerIssuer } from './native-events.ts';
import { countsOf, type Ended, type Found, type Reconciled } from './reconciled.ts';
import type { ReconciliationMetrics } from './reconciliation-metrics.ts';
import type { ProviderUser, UserList } from './user-list.ts';

/** One run. Who asked has been admitted already. */
interface RunOptions {
  readonly isDryRun: boolean;
  /** Percent; undefined: as configured. */
  readonly brakePercent?: number | undefined;
  readonly requestId: string;
  readonly signal?: AbortSignal | undefined;
}

interface ReconciliationOptions {
  readonly config: Pick<Config, 'auth' | 'idp'>;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly client: Pick<IdpClient, 'refuseUnconfigured'>;
  readonly users: Pick<UserList, 'all' | 'at' | 'one'>;
  readonly nativeEvents: Pick<NativeEvents, 'retry'>;
  readonly lifecycle: Pick<Lifecycle, 'tell'>;
  readonly metrics: ReconciliationMetrics;
  /** What stands for an erased address. */
  readonly pseudonymOf: (email: string) => Promise<string>;
}

const LEASE = 'idp.lock:reconciliation';
/** Longer than anything that is done between two renewals: a request may be tried five times, and waited for in between. */
const LEASE_S = 180;
const RENEW_MS = 15_000;
const PEOPLE = 1000;

/** Passed through a run: throws where it must not go on. */
type GoOn = () => Promise<void>;

export class Reconciliation {
  readonly #options: ReconciliationOptions;

  readonly #issuer: string;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
    this.#issuer = providerIssuer(options.config);
  }

  /** For a SuperAdmin. Errors as of `run`. */
  async runFor(by: By, run: RunOptions): Promise<Reconciled> {
    const write = { action: 'idp.reconciled', act: 'compare people with the identity provider' };
    return await administerProvider(this.#options.database, by, write, async (done) => {
      const reconciled = await this.run(run);
      if (!run.isDryRun) done({ action: write.action, subject: null, after: { ...reconciled.applied } });
      return reconciled;
    });
  }

  /**
   * Compares everybody, and applies what was lost. Throws IDP_NOT_CONFIGURED, IDP_UNREACHABLE, IDP_REJECTED, RECONCILIATION_RUNNING,
   * RECONCILIATION_BRAKED; of the last no dry run. What was applied before a failure stays: each event is whole.
   */
  async run(run: RunOptions): Promise<Reconciled> {
    const { client, clock, database } = this.#options;
    client.refuseUnconfigured();
    const holder = clock.bytes(16).toString('base64url');
    if (!(await this.#change((tx) => claimLease(tx, LEASE, holder, LEASE_S)))) {
      throw new UsherError('RECONCILIATION_RUNNING', 'People are being compared with the identity provider already.');
    }
    const startedAt = new Date(clock.now());
    try {
      const reconciled = await this.#compare(run, this.#goingOn(holder, run.signal));
      await this.#end(run, { ...reconciled, startedAt });
      if (reconciled.isBraked && !run.isDryRun) throw braked(reconciled);
      return reconciled;
    } catch (error) {
      const isBraked = error instanceof UsherError && error.reason === 'RECONCILIATION_BRAKED';
      if (!isBraked) await this.#fail(run, error, startedAt);
      throw error;
    } finally {
      await database.change(async (tx) => ({ result: await releaseLease(tx, LEASE, holder), scopes: [] }));
    }
  }

  /** Ends a run whose caller has left, and one that has lost its turn to another. */
  #goingOn(holder: string, signal: AbortSignal | undefined): GoOn {
    const { clock } = this.#options;
    let renewedAt = clock.monotonic();
    return async () => {
      signal?.throwIfAborted();
      if (clock.monotonic() - renewedAt < RENEW_MS) return;
      renewedAt = clock.monotonic();
      if (await this.#change((tx) => renewLease(tx, LEASE, holder))) return;
      throw unavailable('This took too long, and another comparison has begun meanwhile.');
    };
  }

  async #compare(run: RunOptions, goOn: GoOn): Promise<Reconciled> {
    const { config } = this.#options;
    const gathered = await this.#readUsers(run, goOn);
    const { users } = gathered;
    const { missing, people } = await this.#readPeople(gathered.seen, goOn);
    const drifts = [...gathered.drifts(), ...missing];
    const percent = run.brakePercent ?? config.idp.reconcileBrakePercent;
    const deactivations = drifts.filter(({ deactivates }) => deactivates).length;
    const allowed = Math.floor((people * percent) / 100);
    const isBraked = deactivations > allowed;
    const read = { users, people, brake: { percent, deactivations, allowed }, isBraked };
    if (isBraked) return { ...read, found: countsOf(drifts), applied: countsOf([]), changes: listed(drifts) };
    const found: Drift[] = [];
    const applied: Drift[] = [];
    for (const drift of drifts) {
      await goOn();
      const outcome = await this.#settle(drift, run);
      if (outcome !== 'refuted') found.push(drift);
      if (outcome === 'applied') applied.push(drift);
    }
    if (!run.isDryRun) await this.#options.nativeEvents.retry(run.requestId, { goOn });
    return { ...read, found: countsOf(found), applied: countsOf(applied), changes: listed(found) };
  }

  async #readUsers({ signal, isDryRun }: RunOptions, goOn: GoOn): Promise<Gathered> {
    const { database, users, config } = this.#options;
    const organizations = await database.read((tx) => applicationsOfOrganizations(tx, config.idp.orgToApp));
    const applications = [...new Set(organizations.values())];
    const gathered = new Gathered();
    for await (const page of users.all(signal)) {
      await goOn();
      const ids = page.map(({ id }) => id);
      const owners = await database.read((tx) => ownersOfAccounts(tx, this.#issuer, ids));
      const named = page.map((user) => ({ ...user, email: owners.get(user.id) ?? user.email }));
      const emails = [...new Set(named.map(({ email }) => email))];
      const known = await database.read((tx) => knownPeople(tx, emails, applications, this.#issuer));
      for (const user of named) {
        gathered.add(user, known.get(user.email), organizations.get(user.orgId) ?? null);
      }
      if (!isDryRun) await this.#noteAccounts(named.filter(({ id, email }) => !owners.has(id) && known.has(email)));
    }
    return gathered;
  }

  /** For events, which name nobody but by the account. They sign nobody in. */
  async #noteAccounts(users: readonly ProviderUser[]): Promise<void> {
    const now = new Date(this.#options.clock.now());
    const accounts = users.map(({ id: subject, email, changedAt }) => {
      return { issuer: this.#issuer, subject, email, seenAt: changedAt ?? now };
    });
    if (accounts.length > 0) await this.#change((tx) => noteAccounts(tx, accounts));
  }

  /** The people here whom the list lacked, and how many of the provider's are active here. */
  async #readPeople(seen: ReadonlySet<number>, goOn: GoOn): Promise<{ missing: Drift[]; people: number }> {
    const { database, config } = this.#options;
    const missing: Drift[] = [];
    let people = 0;
    for (let after = 0; ; ) {
      await goOn();
      const page = { after, limit: PEOPLE };
      const rows = await database.read((tx) => activePeople(tx, config.auth.issuer, page));
      people += rows.length;
      for (const { id, email } of rows) {
        if (!seen.has(id)) missing.push({ event: 'user.removed', email, user: null, deactivates: true });
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PEOPLE) return { missing, people };
      after = last.id;
    }
  }

  /** Whether the event was lost indeed, and whether it changed anything. */
  async #settle(drift: Drift, run: RunOptions): Promise<'refuted' | 'found' | 'applied'> {
    const { database, lifecycle, clock } = this.#options;
    const { email, event } = drift;
    const isAboutState = event !== 'user.created' && event !== 'user.updated';
    // Before the provider is asked: what comes in between, by the webhook say, is newer than its answer.
    const known = await database.read(async (tx) => (await knownPeople(tx, [email], [], this.#issuer)).get(email));
    const askedAt = new Date(clock.now());
    const user = isAboutState ? await this.#confirm(drift, known, run.signal) : drift.user;
    if (user === undefined) return 'refuted';
    if (known?.registered !== true && (await this.#isErased(email))) return 'refuted';
    if (run.isDryRun) return 'found';
    const { names = {}, orgId = '' } = user ?? {};
    const told = {
      event,
      email,
      names,
      orgId,
      occurredAt: occurredAt(drift, user, known, askedAt),
      eventId: null,
      requestId: run.requestId,
    };
    const { result } = await lifecycle.tell(told, {
      source: 'reconciliation',
      stillHolds: (tx) => this.#stillHolds(tx, email, known),
    });
    return result ? 'applied' : 'found';
  }

  /** The user who proves a change of state, null where the proof is that there is none; undefined where it is no longer so. */
  async #confirm(
    drift: Drift,
    known: KnownPerson | undefined,
    signal: AbortSignal | undefined,
  ): Promise<ProviderUser | null | undefined> {
    const { email, event } = drift;
    const at = await this.#options.users.at(email, signal);
    // The account's own user may have another address by now.
    const ownId = known?.ownUserId ?? drift.user?.id ?? null;
    const own =
      ownId === null || at.some(({ id }) => id === ownId) ? null : await this.#options.users.one(ownId, signal);
    const users = own === null ? at : [...at, own];
    if (event === 'user.removed') return users.length === 0 && known?.active === true ? null : undefined;
    const active = users.find((user) => user.active === true);
    if (event === 'user.reactivated') return known?.active === false ? active : undefined;
    // Inactive only where the provider says so of everybody with this address.
    if (users.some((user) => user.active !== false) || known?.active === false) return undefined;
    return users.toSorted((a, b) => (b.changedAt?.getTime() ?? 0) - (a.changedAt?.getTime() ?? 0))[0];
  }

  /** An erased person comes back by signing in or by an event, and never because the provider still has them. */
  async #isErased(email: string): Promise<boolean> {
    const pseudonym = await this.#options.pseudonymOf(email);
    return (await this.#options.database.read((tx) => findErasure(tx, pseudonym))) !== undefined;
  }

  /** Whether the person is what the comparison saw. */
  async #stillHolds(tx: Tx, email: string, seen: KnownPerson | undefined): Promise<boolean> {
    await holdPerson(tx, email);
    const now = (await knownPeople(tx, [email], [], this.#issuer)).get(email);
    if (seen?.registered !== true) {
      const pseudonym = await this.#options.pseudonymOf(email);
      return now?.registered !== true && (await findErasure(tx, pseudonym)) === undefined;
    }
    const sameState = now?.stateChangedAt?.getTime() === seen.stateChangedAt?.getTime();
    return now?.id === seen.id && now.registered && now.active === seen.active && sameState;
  }

  async #end(run: RunOptions, ended: Reconciled & { startedAt: Date }): Promise<void> {
    const { log, metrics } = this.#options;
    const { startedAt, isBraked, brake, found, applied, users, people } = ended;
    const outcome = isBraked ? 'braked' : 'done';
    metrics.ended(outcome, found, new Date(this.#options.clock.now()));
    const said = { dryRun: run.isDryRun, users, people, ...brake, found, applied };
    if (isBraked) {
      log.error(
        said,
        'comparison with the identity provider braked: it would deactivate too many people; nothing done',
      );
    } else log.info(said, 'people compared with the identity provider');
    await this.#keep({ startedAt, dryRun: run.isDryRun, outcome, reason: null, found, applied });
  }

  async #fail({ isDryRun }: RunOptions, error: unknown, startedAt: Date): Promise<void> {
    const { log, metrics } = this.#options;
    metrics.failed();
    const reason = reasonOf(error);
    log.warn({ err: error, dryRun: isDryRun }, 'comparison with the identity provider ended early');
    const none: Found = countsOf([]);
    // The caller is to learn the first error, not that this could not be noted.
    await this.#keep({ startedAt, dryRun: isDryRun, outcome: 'failed', reason, found: none, applied: none }).catch(
      (second: unknown) => log.warn({ err: second }, 'end of the comparison not stored'),
    );
  }

  async #keep(ended: Omit<Ended, 'endedAt' | 'startedAt'> & { startedAt: Date }): Promise<void> {
    const endedAt = new Date(this.#options.clock.now()).toISOString();
    const kept: Ended = { ...ended, startedAt: ended.startedAt.toISOString(), endedAt };
    await this.#change((tx) => keepReconciliation(tx, kept));
  }

  async #change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { result } = await this.#options.database.change(async (tx) => ({ result: await fn(tx), scopes: [] }));
    return result;
  }
}

const MAX_LISTED = 100;

function listed(drifts: readonly Drift[]): Reconciled['changes'] {
  return drifts.slice(0, MAX_LISTED).map(({ email, event }) => ({ email, event }));
}

/**
 * When the event happened, by the provider's clock where it says: an event that comes by the webhook later is then newer. Not before the
 * last one that is known here, whose late arrival may have been taken for its time.
 */
function occurredAt(
  { event }: Drift,
  user: ProviderUser | null,
  known: KnownPerson | undefined,
  askedAt: Date,
): Date | null {
  // Nobody says when a user was removed. Later rather than earlier: a late event must not wake them.
  if (user === null) return askedAt;
  if (event === 'user.created') return user.createdAt;
  if (event === 'user.updated') return user.changedAt;
  const moments = [user.changedAt, known?.stateChangedAt ?? null].filter((moment) => moment !== null);
  return new Date(Math.max(0, ...moments.map((moment) => moment.getTime())));
}

function braked({ brake }: Reconciled): UsherError {
  const { deactivations, allowed, percent } = brake;
  const message = `${deactivations} people would be deactivated, and ${percent} % of the active ones are ${allowed}: nothing was done. Make a dry run, and send brakePercent if it is right.`;
  return new UsherError('RECONCILIATION_BRAKED', message, { details: { deactivations, allowed, percent } });
}
