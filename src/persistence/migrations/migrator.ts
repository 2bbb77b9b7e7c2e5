import { setTimeout } from 'node:timers/promises';
import { DriverException, IsolationLevel } from '@mikro-orm/core';
import { type Kysely, sql } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import { usherCommand } from '../../base/command.ts';
import type { Logger } from '../../base/telemetry.ts';
import { createDialect } from '../driver/dialect.ts';
import { StatementFailed } from '../driver/failures.ts';
import { connectionOf, type Orm, openOrm } from '../driver/orm.ts';
import { ClientPool, postgresSessions } from '../driver/postgresql.ts';
import { Refused } from '../driver/refused.ts';
import { isNoPrimary, refuseUnfit, serverOf } from '../driver/start-failures.ts';
import { PARTITIONS } from './0015-partitions.ts';
import { LACKS_UNSENT_SQL, UNSENT, unsentIndexes } from './0016-unsent.ts';
import { FOLDED_SEARCH } from './0025-folded-search.ts';
import { LACKS_WINDOW_INDEXES_SQL, WINDOW_COLUMNS, WINDOWS, windowIndex } from './0202-windows.ts';
import { foldSearches } from './fold-searches.ts';
import { MIGRATIONS } from './list.ts';
import { checksBefore, PARTITIONED } from './partitioned.ts';

/** Any number that nothing else in this database locks. */
const MIGRATION_LOCK = 7_411_532_001;

interface MigrationState {
  /** Known here and not applied there, in order. */
  pending: string[];
  /** Applied there and unknown here: a newer Usher has migrated the database. */
  unknown: string[];
}

/** Compares the database's record of migrations with the list of this program. */
export async function migrationState(db: Kysely<unknown>): Promise<MigrationState> {
  return compare(await appliedMigrations(db));
}

/** The statement that reads the record, for callers without Kysely. */
export const APPLIED_SQL = 'select name from mikro_orm_migrations order by id';

