/**
 * The partitions of large tables (docs/adr/0027-partitions.md): the next one, the step to it, and the end of old ones. Each function is
 * one short transaction, and any process goes on where another one was ended.
 */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { PARTITION_IDS, PARTITIONED, type PartitionedTable } from '../migrations/partitioned.ts';

/** Held by the transaction that works on partitions; shared by those that each drop another one. */
const PARTITION_LOCK = 7_411_532_003;
/** Held, with a hash of its name, by the transaction that drops a partition. */
const DROP_LOCK = 741_153_200;
/** How long the lock of a table is waited for: everybody who needs the table waits meanwhile. */
const LOCK_MS = 100;
const STATEMENT_MS = 300_000;

/** Tables whose partitions begin together, by the ids of the first. `time` is when a row was written. */
interface Series {
  readonly tables: readonly string[];
  readonly time: string;
}

export const SERIES = {
  audit: { tables: ['audit'], time: 'at' },
  events: { tables: ['app_event'], time: 'at' },
  notifications: { tables: ['notification', 'delivery'], time: 'created_at' },
} as const satisfies Record<string, Series>;
export type SeriesName = keyof typeof SERIES;
export type Period = 'month' | 'quarter' | 'year';

export interface Partition {
  readonly table: string;
  readonly name: string;
  readonly number: number;
}

