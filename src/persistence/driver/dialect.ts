import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type TransactionSettings,
} from 'kysely';

/** One connection while it is in use. Every method rejects with StatementFailed or UsherError. */
export interface Session extends DatabaseConnection {
  begin(settings: TransactionSettings): Promise<void>;
  /** Rejects unless the server confirmed the commit. */
  commit(): Promise<void>;
  /** Does nothing where no transaction is open. */
  rollback(): Promise<void>;
  /** Returns it to the pool, or discards it when it is broken. A second call does nothing. */
  release(): Promise<void>;
}

/** The names of statements that a connection parses once, by their texts. */
const NAMES = new Map<string, string>();

/** Has that text prepared, by sessions that support it, under a unique name. */
export function nameStatement(name: string, text: string): void {
  // A driver refuses a second text under a name, and statements already sent after it would run without it.
  if (NAMES.has(text) || [...NAMES.values()].includes(name)) throw new Error(`${name} is prepared with another text.`);
  NAMES.set(text, name);
}

/** The name of a text; undefined for one that is not prepared. */
export function preparedName(text: string): string | undefined {
  return NAMES.get(text);
}

const LAST = new WeakSet<CompiledQuery>();

/**
 * Marks a statement as the last of its transaction: a session may send COMMIT right after it, and `commit`
 * then waits for that answer. So a lock that the statement takes is held no longer than the server needs.
 */
export function asLast<R>(query: CompiledQuery<R>): CompiledQuery<R> {
  LAST.add(query);
  return query;
}

export function isLast(query: CompiledQuery): boolean {
  return LAST.has(query);
}

const ONLY = new WeakSet<CompiledQuery>();

/**
 * Marks a statement as the only one of its transaction, which may run twice: a session may send BEGIN, the statement and
 * COMMIT together. If BEGIN alone failed, the statement would still run as a whole or not at all.
 */
export function asOnly<R>(query: CompiledQuery<R>): CompiledQuery<R> {
  ONLY.add(query);
  return asLast(query);
}

export function isOnly(query: CompiledQuery): boolean {
  return ONLY.has(query);
}

export interface SessionSource {
  open(): Promise<Session>;
  close(): Promise<void>;
}

/**
 * PostgreSQL's dialect over our own sessions. Kysely's drivers lose a connection for ever when BEGIN, COMMIT or ROLLBACK
 * fails (they never return it), and its PGlite driver hangs when BEGIN fails; here a failure of any of them releases.
 */
export function createDialect(source: SessionSource): Dialect {
  return {
    createDriver: () => new SessionDriver(source),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

/** Kysely hands back what `acquireConnection` gave it. */
function sessionOf(connection: DatabaseConnection): Session {
  return connection as Session;
}

class SessionDriver implements Driver {
  readonly #source: SessionSource;

  constructor(source: SessionSource) {
    this.#source = source;
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  acquireConnection(): Promise<Session> {
    return this.#source.open();
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const session = sessionOf(connection);
    try {
      await session.begin(settings);
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  /** A rollback follows a failed COMMIT, and releases. */
  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return sessionOf(connection).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const session = sessionOf(connection);
    try {
      await session.rollback();
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  // MikroORM chooses the names of savepoints (trx1, trx2, …); only migrations use them.
  async savepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`savepoint "${name}"`));
  }

  async rollbackToSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`rollback to savepoint "${name}"`));
  }

  async releaseSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`release savepoint "${name}"`));
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    return sessionOf(connection).release();
  }

  destroy(): Promise<void> {
    return this.#source.close();
  }
}
