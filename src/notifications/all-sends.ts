/** The sends of all applications that a reader may see (docs/reference/notifications.md#sends-of-all-applications). */

import { administer, type By, type WriteGuard } from '../administration/administer.ts';
import { AUTH_TYPE, PANEL_APP } from '../administration/panel.ts';
import { isAdministrator, type Sight, seenBy, sightIn } from '../administration/reach.ts';
import { certain } from '../base/certain.ts';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import { requeue } from '../delivery/queue.ts';
import { Level } from '../engine/types.ts';
import { recordAll } from '../persistence/audit.ts';
import type { Database } from '../persistence/database.ts';
import { findFailed, type LogRowEverywhere, listAllSends } from '../persistence/notifications/all-sends.ts';
import { brandBySlug } from '../persistence/notifications/brands.ts';
import type { LogQuery } from '../persistence/notifications/log.ts';
import { countOutcomes, firstSince, type StatisticRow } from '../persistence/notifications/recent.ts';
import { unknownReference } from './compose.ts';

export type { LogRowEverywhere } from '../persistence/notifications/all-sends.ts';
export type { StatisticRow } from '../persistence/notifications/recent.ts';

export interface SendStatistics {
  /** The rows are complete from then on. */
  readonly since: Date;
  readonly rows: StatisticRow[];
}

/** Which failed notifications to send again; null for any. */
export interface RetryOrder {
  readonly app: string | null;
  readonly status: string | null;
  readonly type: string | null;
  /** The slug. */
  readonly brand: string | null;
}

export interface Retried {
  readonly notifications: number;
  readonly deliveries: number;
  /** Whether more would fit. */
  readonly more: boolean;
}

/** Notifications that one retry queues. */
const MAX_RETRIED = 10_000;
/** Notifications in one of its statements: the embedded database answers checks between two. */
const BATCH = 1000;
/** Notifications and rows of one answer with statistics. */
const MAX_COUNTED = 100_000;
const MAX_ROWS = 10_000;
const HOUR_MS = 3_600_000;
const FAILED = ['failed', 'partial'];

export class AllSends {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #ring: () => void;

  /** `ring` wakes the worker after the commit. */
  constructor(database: Database, clock: Pick<Clock, 'now'>, ring: () => void) {
    this.#database = database;
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Newest first; of the application `app` alone where it is not null. Empty for what the reader may not see. */
  list(reader: string, app: string | null, query: LogQuery & PageQuery): Promise<Page<LogRowEverywhere>> {
    return this.#database.read(async (tx) =>
      pageOf(await listAllSends(tx, await seenBy(tx, reader, app), oneMore(query)), query),
    );
  }

  /** Attempted deliveries of the last hours, by hour, channel, brand and outcome. */
  statistics(reader: string, app: string | null, hours: number): Promise<SendStatistics> {
    return this.#database.read(async (tx) => {
      const apps = await seenBy(tx, reader, app);
      const begin = new Date(this.#clock.now() - hours * HOUR_MS);
      const from = await firstSince(tx, hours);
      if (from === null) return { since: begin, rows: [] };
      const { rows, since } = await countOutcomes(tx, apps, { from, limit: MAX_COUNTED });
      return bounded(rows, since ?? begin);
    });
  }

  /**
   * Queues failed deliveries again, in the applications that the author may edit: of at most 10,000 notifications, the oldest first.
   * NO_APPLICATION_LEVEL for an application that they may only view; nothing for one that they may not see. UNKNOWN_REFERENCE for an
   * unknown brand and, for a SuperAdmin, an unknown application.
   */
  async retry({ app, status, type, brand }: RetryOrder, by: By): Promise<Retried> {
    let sight: Sight | undefined;
    const guard: WriteGuard = async (tx, email) => {
      sight = await sightIn(tx, email, app);
      return refusal(sight, app);
    };
    const about = { app, action: 'notification.retried', guard };
    const { result } = await administer(this.#database, by, about, async ({ tx }) => {
      const apps = editableIn(certain(sight), app);
      const found = brand === null ? null : await brandBySlug(tx, brand);
      if (found === undefined) throw unknownReference('brand', `brand names no brand: ${brand}`);
      const wanted = { statuses: status === null ? FAILED : [status], type, brand: found, except: AUTH_TYPE };
      const failed = await findFailed(tx, apps, wanted, MAX_RETRIED + 1);
      const counts = new Map<string, Counts>();
      const appOf = new Map(failed.map(({ id, appCode }) => [id, appCode]));
      const ids = failed.slice(0, MAX_RETRIED).map(({ id }) => id);
      for (let from = 0; from < ids.length; from += BATCH) {
        note(counts, appOf, await requeue(tx, ids.slice(from, from + BATCH), found));
      }
      const audits = [...counts].map(([appCode, after]) => ({
        actor: `user:${by.caller.email}`,
        action: about.action,
        appCode,
        after: { ...after, status, type, brand },
        requestId: by.requestId,
        reason: by.reason,
      }));
      await recordAll(tx, audits);
      const retried = [...counts.values()].reduce(added, { notifications: 0, deliveries: 0 });
      return { result: { ...retried, more: failed.length > MAX_RETRIED }, scopes: [] };
    });
    this.#ring();
    return result;
  }
}

interface Counts {
  readonly notifications: number;
  readonly deliveries: number;
}

function added(a: Counts, b: Counts): Counts {
  return { notifications: a.notifications + b.notifications, deliveries: a.deliveries + b.deliveries };
}

/** Counts deliveries that were queued, each by its notification. */
function note(counts: Map<string, Counts>, appOf: ReadonlyMap<number, string>, queued: readonly number[]): void {
  for (const [id, { length }] of Map.groupBy(queued, (notification) => notification)) {
    const app = certain(appOf.get(id));
    const before = counts.get(app) ?? { notifications: 0, deliveries: 0 };
    counts.set(app, added(before, { notifications: 1, deliveries: length }));
  }
}

function refusal(sight: Sight, app: string | null): UsherError | null {
  if (!sight.active) return new UsherError('USER_INACTIVE', 'This account is not active.');
  if (app === null && !isAdministrator(sight)) {
    return new UsherError('FORBIDDEN', 'Only administrators may do this.');
  }
  const named = app === null ? undefined : sight.applications?.find(({ code }) => code === app);
  if (named !== undefined && !isEditable(sight, named)) {
    return new UsherError('NO_APPLICATION_LEVEL', 'You have no level that allows this on the application.');
  }
  return null;
}

/** In `auth` only SuperAdmins write (docs/reference/administration.md#guards). */
function isEditable({ superadmin }: Sight, { code, level }: { code: string; level: Level }): boolean {
  return superadmin || (level === Level.EDIT && code !== PANEL_APP);
}

/** The ids of the applications that the author may edit; null: all of them. */
function editableIn(sight: Sight, app: string | null): readonly number[] | null {
  const { applications, superadmin } = sight;
  if (superadmin && applications?.length === 0) {
    throw unknownReference('appCode', `appCode names no application: ${app}`);
  }
  return applications?.filter((one) => isEditable(sight, one)).map(({ id }) => id) ?? null;
}

/** At most 10,000 rows: whole hours, the newest. */
function bounded(rows: StatisticRow[], since: Date): SendStatistics {
  const cut = rows[MAX_ROWS];
  if (cut === undefined) return { since, rows };
  const begin = new Date(cut.hour.getTime() + HOUR_MS);
  return { since: begin, rows: rows.filter(({ hour }) => hour >= begin) };
}
