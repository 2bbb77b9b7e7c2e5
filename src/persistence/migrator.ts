import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import type { Clock } from '../clock.ts';
import type { Logger } from '../telemetry.ts';
import { createDialect } from './dialect.ts';
import { StatementFailed, statementFailed } from './failures.ts';
import { MIGRATIONS } from './migrations/list.ts';
import { type Orm, openOrm } from './orm.ts';
import { ClientPool, postgresSessions } from './postgresql.ts';
import { Refused } from './refused.ts';

/** Any number that nothing else in this database locks. */
const MIGRATION_LOCK = 7_411_532_001;

export interface MigrationState {
  /** Known here, not applied there, in order. */
  pending: string[];
  /** Applied there, not known here: a newer Usher has been at work. */
  unknown: string[];
}

/** Compares the database's record of migrations with the list of this program. */
export async function migrationState(db: Kysely<unknown>): Promise<MigrationState> {
  return compare(await appliedMigrations(db));
}

/** The statement that reads the record, for those who have no Kysely at hand. */
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
    // No such table: nothing was ever migrated.
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
  throw new Refused(
    `The database lacks ${state.pending.length} migration(s) (${state.pending.join(', ')}). ` +
      'Run `usher migrate`, or start with database.migrateOnStart (DATABASE_MIGRATE_ON_START=true).',
  );
}

/** Applies what is pending in the embedded database, all of it or nothing. Answers the names. */
export async function migrateEmbedded(orm: Orm): Promise<string[]> {
  return (await orm.migrator.up()).map((migration) => migration.name);
}

/**
 * Applies what is pending in a PostgreSQL, all of it or nothing; answers the names. Only one at a time does so, across all
 * instances: the others wait, and then find nothing to do. Sessions of its own, since building an index may take long.
 */
export async function migratePostgres(options: { url: string; clock: Clock; log: Logger }): Promise<string[]> {
  const guard = new pg.Client({
    connectionString: options.url,
    application_name: 'usher-migrate',
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  });
  // Losing it means losing the lock only; its next statement says so.
  guard.on('error', () => undefined);
  await guard.connect().catch((error: unknown) => {
    throw statementFailed(error);
  });
  try {
    await guard.query('set lock_timeout = 0; set statement_timeout = 0');
    await guard.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return await migrateAlone(options, guard.database ?? 'postgres');
  } finally {
    await guard.end();
  }
}

async function migrateAlone(
  { url, clock, log }: { url: string; clock: Clock; log: Logger },
  name: string,
): Promise<string[]> {
  const pool = new ClientPool({ url, clock, log, max: 2, statementTimeoutMs: 0, lockTimeoutMs: 0 });
  const orm = await openOrm({ kind: 'postgresql', dialect: createDialect(postgresSessions(pool)), name, log });
  try {
    const state = await migrationState(orm.em.getDriver().getConnection().getClient());
    refuseNewer(state);
    if (state.pending.length === 0) return [];
    return (await orm.migrator.up()).map((migration) => migration.name);
  } finally {
    await orm.close();
    await pool.close();
  }
}
