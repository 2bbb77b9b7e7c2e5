import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Batch, type WrittenDelivery } from './batch.ts';

/**
 * Stores deliveries, due at once. They are produced while the database stores those before them, so at most two statements' worth
 * is in memory.
 */
export async function insertDeliveries(
  tx: Tx,
  deliveries: AsyncIterable<WrittenDelivery>,
  numbers: Promise<ReadonlyMap<number, number>>,
): Promise<void> {
  const batches = inBatches(deliveries);
  let [numberOf, next] = await Promise.all([numbers, batches.next()]);
  while (!next.done) [, next] = await Promise.all([insertBatch(tx, next.value, numberOf), batches.next()]);
}

async function* inBatches(deliveries: AsyncIterable<WrittenDelivery>): AsyncGenerator<Batch> {
  let batch: Batch | undefined;
  for await (const delivery of deliveries) {
    if (batch?.add(delivery)) continue;
    if (batch !== undefined) yield batch;
    batch = new Batch();
    batch.add(delivery);
  }
  if (batch !== undefined) yield batch;
}

/**
 * A push's lane is the last two labels of the host: otherwise anyone who controls a domain could create lanes at will. As `json`,
 * which is stored as it came: `jsonb` would be parsed and written anew, twice, under the locks of all recipients.
 */
async function insertBatch(tx: Tx, batch: Batch, numberOf: ReadonlyMap<number, number>): Promise<void> {
  await sql`
    insert into delivery (notification_id, channel, lane, brand_id, content)
    select d.notification, d.channel,
           coalesce(d.lane, 'push:' || coalesce(substring(s.host from '[^.]+[.][^.]+$'), s.host, '')),
           d."brandId", d.content
      from unnest(
        ${batch.of.map((of) => numberOf.get(of))}::bigint[], ${batch.channels}::text[], ${batch.lanes}::text[],
        ${batch.brandIds}::bigint[], ${batch.contents()}::json[]
      ) as d (notification, channel, lane, "brandId", content)
      left join lateral (
        select split_part(split_part(p.endpoint, '/', 3), '?', 1) as host
          from notification n join push_subscription p on p.person_id = n.person_id
         where d.lane is null and n.id = d.notification
         order by p.id desc limit 1
      ) s on true
     order by d.notification, d.channel`.execute(tx.kysely);
  // Not after a failure: a driver may still hold the buffer.
  batch.release();
}

/** NUL and lone surrogates as JSON writes them. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/** A delivery's content as JSON. Only a match in the whole text starts the search value by value, which takes ten times as long. */
export function writtenContent(content: unknown): string {
  const text = JSON.stringify(content);
  return UNSTORABLE.test(text) ? JSON.stringify(content, storable) : text;
}

/** Removes NUL and lone surrogates, which no text column accepts: a template must not make a whole send fail to store. */
function storable(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : value;
}

/**
 * Queues the failed deliveries of a notification again, with their full number of attempts; returns their number. The
 * notification is `queued` again if there were any. Locks its row first, as every settlement does.
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
