import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** A subscription as its owner sees it. */
export type PushSubscriptionRow = Omit<Row<'push_subscription'>, 'personId' | 'p256dh' | 'auth' | 'vapidKey'>;

/** A subscription as a push needs it. */
export type PushTarget = Pick<
  Row<'push_subscription'>,
  'id' | 'endpoint' | 'p256dh' | 'auth' | 'vapidKey' | 'updatedAt'
>;

/** A subscription as a browser creates it. */
export type NewPushSubscription = Pick<
  Row<'push_subscription'>,
  'endpoint' | 'p256dh' | 'auth' | 'deviceLabel' | 'vapidKey'
>;

const OWNER_COLUMNS = ['id', 'endpoint', 'deviceLabel', 'lastUsedAt', 'createdAt', 'updatedAt'] as const;

/** A person's subscriptions, oldest first. */
export async function listSubscriptions(tx: Tx, email: string): Promise<PushSubscriptionRow[]> {
  return await tx.kysely
    .selectFrom('push_subscription')
    .select(OWNER_COLUMNS)
    .where('personId', '=', (eb) => eb.selectFrom('person').select('id').where('email', '=', email))
    .orderBy('id')
    .execute();
}

/**
 * Stores a subscription, or updates the one with that endpoint. Another person's is taken over only when both keys are
 * equal; otherwise undefined. Keeps the `keep` most recently used of the person. Calls for one person are serialized.
 */
export async function upsertSubscription(
  tx: Tx,
  person: number,
  { endpoint, p256dh, auth, deviceLabel, vapidKey }: NewPushSubscription,
  keep: number,
): Promise<(PushSubscriptionRow & { created: boolean }) | undefined> {
  await sql`select id from person where id = ${person} for no key update`.execute(tx.kysely);
  const { rows } = await sql<PushSubscriptionRow & { created: boolean }>`
    insert into push_subscription as s (person_id, endpoint, p256dh, auth, device_label, vapid_key)
    values (${person}, ${endpoint}, ${p256dh}, ${auth}, ${deviceLabel}, ${vapidKey})
    on conflict (endpoint) do update
      set person_id = excluded.person_id, p256dh = excluded.p256dh, auth = excluded.auth,
          device_label = excluded.device_label, vapid_key = excluded.vapid_key, updated_at = now(),
          last_used_at = case when s.person_id = excluded.person_id then s.last_used_at end
      where s.person_id = excluded.person_id or (s.p256dh = excluded.p256dh and s.auth = excluded.auth)
    returning id, endpoint, device_label, last_used_at, created_at, updated_at, xmax = 0 as created`.execute(tx.kysely);
  const stored = rows[0];
  if (stored === undefined) return undefined;
  await sql`
    delete from push_subscription
     where id in (select id from push_subscription where person_id = ${person} and id <> ${stored.id}
                   order by greatest(last_used_at, updated_at) desc, id desc offset ${keep - 1})`.execute(tx.kysely);
  return stored;
}

/** Deletes the person's subscription with that endpoint; returns whether there was one. */
export async function removeByEndpoint(tx: Tx, email: string, endpoint: string): Promise<boolean> {
  return await removeOwned(tx, email, sql`s.endpoint = ${endpoint}`);
}

/** Deletes the person's subscription with that id; returns whether there was one. */
export async function removeById(tx: Tx, email: string, id: number): Promise<boolean> {
  return await removeOwned(tx, email, sql`s.id = ${id}`);
}

async function removeOwned(tx: Tx, email: string, which: ReturnType<typeof sql>): Promise<boolean> {
  const { rows } = await sql`
    delete from push_subscription s using person p
     where p.id = s.person_id and p.email = ${email} and ${which} returning s.id`.execute(tx.kysely);
  return rows.length > 0;
}
