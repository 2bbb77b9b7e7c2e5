/**
 * What the identity provider's webhook tells of users. Events come late, doubled and out of order, and creations get lost: any
 * of them makes the record, and time decides where they say when (docs/reference/identity-provider.md#webhook).
 */

import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import { storableNames } from '../directory/names.ts';
import type { Turns } from '../directory/turns.ts';
import { record } from '../persistence/audit.ts';
import type { Committed, Database, Outcome, Tx } from '../persistence/database.ts';
import { applyNames, ensureProfile, findProfile, type ProfileRow } from '../persistence/directory/profiles.ts';
import { setProviderActive } from '../persistence/directory/states.ts';
import { applicationOfOrganization, ensurePreference } from '../persistence/provider/organizations.ts';
import { claimEvent } from '../persistence/seen-events.ts';

/** What each event says of the user's state; null says nothing of it. */
const EVENTS = {
  'user.created': { active: true },
  'user.updated': { active: null },
  'user.deactivated': { active: false },
  'user.reactivated': { active: true },
  'user.removed': { active: false },
} as const;
export type LifecycleEvent = keyof typeof EVENTS;

export function isLifecycleEvent(type: string): type is LifecycleEvent {
  return Object.hasOwn(EVENTS, type);
}

export interface Told {
  event: LifecycleEvent;
  /** In normal form. */
  email: string;
  names: {
    firstName?: string | null | undefined;
    lastName?: string | null | undefined;
    displayName?: string | null | undefined;
  };
  /** '' where the event names no organization. */
  orgId: string;
  /** When it happened there; null where the event does not say. */
  occurredAt: Date | null;
  /** An event that was told already changes nothing; null where the event has no number. */
  eventId: string | null;
  requestId: string;
}

export interface LifecycleOptions {
  readonly config: Pick<Config, 'idp'>;
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  /** A provider may tell of everybody at once. */
  readonly turns: Pick<Turns, 'take'>;
}

export class Lifecycle {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #orgToApp: Config['idp']['orgToApp'];
  readonly #turns: Pick<Turns, 'take'>;

  constructor(options: LifecycleOptions) {
    this.#database = options.database;
    this.#turns = options.turns;
    this.#clock = options.clock;
    this.#orgToApp = options.config.idp.orgToApp;
  }

  /** Answers whether the event changed anything. */
  async tell(told: Told): Promise<Committed<boolean>> {
    // A clock that runs ahead must not make all that follows late.
    const now = this.#clock.now();
    const at = told.occurredAt === null ? null : new Date(Math.min(told.occurredAt.getTime(), now));
    const apply = async (tx: Tx): Promise<Outcome<boolean>> => {
      if (told.eventId !== null && !(await claimEvent(tx, 'webhook', told.eventId))) return UNCHANGED;
      return await this.#apply(tx, told, at, new Date(now));
    };
    return await this.#turns.take(() => this.#database.change(apply));
  }

  async #apply(tx: Tx, told: Told, at: Date | null, now: Date): Promise<Outcome<boolean>> {
    const { event, email } = told;
    const before = await findProfile(tx, email);
    const names = storableNames(told.names);
    const { id, created } = await ensureProfile(tx, { email, names, at: namesAt(event, at, now) });

    const { active } = EVENTS[event];
    // A creation makes a record, and never wakes one: who was deactivated meanwhile stays so.
    const says = event === 'user.created' ? created && at !== null : active !== null;
    const switched = says && (await setProviderActive(tx, id, active === true, at));
    if (event === 'user.updated' && !created) {
      await applyNames(tx, id, { names, at: at ?? now, rule: at === null ? 'always' : 'notOlder' });
    }
    const welcomed = event === 'user.created' && (await this.#welcome(tx, id, told.orgId));

    const after = await findProfile(tx, email);
    const renamed = !created && JSON.stringify(namesOf(before)) !== JSON.stringify(namesOf(after));
    if (!created && !switched && !renamed && !welcomed) return UNCHANGED;
    await record(tx, {
      actor: 'idp',
      action: event,
      subject: email,
      before: before === undefined ? null : namesOf(before),
      after: { ...namesOf(after), ...(switched ? { active } : {}), ...(created ? { created } : {}) },
      requestId: told.requestId,
    });
    return { result: true, scopes: switched ? [`u:${email}`] : [] };
  }

  /** Preferences in the application that the organization belongs to, if it belongs to one. */
  async #welcome(tx: Tx, person: number, orgId: string): Promise<boolean> {
    if (orgId === '') return false;
    const app = await applicationOfOrganization(tx, orgId, this.#orgToApp.get(orgId));
    return app !== null && (await ensurePreference(tx, person, app));
  }
}

const UNCHANGED: Outcome<boolean> = { result: false, scopes: [] };

/**
 * How new the names of a record are that this event makes. Those that come along with another state are of unknown age: an
 * update that comes after them is taken, whenever it happened.
 */
function namesAt(event: LifecycleEvent, at: Date | null, now: Date): Date | null {
  if (event === 'user.updated') return at ?? now;
  return event === 'user.created' ? at : null;
}

function namesOf(profile: ProfileRow | undefined) {
  const { firstName = null, lastName = null, displayName = null } = profile ?? {};
  return { firstName, lastName, displayName };
}
