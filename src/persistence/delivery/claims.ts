import { type RawBuilder, sql } from 'kysely';
import { CHANNEL_NAMES, type ChannelName } from '../../base/channels.ts';
import type { Tx } from '../database.ts';
import type { PushTarget } from './push-subscriptions.ts';

/** A delivery that a worker holds until its lease ends. */
export interface Claimed {
  id: number;
  notificationId: number;
  channel: ChannelName;
  lane: string;
  brandId: number | null;
  content: unknown;
  /** Includes this attempt. Identifies the claim too: a later claim has a higher number. */
  attempts: number;
  personId: number;
  /** Whether the person may receive anything: active, not blocked. */
  active: boolean;
  /** Its time for attempts and delays is over. */
  expired: boolean;
  /** Somebody has taken it back since an earlier claim. */
  cancelled: boolean;
  /** Push subscriptions that need no further attempts. */
  pushDone: number[];
  createdAt: Date;
  /** For a push the person's subscriptions at the time of the claim; otherwise empty. */
  targets: readonly PushTarget[];
}

interface ClaimRequest {
  /** Deliveries in all. */
  limit: number;
  /**
   * Limit of each lane without an entry in `free`, by what its name begins with, before the colon. Other lanes are left alone: they
   * belong to a channel that this version does not know.
   */
  perLane: Readonly<Record<string, number>>;
  /** How many deliveries of a lane may still be claimed. */
  free: ReadonlyMap<string, number>;
  leaseMs: number;
}

/**
 * Claims due deliveries: the oldest of each lane, the lanes in turn. Other workers' rows are skipped, never waited for. A claim
 * sets `due_at` to the end of the lease, so that nobody has to clean up after a killed worker.
 */
export async function claimDue(tx: Tx, { limit, perLane, free, leaseMs }: ClaimRequest): Promise<Claimed[]> {
  const { rows } = await sql<ClaimedRow>`
    with recursive lanes (lane) as (
      (select lane from delivery where due_at is not null order by lane limit 1)
      union all
      select (select d.lane from delivery d where d.due_at is not null and d.lane > l.lane order by d.lane limit 1)
        from lanes l where l.lane is not null
    ), due as (
      select d.id, d.notification_id, row_number() over (partition by l.lane order by d.due_at, d.id) as turn
        from lanes l
        left join unnest(${[...free.keys()]}::text[], ${[...free.values()]}::int[]) as f (lane, free) on f.lane = l.lane
        left join unnest(${Object.keys(perLane)}::text[], ${Object.values(perLane)}::int[]) as k (kind, free)
               on k.kind = split_part(l.lane, ':', 1)
       cross join lateral (
         select id, notification_id, due_at from delivery
          where lane = l.lane and due_at is not null and due_at <= now()
          order by due_at, id
          limit greatest(0, coalesce(f.free, k.free))
            for update skip locked
       ) d
    )
    update delivery d
       set due_at = now() + ${leaseMs}::int * interval '1 millisecond', attempts = d.attempts + 1,
           status = case when d.sent_at is null then 'sending' else d.status end
      from (select id, notification_id from due order by turn, id limit ${limit}::int) c, notification n, person p
     where d.id = c.id and d.notification_id = c.notification_id and n.id = c.notification_id and p.id = n.person_id
    returning d.id, d.notification_id as "notificationId", d.channel, d.lane, d.brand_id as "brandId", d.content,
              d.attempts, n.person_id as "personId", p.provider_active and not p.blocked as active,
              d.give_up_at <= now() as expired, d.cancelled_at is not null as cancelled, d.push_done as "pushDone",
              d.created_at as "createdAt",
              ${TARGETS} as targets`.execute(tx.kysely);
  return rows.map(({ targets, ...row }) => ({ ...row, targets: readTargets(targets) })).toSorted((a, b) => a.id - b.id);
}

/** Whether any delivery is unfinished, due or not. One lookup in the index of claims. */
export async function isAnythingWaiting(tx: Tx): Promise<boolean> {
  const { rows } = await sql`select from delivery where due_at is not null order by lane limit 1`.execute(tx.kysely);
  return rows.length > 0;
}

/** The state that may have changed since the claim. */
export type Present = Pick<Claimed, 'active' | 'expired' | 'cancelled' | 'targets'>;

/** What identifies a claim; with its notification, whose partition the delivery is in. */
export type Held = Pick<Claimed, 'id' | 'notificationId' | 'attempts'>;

/** Reads it again; deliveries missing from the result have been claimed by another worker meanwhile, or are gone. */
export async function readPresent(tx: Tx, held: readonly Held[]): Promise<Map<number, Present>> {
  const { rows } = await sql<Pick<ClaimedRow, 'id' | keyof Present>>`
    select d.id, p.provider_active and not p.blocked as active, d.give_up_at <= now() as expired,
           d.cancelled_at is not null as cancelled, ${TARGETS} as targets
      from ${heldRows(held)}
      join delivery d on d.id = h.id and d.notification_id = h.notification_id and d.attempts = h.attempts and d.due_at is not null
      join notification n on n.id = d.notification_id
      join person p on p.id = n.person_id`.execute(tx.kysely);
  return new Map(rows.map(({ id, targets, ...row }) => [id, { ...row, targets: readTargets(targets) }]));
}

/** The relation `h (id, notification_id, attempts)`. */
function heldRows(held: readonly Held[]): RawBuilder<unknown> {
  return sql`unnest(${held.map(({ id }) => id)}::bigint[], ${held.map(({ notificationId }) => notificationId)}::bigint[],
    ${held.map(({ attempts }) => attempts)}::int[]) as h (id, notification_id, attempts)`;
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
 * Extends the leases that are still held. One that was lost meanwhile, or settled for a later time, stays as it is; one that is
 * being settled right now is skipped, not waited for.
 */
export async function renewLeases(tx: Tx, held: readonly Held[], leaseMs: number): Promise<void> {
  await sql`
    update delivery set due_at = now() + ${leaseMs}::int * interval '1 millisecond'
     where (notification_id, id) in (
       select d.notification_id, d.id
         from ${heldRows(held)}
         join delivery d on d.id = h.id and d.notification_id = h.notification_id
        where d.attempts = h.attempts and d.due_at < now() + ${leaseMs}::int * interval '1 millisecond'
          for update of d skip locked)`.execute(tx.kysely);
}

/**
 * Makes every claim due at once. For an embedded database, which no other process can have open: any claim found when a worker
 * starts belongs to a dead process.
 */
export async function releaseAll(tx: Tx): Promise<void> {
  await sql`
    update delivery set due_at = now() where due_at is not null and status = 'sending'`.execute(tx.kysely);
}

export interface Backlog {
  channel: ChannelName;
  waiting: number;
  overdue: number;
}

/** The number of waiting deliveries of each channel, and by how many seconds the oldest is overdue. Counts to 10,000. */
export async function readBacklog(tx: Tx): Promise<Backlog[]> {
  const { rows } = await sql<Backlog>`
    select c.channel, w.waiting, w.overdue
      from unnest(${CHANNEL_NAMES}::text[]) as c (channel)
     cross join lateral (
       select count(*)::int as waiting,
              coalesce(greatest(0, extract(epoch from now() - min(due_at))), 0)::float8 as overdue
         from (select due_at from delivery
                where due_at is not null and channel = c.channel limit 10000) d
     ) w`.execute(tx.kysely);
  return rows;
}