/** Whether the transaction may work on partitions; false while another one does. Its locks are short from here on. */
async function hold(tx: Tx, tryLock = sql`pg_try_advisory_xact_lock(${PARTITION_LOCK})`): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select ${tryLock} as held,
      set_config('lock_timeout', ${`${LOCK_MS}`}, true), set_config('statement_timeout', ${`${STATEMENT_MS}`}, true)`.execute(
    tx.kysely,
  );
  return rows[0]?.held ?? false;
}

/** The partitions of every table, the oldest first. */
export async function listPartitions(tx: Tx): Promise<Partition[]> {
  const { rows } = await sql<Partition>`
    select p.relname::text as "table", c.relname::text as name, substring(c.relname from '_p(\\d+)$')::int as number
      from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
     where p.relkind = 'p' and p.oid = any(${PARTITIONED.map(({ name }) => name)}::regclass[]) order by number`.execute(
    tx.kysely,
  );
  return rows;
}

/** The number of the partition that new rows go to, and how much of its ids is used, from 0 to 1. */
export async function currentPartition(tx: Tx, series: SeriesName): Promise<{ number: number; used: number }> {
  const [first] = SERIES[series].tables;
  const { rows } = await sql<{ last: number }>`
    select coalesce(pg_sequence_last_value(pg_get_serial_sequence(${first}, 'id')::regclass), 0) as last`.execute(
    tx.kysely,
  );
  const last = rows[0]?.last ?? 0;
  return { number: Math.floor(last / PARTITION_IDS) + 1, used: (last % PARTITION_IDS) / PARTITION_IDS };
}

/**
 * Makes the partition that new rows go to, should it be missing, and the one after it; returns those that were made, or undefined while
 * another process works on partitions. Nobody who reads or writes the tables waits for it.
 */
export async function makePartitions(tx: Tx, series: SeriesName): Promise<string[] | undefined> {
  if (!(await hold(tx))) return undefined;
  const { number } = await currentPartition(tx, series);
  const known = new Set((await listPartitions(tx)).map(({ name }) => name));
  const made: string[] = [];
  for (const wanted of [number, number + 1]) {
    for (const { name, by } of tablesOf(series)) {
      if (known.has(`${name}_p${wanted}`)) continue;
      await makePartition(tx, { name, by }, wanted);
      made.push(`${name}_p${wanted}`);
    }
  }
  return made;
}

/** The series whose new rows have no partition to go to. */
export async function listLacking(tx: Tx): Promise<SeriesName[]> {
  const known = new Set((await listPartitions(tx)).map(({ name }) => name));
  const lacking: SeriesName[] = [];
  for (const series of Object.keys(SERIES) as SeriesName[]) {
    const { number } = await currentPartition(tx, series);
    if (tablesOf(series).some(({ name }) => !known.has(`${name}_p${number}`))) lacking.push(series);
  }
  return lacking;
}

function tablesOf(series: SeriesName): PartitionedTable[] {
  const names: readonly string[] = SERIES[series].tables;
  return PARTITIONED.filter(({ name }) => names.includes(name));
}

async function makePartition(tx: Tx, { name, by }: PartitionedTable, number: number): Promise<void> {
  const made = `${name}_p${number}`;
  const [from, to] = [number - 1, number].map((count) => sql.lit(count * PARTITION_IDS));
  await sql`create table ${sql.table(made)} (like ${sql.table(name)} including all excluding identity)`.execute(
    tx.kysely,
  );
  // Unique in each partition alone: the table's own keys have to contain the column of the ranges.
  if (by !== 'id') await sql`alter table ${sql.table(made)} add primary key (id)`.execute(tx.kysely);
  await sql`alter table ${sql.table(name)} attach partition ${sql.table(made)} for values from (${from}) to (${to})`.execute(
    tx.kysely,
  );
  const { rows: indexes } = await sql<{ part: string; whole: string }>`
    select c.relname::text as part, p.relname::text as whole from pg_inherits h join pg_index x on x.indexrelid = h.inhrelid
      join pg_class c on c.oid = h.inhrelid join pg_class p on p.oid = h.inhparent
     where x.indrelid = ${made}::regclass`.execute(tx.kysely);
  for (const { part, whole } of indexes) {
    await sql`alter index ${sql.table(part)} rename to ${sql.table(`${whole}_p${number}`)}`.execute(tx.kysely);
  }
}

/**
 * Lets new rows go to the next partition when the first row of this one is of an earlier period, or half its ids are used. Returns whether
 * it did, or undefined while another process works on partitions. The step itself is the sequence's: it outlives a rollback, so
 * the next partition has to be committed before.
 */
export async function moveOn(tx: Tx, series: SeriesName, period: Period): Promise<boolean | undefined> {
  if (!(await hold(tx))) return undefined;
  const { tables, time } = SERIES[series];
  const [first] = tables;
  const { number, used } = await currentPartition(tx, series);
  const { rows } = await sql<{ due: boolean }>`
    select ${sql.ref(time)} < date_trunc(${period}, now(), 'UTC') as due from ${sql.table(`${first}_p${number}`)} order by id limit 1`.execute(
    tx.kysely,
  );
  if (!(rows[0]?.due || used > 0.5)) return false;
  const known = new Set((await listPartitions(tx)).map(({ name }) => name));
  if (!tables.every((table) => known.has(`${table}_p${number + 1}`))) return false;
  await sql`select setval(pg_get_serial_sequence(${first}, 'id'), ${number * PARTITION_IDS}::bigint)`.execute(
    tx.kysely,
  );
  return true;
}

/** For how many days rows are kept; null for ever. */
export interface Keep {
  readonly audit: number | null;
  readonly events: number | null;
  readonly notifications: number | null;
  readonly deliveries: number | null;
  /** Unread notifications, which otherwise keep their partition. */
  readonly unread: number | null;
}

/** Why an expired partition stays. */
export type Held = 'waiting' | 'unread';

/** A partition that is over, with what is detached along with it. */
interface Candidate {
  readonly partition: Partition;
  readonly also: readonly Partition[];
  readonly days: number;
  readonly unreadDays: number | null;
}

/** The partitions whose rows are all old enough, and why those that stay do. Undefined while another process works on partitions. */
export async function findExpired(
  tx: Tx,
  keep: Keep,
): Promise<readonly (Partition & { readonly held: Held | null })[] | undefined> {
  if (!(await hold(tx))) return undefined;
  const over: (Partition & { held: Held | null })[] = [];
  for (const found of await candidates(tx, keep)) {
    const now = await verdict(tx, found);
    if (now !== null) over.push({ ...found.partition, held: now === 'expired' ? null : now });
  }
  return over;
}

/** What was detached, or why nothing was; `null`: it is gone, or its rows are not old enough. Undefined while another process works on partitions. */
export async function detachExpired(
  tx: Tx,
  { name }: Pick<Partition, 'name'>,
  keep: Keep,
): Promise<{ detached: readonly string[]; held: Held | null } | undefined> {
  if (!(await hold(tx))) return undefined;
  const nothing = { detached: [], held: null };
  const found = (await candidates(tx, keep)).find(({ partition }) => partition.name === name);
  if (found === undefined) return nothing;
  const { partition, also } = found;
  const before = await verdict(tx, found);
  if (before !== 'expired') return { detached: [], held: before };
  const gone = [partition, ...also];
  await sql`lock table ${sql.join(gone.map(({ table }) => sql`only ${sql.table(table)}`))} in access exclusive mode`.execute(
    tx.kysely,
  );
  // By rows of statements that begin under the lock: nobody else has changed one since.
  const under = await verdict(tx, found);
  if (under !== 'expired') return { detached: [], held: under };
  for (const { table, name: part } of gone) {
    await sql`alter table ${sql.table(table)} detach partition ${sql.table(part)}`.execute(tx.kysely);
    await sql`alter table ${sql.table(part)} rename to ${sql.table(`${part}_gone`)}`.execute(tx.kysely);
  }
  return { detached: gone.map(({ name: part }) => part), held: null };
}

/** The partitions that something ends in, and that new rows do not go to any more. */
async function candidates(tx: Tx, keep: Keep): Promise<Candidate[]> {
  const all = await listPartitions(tx);
  const days: Readonly<Record<string, number | null>> = {
    audit: keep.audit,
    app_event: keep.events,
    notification: keep.notifications,
    delivery: keep.deliveries,
  };
  const found: Candidate[] = [];
  for (const series of Object.keys(SERIES) as SeriesName[]) {
    const { number: current } = await currentPartition(tx, series);
    const { tables }: Series = SERIES[series];
    for (const partition of all.filter(({ table, number }) => tables.includes(table) && number < current)) {
      const { table, number } = partition;
      const kept = days[table] ?? null;
      if (kept === null) continue;
      // A delivery without its notification would be found by nobody, an erasure neither.
      const also =
        table === 'notification' ? all.filter((one) => one.table === 'delivery' && one.number === number) : [];
      found.push({ partition, also, days: kept, unreadDays: keep.unread });
    }
  }
  return found;
}

/** Rows are numbered before they are committed, and carry the time at which their transaction began: no transaction lasts a day. */
const SLACK_DAYS = 1;

async function verdict(tx: Tx, { partition, also, days, unreadDays }: Candidate): Promise<Held | 'expired' | null> {
  const { table, name } = partition;
  const time = sql.ref(table === 'audit' || table === 'app_event' ? 'at' : 'created_at');
  const by = sql.ref(PARTITIONED.find((one) => one.name === table)?.by ?? 'id');
  const { rows } = await sql<{ expired: boolean; unread: boolean }>`
    select ${time} < now() - make_interval(days => ${days + SLACK_DAYS}::int) as expired,
      ${time} >= now() - make_interval(days => ${(unreadDays ?? 0) + SLACK_DAYS}::int) as unread
    from ${sql.table(name)} order by ${by} desc limit 1`.execute(tx.kysely);
  const [newest] = rows;
  if (newest !== undefined && !newest.expired) return null;
  for (const deliveries of [partition, ...also].filter((one) => one.table === 'delivery')) {
    if (await isThere(tx, deliveries.name, 'due_at is not null')) return 'waiting';
  }
  const keepsUnread = table === 'notification' && (unreadDays === null || newest?.unread === true);
  if (keepsUnread && (await isThere(tx, name, `read_at is null and status <> 'suppressed'`))) return 'unread';
  return 'expired';
}

/** By a partial index whose condition this is. */
async function isThere(tx: Tx, table: string, condition: string): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`
    select exists (select from ${sql.table(table)} where ${sql.raw(condition)}) as there`.execute(tx.kysely);
  return rows[0]?.there ?? false;
}

/** Detached partitions that are still there. */
export async function listDetached(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname::text as name from pg_class
     where relnamespace = current_schema()::regnamespace and relkind = 'r' and not relispartition
       and relname ~ ${`^(${PARTITIONED.map(({ name }) => name).join('|')})_p\\d+_gone$`} order by 1`.execute(
    tx.kysely,
  );
  return rows.map(({ name }) => name);
}

