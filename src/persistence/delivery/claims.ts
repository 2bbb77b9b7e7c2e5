import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { PushTarget } from './push-subscriptions.ts';

/** A delivery in a worker's hands until its lease ends. */
export interface Claimed {
  id: number;
  notificationId: number;
  channel: 'email' | 'push';
  lane: string;
  brandId: number | null;
  content: unknown;
  /** This attempt counted; the claim's name too: whoever claims it later has a higher one. */
  attempts: number;
  personId: number;
  /** Whether the person may be sent anything: active, not blocked. */
  active: boolean;
  /** It has been tried, or was held up, for as long as is worth it. */
  expired: boolean;
  /** Push subscriptions that need no more tries. */
  pushDone: number[];
  createdAt: Date;
  /** Of a push: the person's subscriptions as they were when it was claimed. Else empty. */
  targets: readonly PushTarget[];
}

export interface ClaimRequest {
  /** Deliveries in all. */
  limit: number;
  /** Of one lane of that channel, where `free` does not name it. */
  perLane: Readonly<Record<'email' | 'push', number>>;
  /** How many of a lane may still be claimed. */
  free: ReadonlyMap<string, number>;
  leaseMs: number;
}

/**
 * Claims what is due: of each lane the oldest, the lanes taking turns. Other workers' rows are skipped, never waited for. A claim
 * is a `due_at` behind the lease: nobody has to clean up after a worker that was killed.
 */
export async function claimDue(tx: Tx, { limit, perLane, free, leaseMs }: ClaimRequest): Promise<Claimed[]> {
  const { rows } = await sql<ClaimedRow>`
    with recursive lanes (lane) as (
      (select lane from delivery where due_at is not null order by lane limit 1)
      union all
      select (select d.lane from delivery d where d.due_at is not null and d.lane > l.lane order by d.lane limit 1)
        from lanes l where l.lane is not null
    ), due as (
      select d.id, row_number() over (partition by l.lane order by d.due_at, d.id) as turn
        from lanes l
        left join unnest(${[...free.keys()]}::text[], ${[...free.values()]}::int[]) as f (lane, free) on f.lane = l.lane
       cross join lateral (
         select id, due_at from delivery
          where lane = l.lane and due_at is not null and due_at <= now()
          order by due_at, id
          limit greatest(0, coalesce(f.free,
                  case when l.lane like 'push:%' then ${perLane.push}::int else ${perLane.email}::int end))
            for update skip locked
       ) d
    )
    update delivery d
       set due_at = now() + ${leaseMs}::int * interval '1 millisecond', attempts = d.attempts + 1,
           status = case when d.sent_at is null then 'sending' else d.status end
      from (select id from due order by turn, id limit ${limit}::int) c, notification n, person p
     where d.id = c.id and n.id = d.notification_id and p.id = n.person_id
    returning d.id, d.notification_id as "notificationId", d.channel, d.lane, d.brand_id as "brandId", d.content,
              d.attempts, n.person_id as "personId", p.provider_active and not p.blocked as active,
              d.give_up_at <= now() as expired, d.push_done as "pushDone",
              d.created_at as "createdAt",
              ${TARGETS} as targets`.execute(tx.kysely);
  return rows.map(({ targets, ...row }) => ({ ...row, targets: readTargets(targets) })).toSorted((a, b) => a.id - b.id);
}

/** Whether any delivery has something left to do, due or not. One look into the index that claims go by. */
export async function isAnythingWaiting(tx: Tx): Promise<boolean> {
  const { rows } = await sql`select from delivery where due_at is not null order by lane limit 1`.execute(tx.kysely);
  return rows.length > 0;
}

/** What may have changed since it was claimed. */
export type Present = Pick<Claimed, 'active' | 'expired' | 'targets'>;

/** Reads it anew; what is not in the answer is claimed by somebody else meanwhile, or gone. */
export async function readPresent(
  tx: Tx,
  held: readonly Pick<Claimed, 'id' | 'attempts'>[],
): Promise<Map<number, Present>> {
  const { rows } = await sql<Pick<ClaimedRow, 'id' | 'active' | 'expired' | 'targets'>>`
    select d.id, p.provider_active and not p.blocked as active, d.give_up_at <= now() as expired, ${TARGETS} as targets
      from unnest(${held.map(({ id }) => id)}::bigint[], ${held.map(({ attempts }) => attempts)}::int[]) as h (id, attempts)
      join delivery d on d.id = h.id and d.attempts = h.attempts and d.due_at is not null
      join notification n on n.id = d.notification_id
      join person p on p.id = n.person_id`.execute(tx.kysely);
  return new Map(rows.map(({ id, targets, ...row }) => [id, { ...row, targets: readTargets(targets) }]));
}

/** The subscriptions of a push. */
const TARGETS = sql`
  case when d.channel = 'push' then (
    select jsonb_agg(jsonb_build_object('id', s.id, 'endpoint', s.endpoint, 'p256dh', s.p256dh, 'auth', s.auth,
                                        'vapidKey', s.vapid_key, 'updatedAt', s.updated_at) order by s.id)
      from push_subscription s where s.person_id = n.person_id
  ) end`;

/** As JSON has it. */
type TargetRows = (Omit<PushTarget, 'updatedAt'> & { updatedAt: string })[] | null;
type ClaimedRow = Omit<Claimed, 'targets'> & { targets: TargetRows };

function readTargets(rows: TargetRows): PushTarget[] {
  return (rows ?? []).map((target) => ({ ...target, updatedAt: new Date(target.updatedAt) }));
}

/**
 * Moves the ends of leases that are still held. One that was lost meanwhile, or settled for later, stays as it is; one that is
 * being settled just now is skipped, not waited for.
 */
export async function renewLeases(
  tx: Tx,
  held: readonly Pick<Claimed, 'id' | 'attempts'>[],
  leaseMs: number,
): Promise<void> {
  await sql`
    update delivery set due_at = now() + ${leaseMs}::int * interval '1 millisecond'
     where id in (
       select d.id
         from unnest(${held.map(({ id }) => id)}::bigint[], ${held.map(({ attempts }) => attempts)}::int[])
              as h (id, attempts)
         join delivery d on d.id = h.id
        where d.attempts = h.attempts and d.due_at < now() + ${leaseMs}::int * interval '1 millisecond'
          for update of d skip locked)`.execute(tx.kysely);
}

/**
 * Makes every claim due at once. For an embedded database, which no other process can have open: what is claimed when a worker
 * starts was claimed by a process that is no more.
 */
export async function releaseAll(tx: Tx): Promise<void> {
  await sql`
    update delivery set due_at = now() where due_at is not null and status = 'sending'`.execute(tx.kysely);
}

/** How many deliveries of each channel wait, and for how long the most overdue one has, in seconds. Counts to 10,000. */
export async function readBacklog(tx: Tx): Promise<{ channel: 'email' | 'push'; waiting: number; overdue: number }[]> {
  const { rows } = await sql<{ channel: 'email' | 'push'; waiting: number; overdue: number }>`
    select c.channel, w.waiting, w.overdue
      from (values ('email'), ('push')) as c (channel)
     cross join lateral (
       select count(*)::int as waiting,
              coalesce(greatest(0, extract(epoch from now() - min(due_at))), 0)::float8 as overdue
         from (select due_at from delivery
                where due_at is not null and channel = c.channel limit 10000) d
     ) w`.execute(tx.kysely);
  return rows;
}
