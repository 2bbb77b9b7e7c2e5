/**
 * People's settings in each application, and their last visits (docs/reference/people.md#application-preferences).
 */

import { LRUCache } from 'lru-cache';
import {
  administer,
  applicationOf,
  type By,
  editorOf,
  existing,
  knownApplication,
} from '../administration/administer.ts';
import { certain } from '../base/certain.ts';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import { record } from '../persistence/audit.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { noteActivity, type RecordedActivity } from '../persistence/directory/activity.ts';
import {
  type EventRow,
  findKnown,
  findPreferences,
  insertEvent,
  listEvents,
  listPreferences,
  lockPreferences,
  type Preferences,
  type PreferencesChange,
  recordActivity,
  recordLogin,
  setPreferences,
} from '../persistence/directory/preferences.ts';
import type { AccountRefusals } from './account-refusals.ts';
import { Batcher } from './batcher.ts';
import { namesBrought, present, type SignedIn, type TokenPolicy } from './presence.ts';
import type { WorkQueue } from './work-queue.ts';

export type { EventRow, Preferences, PreferencesChange } from '../persistence/directory/preferences.ts';

/** Members whose activity needs no database access for a while; each takes some 200 bytes. */
const MAX_MEMBERS = 20_000;
/** Concurrent statements for activity: while fewer are running, a caller waits only for their own. */
const STATEMENTS = 4;

interface Quiet {
  readonly appId: number;
  /** Monotonic milliseconds. */
  readonly until: number;
}

interface AppPreferencesOptions {
  database: Database;
  clock: Pick<Clock, 'monotonic'>;
  policy: TokenPolicy;
  turns: WorkQueue;
  refusals: AccountRefusals;
}

export class AppPreferences {
  readonly #options: AppPreferencesOptions;
  /** Until when a member's activity needs no write. The database still decides. */
  readonly #quiet = new LRUCache<string, Quiet>({ max: MAX_MEMBERS });
  readonly #inFlight = new Map<string, Promise<boolean>>();
  /** Batches concurrent activity into one statement. */
  readonly #activities: Batcher<{ caller: SignedIn; app: string }, RecordedActivity>;

