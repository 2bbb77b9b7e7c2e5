import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** An event of the identity provider, and what came of it. */
export type ProviderEventRow = Row<'provider_event'>;

export type NewProviderEvent = Omit<ProviderEventRow, 'id' | 'at' | 'leftOut'> & {
  readonly leftOut?: readonly string[] | undefined;
};

/** Rows kept; some more stand until the next deletion. */
const KEPT = 5000;
const DELETE_EVERY = 100;

/** Stores an event. The oldest go: a provider that repeats a failing mail must not fill the table. */
export async function insertProviderEvent(tx: Tx, event: NewProviderEvent): Promise<void> {
  const { source, eventType, orgId, email, outcome, reason, leftOut = [] } = event;
  const { id } = await tx.kysely
    .insertInto('provider_event')
    .values({ source, eventType, orgId, email, outcome, reason, leftOut: [...leftOut] })
    .returning('id')
    .executeTakeFirstOrThrow();
  if (id % DELETE_EVERY !== 0) return;
  await sql`
    delete from provider_event where id in (
      select id from provider_event where id <= ${id - KEPT} order by id for update skip locked)`.execute(tx.kysely);
}

/** The newest events first. */
export async function listProviderEvents(tx: Tx, limit: number): Promise<ProviderEventRow[]> {
  return await tx.kysely.selectFrom('provider_event').selectAll().orderBy('id', 'desc').limit(limit).execute();
}

/** When the provider was last heard of; null for never. */
export async function lastProviderEventAt(tx: Tx): Promise<Date | null> {
  const [newest] = await listProviderEvents(tx, 1);
  return newest?.at ?? null;
}

/** Kept mails that went out in the provider's own words, by event and reason. */
export interface FallbackRow extends Pick<Row<'provider_event'>, 'eventType'> {
  reason: string;
  count: number;
  lastAt: Date;
}

/** The most frequent first, at most `limit`. */
export async function countFallbacks(tx: Tx, limit: number): Promise<FallbackRow[]> {
  const { rows } = await sql<FallbackRow>`
    select event_type, reason, count(*)::int as count, max(at) as last_at
    from provider_event where outcome = 'sent' and reason is not null
    group by event_type, reason order by count desc, event_type, reason limit ${limit}`.execute(tx.kysely);
  return rows;
}

/** Kept mails that no brand could send, by organization; null for mails without one. */
export interface UnknownOrganizationRow extends Pick<Row<'provider_event'>, 'orgId'> {
  count: number;
  lastAt: Date;
}

/** The most frequent first, at most `limit`. `reason` is that of such mails. */
export async function countUnknownOrganizations(
  tx: Tx,
  reason: string,
  limit: number,
): Promise<UnknownOrganizationRow[]> {
  const { rows } = await sql<UnknownOrganizationRow>`
    select org_id, count(*)::int as count, max(at) as last_at
    from provider_event where outcome in ('failed', 'refused') and reason = ${reason}
    group by org_id order by count desc, org_id limit ${limit}`.execute(tx.kysely);
  return rows;
}
