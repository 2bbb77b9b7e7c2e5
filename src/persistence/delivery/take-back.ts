/** Deliveries that have not left are taken back (docs/reference/notifications.md#taking-back). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { CANCELLED, settleNotifications } from './settle.ts';

/** What became of the deliveries of some notifications. */
export interface TakenBack {
  /** The notifications with a delivery that was taken back. */
  notifications: number;
  /** Deliveries that never leave. */
  cancelled: number;
  /** Claimed by a worker at this moment: each leaves now, or never. */
  leaving: number;
  left: number;
  /** The addresses with an unread item that is gone from their inbox, once for each item. */
  withdrawn: string[];
  /** Whether any row was changed. */
  isChanged: boolean;
}

interface DeliveryState {
  id: number;
  notification: number;
  status: 'queued' | 'sending' | 'sent' | 'failed' | 'skipped';
  isDue: boolean;
  isCancelled: boolean;
}

/**
 * Takes back what has not left of these notifications of one application; with `withdraw` unread ones leave the inbox, too. Their rows are
 * locked first, in one order, as every settlement does: of two calls at once the second finds what the first has done. A row that a
 * worker has claimed is marked: its outcome is stored, and any but "sent" ends it.
 */
export async function takeBackOf(tx: Tx, notifications: readonly number[], withdraw: boolean): Promise<TakenBack> {
  const ids = [...notifications];
  await sql`select id from notification where id = any(${ids}::bigint[]) order by id for update`.execute(tx.kysely);
  // Waits for a claim that is being committed, and then sees it.
  const { rows } = await sql<DeliveryState>`
    select id, notification_id as notification, status, due_at is not null as "isDue", cancelled_at is not null as "isCancelled"
      from delivery where notification_id = any(${ids}::bigint[]) order by notification_id, id for update`.execute(
    tx.kysely,
  );
  const of = (...statuses: readonly string[]) => rows.filter(({ status }) => statuses.includes(status));
  const waiting = of('queued', 'failed');
  const leaving = of('sending');
  // A push that has reached one browser, with others to come.
  const half = of('sent').filter(({ isDue }) => isDue);
  const changed = [...waiting, ...leaving.filter(({ isCancelled }) => !isCancelled), ...half];
  if (changed.length > 0) await endDeliveries(tx, changed);
  const touched = [...new Set(waiting.map(({ notification }) => notification))];
  if (touched.length > 0) await settleNotifications(tx, touched);
  const withdrawn = withdraw ? await withdrawUnread(tx, ids) : [];
  return {
    notifications: touched.length,
    cancelled: waiting.length,
    leaving: leaving.length,
    left: of('sent').length,
    withdrawn,
    isChanged: changed.length > 0 || withdrawn.length > 0,
  };
}

async function endDeliveries(tx: Tx, all: readonly DeliveryState[]): Promise<void> {
  await sql`
    update delivery d
       set status = case when d.status in ('queued', 'failed') then 'skipped' else d.status end,
           error = case when d.status in ('queued', 'failed') then ${CANCELLED} else d.error end,
           due_at = case when d.status = 'sending' then d.due_at end,
           cancelled_at = now(), give_up_at = least(d.give_up_at, now())
      from unnest(${all.map(({ id }) => id)}::bigint[], ${all.map(({ notification }) => notification)}::bigint[])
        as t (id, notification)
     where d.id = t.id and d.notification_id = t.notification`.execute(tx.kysely);
}

async function withdrawUnread(tx: Tx, ids: readonly number[]): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    update notification n set status = 'suppressed', status_reason = 'withdrawn'
      from person p
     where n.id = any(${[...ids]}::bigint[]) and p.id = n.person_id and n.read_at is null and n.status <> 'suppressed'
    returning p.email`.execute(tx.kysely);
  return rows.map(({ email }) => email);
}
