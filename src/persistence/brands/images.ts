/** Uploaded images of brands, by name; the hash of its bytes is in it, so that a name always means the same. */

import { type Kysely, sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Schema } from '../entities/schema.ts';

export interface StoredImage {
  media: string;
  bytes: Buffer;
}

export async function keepImage(tx: Tx, image: { name: string; media: string; bytes: Buffer }): Promise<void> {
  await sql`
    insert into image (name, media, content) values (${image.name}, ${image.media}, ${image.bytes.toString('base64')})
    on conflict (name) do update set shown_at = now()`.execute(tx.kysely);
}

/** Notes that a brand shows the image at this address until now: mails that were just sent show it for another 90 days. */
export async function noteShown(tx: Tx, urls: readonly (string | null)[]): Promise<void> {
  const names = urls.flatMap((url) => url?.split('/media/').at(-1) ?? []);
  if (names.length === 0) return;
  await sql`update image set shown_at = now() where name = any(${names}::text[])`.execute(tx.kysely);
}

export async function findImage(tx: Tx, name: string): Promise<StoredImage | undefined> {
  const { rows } = await sql<{
    media: string;
    content: string;
  }>`select media, content from image where name = ${name}`.execute(tx.kysely);
  const [row] = rows;
  return row === undefined ? undefined : { media: row.media, bytes: Buffer.from(row.content, 'base64') };
}

/** How long a mail may be opened that showed an image. */
const KEEP_DAYS = 90;

/** Removes images that no brand has shown for that long; those that one shows are marked. Returns how many. */
export async function pruneImages(kysely: Kysely<Schema>): Promise<number> {
  await sql`
    update image i set shown_at = now()
    where shown_at < now() - interval '1 hour'
      and exists (select from brand b where b.logo_url like '%/media/' || i.name or b.icon_url like '%/media/' || i.name)`.execute(
    kysely,
  );
  const { numAffectedRows } = await sql`
    delete from image where shown_at < now() - make_interval(days => ${KEEP_DAYS})`.execute(kysely);
  return Number(numAffectedRows ?? 0);
}
