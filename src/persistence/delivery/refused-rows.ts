import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** A mail that was refused and has failed. */
export interface RefusedMail {
  readonly id: number;
  readonly notificationId: number;
  readonly personId: number;
}

/** The latest refusals of a lane, all with the same words. */
export interface RefusedRow {
  readonly words: string;
  /** Three recipients were refused: from then on such a refusal concerns the lane. */
  readonly paused: boolean;
  /** The failed ones, the oldest first; empty once paused. */
  readonly mails: readonly RefusedMail[];
}

/** Older rows say nothing about a server, and their mails have expired. */
const KEPT = sql`interval '25 hours'`;

/** The rows of the lanes, which no other transaction reads until this one ends. */
export async function takeRefusedRows(tx: Tx, lanes: readonly string[]): Promise<Map<string, RefusedRow>> {
  await sql`
    select pg_advisory_xact_lock(hashtext('refused_row'), hashtext(lane))
      from (select lane from unnest(${[...lanes]}::text[]) as l (lane) order by hashtext(lane)) l`.execute(tx.kysely);
  const { rows } = await sql<Omit<Row<'refused_row'>, 'at'>>`
    select lane, words, paused, deliveries, notifications, people from refused_row
     where lane = any(${[...lanes]}::text[]) and at > now() - ${KEPT}`.execute(tx.kysely);
  return new Map(
    rows.map(({ lane, words, paused, deliveries, notifications, people }) => [
      lane,
      {
        words,
        paused,
        mails: deliveries.map((id, at) => ({
          id,
          notificationId: notifications[at] ?? 0,
          personId: people[at] ?? 0,
        })),
      },
    ]),
  );
}

/** Stores the row of a lane; null removes it. */
export async function keepRefusedRow(tx: Tx, lane: string, row: RefusedRow | null): Promise<void> {
  if (row === null) {
    await sql`delete from refused_row where lane = ${lane}`.execute(tx.kysely);
    return;
  }
  const { words, paused, mails } = row;
  await sql`
    insert into refused_row (lane, words, paused, deliveries, notifications, people)
    values (${lane}, ${words}, ${paused}, ${mails.map(({ id }) => id)}::bigint[],
            ${mails.map(({ notificationId }) => notificationId)}::bigint[],
            ${mails.map(({ personId }) => personId)}::bigint[])
    on conflict (lane) do update
      set words = excluded.words, paused = excluded.paused, deliveries = excluded.deliveries,
          notifications = excluded.notifications, people = excluded.people, at = now()`.execute(tx.kysely);
}

/** Failed mails that are queued again, each after the pause of its next attempt (`pausesMs`, by the number of attempts made). */
export interface Revive {
  readonly mails: readonly RefusedMail[];
  readonly pausesMs: readonly number[];
  readonly error: string;
}

/** Queues them; mails without an attempt left stay failed. Their notifications are locked. */
export async function reviveRefused(tx: Tx, { mails, pausesMs, error }: Revive): Promise<void> {
  await sql`
    update delivery d
       set status = 'queued', error = ${error},
           due_at = now() + (${[...pausesMs]}::float8[])[d.attempts] * interval '1 millisecond'
      from unnest(${mails.map(({ id }) => id)}::bigint[], ${mails.map(({ notificationId }) => notificationId)}::bigint[])
        as m (id, notification)
     where d.id = m.id and d.notification_id = m.notification and d.status = 'failed' and d.due_at is null
       and d.attempts between 1 and ${pausesMs.length}::int and d.give_up_at > now()`.execute(tx.kysely);
}
