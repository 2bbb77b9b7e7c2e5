import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import { FailureLog, type Logger } from '../base/telemetry.ts';
import { within } from '../base/wait.ts';
import { ATTEMPTS, Barrier, durableCommit } from './barrier.ts';
import { pruneImages } from './brands/images.ts';
import { pruneChangeLog } from './change-log.ts';
import type { Database } from './database.ts';
import { holdDirectory } from './driver/data-dir-lock.ts';
import { createDialect } from './driver/dialect.ts';
import { StatementFailed, toDatabaseError } from './driver/failures.ts';
import { Announcer, listen } from './driver/notify.ts';
import { connectionOf, kyselyOf, type Orm, openOrm } from './driver/orm.ts';
import { Embedded } from './driver/pglite.ts';
import { ClientPool, postgresSessions } from './driver/postgresql.ts';
import { PropertyNames } from './driver/property-names.ts';
import { Refused } from './driver/refused.ts';
import { cannotBeUsed, isNoPrimary, refuseUnfit, serverOf } from './driver/start-failures.ts';
import { type StartWait, withPatience } from './driver/start-wait.ts';
import { Failover } from './facts/failover.ts';
import { createFactsPool, embeddedFacts, postgresFacts, replicaFacts } from './facts/source.ts';
import { foldSearches } from './migrations/fold-searches.ts';
import {
  APPLIED_SQL,
  compare,
  type MigrateOptions,
  migrateEmbedded,
  migratePostgres,
  migrationState,
  refuseNewer,
  refusePending,
} from './migrations/migrator.ts';
import { analyzeGrown } from './operations/statistics.ts';
import { pruneSeenEvents } from './people/seen-events.ts';
import { pruneRegistrationLocales } from './provider/registration-locales.ts';
import { finishUpgrade } from './rules.ts';
import { type InboxSignals, noSignals, PostgresSignals } from './signals.ts';
import { type Failpoints, Transactions } from './transactions.ts';

export { Refused } from './driver/refused.ts';
export { startFailure } from './driver/start-failures.ts';
export { StartEnded } from './driver/start-wait.ts';
export type { Failpoint, Failpoints } from './transactions.ts';

export interface OpenOptions {
  /** postgresql:// URL; null means the embedded database in `dataDir`. */
  url: string | null;
  /** The same database without the pooler that `url` leads to: for what needs a connection of its own, LISTEN and migrations. */
  directUrl?: string | null;
  /** Replicas of it, for facts. */
  factsUrl?: string | null;
  dataDir: string;
  /** Connections for reads and writes; checks have their own few (PostgreSQL only). */
  poolSize: number;
  /** Release the lock of the numbering before a policy write is durable (docs/adr/0024-early-release.md). PostgreSQL only. */
  earlyRelease?: boolean;
  /** Apply pending migrations; otherwise a start with pending ones is refused. */
  migrateOnStart: boolean;
  /** Where it is not there yet (PostgreSQL only). Without it the first failure rejects. */
  wait?: StartWait;
  /** The caller has checked the migrations already (PostgreSQL only). */
  migrationsChecked?: boolean;
  clock: Clock;
  log: Logger;
  /** Set by tests only. */
  failpoints?: Failpoints;
  /** See MigrateOptions. */
  migrationWaitMs?: number;
}

/** How often old rows are pruned. */
const PRUNE_EVERY_MS = 3_600_000;
/** How often the tables of an embedded database are looked at for growth. */
const ANALYZE_EVERY_MS = 15_000;
/** How long `close` waits for work in progress. */
const CLOSE_MS = 10_000;

/** The differences between the two kinds of database. */
interface Opened {
  kind: Database['kind'];
  orm: Orm;
  facts: Database['facts'];
  replica: Database['replica'];
  /** Wakes other instances; never rejects. */
  notify: () => void;
  inboxSignals: InboxSignals;
  /** The line on which writes are made durable that were released early, by this instance or another. */
  durable?: ClientPool | undefined;
  /** The names of the applied migrations, read without the ORM's connections. */
  applied(): Promise<string[]>;
  /** Of an embedded database. */
  dump?: () => Promise<Blob>;
  close(): Promise<void>;
}

