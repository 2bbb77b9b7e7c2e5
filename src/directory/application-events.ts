/** Logins, activity and logouts reported by an application's backend (docs/reference/people.md#application-events). */

import { UsherError } from '../base/errors.ts';
import { holdApplication } from '../persistence/catalog/applications.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { noteActivityEvent } from '../persistence/directory/activity.ts';
import { findKnown, recordLogin } from '../persistence/directory/preferences.ts';
import { ensureProfile } from '../persistence/directory/profiles.ts';
import { claimEvent } from '../persistence/people/seen-events.ts';
import { recordLogout } from './app-preferences.ts';
import type { WorkQueue } from './work-queue.ts';

interface ApplicationEvent {
  /** In normal form. */
  email: string;
  appCode: string;
  event: 'login' | 'activity' | 'logout';
  /** The application's own id of this event: reported again within 24 hours, it counts once. */
  eventId?: string | undefined;
}

export class ApplicationEvents {
  readonly #database: Database;
  readonly #turns: WorkQueue;

  constructor({ database, turns }: { database: Database; turns: WorkQueue }) {
    this.#database = database;
    this.#turns = turns;
  }

  /**
   * Records the event; false when it was reported before, or for activity within five minutes of the last.
   * UNKNOWN_REFERENCE for an unknown application; a login creates an unknown user, other events answer NOT_FOUND; USER_INACTIVE
   * except for a logout. Refused events are not remembered: they may be reported again.
   */
  async tell(report: ApplicationEvent, by: { actor: string; requestId: string }): Promise<boolean> {
    if (report.event === 'activity') return await this.#noteActivity(report);
    const { result } = await this.#turns.take(() =>
      this.#database.change(async (tx) => ({ result: await tell(tx, report, by), scopes: [] })),
    );
    return result;
  }

  /** Like `tell`, in one round trip: there are many of these. */
  async #noteActivity({ email, appCode: app, eventId }: ApplicationEvent): Promise<boolean> {
    const key = eventId === undefined ? null : keyOf(app, eventId);
    const [noted] = await this.#turns.take(() => this.#database.once(noteActivityEvent(email, app, key)));
    if (noted === undefined) throw new Error('an event must return its row');
    if (noted.appId === null) throw unknownApplication(app);
    refuseInactive(noted.active ?? true);
    if (noted.registered !== true) throw unknownUser();
    return noted.recorded;
  }
}

/** A login or a logout. */
async function tell(tx: Tx, report: ApplicationEvent, by: { actor: string; requestId: string }): Promise<boolean> {
  const { email, appCode: app, event, eventId } = report;
  const appId = await holdApplication(tx, app);
  if (appId === null) throw unknownApplication(app);
  const person = await personOf(tx, report);
  if (eventId !== undefined && !(await claimEvent(tx, 'application-event', keyOf(app, eventId)))) return false;
  if (event === 'login') await recordLogin(tx, person, appId, by.actor);
  else await recordLogout(tx, { person, appId, app, email, ...by });
  return true;
}

/** Decides on rows of this transaction: an inactive user may only log out. */
async function personOf(tx: Tx, { email, event }: ApplicationEvent): Promise<number> {
  const known = await findKnown(tx, email);
  if (known !== undefined && event !== 'logout') refuseInactive(known.active);
  // The recipient of a notification can have a person's row without a profile.
  if (event === 'login') return (await ensureProfile(tx, { email })).id;
  if (known?.registered) return known.id;
  throw unknownUser();
}

/** Event ids are the application's own; codes contain no colon. */
function keyOf(app: string, eventId: string): string {
  return `${app}:${eventId}`;
}

function refuseInactive(active: boolean): void {
  if (!active) throw new UsherError('USER_INACTIVE', 'This account is not active.');
}

function unknownUser(): UsherError {
  return new UsherError('NOT_FOUND', 'There is no user with this address.');
}

function unknownApplication(app: string): UsherError {
  return new UsherError('UNKNOWN_REFERENCE', `appCode: there is no application ${app}.`, {
    details: { path: 'appCode' },
  });
}