/**
 * The first of two steps to the end of a detached partition: its references end alone, because that locks what they refer to, and
 * removing large files takes a while. False while another process works on partitions.
 */
export async function endReferences(tx: Tx, name: string): Promise<boolean> {
  if (!(await hold(tx))) return false;
  const { rows } = await sql<{ constraint: string }>`
    select conname::text as constraint from pg_constraint where conrelid = to_regclass(${name}) and contype = 'f'`.execute(
    tx.kysely,
  );
  for (const { constraint } of rows) {
    await sql`alter table ${sql.table(name)} drop constraint ${sql.ref(constraint)}`.execute(tx.kysely);
  }
  return true;
}

/**
 * The second; false where another process made it, undefined while one works on partitions, or drops this one. Several may be dropped at
 * once: the server removes files after the end of the transaction, whose locks are released by then.
 */
export async function dropDetached(tx: Tx, name: string): Promise<boolean | undefined> {
  const alone = sql`pg_try_advisory_xact_lock_shared(${PARTITION_LOCK}) and pg_try_advisory_xact_lock(${DROP_LOCK}, hashtext(${name}))`;
  if (!(await hold(tx, alone))) return undefined;
  if (!(await listDetached(tx)).includes(name)) return false;
  await sql`drop table ${sql.table(name)}`.execute(tx.kysely);
  return true;
}

/** Statistics of the tables as a whole, which no server collects by itself; once a day. */
export async function analyzePartitioned(tx: Tx): Promise<string[]> {
  if (!(await hold(tx))) return [];
  const { rows } = await sql<{ name: string }>`
    select relname::text as name from pg_stat_user_tables
     where relid = any(${PARTITIONED.map(({ name }) => name)}::regclass[])
       and coalesce(last_analyze, '-infinity') < now() - interval '1 day'`.execute(tx.kysely);
  for (const { name } of rows) await sql`analyze ${sql.table(name)}`.execute(tx.kysely);
  return rows.map(({ name }) => name);
}

/** When the oldest row of each table was written; null for an empty one. */
export async function oldestRows(tx: Tx): Promise<ReadonlyMap<string, Date | null>> {
  const oldest = new Map<string, Date | null>();
  for (const { tables, time } of Object.values(SERIES)) {
    for (const { name, by } of PARTITIONED.filter((one) => (tables as readonly string[]).includes(one.name))) {
      const { rows } = await sql<{ at: Date }>`
        select ${sql.ref(time)} as at from ${sql.table(name)} order by ${sql.ref(by)} limit 1`.execute(tx.kysely);
      oldest.set(name, rows[0]?.at ?? null);
    }
  }
  return oldest;
}
