/** E-mails of the identity provider that could not be sent (docs/reference/identity-provider.md#refused-e-mails). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** Kept at most; the oldest go. */
const KEPT = 1000;
const PRUNED = 100;

/** Without what identifies a mail and what stands in it. */
export type RefusedMailRow = Omit<Row<'refused_mail'>, 'hash' | 'body'>;

export type NewRefusedMail = Pick<
  Row<'refused_mail'>,
  'hash' | 'reason' | 'message' | 'eventType' | 'orgId' | 'email'
> & {
  /** Sealed. */
  body: string;
};

/** Keeps a refusal; how often this body has been refused, with this time. Those of 30 days ago are forgotten on the way. */
export async function keepRefusedMail(tx: Tx, { hash, body, ...refused }: NewRefusedMail): Promise<number> {
  const { reason, message, eventType, orgId, email } = refused;
  await sql`
    delete from refused_mail where id in (
      select id from refused_mail where at < now() - interval '30 days'
        or id <= (select id from refused_mail order by id desc offset ${KEPT - 1} limit 1)
      order by id limit ${PRUNED} for update skip locked)`.execute(tx.kysely);
  const { rows } = await sql<{ deliveries: number }>`
    insert into refused_mail (hash, reason, message, event_type, org_id, email, body)
    values (${hash}, ${reason}, ${message}, ${eventType}, ${orgId}, ${email}, ${body})
    on conflict (hash) do update set deliveries = refused_mail.deliveries + 1, last_at = now(),
      reason = excluded.reason, message = excluded.message, body = excluded.body, sent_at = null
    returning deliveries`.execute(tx.kysely);
  return rows[0]?.deliveries ?? 1;
}

/** The newest first. */
export async function listRefusedMails(tx: Tx, limit: number): Promise<RefusedMailRow[]> {
  return await tx.kysely
    .selectFrom('refused_mail')
    .select(['id', 'at', 'lastAt', 'deliveries', 'reason', 'message', 'eventType', 'orgId', 'email', 'sentAt'])
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** The sealed body, null where it was sent; undefined for an unknown mail. */
export async function findRefusedMail(tx: Tx, id: number): Promise<{ hash: string; body: string | null } | undefined> {
  return await tx.kysely.selectFrom('refused_mail').select(['hash', 'body']).where('id', '=', id).executeTakeFirst();
}

/** It has gone out: its body is forgotten. */
export async function settleRefusedMail(tx: Tx, hash: string): Promise<void> {
  await tx.kysely
    .updateTable('refused_mail')
    .set({ body: null, sentAt: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where('sentAt', 'is', null)
    .execute();
}