export function compare(applied: readonly string[]): MigrationState {
  const known = MIGRATIONS.map((migration) => migration.name);
  return {
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

async function appliedMigrations(db: Kysely<unknown>): Promise<string[]> {
  try {
    const { rows } = await sql.raw<{ name: string }>(APPLIED_SQL).execute(db);
    return rows.map((row) => row.name);
  } catch (error) {
    // No such table: the database was never migrated.
    if (error instanceof StatementFailed && error.sqlState === '42P01') return [];
    throw error;
  }
}

/** Throws Refused when a newer Usher has migrated this database. */
export function refuseNewer(state: MigrationState): void {
  if (state.unknown.length === 0) return;
  throw new Refused(
    `This database was migrated by a newer Usher (it has ${state.unknown.join(', ')}, unknown to this one). ` +
      'Start the newer version, or restore a backup made before it.',
  );
}

/** Throws Refused when migrations are pending. */
export function refusePending(state: MigrationState): void {
  if (state.pending.length === 0) return;
  const count = state.pending.length === 1 ? '1 migration' : `${state.pending.length} migrations`;
  throw new Refused(
    `The database lacks ${count} (${state.pending.join(', ')}). ` +
      `Run \`${usherCommand('migrate')}\`, or start with database.migrateOnStart (DATABASE_MIGRATE_ON_START=true).`,
  );
}

/** Applies the pending migrations of the embedded database, all or none. Returns their names. */
export async function migrateEmbedded(orm: Orm): Promise<string[]> {
  const applied = (await orm.migrator.up()).map((migration) => migration.name);
  await foldSearches(connectionOf(orm).getClient());
  return applied;
}

export interface MigrateOptions {
  url: string;
  clock: Clock;
  log: Logger;
  /** How long to wait for another migration; a minute unless a test sets it. */
  migrationWaitMs?: number;
  /** How long to wait for a locked table; 20 s unless a test sets it. */
  tableWaitMs?: number;
}

/** How long to wait for another migration, of an instance that started at the same moment. */
const WAIT_MS = 60_000;
/** How often the migrations run in all where writes of older instances and they wait for each other, and the server ends them. */
const ATTEMPTS = 10;
/** How long to wait for a locked table: everybody else who needs it waits behind the migration meanwhile. */
const TABLE_WAIT_MS = 20_000;

/**
 * Applies the pending migrations of a PostgreSQL, all or none; returns their names. One at a time across all
 * instances: the others wait, and then find none pending. The lock and the migrations share one transaction, with limits of its
 * own: behind a pooler nothing else is sure to stay on one connection, and a session lock could stay there for ever.
 */
export async function migratePostgres({
  url,
  clock,
  log,
  migrationWaitMs = WAIT_MS,
  tableWaitMs = TABLE_WAIT_MS,
}: MigrateOptions): Promise<string[]> {
  // Building an index may take long.
  const pool = new ClientPool({ name: 'migrations', url, clock, log, max: 2, statementTimeoutMs: 0, lockTimeoutMs: 0 });
  const { database } = serverOf(url);
  const orm = await openOrm({
    kind: 'postgresql',
    dialect: createDialect(postgresSessions(pool)),
    name: database,
    log,
  });
  const connection = connectionOf(orm);
  try {
    const { standby } = await refuseUnfit(url, connection.getClient());
    if (standby) throw isNoPrimary(url);
    await checkBefore(connection, migrationWaitMs);
    await indexBefore(connection, migrationWaitMs);
    for (let attempt = 1; ; attempt++) {
      const transaction = await connection.begin({ isolationLevel: IsolationLevel.READ_COMMITTED });
      try {
        await lockMigrations(transaction, migrationWaitMs);
        const applied = await migrateLocked(orm, transaction, tableWaitMs);
        await connection.commit(transaction);
        if (applied.includes(FOLDED_SEARCH)) await foldSearches(connection.getClient());
        return applied;
      } catch (error) {
        await connection.rollback(transaction).catch(() => undefined); // the connection is lost, and the transaction with it
        if (isLockTimeout(error)) throw await lockedBy(connection.getClient(), migrationWaitMs);
        if (!isDeadlock(error)) throw error;
        if (attempt === ATTEMPTS) throw stillOvertaken(error);
        log.info({ attempt }, 'migration and a write waited for each other; it begins again');
      }
    }
  } finally {
    await orm.close();
    await pool.close();
  }
}

type MigrationTransaction = Awaited<ReturnType<ReturnType<typeof connectionOf>['begin']>>;

async function lockMigrations(transaction: MigrationTransaction, waitMs: number): Promise<void> {
  await setWaits(transaction, waitMs);
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
}

async function setWaits(transaction: MigrationTransaction, waitMs: number): Promise<void> {
  await sql`select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
    set_config('lock_timeout', ${`${waitMs}`}, true)`.execute(transaction);
}

/** What a pending migration wants of large tables, done before it in transactions of their own: its own may hold up nobody for long. */
async function checkBefore(connection: ReturnType<typeof connectionOf>, waitMs: number): Promise<void> {
  const { pending, unknown } = await migrationState(connection.getClient());
  if (unknown.length > 0) return;
  const statements = [
    ...(pending.includes(PARTITIONS) ? PARTITIONED.flatMap(checksBefore) : []),
    ...(pending.includes(WINDOWS) ? WINDOW_COLUMNS : []),
  ];
  for (const statement of statements) {
    // A process that waited for the lock would hold up an index that its holder makes.
    const transaction = await tryLock(connection, waitMs);
    try {
      await onTables(transaction, TABLE_WAIT_MS, () => sql.raw(statement).execute(transaction));
      await connection.commit(transaction);
    } catch (error) {
      await connection.rollback(transaction).catch(() => undefined); // as above
      throw error;
    }
  }
}

const LOCK_PAUSE_MS = 100;

/** Migrations whose indexes are made before them, and the statements that make what is missing of these. */
const INDEXED_BEFORE: readonly (readonly [
  migration: string,
  statements: (db: Kysely<unknown>) => Promise<string[]>,
])[] = [
  [
    UNSENT,
    async (db) => {
      const { rows } = await sql.raw<{ name: string; broken: boolean }>(LACKS_UNSENT_SQL).execute(db);
      return rows.flatMap(unsentIndexes);
    },
  ],
  [
    WINDOWS,
    async (db) => {
      const { rows } = await sql
        .raw<{ name: string; of: string; broken: boolean }>(LACKS_WINDOW_INDEXES_SQL)
        .execute(db);
      return rows.flatMap(windowIndex);
    },
  ],
];

/**
 * Indexes of large tables, made without a lock that writers wait for. That cannot stand in a transaction; another one holds the lock of
 * migrations meanwhile.
 */
async function indexBefore(connection: ReturnType<typeof connectionOf>, waitMs: number): Promise<void> {
  const client = connection.getClient();
  const { pending, unknown } = await migrationState(client);
  const wanted = INDEXED_BEFORE.filter(([migration]) => pending.includes(migration));
  if (wanted.length === 0 || unknown.length > 0) return;
  const transaction = await tryLock(connection, waitMs);
  try {
    for (const [, indexes] of wanted)
      for (const statement of await indexes(client)) await sql.raw(statement).execute(client);
  } finally {
    // Nothing was written in it.
    await connection.rollback(transaction).catch(() => undefined); // as above
  }
}

/**
 * A transaction that has the lock of migrations. It is tried for, not waited for, and nothing is left open in between: making an index
 * waits for every statement that began before, and a SELECT is one until its connection is given something else.
 */
async function tryLock(connection: ReturnType<typeof connectionOf>, waitMs: number): Promise<MigrationTransaction> {
  for (let waited = 0; waited <= waitMs; waited += LOCK_PAUSE_MS) {
    const transaction = await connection.begin({ isolationLevel: IsolationLevel.READ_COMMITTED });
    try {
      await setWaits(transaction, waitMs);
      const { rows } = await sql<{
        held: boolean;
      }>`select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as held`.execute(transaction);
      await sql`set local lock_timeout = 0`.execute(transaction);
      if (rows[0]?.held === true) return transaction;
    } catch (error) {
      await connection.rollback(transaction).catch(() => undefined); // as above
      throw error;
    }
    await connection.rollback(transaction);
    await setTimeout(LOCK_PAUSE_MS);
  }
  throw await lockedBy(connection.getClient(), waitMs);
}

async function migrateLocked(orm: Orm, transaction: MigrationTransaction, tableWaitMs: number): Promise<string[]> {
  // On another connection: while the record's table is missing, reading it would fail this transaction.
  const state = await migrationState(connectionOf(orm).getClient());
  refuseNewer(state);
  if (state.pending.length === 0) return [];
  return await onTables(transaction, tableWaitMs, async () =>
    (await orm.migrator.up({ transaction })).map((migration) => migration.name),
  );
}

/** Waits for the locks of tables for a limited time, and says so. */
async function onTables<T>(transaction: MigrationTransaction, waitMs: number, work: () => Promise<T>): Promise<T> {
  await sql`select set_config('lock_timeout', ${`${waitMs}`}, true)`.execute(transaction);
  try {
    return await work();
  } catch (error) {
    const failed = failureIn(error);
    if (!isLockTimeout(failed)) throw failed;
    throw new Refused(
      `A table was locked by another session for ${Math.round(waitMs / 1000)} s (a backup, a long report?), so nothing was migrated. ` +
        'Run the migration again when that has ended.',
      error,
    );
  }
}

/** MikroORM copies the members of an error of a statement into one of its own. */
function failureIn(error: unknown): unknown {
  if (!(error instanceof DriverException) || error.sqlState === undefined) return error;
  return new StatementFailed(error.sqlState, null, false, `SQLSTATE ${error.sqlState}`);
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof StatementFailed && error.sqlState === '55P03';
}

function isDeadlock(error: unknown): boolean {
  return error instanceof StatementFailed && error.sqlState === '40P01';
}

function stillOvertaken(error: unknown): Refused {
  return new Refused(
    `The migrations and the writes of instances waited for each other ${ATTEMPTS} times, so nothing was migrated. Run the migration again when fewer write.`,
    error,
  );
}

interface Holder {
  pid: number;
  program: string;
  address: string | null;
  state: string;
  seconds: number;
}

/** Describes the holder of the lock, for the operator who waits for it. */
async function lockedBy(db: Kysely<unknown>, waitMs: number): Promise<Refused> {
  const { rows } = await sql<Holder>`
    select a.pid, a.application_name as program, host(a.client_addr) as address, coalesce(a.state, 'unknown') as state,
      round(extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.state_change, a.backend_start)))::int as seconds
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
      and (l.classid::bigint << 32 | l.objid::bigint) = ${MIGRATION_LOCK}`.execute(db);
  const [holder] = rows;
  const waited = `The migrations of this database were locked by another session for ${Math.round(waitMs / 1000)} s`;
  if (holder === undefined) return new Refused(`${waited}, which has ended meanwhile: run the migration again.`);
  const { pid, program, address, state, seconds } = holder;
  const who = `process ${pid} of the server (${program || 'unnamed'}, from ${address ?? 'the same machine'}, ${state} for ${seconds} s)`;
  return new Refused(
    `${waited}: ${who}. Wait until that migration ends, and run this again. ` +
      `A session that is idle migrates nothing (an older Usher left it behind a pooler): end it with \`select pg_terminate_backend(${pid})\`.`,
  );
}
