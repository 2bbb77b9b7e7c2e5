/**
 * User events of the identity provider's webhook. Events arrive late, twice and out of order, and creations get lost: so each
 * kind creates the record, and timestamps decide where present (docs/reference/identity-provider.md#webhook).
 */

import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import { storableNames } from '../directory/names.ts';
import type { WorkQueue } from '../directory/work-queue.ts';
import { record } from '../persistence/audit.ts';
import type { Committed, Database, Outcome, Tx } from '../persistence/database.ts';
import { applyNames, ensureProfile, findProfile, type ProfileRow } from '../persistence/directory/profiles.ts';
import { setProviderActive } from '../persistence/directory/states.ts';
import { claimEvent } from '../persistence/people/seen-events.ts';
import { applicationOfOrganization, ensurePreference } from '../persistence/provider/organizations.ts';
import { noteEvent } from './events.ts';

/** The state that each event sets; null sets none. */
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

export interface UserEvent {
  event: LifecycleEvent;
  /** The source's own name of it; `event` without it. */
  eventType?: string;
  /** In normal form. */
  email: string;
  names: {
    firstName?: string | null | undefined;
    lastName?: string | null | undefined;
    displayName?: string | null | undefined;
  };
  /** '' where the event has no organization. */
  orgId: string;
  /** When it happened at the provider; null where the event does not say. */
  occurredAt: Date | null;
  /** A known id changes nothing; null where the event has none. */
  eventId: string | null;
  /** Members of the event that could not be stored, by their paths. */
  leftOut?: readonly string[];
  requestId: string;
}

/** How an event came that did not come by the webhook. */
interface Source {
  /** `reconciliation`: a comparison concluded it, because its webhook never came; `event`: a native event of the provider. */
  readonly source: 'reconciliation' | 'event';
  /**
   * Whether what it was concluded from still holds, in the transaction of the change; a time: it does, and it happened no earlier than
   * that, whatever its own time says.
   */
  readonly stillHolds: (tx: Tx) => Promise<boolean | Date>;
  /** What is kept beside it, in the same transaction. */
  readonly after?: (tx: Tx) => Promise<void>;
}

interface LifecycleOptions {
  readonly config: Pick<Config, 'idp'>;
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  /** Limits concurrency: a provider may send events about everybody at once. */
  readonly turns: Pick<WorkQueue, 'take'>;
}

export class Lifecycle {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #orgToApp: Config['idp']['orgToApp'];
  readonly #turns: Pick<WorkQueue, 'take'>;

  constructor(options: LifecycleOptions) {
    this.#database = options.database;
    this.#turns = options.turns;
    this.#clock = options.clock;
    this.#orgToApp = options.config.idp.orgToApp;
  }

  /** Applies the event; the result is whether it changed anything. */
  async tell(userEvent: UserEvent, from?: Source): Promise<Committed<boolean>> {
    // Capped at the present: a clock that runs ahead must not make all later events look old.
    const now = this.#clock.now();
    const at = userEvent.occurredAt === null ? null : new Date(Math.min(userEvent.occurredAt.getTime(), now));
    const apply = async (tx: Tx): Promise<Outcome<boolean>> => {
      const { event, eventType = event, orgId, email, eventId, leftOut } = userEvent;
      const answer = from === undefined || (await from.stillHolds(tx));
      const holds = answer !== false;
      const when = answer instanceof Date && at !== null && answer > at ? answer : at;
      // What a comparison concluded, and does not hold any more, was never an event.
      if (!holds && from?.source === 'reconciliation') return UNCHANGED;
      const isNew = holds && (eventId === null || (await claimEvent(tx, 'webhook', eventId)));
      const applied = isNew ? await this.#apply(tx, userEvent, when, new Date(now)) : UNCHANGED;
      const outcome = applied.result ? 'applied' : 'unchanged';
      const source = from?.source ?? 'webhook';
      await from?.after?.(tx);
      await noteEvent(tx, { source, eventType, orgId: orgId || null, email, outcome, reason: null, leftOut });
      return applied;
    };
    return await this.#turns.take(() => this.#database.change(apply));
  }

  async #apply(tx: Tx, userEvent: UserEvent, at: Date | null, now: Date): Promise<Outcome<boolean>> {
    const { event, email } = userEvent;
    const before = await findProfile(tx, email);
    const names = storableNames(userEvent.names);
    const { id, created } = await ensureProfile(tx, { email, names, at: namesAt(event, at, now) });

    const { active } = EVENTS[event];
    // A creation makes a record but never reactivates one: a person deactivated meanwhile stays inactive.
    const says = event === 'user.created' ? created && at !== null : active !== null;
    const switched = says && (await setProviderActive(tx, id, active === true, at));
    if (event === 'user.updated' && !created) {
      await applyNames(tx, id, { names, at: at ?? now, rule: at === null ? 'always' : 'notOlder' });
    }
    const welcomed = event === 'user.created' && (await this.#welcome(tx, id, userEvent.orgId));

    const after = await findProfile(tx, email);
    const renamed = !created && JSON.stringify(namesOf(before)) !== JSON.stringify(namesOf(after));
    if (!created && !switched && !renamed && !welcomed) return UNCHANGED;
    await record(tx, {
      actor: 'idp',
      action: event,
      subject: email,
      before: before === undefined ? null : namesOf(before),
      after: { ...namesOf(after), ...(switched ? { active } : {}), ...(created ? { created } : {}) },
      requestId: userEvent.requestId,
    });
    return { result: true, scopes: switched ? [`u:${email}`] : [] };
  }

  /** Adds preferences in the organization's application, if it has one. */
  async #welcome(tx: Tx, person: number, orgId: string): Promise<boolean> {
    if (orgId === '') return false;
    const app = await applicationOfOrganization(tx, orgId, this.#orgToApp.get(orgId));
    return app !== null && (await ensurePreference(tx, person, app));
  }
}

const UNCHANGED: Outcome<boolean> = { result: false, scopes: [] };

/**
 * The age of the names in a record that this event creates. Names that come with a change of state are of unknown age: any later
 * update replaces them, whenever it happened.
 */
function namesAt(event: LifecycleEvent, at: Date | null, now: Date): Date | null {
  if (event === 'user.updated') return at ?? now;
  return event === 'user.created' ? at : null;
}

function namesOf(profile: ProfileRow | undefined) {
  const { firstName = null, lastName = null, displayName = null } = profile ?? {};
  return { firstName, lastName, displayName };
}
