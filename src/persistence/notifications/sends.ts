import { sql } from 'kysely';
import { CHANNEL_NAMES, type ChannelName } from '../../base/channels.ts';
import { listed } from '../catalog/columns.ts';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
import { ensurePeople } from '../people/people.ts';

/** A recipient as a send finds them in its own transaction, with their choices for the type; null where its default holds. */
export interface RecipientRow extends Record<ChannelName, boolean | null> {
  id: number;
  address: string;
  active: boolean;
  application: boolean;
  subscribed: boolean;
}

/**
 * The recipients, each once, with their switches, by address; unknown addresses get a record. Their rows are locked in one order
 * for all: a person's notifications are then numbered in commit order, on which streams and cursors rely.
 */
export async function holdRecipients(
  tx: Tx,
  { app, type }: { app: number; type: number },
  emails: readonly string[],
): Promise<Map<string, RecipientRow>> {
  const { rows } = await sql<{ count: number; unregistered: number[] }>`
    with held as materialized (
      select id, registered_at from person where email = any(${emails}::text[]) order by id for no key update
    )
    select count(*)::int as count, coalesce(array_agg(id) filter (where registered_at is null), '{}') as unregistered
    from held`.execute(tx.kysely);
  const { count = 0, unregistered = [] } = rows[0] ?? {};
  if (count < emails.length) {
    await ensurePeople(tx, emails);
    return await holdRecipients(tx, { app, type }, emails);
  }
  if (unregistered.length > 0) {
    await sql`update person set registered_at = now() where id = any(${unregistered}::bigint[])`.execute(tx.kysely);
  }
  // A separate statement, begun under the locks: it sees what others committed before.
  const { rows: recipients } = await sql<RecipientRow>`
    select p.id, p.email as address, p.provider_active and not p.blocked as active,
      coalesce(a.notifications_enabled, true) as application, ${listed(CHANNEL_NAMES, 'c')},
      exists (select from push_subscription s where s.person_id = p.id) as subscribed
    from person p
    left join app_preference a on a.person_id = p.id and a.application_id = ${app}
    left join notification_preference c on c.person_id = p.id and c.notification_type_id = ${type}
    where p.email = any(${emails}::text[])`.execute(tx.kysely);
  return new Map(recipients.map((row) => [row.address, row]));
}

export interface NewNotification
  extends Pick<Row<'notification'>, 'personId' | 'subject' | 'body' | 'url' | 'statusReason' | 'locale'> {
  status: 'queued' | 'sent' | 'suppressed';
}

/** Stores one notification per person, in their order; returns their ids by person. */
export async function insertNotifications(
  tx: Tx,
  { app, type, payload, icon }: { app: number; type: number; payload: unknown; icon: string | null },
  all: readonly NewNotification[],
): Promise<Map<number, number>> {
  const { rows } = await sql<{ people: number[]; ids: number[] }>`
    with stored as (
      insert into notification
        (application_id, notification_type_id, person_id, subject, payload, status, status_reason, locale, body, url, icon)
      select ${app}, ${type}, n.person, n.subject, ${JSON.stringify(payload)}::jsonb, n.status, n.reason, n.locale,
        n.body, n.url, ${icon}
      from unnest(
        ${all.map(({ personId }) => personId)}::bigint[], ${all.map(({ subject }) => subject)}::text[],
        ${all.map(({ status }) => status)}::text[], ${all.map(({ statusReason }) => statusReason)}::text[],
        ${all.map(({ locale }) => locale)}::text[], ${all.map(({ body }) => body)}::text[],
        ${all.map(({ url }) => url)}::text[]
      ) with ordinality as n (person, subject, status, reason, locale, body, url, position)
      order by n.position
      returning id, person_id
    )
    select coalesce(array_agg(person_id), '{}') as people, coalesce(array_agg(id), '{}') as ids from stored`.execute(
    tx.kysely,
  );
  const { people = [], ids = [] } = rows[0] ?? {};
  return new Map(people.map((person, at) => [person, ids[at] ?? 0]));
}

/** An earlier send with a key, within its 24 hours. */
export type SendRequestRow = Pick<Row<'send_request'>, 'bodyHash' | 'answer'>;

/** The identity of a send with a key. */
export interface RequestName {
  app: number;
  /** Each kind of sender has keys of its own. */
  by: 'key' | 'administrator';
  key: string;
}

/**
 * A table for each kind of sender: processes of the previous version, which run beside this one during an upgrade, use the table
 * of the keys, and rely on its primary key.
 */
const TABLE = { key: sql.table('send_request'), administrator: sql.table('administrator_send_request') } as const;

export async function findSendRequest(tx: Tx, { app, by, key }: RequestName): Promise<SendRequestRow | undefined> {
  const { rows } = await sql<SendRequestRow>`
    select body_hash, answer from ${TABLE[by]}
    where application_id = ${app} and idempotency_key = ${key} and created_at > now() - interval '24 hours'`.execute(
    tx.kysely,
  );
  return rows[0];
}

/**
 * Claims the key for this transaction's send: true when it is free, or its 24 hours are over. Of concurrent claims one gets true;
 * the others wait for its end, and get false when it has committed.
 */
export async function claimSendRequest(tx: Tx, { app, by, key }: RequestName, bodyHash: string): Promise<boolean> {
  const table = TABLE[by];
  // Each claim removes up to a hundred expired keys, so that they never pile up.
  await sql`
    delete from ${table} where (application_id, idempotency_key) in (
      select application_id, idempotency_key from ${table}
      where created_at <= now() - interval '24 hours' and (application_id, idempotency_key) <> (${app}, ${key})
      order by created_at limit 100 for update skip locked)`.execute(tx.kysely);
  const { rows } = await sql`
    insert into ${table} as r (application_id, idempotency_key, body_hash) values (${app}, ${key}, ${bodyHash})
    on conflict (application_id, idempotency_key) do update
      set body_hash = excluded.body_hash, answer = null, created_at = now()
      where r.created_at <= now() - interval '24 hours'
    returning 1`.execute(tx.kysely);
  return rows.length > 0;
}

export async function keepAnswer(tx: Tx, { app, by, key }: RequestName, answer: unknown): Promise<void> {
  await sql`
    update ${TABLE[by]} set answer = ${JSON.stringify(answer)}::jsonb
    where application_id = ${app} and idempotency_key = ${key}`.execute(tx.kysely);
}
