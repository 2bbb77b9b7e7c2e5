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

/** One connection for as long as somebody holds it. Every method rejects with StatementFailed or UsherError. */
export interface Session extends DatabaseConnection {
  begin(settings: TransactionSettings): Promise<void>;
  /** Rejects unless the server said that it has committed. */
  commit(): Promise<void>;
  /** Does nothing where no transaction is open. */
  rollback(): Promise<void>;
  /** Gives it back, or throws it away when it is broken. A second call does nothing. */
  release(): Promise<void>;
}

/** The names of statements that a connection is to parse once, by their texts. */
const NAMES = new Map<string, string>();

/** Has that text prepared, by sessions that can, under a name that no other has. */
export function nameStatement(name: string, text: string): void {
  // A driver refuses a second text under a name, and what has been sent behind such a statement would be done without it.
  if (NAMES.has(text) || [...NAMES.values()].includes(name)) throw new Error(`${name} is prepared elsewhere.`);
  NAMES.set(text, name);
}

/** The name of a text; undefined for one that is not to be prepared. */
export function preparedName(text: string): string | undefined {
  return NAMES.get(text);
}

const LAST = new WeakSet<CompiledQuery>();

/**
 * Marks a statement as the last of its transaction: a session may send COMMIT behind it before it is answered, and `commit`
 * then waits for the answer to that one. So a lock that the statement takes is held for no longer than the server needs.
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
 * Marks a statement as the only one of its transaction, which may be done twice: a session may send BEGIN, the statement and
 * COMMIT together. Were BEGIN to fail alone, the statement would still be done as a whole or not at all.
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
 * PostgreSQL's dialect over sessions of ours. Kysely's own drivers lose a connection for ever when BEGIN, COMMIT or ROLLBACK
 * fails (it is never given back), and its PGlite driver hangs when BEGIN fails; here a failure of any of them releases.
 */
export function createDialect(source: SessionSource): Dialect {
  return {
    createDriver: () => new SessionDriver(source),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
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
    const session = connection as Session;
    try {
      await session.begin(settings);
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  /** A failed COMMIT is followed by a rollback, which releases. */
  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as Session).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const session = connection as Session;
    try {
      await session.rollback();
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  // Names of savepoints are MikroORM's own (trx1, trx2, …), only used by migrations.
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
    return (connection as Session).release();
  }

  destroy(): Promise<void> {
    return this.#source.close();
  }
}