/**
 * Opens the database, locking the directory of an embedded one, and ensures that its migrations are this program's.
 * Rejects with Refused, whose message is for the operator: unavailable, held by another process, newer, or not migrated.
 */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const opened = options.url === null ? await openEmbedded(options) : await openPostgres(options, options.url);
  const { clock, log, failpoints } = options;
  const connection = connectionOf(opened.orm);
  const { durable, notify } = opened;
  const barrier = durable && new Barrier({ commit: durableCommit(durable, clock), clock, log });
  const early = options.earlyRelease === true;
  const names = new PropertyNames(opened.orm.config.getNamingStrategy());
  const transactions = new Transactions({ connection, names, clock, log, notify, early, barrier, failpoints });
  const close = async (): Promise<void> => {
    await opened.close();
    // What was committed last still has to be made durable.
    await transactions.idle();
    await durable?.close();
  };
  const stopPruning = repeat(clock, PRUNE_EVERY_MS, async () => {
    await prune(opened.orm, log);
    await foldRest(opened.orm, log);
  });
  const stopAnalyzing =
    opened.kind === 'pglite' ? repeat(clock, ANALYZE_EVERY_MS, () => analyze(opened.orm, log)) : () => undefined;
  return {
    kind: opened.kind,
    facts: opened.facts,
    replica: opened.replica,
    dump: dumpOf(opened),
    barrier: early ? (barrier?.counters ?? null) : null,
    inboxSignals: opened.inboxSignals,
    read: (fn) => transactions.read(fn),
    change: (fn) => transactions.change(fn),
    rehearse: (fn) => transactions.rehearse(fn),
    once: (statement) => transactions.once(statement),
    follow: (follower) => transactions.follow(follower),
    ping: () => ping(opened),
    close: async () => {
      stopPruning();
      stopAnalyzing();
      await within(clock, CLOSE_MS, close());
    },
  };
}

function dumpOf(opened: Opened): Database['dump'] {
  const { dump } = opened;
  if (dump === undefined) return undefined;
  return async () => {
    const migrations = await opened.applied();
    return { archive: await dump(), migrations };
  };
}

/** Applies pending migrations, for `usher migrate`; returns their names. Rejects with Refused. */
export async function migrate(options: Omit<OpenOptions, 'poolSize' | 'migrateOnStart'>): Promise<string[]> {
  if (options.url !== null) return await migrateUrl({ ...options, url: options.directUrl ?? options.url });
  const { opened, applied } = await openMigratedDirectory(options, true);
  await opened.close();
  return applied;
}

async function openPostgres(options: OpenOptions, url: string): Promise<Opened> {
  const { clock, log, poolSize } = options;
  const limits = { max: poolSize, statementTimeoutMs: 15_000, lockTimeoutMs: 5000 };
  // Shared by both pools: the server that refuses one refuses the other.
  const connecting = new FailureLog({
    log,
    clock,
    failing: 'database unreachable; retrying',
    working: 'database reachable again',
  });
  // No statement runs long enough to be worth compiling, and the estimated cost of a search's condition is far from its real one.
  const pool = new ClientPool({ name: 'main', url, clock, log, connecting, ...limits, settings: { jit: 'off' } });
  const factsPool = createFactsPool({ name: 'facts', url, clock, log, connecting });
  const replicaPool =
    options.factsUrl == null ? null : createFactsPool({ name: 'replica', url: options.factsUrl, clock, log });
  // Of its own: who waits for it holds up nobody, and nobody holds it up. It connects with the first write that needs it; without
  // early release, with one that changes nothing after another instance has released early.
  const settings = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' };
  const keep = options.earlyRelease === true;
  const durable = new ClientPool({
    name: 'durable',
    url,
    clock,
    log,
    connecting,
    ...limits,
    max: ATTEMPTS,
    keep,
    settings,
  });
  const dialect = createDialect(postgresSessions(pool));
  const orm = await openOrm({ kind: 'postgresql', dialect, name: serverOf(url).database, log });
  const wake = { url: options.directUrl ?? url, clock, log };
  const announcer = new Announcer(pool, wake);
  const inboxSignals = new PostgresSignals(pool, wake);
  const close = async () => {
    await Promise.all([announcer.idle(), inboxSignals.idle()]);
    await Promise.all([pool.close(), factsPool.close(), replicaPool?.close()]);
    await orm.close();
  };
  try {
    if (options.migrationsChecked !== true) await migrated(orm, url, options);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'postgresql',
    orm,
    facts: postgresFacts(factsPool, (onWake) => listen(wake, announcer.self, onWake), new Failover(clock)),
    // The engine follows the log, and listens, at the primary.
    replica: replicaPool === null ? null : replicaFacts(replicaPool),
    notify: announcer.tell,
    inboxSignals,
    durable,
    applied: async () => (await factsPool.query<{ name: string }>({ text: APPLIED_SQL })).rows.map((row) => row.name),
    close,
  };
}

