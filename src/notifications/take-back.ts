/** Taking back what has not left (docs/reference/notifications.md#taking-back). */

import { administer, applicationOf, type By, editorOf } from '../administration/administer.ts';
import { UsherError } from '../base/errors.ts';
import { type TakenBack as Counted, takeBack } from '../delivery/queue.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { findWaiting, knownOf, type WaitingQuery } from '../persistence/notifications/log.ts';
import { unknownReference } from './compose.ts';

/** Which notifications to take back: these, or all that wait for a delivery and fit. */
export type TakeBackOrder = { readonly ids: readonly number[] } | { readonly waiting: WaitingQuery };

export interface TakenBack {
  /** The notifications of which a delivery was taken back. */
  readonly notifications: number;
  /** Deliveries that this call took back: they never leave. */
  readonly cancelled: number;
  /** Deliveries that a worker is handing over: each leaves now or never, as the log soon says. */
  readonly leaving: number;
  /** Deliveries that had left before. */
  readonly left: number;
  /** Unread items that left inboxes. */
  readonly withdrawn: number;
}

/** Waiting notifications that one call takes back. */
const MAX_TAKEN = 10_000;
/** Notifications in one of its statements: the embedded database answers checks between two. */
const BATCH = 1000;

export class TakeBacks {
  readonly #database: Database;
  readonly #changed: (emails: readonly string[]) => void;

  /** `changed` gets the addresses whose inbox changed, after the commit. */
  constructor(database: Database, changed: (emails: readonly string[]) => void) {
    this.#database = database;
    this.#changed = changed;
  }

  /** One notification. NOT_FOUND for an unknown application, and for what another one sent. */
  async one(app: string, id: number, withdraw: boolean, by: By): Promise<TakenBack> {
    const found = async (tx: Tx, appId: number) => {
      if ((await knownOf(tx, appId, [id])).size > 0) return [id];
      throw new UsherError('NOT_FOUND', 'The application did not send this notification.');
    };
    return (await this.#take({ app, withdraw, subject: String(id), said: {} }, by, found)).taken;
  }

  /**
   * Several of an application; `more` says whether others wait. NOT_FOUND for an unknown application, UNKNOWN_REFERENCE for an id
   * of another application.
   */
  async several(
    app: string,
    order: TakeBackOrder,
    withdraw: boolean,
    by: By,
  ): Promise<TakenBack & { readonly more: boolean }> {
    if ('waiting' in order) {
      const { type, email } = order.waiting;
      const waiting = (tx: Tx, appId: number) => findWaiting(tx, appId, order.waiting, MAX_TAKEN + 1);
      const { taken, more } = await this.#take({ app, withdraw, subject: email, said: { type } }, by, waiting);
      return { ...taken, more };
    }
    const ids = [...new Set(order.ids)];
    const named = async (tx: Tx, appId: number) => {
      const known = await knownOf(tx, appId, ids);
      const at = order.ids.findIndex((id) => !known.has(id));
      if (at === -1) return ids.sort((a, b) => a - b);
      throw unknownReference(`ids.${at}`, `ids[${at}] is not a notification of ${app}: ${order.ids[at]}`);
    };
    const subject = ids.length === 1 ? String(ids[0]) : null;
    const { taken } = await this.#take({ app, withdraw, subject, said: {} }, by, named);
    return { ...taken, more: false };
  }

  async #take(
    { app, withdraw, subject, said }: Wanted,
    by: By,
    find: (tx: Tx, app: number) => Promise<number[]>,
  ): Promise<{ taken: TakenBack; more: boolean }> {
    const about = { app, action: 'notification.cancelled', guard: editorOf(app) };
    const { result } = await administer(this.#database, by, about, async ({ tx, audit }) => {
      const found = await find(tx, await applicationOf(tx, app));
      const ids = found.slice(0, MAX_TAKEN);
      const parts: Counted[] = [];
      for (let from = 0; from < ids.length; from += BATCH) {
        parts.push(await takeBack(tx, ids.slice(from, from + BATCH), withdraw));
      }
      const taken = parts.map(countsOf).reduce(added, NOTHING);
      if (parts.some(({ isChanged }) => isChanged)) audit({ subject, after: { ...said, ...taken } });
      const emails = [...new Set(parts.flatMap(({ withdrawn }) => withdrawn))];
      return { result: { taken, more: found.length > MAX_TAKEN, emails }, scopes: [] };
    });
    if (result.emails.length > 0) this.#changed(result.emails);
    return result;
  }
}

interface Wanted {
  readonly app: string;
  readonly withdraw: boolean;
  /** Of the audit record. */
  readonly subject: string | null;
  /** What the audit record also says. */
  readonly said: object;
}

const NOTHING: TakenBack = { notifications: 0, cancelled: 0, leaving: 0, left: 0, withdrawn: 0 };

function countsOf({ notifications, cancelled, leaving, left, withdrawn }: Counted): TakenBack {
  return { notifications, cancelled, leaving, left, withdrawn: withdrawn.length };
}

function added(a: TakenBack, b: TakenBack): TakenBack {
  return {
    notifications: a.notifications + b.notifications,
    cancelled: a.cancelled + b.cancelled,
    leaving: a.leaving + b.leaving,
    left: a.left + b.left,
    withdrawn: a.withdrawn + b.withdrawn,
  };
}
