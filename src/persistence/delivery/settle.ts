import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Claimed } from './claims.ts';

/** What came of a claim. */
export interface Settlement {
  /** Whether it arrived, at one browser at least. Once it has, it counts as sent whatever becomes of the rest. */
  sent: boolean;
  /** When to go on, in milliseconds from now; null when nothing is left to do. */
  againInMs: number | null;
  /** Whether this was an attempt: what had to wait for another reason has not used one up. */
  attempted: boolean;
  /** Short, stable, for people to read in the send log; never anything secret. Null when nothing went wrong. */
  error: string | null;
  /** Push subscriptions that need no more tries, those of earlier attempts included. */
  pushDone: readonly number[];
}

/**
 * Writes what came of a claim, and the notification's status by all its deliveries. False when the claim was lost meanwhile:
 * whoever has it now settles it. Deliveries of one notification are settled one after the other: the second statement begins
 * under the notification's lock, and so sees what the other settlement has committed.
 */
export async function settleDelivery(
  tx: Tx,
  { id, notificationId, attempts }: Pick<Claimed, 'id' | 'notificationId' | 'attempts'>,
  { sent, againInMs, attempted, error, pushDone }: Settlement,
): Promise<boolean> {
  const { rows } = await sql`
    with n as materialized (select id from notification where id = ${notificationId} for update)
    update delivery d
       set status = case when ${sent}::boolean or d.sent_at is not null then 'sent'
                         when ${againInMs === null}::boolean then 'failed' else 'queued' end,
           error = case when ${sent}::boolean or d.sent_at is not null then null else ${error}::text end,
           sent_at = case when ${sent}::boolean then coalesce(d.sent_at, now()) else d.sent_at end,
           due_at = now() + ${againInMs}::float8 * interval '1 millisecond',
           attempts = d.attempts - ${attempted ? 0 : 1}::int,
           push_done = ${[...pushDone]}::bigint[]
      from n
     where d.id = ${id} and d.notification_id = n.id and d.attempts = ${attempts} and d.due_at is not null
    returning d.id`.execute(tx.kysely);
  if (rows.length === 0) return false;
  await sql`
    update notification n set status = s.status, status_reason = s.reason
      from (select case when bool_or(status in ('queued', 'sending')) then 'queued'
                        when bool_and(status = 'sent') then 'sent'
                        when bool_or(status = 'sent') then 'partial'
                        else 'failed' end as status,
                   case when bool_or(status in ('queued', 'sending')) then null
                        else (array_agg(error order by channel) filter (where status = 'failed'))[1] end as reason
              from delivery where notification_id = ${notificationId}) s
     where n.id = ${notificationId} and n.status <> 'suppressed'
       and (n.status <> s.status or n.status_reason is distinct from s.reason)`.execute(tx.kysely);
  return true;
}
