import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** A delivery as it is stored first, of a notification that may have no number yet. */
export interface DeliveryRow {
  channel: 'email' | 'push';
  /** Null for pushes: they queue by the push service of the person's newest subscription. */
  lane: string | null;
  brandId: number | null;
  content: unknown;
}

/** In one statement at most so many rows and characters: it is put together in one turn, and PGlite's run on the event loop. */
const BATCH = 500;
const BATCH_CHARACTERS = 512 * 1024;

/** Stores deliveries, due at once, each as `writtenDelivery` wrote it. */
export async function insertDeliveries(
  tx: Tx,
  rows: Iterable<{ notificationId: number; written: string }>,
): Promise<void> {
  let batch: string[] = [];
  let size = 0;
  for (const { notificationId, written } of rows) {
    const text = `{"notificationId":${notificationId},${written.slice(1)}`;
    if (batch.length === BATCH || (batch.length > 0 && size + text.length > BATCH_CHARACTERS)) {
      await insertBatch(tx, batch);
      batch = [];
      size = 0;
    }
    batch.push(text);
    size += text.length;
  }
  if (batch.length > 0) await insertBatch(tx, batch);
}

/**
 * Of the host two labels stand for the service: whoever may invent names below them makes no lanes by that. As `json`, whose parts
 * are stored as they came: `jsonb` takes them apart and writes them anew, twice, under the locks of all recipients.
 */
async function insertBatch(tx: Tx, rows: readonly string[]): Promise<void> {
  await sql`
    insert into delivery (notification_id, channel, lane, brand_id, content)
    select d."notificationId", d.channel,
           coalesce(d.lane, 'push:' || coalesce(substring(s.host from '[^.]+[.][^.]+$'), s.host, '')),
           d."brandId", d.content
      from json_to_recordset(${`[${rows.join(',')}]`}::json)
        as d ("notificationId" bigint, channel text, lane text, "brandId" bigint, content json)
      left join lateral (
        select split_part(split_part(p.endpoint, '/', 3), '?', 1) as host
          from notification n join push_subscription p on p.person_id = n.person_id
         where d.lane is null and n.id = d."notificationId"
         order by p.id desc limit 1
      ) s on true
     order by d."notificationId", d.channel`.execute(tx.kysely);
}

/** NUL and lone surrogates as JSON writes them. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/** As JSON. Looked through value by value only where the whole says so: that takes ten times as long. */
export function writtenDelivery(row: DeliveryRow): string {
  const text = JSON.stringify(row);
  return UNSTORABLE.test(text) ? JSON.stringify(row, storable) : text;
}

/** What a template cut in half or brought in must not keep a whole send from being stored: no text takes either. */
function storable(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : value;
}

/**
 * Queues what failed of a notification again, with all its attempts before it; answers how many deliveries. The
 * notification is `queued` again when there was one. Runs after its row was locked, as every settlement does.
 */
export async function requeueFailed(tx: Tx, notificationId: number): Promise<number> {
  await sql`select id from notification where id = ${notificationId} for update`.execute(tx.kysely);
  const { rows } = await sql<{ id: number }>`
    update delivery
       set status = 'queued', attempts = 0, error = null, due_at = now(), push_done = '{}',
           give_up_at = now() + interval '25 hours'
     where notification_id = ${notificationId} and status = 'failed'
    returning id`.execute(tx.kysely);
  if (rows.length > 0) {
    await sql`
      update notification set status = 'queued', status_reason = null where id = ${notificationId}`.execute(tx.kysely);
  }
  return rows.length;
}