  constructor(options: AppPreferencesOptions) {
    this.#options = options;
    const { database, turns, policy } = options;
    this.#activities = new Batcher(
      turns,
      async (batch) => {
        const noted = await database.once(
          noteActivity(
            [...batch.values()].map(({ caller, app }) => {
              const { email, issuer, subject, issuedAt } = caller;
              return { email, app, issuer, subject, issuedAt, names: namesBrought(caller) };
            }),
            policy.ownNames,
          ),
        );
        return new Map([...batch.keys()].map((key, index) => [key, certain(noted[index])]));
      },
      STATEMENTS,
    );
  }

  /** For every application that the user visited or set something in, by code. Creates nothing. */
  list(email: string): Promise<Preferences[]> {
    return this.#options.turns.take(() => this.#options.database.read((tx) => listPreferences(tx, email)));
  }

  /**
   * The login bootstrap: counts a login, however many requests arrive at once, and returns the settings, creating the defaults
   * where none exist. NOT_FOUND for an unknown application, with nothing recorded.
   */
  login(caller: SignedIn, app: string, requestId: string): Promise<Preferences> {
    return this.#write(caller, app, requestId, async (tx, person, appId) => ({
      applicationCode: app,
      ...(await recordLogin(tx, person, appId, actorOf(caller))),
    }));
  }

  /** Sets the fields sent, and records no login. NOT_FOUND for an unknown application. */
  set(caller: SignedIn, app: string, change: PreferencesChange, requestId: string): Promise<Preferences> {
    return this.#write(caller, app, requestId, async (tx, person, appId) => ({
      applicationCode: app,
      ...(await setPreferences(tx, person, appId, change)),
    }));
  }

  /**
   * Moves the last activity at most once in five minutes, across all instances; true when this call did. One round trip, unless
   * the token has names that the profile lacks: then those are stored first. NOT_FOUND for an unknown application.
   */
  async activity(caller: SignedIn, app: string, requestId: string): Promise<boolean> {
    // By the account too: another account's answer must not be shared.
    const key = [app, caller.email, caller.issuer, caller.subject].join('\n');
    const running = this.#inFlight.get(key);
    if (running !== undefined) {
      await running;
      return false;
    }
    const begun = this.#recordActivity(caller, app, requestId, key).finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, begun);
    return await begun;
  }

  /**
   * Whether this instance knows, without a query, that a person's activity in an application needs no write.
   * `appId`: the application that has the code now. Left out: whether that is possible.
   */
  isQuiet(email: string, app: string, appId?: number | null): boolean {
    // `peek`, because entries need not stay longer when used: all expire within five minutes.
    const quiet = this.#quiet.peek(`${app}:${email}`);
    if (quiet === undefined || this.#options.clock.monotonic() >= quiet.until) return false;
    return appId === undefined || appId === quiet.appId;
  }

  async #recordActivity(caller: SignedIn, app: string, requestId: string, key: string): Promise<boolean> {
    const began = this.#options.clock.monotonic();
    const noted = await this.#activities.ask(key, { caller, app });
    const appId = existing(noted?.appId ?? null, app);
    const { recorded, waitMs } = noted?.isCurrent ? noted : await this.#write(caller, app, requestId, recordActivity);
    this.#quiet.set(`${app}:${caller.email}`, { appId, until: began + waitMs });
    return recorded;
  }

  /** Records an event and an audit record; changes no login summary. NOT_FOUND for an unknown application. */
  async logout(caller: SignedIn, app: string, requestId: string): Promise<void> {
    await this.#write(caller, app, requestId, async (tx, person, appId) => {
      await recordLogout(tx, { person, appId, app, email: caller.email, actor: actorOf(caller), requestId });
    });
  }

  /** For an administrator: a person's preferences, the defaults where nothing is set. Throws NOT_FOUND. */
  async of(email: string, app: string): Promise<Preferences> {
    return await this.#options.database.read(async (tx) => {
      const { person, appId } = await memberOf(tx, email, app);
      return { applicationCode: app, ...(await findPreferences(tx, person, appId)) };
    });
  }

  /** By an administrator; records no login. */
  async setFor(email: string, app: string, change: PreferencesChange, by: By): Promise<Preferences> {
    const about = { app, action: 'preferences.changed', guard: editorOf(app), subject: email };
    const { result } = await administer(this.#options.database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const person = await knownPerson(tx, email);
      const before = await lockPreferences(tx, person, appId);
      const after = await setPreferences(tx, person, appId, change);
      if (before.showHelp !== after.showHelp || before.notificationsEnabled !== after.notificationsEnabled) {
        audit({ subject: email, before, after });
      }
      return { result: { applicationCode: app, ...after }, scopes: [] };
    });
    return result;
  }

  /** Logins and logouts, the newest first. Throws NOT_FOUND. */
  async events(email: string, app: string, page: PageQuery): Promise<Page<EventRow>> {
    return await this.#options.database.read(async (tx) => {
      const { person, appId } = await memberOf(tx, email, app);
      return pageOf(await listEvents(tx, person, appId, oneMore(page)), page);
    });
  }

  /** A write by the owner in an application: checks the application, and creates or updates the owner's profile. */
  async #write<T>(
    caller: SignedIn,
    app: string,
    requestId: string,
    work: (tx: Tx, person: number, appId: number) => Promise<T>,
  ): Promise<T> {
    const { database, policy, turns, refusals } = this.#options;
    const write = async (tx: Tx) => {
      const appId = await applicationOf(tx, app);
      const { id } = await present(tx, caller, policy, requestId);
      return { result: await work(tx, id, appId), scopes: [] };
    };
    const { result } = await refusals.watch(caller, requestId, () => turns.take(() => database.change(write)));
    return result;
  }
}

/** A logout: an event of the member, and a record in the application's audit. */
export async function recordLogout(
  tx: Tx,
  of: { person: number; appId: number; app: string; email: string; actor: string; requestId: string },
): Promise<void> {
  const { person, appId, app, email, actor, requestId } = of;
  await insertEvent(tx, { person, app: appId, event: 'logout', actor });
  await record(tx, { actor, action: 'user.logout', appCode: app, subject: email, requestId });
}

function actorOf({ email }: SignedIn): string {
  return `user:${email}`;
}

async function memberOf(tx: Tx, email: string, app: string): Promise<{ person: number; appId: number }> {
  const appId = await knownApplication(tx, app);
  return { appId, person: await knownPerson(tx, email) };
}

async function knownPerson(tx: Tx, email: string): Promise<number> {
  const known = await findKnown(tx, email);
  if (known === undefined) throw new UsherError('NOT_FOUND', 'There is no user with this address.');
  return known.id;
}
