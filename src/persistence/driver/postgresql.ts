import type { CompiledQuery, QueryResult, TransactionSettings } from 'kysely';
import pg from 'pg';
import type { Clock } from '../../base/clock.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { FailureLog, Logger } from '../../base/telemetry.ts';
import { tracer } from '../../base/tracing.ts';
import { connectFailed } from './connecting.ts';
import { waitingForConnection } from './connection-span.ts';
import { isLast, isOnly, preparedName, type Session, type SessionSource } from './dialect.ts';
import { type Cancelable, cancelStatement, endOfSession } from './ending.ts';
import { failedToBegin, isLost, StatementFailed, statementFailed } from './failures.ts';
import { isPooledConnection, SESSION_NAME, SET_LOCAL_SQL, setSession } from './session-settings.ts';
import { statementEnds, statementSpan } from './statement-span.ts';
import { OID, readBigint, readBigintArray } from './values.ts';

const types = new pg.TypeOverrides();
types.setTypeParser(OID.int8, readBigint);
types.setTypeParser(OID.int8Array, readBigintArray);

/** How long a pool waits for a connection, free or new; then 503. */
const POOL_WAIT_MS = 1000;
/** A statement that the server has not ended this long after its own limit is on a dead connection. */
const GRACE_MS = 500;
/** How long the server may take to break a statement off; then its connection is cut. */
const BREAK_OFF_MS = 500;
/** BEGIN never waits: a later answer means that the connection was dead before. */
const BEGIN_MS = 1500;

export interface ClientPoolOptions {
  /** As traces name it. */
  name: string;
  url: string;
  max: number;
  clock: Clock;
  log: Logger;
  /** Limits enforced by the server, in milliseconds; 0 for none. */
  statementTimeoutMs: number;
  lockTimeoutMs: number;
  /** Further settings of each session. */
  settings?: Readonly<Record<string, string>>;
  /** Keeps every connection, however long it is idle. */
  keep?: boolean;
  /** Logs failed and successful connection attempts. */
  connecting?: FailureLog;
}

/**
 * Connections to one PostgreSQL. Beyond pg's own pool: waiting is bounded in time and number, every statement ends
 * even when the network swallows it, and when one connection proves dead the idle ones are replaced as well.
 */
export class ClientPool {
  readonly #options: ClientPoolOptions;
  readonly #gate: Semaphore;
  #pool: pg.Pool;
  readonly #ending = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(options: ClientPoolOptions) {
    this.#options = options;
    this.#gate = new Semaphore({ clock: options.clock, permits: options.max, maxWaiting: 1000, waitMs: POOL_WAIT_MS });
    this.#pool = this.#create();
  }

  acquire(): Promise<Lease> {
    const { name, clock } = this.#options;
    return tracer === null ? this.#acquire() : waitingForConnection(name, clock, () => this.#acquire());
  }

  async #acquire(): Promise<Lease> {
    await this.#gate.enter();
    const pool = this.#pool;
    const limit = this.#options.statementTimeoutMs;
    try {
      const client = await pool.connect();
      return new Lease(client, limit === 0 ? 0 : limit + GRACE_MS, ({ lost, spent }) => {
        client.release(lost || spent);
        this.#gate.leave();
        if (lost && pool === this.#pool) this.#renew();
      });
    } catch (error) {
      this.#gate.leave();
      // Judged by where it failed, not by its code: a server may refuse a connection for any reason.
      const failed = connectFailed(error);
      this.#options.connecting?.failed(failed);
      throw failed;
    }
  }

  /** One statement on any connection. */
  async query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<R>> {
    const lease = await this.acquire();
    try {
      return await lease.query<R>(query);
    } finally {
      lease.release();
    }
  }

  /** Waits for statements in progress, then ends every connection. Further calls wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#gate.close().then(async () => {
      this.#end(this.#pool);
      await Promise.all(this.#ending);
    });
    return this.#closing;
  }

  #create(): pg.Pool {
    const { url, max, log, connecting, statementTimeoutMs, lockTimeoutMs, settings = {}, keep = false } = this.#options;
    const pool = new pg.Pool({
      connectionString: url,
      application_name: SESSION_NAME,
      max,
      types,
      keepAlive: true,
      // Sends a statement at once, even while another is in progress: COMMIT right after the last one.
      pipeline: true,
      connectionTimeoutMillis: POOL_WAIT_MS,
      idleTimeoutMillis: keep ? 0 : 30_000,
      statement_timeout: statementTimeoutMs === 0 ? false : statementTimeoutMs,
      ...(lockTimeoutMs === 0 ? {} : { lock_timeout: lockTimeoutMs }),
      idle_in_transaction_session_timeout: 10_000,
      options: Object.entries(settings)
        .map(([key, value]) => `-c ${key}=${value}`)
        .join(' '),
      // The pool waits for it, before anybody gets the connection.
      onConnect: setSession,
    });
    // Without a listener, an error of an idle connection, or of one in use, would end the process.
    pool.on('error', (error) => log.warn({ err: statementFailed(error) }, 'idle database connection lost'));
    pool.on('connect', (client) => {
      client.on('error', () => undefined);
      connecting?.succeeded();
    });
    return pool;
  }

  #renew(): void {
    const old = this.#pool;
    this.#pool = this.#create();
    this.#end(old);
  }

  #end(pool: pg.Pool): void {
    const ending = pool.end().catch((error: unknown) => {
      this.#options.log.warn({ err: statementFailed(error) }, 'database connection not closed cleanly');
    });
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }
}

/** How a connection comes back. `lost`: it proved dead, as others may have; `spent`: it alone is not used again. */
interface Returned {
  readonly lost: boolean;
  readonly spent: boolean;
}