async function migrated(orm: Orm, url: string, options: OpenOptions): Promise<void> {
  const { migrateOnStart, directUrl, wait = { ms: 0 }, ...rest } = options;
  const client = connectionOf(orm).getClient();
  const reading = async () => {
    try {
      const { standby } = await refuseUnfit(url, client);
      const state = await migrationState(client);
      if (standby && migrateOnStart && state.pending.length > 0) throw isNoPrimary(url);
      return state;
    } catch (error) {
      throw cannotBeUsed(url, error);
    }
  };
  const state = await withPatience(reading, wait, options);
  refuseNewer(state);
  if (!migrateOnStart) refusePending(state);
  else if (state.pending.length > 0) {
    const applied = await migrateUrl({ ...rest, url: directUrl ?? url });
    options.log.info({ migrations: applied }, 'database migrated');
  }
}

async function migrateUrl(options: MigrateOptions): Promise<string[]> {
  try {
    return await migratePostgres(options);
  } catch (error) {
    throw cannotBeUsed(options.url, error);
  }
}

async function openEmbedded(options: OpenOptions): Promise<Opened> {
  return (await openMigratedDirectory(options, options.migrateOnStart)).opened;
}

async function openMigratedDirectory(
  { dataDir, clock, log }: Pick<OpenOptions, 'dataDir' | 'clock' | 'log'>,
  mayMigrate: boolean,
): Promise<{ opened: Opened; applied: string[] }> {
  const held = holdDirectory(dataDir);
  try {
    const embedded = await Embedded.open(held.database, clock).catch((error: unknown) => {
      throw new Refused(
        `The embedded database in ${dataDir} cannot be opened; restore a backup of the directory.`,
        error,
      );
    });
    const dialect = createDialect(embedded.sessions());
    const orm = await openOrm({ kind: 'pglite', dialect, name: 'postgres', log });
    const opened: Opened = {
      kind: 'pglite',
      orm,
      facts: embeddedFacts(embedded),
      replica: null,
      notify: () => undefined,
      inboxSignals: noSignals,
      dump: () => embedded.dump(),
      applied: async () => (await embedded.query<{ name: string }>(APPLIED_SQL, [])).map((row) => row.name),
      close: async () => {
        await embedded.close();
        await orm.close();
        held.release();
      },
    };
    try {
      const state = await migrationState(connectionOf(orm).getClient());
      refuseNewer(state);
      if (!mayMigrate) refusePending(state);
      const applied = state.pending.length === 0 ? [] : await migrateEmbedded(orm);
      // No other process has these files.
      await finishUpgrade(connectionOf(orm).getClient());
      held.finished();
      return { opened, applied };
    } catch (error) {
      await embedded.close();
      throw error;
    }
  } catch (error) {
    held.release();
    throw error;
  }
}

async function ping(opened: Opened): Promise<void> {
  try {
    const { pending } = compare(await opened.applied());
    if (pending.length > 0) throw unavailable('The database lacks migrations.');
  } catch (error) {
    // 42P01: the record's table is missing.
    if (error instanceof StatementFailed && error.sqlState === '42P01')
      throw unavailable('The database lacks migrations.');
    throw toDatabaseError(error);
  }
}

/** Tables that grow by themselves, each with the statement that deletes expired rows, a few at a time. */
const PRUNED = [
  ['change log', pruneChangeLog],
  ['seen events', pruneSeenEvents],
  ['registration languages', pruneRegistrationLocales],
  ['images', pruneImages],
] as const;

async function prune(orm: Orm, log: Logger): Promise<void> {
  for (const [what, pruneRows] of PRUNED) {
    try {
      const rows = await pruneRows(kyselyOf(orm));
      if (rows > 0) log.info({ rows, what }, 'old rows pruned');
    } catch (error) {
      log.warn({ err: error, what }, 'old rows not pruned; retrying in an hour');
    }
  }
}

/** Ends the work of a migration whose process ended before it did. */
async function foldRest(orm: Orm, log: Logger): Promise<void> {
  try {
    const people = await foldSearches(kyselyOf(orm));
    if (people > 0) log.info({ people }, 'texts of the search of people folded');
  } catch (error) {
    log.warn({ err: error }, 'texts of the search of people not folded; retrying in an hour');
  }
}

async function analyze(orm: Orm, log: Logger): Promise<void> {
  try {
    const tables = await analyzeGrown(kyselyOf(orm));
    if (tables.length > 0) log.debug({ tables }, 'tables analyzed');
  } catch (error) {
    // A long write holds the only session.
    log.debug({ err: error }, 'tables not analyzed; retrying');
  }
}

/** Runs `job` at that interval until the returned function is called; never two at once. */
function repeat(clock: Clock, ms: number, job: () => Promise<void>): () => void {
  let stopped = false;
  let cancel = (): void => undefined;
  const wait = (): void => {
    if (stopped) return;
    cancel = clock.after(ms, () => void job().then(wait));
  };
  wait();
  return () => {
    stopped = true;
    cancel();
  };
}
