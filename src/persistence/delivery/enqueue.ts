import { type RawBuilder, sql } from 'kysely';
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

/** A brand as a filter of deliveries; the default one also stands for brands that are gone. */
export interface BrandFilter {
  readonly id: number;
  readonly isDefault: boolean;
}

/** Whether the delivery `d` goes by the brand; null for any. */
export function byBrand(brand: BrandFilter | null): RawBuilder<unknown> {
  if (brand === null) return sql`true`;
  if (!brand.isDefault) return sql`d.brand_id = ${brand.id}`;
  return sql`(d.brand_id = ${brand.id} or d.brand_id is null or not exists (select from brand b where b.id = d.brand_id))`;
}

/**
 * Queues the failed deliveries of notifications again, with their full number of attempts; returns the notification of each of
 * them. A notification is `queued` again if there were any; one that was withdrawn stays so. Locks their rows first, in one order,
 * as every settlement does: a delivery that another call has queued meanwhile is not queued twice.
 */
export async function requeueFailed(
  tx: Tx,
  notifications: readonly number[],
  brand: BrandFilter | null,
): Promise<number[]> {
  const { rows: held } = await sql<{ id: number }>`
    select id from notification where id = any(${[...notifications]}::bigint[]) and status <> 'suppressed'
     order by id for update`.execute(tx.kysely);
  const ids = held.map(({ id }) => id);
  const { rows } = await sql<{ notification: number }>`
    update delivery d
       set status = 'queued', attempts = 0, error = null, due_at = now(), push_done = '{}',
           give_up_at = now() + interval '25 hours'
     where d.notification_id = any(${ids}::bigint[]) and d.status = 'failed' and ${byBrand(brand)}
    returning d.notification_id as notification`.execute(tx.kysely);
  const queued = rows.map(({ notification }) => notification);
  if (queued.length > 0) {
    await sql`
      update notification set status = 'queued', status_reason = null
       where id = any(${[...new Set(queued)]}::bigint[])`.execute(tx.kysely);
  }
  return queued;
}