/** One connection while it is in use. */
export class Lease {
  readonly #client: pg.PoolClient;
  readonly #limitMs: number;
  #giveBack: ((returned: Returned) => void) | undefined;
  #lost = false;
  #spent = false;

  constructor(client: pg.PoolClient, limitMs: number, giveBack: (returned: Returned) => void) {
    this.#client = client;
    this.#limitMs = limitMs;
    this.#giveBack = giveBack;
  }

  /** One statement; after `limitMs` it ends together with its connection. Rejects with StatementFailed. */
  async query<R extends pg.QueryResultRow>(query: pg.QueryConfig, limitMs = this.#limitMs): Promise<pg.QueryResult<R>> {
    // pg's own query_timeout leaves the late answer in the connection; destroying the socket ends both.
    const timer = limitMs === 0 ? undefined : setTimeout(() => this.#client.connection.stream.destroy(), limitMs);
    const span = tracer === null ? null : statementSpan(query.text, query.name);
    try {
      const result = await this.#client.query<R>(query);
      statementEnds(span);
      return result;
    } catch (error) {
      const failed = statementFailed(error);
      if (isLost(failed)) this.#lost = true;
      statementEnds(span, failed);
      throw failed;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether each of its transactions may have another server. */
  get isPooled(): boolean {
    return isPooledConnection(this.#client);
  }

  /** Everything that `send` sends leaves in one packet. */
  together<T>(send: () => T): T {
    const { stream } = this.#client.connection;
    stream.cork();
    try {
      return send();
    } finally {
      stream.uncork();
    }
  }

  /** Whether a statement of it was broken off: then it takes no other one. */
  get isSpent(): boolean {
    return this.#spent;
  }

  /**
   * Has the server end what is under way, whose query then rejects. The connection is not used again, because the request may
   * reach the server late, and would end somebody else's statement.
   */
  breakOff(): void {
    this.#spent = true;
    void cancelStatement(this.#client as unknown as Cancelable);
    const cut = setTimeout(() => this.#client.connection.stream.destroy(), BREAK_OFF_MS);
    this.#client.once('end', () => clearTimeout(cut));
  }

  /** Closes the connection on release instead of returning it. */
  discard(): void {
    this.#lost = true;
  }

  release(): void {
    const giveBack = this.#giveBack;
    this.#giveBack = undefined;
    giveBack?.({ lost: this.#lost && !this.#spent, spent: this.#spent });
  }
}

/** The pool as Kysely's driver takes it. */
export function postgresSessions(pool: ClientPool): SessionSource {
  const open = async (): Promise<PostgresSession> => {
    const ends = endOfSession()?.signal;
    ends?.throwIfAborted();
    return new PostgresSession(await pool.acquire(), ends);
  };
  return { open, close: () => pool.close() };
}

/** Commands whose row count is the number of rows they changed. */
const CHANGING = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

class PostgresSession implements Session {
  readonly #lease: Lease;
  /** BEGIN, until it leaves together with the first statement. */
  #begin: string | undefined;
  /** A COMMIT that was sent right after the last statement. */
  #committing: Promise<pg.QueryResult> | undefined;
  /** Ends what only reads, with its caller. */
  readonly #ends: AbortSignal | undefined;

  constructor(lease: Lease, ends: AbortSignal | undefined) {
    this.#lease = lease;
    this.#ends = ends;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    // If BEGIN alone failed, statements sent with it would run without a transaction: so only harmless ones may go with it.
    if (this.#begin !== undefined && !isHarmless(query)) await this.#sendBegin();
    const { command, rowCount, rows } = await (this.#ends === undefined
      ? this.#lease.together(() => this.#send(query))
      : this.#sendEnding(query, this.#ends));
    return {
      rows: (rows ?? []) as R[],
      ...(CHANGING.has(command) && rowCount !== null ? { numAffectedRows: BigInt(rowCount) } : {}),
    };
  }

  async #sendEnding(query: CompiledQuery, ends: AbortSignal): Promise<pg.QueryResult> {
    ends.throwIfAborted();
    const breakOff = (): void => this.#lease.breakOff();
    ends.addEventListener('abort', breakOff, { once: true });
    try {
      return await this.#lease.together(() => this.#send(query));
    } catch (error) {
      ends.throwIfAborted();
      throw error;
    } finally {
      ends.removeEventListener('abort', breakOff);
    }
  }

  async #send(query: CompiledQuery): Promise<pg.QueryResult> {
    const begun = this.#sendBegin();
    const name = preparedName(query.sql);
    const named = name === undefined ? {} : { name };
    const answer = this.#lease.query({ ...named, text: query.sql, values: [...query.parameters] });
    if (isLast(query)) {
      // If the statement fails the server answers COMMIT with ROLLBACK. Its parameters are texts, so sending it cannot fail.
      this.#committing = this.#lease.query({ text: 'commit' });
      handled(this.#committing);
    }
    if (begun === undefined) return await answer;
    handled(answer);
    await begun;
    return await answer;
  }

  #sendBegin(): Promise<void> | undefined {
    const text = this.#begin;
    this.#begin = undefined;
    if (text === undefined) return undefined;
    return this.#lease.query({ text }, BEGIN_MS).then(
      () => undefined,
      (error: unknown) => {
        throw failedToBegin(error);
      },
    );
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new TypeError('Streaming is not supported; read in pages.');
  }

  begin({ isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    const modes = [isolationLevel ? `isolation level ${isolationLevel}` : '', accessMode ?? ''].filter((m) => m !== '');
    const settings = this.#lease.isPooled ? `; ${SET_LOCAL_SQL}` : '';
    this.#begin = `begin ${modes.join(' ')}${settings}`;
    return Promise.resolve();
  }

  async commit(): Promise<void> {
    if (this.#isUnused()) return;
    if (this.#lease.isSpent) this.#ends?.throwIfAborted();
    const { command } = await (this.#committing ?? this.#lease.query({ text: 'commit' }));
    // The server answers COMMIT of a failed transaction with ROLLBACK, and without an error.
    if (command !== 'COMMIT') throw new StatementFailed('25P02', null, false, 'SQLSTATE 25P02, rolled back at commit');
  }

  async rollback(): Promise<void> {
    // The server rolls back what ends with its connection.
    if (this.#isUnused() || this.#lease.isSpent) return;
    try {
      // After a COMMIT in progress it finds no transaction, which is not an error.
      await this.#lease.query({ text: 'rollback' });
    } catch (error) {
      // The transaction may still be open: the connection must not be reused, whatever the reason.
      this.#lease.discard();
      throw error;
    }
  }

  /** Whether a transaction was begun without a statement in it. */
  #isUnused(): boolean {
    const unused = this.#begin !== undefined;
    this.#begin = undefined;
    return unused;
  }

  release(): Promise<void> {
    this.#lease.release();
    return Promise.resolve();
  }
}

/** Whether it only reads, with or without locks; or is the only statement of its transaction. */
function isHarmless(query: CompiledQuery): boolean {
  return isOnly(query) || (/^\s*select\b/i.test(query.sql) && !isLast(query));
}

/** Marks a rejection as handled: another promise reports it, perhaps later. */
function handled(promise: Promise<unknown>): void {
  promise.catch(() => undefined);
}
