import { readdirSync } from 'node:fs';
import type { PGlite, Transaction } from '@electric-sql/pglite';
import type { CompiledQuery, QueryResult, TransactionSettings } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import { Semaphore } from '../../base/semaphore.ts';
import { waitingForConnection } from './connection-span.ts';
import type { Session, SessionSource } from './dialect.ts';
import { endOfSession } from './ending.ts';
import { StatementFailed, statementFailed } from './failures.ts';
import { SET_SESSION_SQL } from './session-settings.ts';
import { statementEnds, statementSpan } from './statement-span.ts';
import { OID, readBigint } from './values.ts';

/** A transaction idle for this long is rolled back, as PostgreSQL does by itself. */
const IDLE_IN_TRANSACTION_MS = 10_000;
/** Longer than for one of many connections: a big write occupies the only session. */
const WAIT_MS = 5000;

/**
 * The embedded database: one session on this process's event loop. Everything, facts included, takes turns at the semaphore:
 * nothing is read inside another caller's transaction, and every wait has a limit.
 */
export class Embedded {
  readonly gate: Semaphore;
  readonly #client: PGlite;
  readonly #clock: Clock;

  private constructor(client: PGlite, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.gate = new Semaphore({ clock, permits: 1, maxWaiting: 1000, waitMs: WAIT_MS });
  }

  /** Opens, or creates, the database in `dir`, a new one with what `dump` made. The caller holds the directory's lock. */
  static async open(dir: string, clock: Clock, archive?: Blob): Promise<Embedded> {
    // Loaded here, because a service on PostgreSQL never needs it.
    const { PGlite } = await import('@electric-sql/pglite');
    const parsers = { [OID.int8]: readBigint };
    const isNew = readdirSync(dir).length === 0;
    const loaded = isNew ? { loadDataDir: archive ?? (await emptyDatabase()) } : {};
    const client = await PGlite.create(dir, { parsers, ...loaded });
    await client.query(SET_SESSION_SQL);
    return new Embedded(client, clock);
  }

  /** One statement of its own, when no transaction is open. */
  async query<R>(sql: string, parameters: readonly unknown[], name?: string): Promise<R[]> {
    await this.#enter();
    const span = statementSpan(sql, name);
    try {
      const { rows } = await this.#client.query<R>(sql, [...parameters]);
      statementEnds(span);
      return rows;
    } catch (error) {
      const failed = statementFailed(error);
      statementEnds(span, failed);
      throw failed;
    } finally {
      this.gate.leave();
    }
  }

  #enter(ending?: ReturnType<typeof endOfSession>): Promise<void> {
    return waitingForConnection('embedded', this.#clock, () => this.gate.enter(ending));
  }

  /** Its files, as a compressed archive: what has been committed, and nothing of a transaction under way. */
  async dump(): Promise<Blob> {
    await this.gate.enter();
    let plain: Blob;
    try {
      // So that nothing has to be recovered from the log when it is opened.
      await this.#client.exec('checkpoint');
      plain = await this.#client.dumpDataDir('none');
    } finally {
      this.gate.leave();
    }
    // Takes most of the time, and others may use the database meanwhile.
    return await new Response(plain.stream().pipeThrough(new CompressionStream('gzip'))).blob();
  }

  sessions(): SessionSource {
    return {
      open: async () => {
        const ending = endOfSession();
        await this.#enter(ending);
        return new EmbeddedSession(this.#client, this.#clock, () => this.gate.leave(), ending?.signal);
      },
      // `close` of Embedded ends it: facts are read without Kysely.
      close: () => Promise.resolve(),
    };
  }

  async close(): Promise<void> {
    await this.gate.close();
    await this.#client.close();
  }
}

/** The result of initdb, prepared by PGlite's authors: running it here takes seconds. */
async function emptyDatabase(): Promise<Blob> {
  const { dataDir } = await import('@electric-sql/pglite-prepopulatedfs');
  return await dataDir();
}

const ROLLED_BACK = Symbol('rolled back');

interface OpenTransaction {
  readonly tx: Transaction;
  readonly commit: () => void;
  readonly rollback: () => void;
  /** Settles with the transaction: rejects with ROLLED_BACK after a rollback. */
  readonly over: Promise<void>;
}

class EmbeddedSession implements Session {
  readonly #client: PGlite;
  readonly #clock: Clock;
  #leave: (() => void) | undefined;
  #open: OpenTransaction | undefined;
  #expired = false;
  /** Ends what only reads, with its caller: between two statements, since one runs on this thread. */
  readonly #ends: AbortSignal | undefined;
  #cancelWatch: (() => void) | undefined;

  constructor(client: PGlite, clock: Clock, leave: () => void, ends: AbortSignal | undefined) {
    this.#client = client;
    this.#clock = clock;
    this.#leave = leave;
    this.#ends = ends;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#expired) throw expired();
    this.#ends?.throwIfAborted();
    this.#cancelWatch?.();
    const on = this.#open?.tx ?? this.#client;
    const span = statementSpan(query.sql);
    try {
      const { rows, affectedRows } = await on.query<R>(query.sql, [...query.parameters]);
      statementEnds(span);
      return { rows, ...(affectedRows === undefined ? {} : { numAffectedRows: BigInt(affectedRows) }) };
    } catch (error) {
      const failed = statementFailed(error);
      statementEnds(span, failed);
      throw failed;
    } finally {
      this.#watch();
    }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new TypeError('Streaming is not supported; read in pages.');
  }

  async begin({ isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    const { promise: decision, resolve: commit, reject } = Promise.withResolvers<void>();
    const modes = [isolationLevel ? `isolation level ${isolationLevel}` : '', accessMode ?? ''].filter((m) => m !== '');
    await new Promise<void>((begun, failed) => {
      const over = this.#client.transaction(async (tx) => {
        if (modes.length > 0) await tx.exec(`set transaction ${modes.join(' ')}`);
        this.#open = { tx, commit, rollback: () => reject(ROLLED_BACK), over };
        begun();
        await decision;
      });
      // Also marks a rejection that comes before `over` is awaited as handled.
      over.catch((error: unknown) => failed(statementFailed(error)));
    });
    this.#watch();
  }

  async commit(): Promise<void> {
    if (this.#expired) throw expired();
    const open = this.#end();
    if (open === undefined) throw new StatementFailed('25P01', null, false, 'SQLSTATE 25P01, no open transaction');
    open.commit();
    try {
      await open.over;
    } catch (error) {
      throw statementFailed(error);
    }
  }

  async rollback(): Promise<void> {
    const open = this.#end();
    if (open === undefined) return;
    open.rollback();
    try {
      await open.over;
    } catch (error) {
      if (error !== ROLLED_BACK) throw statementFailed(error);
    }
  }

  async release(): Promise<void> {
    const leave = this.#leave;
    this.#leave = undefined;
    try {
      await this.rollback();
    } finally {
      leave?.();
    }
  }

  #end(): OpenTransaction | undefined {
    this.#cancelWatch?.();
    const open = this.#open;
    this.#open = undefined;
    return open;
  }

  #watch(): void {
    if (this.#open === undefined) return;
    this.#cancelWatch = this.#clock.after(IDLE_IN_TRANSACTION_MS, () => {
      this.#expired = true;
      // The outcome is certain, and the next call of this forgotten transaction reports it.
      void this.release().catch(() => undefined);
    });
  }
}

function expired(): StatementFailed {
  return new StatementFailed('25P03', null, true, 'SQLSTATE 25P03, transaction idle for too long');
}
