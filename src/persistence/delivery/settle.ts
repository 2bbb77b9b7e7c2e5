import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Claimed } from './claims.ts';
import type { PushTarget } from './push-subscriptions.ts';
import { type Revive, reviveRefused } from './refused-rows.ts';

/** The `error` of a delivery that was taken back before it left. */
export const CANCELLED = 'cancelled';

/** The outcome of a claim. */
export interface Settlement {
  /** Whether it arrived, at one browser at least. From then on it counts as sent whatever happens to the rest. */
  sent: boolean;
  /** When to continue, in milliseconds from now; null when finished. */
  againInMs: number | null;
  /** Whether this counts as an attempt: a delay for another reason uses none. */
  attempted: boolean;
  /** Short and stable, for people who read the send log; never secret. Null for a success. */
  error: string | null;
  /** Push subscriptions that need no further attempts, including those of earlier attempts. */
  pushDone: readonly number[];
}

/** A claim and its outcome. */
export interface Settled {
  readonly claimed: Pick<Claimed, 'id' | 'notificationId' | 'attempts'>;
  readonly settlement: Settlement;
}

/** What is settled with the claims. */
export interface SettledWith {
  /** Failed mails of earlier settlements that are queued again. */
  readonly revive?: Revive;
  /** The lanes of the mails among them. */
  readonly lanes?: readonly string[];
}

/** The ids of the claims that were written, and whether any of the lanes has a row of refusals. */
export interface Written {
  readonly written: Set<number>;
  readonly isAnyRefused: boolean;
}

/**
 * Writes the outcomes of claims, each of a different delivery, and the status of each notification. The other claims were lost, and their new workers settle them. Settlements of one notification are serialized: the
 * second statement begins under the notifications' locks, and so sees what other settlements have committed. All take the locks
 * in one order.
 */
export async function settleDeliveries(
  tx: Tx,
  all: readonly Settled[],
  { revive, lanes = [] }: SettledWith = {},
): Promise<Written> {
  const written = all.map(({ claimed, settlement }) => ({
    id: claimed.id,
    notification: claimed.notificationId,
    claim: claimed.attempts,
    sent: settlement.sent,
    again: settlement.againInMs,
    attempted: settlement.attempted,
    error: settlement.error,
    done: settlement.pushDone,
  }));
  const revived = revive?.mails.map(({ notificationId }) => notificationId) ?? [];
  const { rows } = await sql<{ id: number; notification: number; isAnyRefused: boolean }>`
    with s as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(written)}::jsonb)
        as s (id bigint, notification bigint, claim int, sent boolean, again float8, attempted boolean, error text,
              done bigint[])
    ), n as materialized (
      select id from notification
       where id in (select notification from s) or id = any(${revived}::bigint[])
       order by id for update
    )
    update delivery d
       set status = case when s.sent or d.sent_at is not null then 'sent'
                         when d.cancelled_at is not null then 'skipped'
                         when s.again is null then 'failed' else 'queued' end,
           error = case when s.sent or d.sent_at is not null then null
                        when d.cancelled_at is not null then ${CANCELLED} else s.error end,
           sent_at = case when s.sent then coalesce(d.sent_at, now()) else d.sent_at end,
           due_at = case when d.cancelled_at is null then now() + s.again * interval '1 millisecond' end,
           attempts = d.attempts - case when s.attempted then 0 else 1 end,
           push_done = s.done
      from s join n on n.id = s.notification
     where d.id = s.id and d.notification_id = n.id and d.attempts = s.claim and d.due_at is not null
    returning d.id, n.id as notification,
              exists (select from refused_row where lane = any(${[...lanes]}::text[])) as is_any_refused`.execute(
    tx.kysely,
  );
  const changed = new Set(rows.map(({ notification }) => notification));
  if (revive !== undefined && revived.length > 0) {
    await reviveRefused(tx, revive);
    for (const id of revived) changed.add(id);
  }
  if (changed.size > 0) await settleNotifications(tx, [...changed]);
  return { written: new Set(rows.map(({ id }) => id)), isAnyRefused: rows[0]?.isAnyRefused ?? false };
}

/** Derives the status of notifications from their deliveries; what was taken back does not count. Their rows are locked. */
export async function settleNotifications(tx: Tx, ids: readonly number[]): Promise<void> {
  await sql`
    update notification n set status = s.status, status_reason = s.reason
      from (select notification_id as id,
                   case when bool_or(status in ('queued', 'sending')) then 'queued'
                        when bool_and(status in ('sent', 'skipped')) then 'sent'
                        when bool_or(status = 'sent') then 'partial'
                        else 'failed' end as status,
                   case when bool_or(status in ('queued', 'sending')) then null
                        else coalesce((array_agg(error order by channel) filter (where status = 'failed'))[1],
                                      (array_agg(error order by channel) filter (where status = 'skipped'))[1]) end as reason
              from delivery where notification_id = any(${[...ids]}::bigint[]) group by notification_id) s
     where n.id = s.id and n.status <> 'suppressed'
       and (n.status <> s.status or n.status_reason is distinct from s.reason)`.execute(tx.kysely);
}

/** Records the results of pushes: these subscriptions were used now, and these are gone unless they were renewed meanwhile. */
export async function noteResults(
  tx: Tx,
  { used, gone }: { used: readonly number[]; gone: readonly Pick<PushTarget, 'id' | 'updatedAt'>[] },
): Promise<void> {
  if (used.length > 0) {
    // Locked in one order, because several workers may update the same browsers.
    await sql`
      update push_subscription set last_used_at = now()
       where id in (select id from push_subscription where id = any(${[...used]}::bigint[]) order by id
                       for no key update)`.execute(tx.kysely);
  }
  if (gone.length > 0) {
    await sql`
      delete from push_subscription s
       using unnest(${gone.map(({ id }) => id)}::bigint[], ${gone.map(({ updatedAt }) => updatedAt.toISOString())}::timestamptz[])
         as g (id, updated_at)
       where s.id = g.id and s.updated_at = g.updated_at`.execute(tx.kysely);
  }
}
