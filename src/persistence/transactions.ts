import { IsolationLevel } from '@mikro-orm/core';
import type { AbstractSqlConnection } from '@mikro-orm/sql';
import type { ControlledTransaction } from 'kysely';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import { ANY_REVISION, formatRevision, type Mark } from '../engine/types.ts';
import { toRows } from './audit.ts';
import { conclude, type Ending, NONCE_BYTES, nonceOf } from './change-log.ts';
import type { Committed, Follower, Outcome, Statement, Tx } from './database.ts';
import { failedToBegin, isUnbegun, isWorthRepeating, StatementFailed, toDatabaseError } from './driver/failures.ts';
import type { Schema } from './entities/schema.ts';

/** Named points of a write, for tests that end the process there. */
export type Failpoint = 'before-log' | 'committing' | 'after-commit' | 'after-reach';

export interface Failpoints {
  hit(name: Failpoint): Promise<void> | void;
}

export interface TransactionsOptions {
  connection: AbstractSqlConnection;
  clock: Clock;
  log: Logger;
  /** Tells other instances that something was written; never rejects. */
  notify: () => void;
  failpoints?: Failpoints | undefined;
}

/** A transaction that another one has overtaken is done again, at most so many times in all. */
const ATTEMPTS = 7;
/** How long a write waits for its own instance to see it; after that every cached fact is forgotten instead. */
const REACH_MS = 3000;

/** The only BEGIN: `read` and `change` of the Database, whose interface says what they promise. */
export class Transactions {
  readonly #options: TransactionsOptions;
  #follower: Follower | undefined;

  constructor(options: TransactionsOptions) {
    this.#options = options;
  }

  follow(follower: Follower): void {
    if (this.#follower !== undefined) throw new Error('A follower was handed over before.');
    this.#follower = follower;
  }

  read<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const settings = { isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true };
    return this.#repeating(() => this.#within(settings, (trx) => fn({ kysely: trx })));
  }

  async change<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<Committed<T>> {
    const committed = await this.#repeating(() => this.#write(fn)).catch((error: unknown) => this.#refused(error));
    await this.#options.failpoints?.hit('after-commit');
    await this.#reached(committed.mark);
    await this.#options.failpoints?.hit('after-reach');
    if (committed.announced) this.#options.notify();
    const { result, mark } = committed;
    return { result, revision: formatRevision(mark), number: mark.number };
  }

  once<R>(statement: Statement<R>): Promise<R[]> {
    const settings = { isolationLevel: IsolationLevel.READ_COMMITTED };
    const ask = async (trx: Transaction) => (await trx.executeQuery(statement)).rows;
    // It may have been done, and may be done twice: as if nothing had been asked of that connection.
    return this.#repeating(() => this.#within(settings, ask, failedToBegin));
  }

  /** `failure`: what is thrown for an error once the transaction was to begin. */
  async #within<T>(
    settings: { isolationLevel: IsolationLevel; readOnly?: boolean },
    work: (trx: Transaction) => Promise<T>,
    failure: (error: unknown) => unknown = (error) => error,
  ): Promise<T> {
    const { connection } = this.#options;
    const trx: Transaction = await connection.begin(settings);
    try {
      const result = await work(trx);
      await connection.commit(trx);
      return result;
    } catch (error) {
      await this.#rollback(trx);
      throw failure(error);
    }
  }

  async #write<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<{ result: T; mark: Mark; announced: boolean }> {
    const { connection, clock, failpoints } = this.#options;
    // Read committed: the numbering below must see what was committed while it waited for its turn.
    const trx: Transaction = await connection.begin({ isolationLevel: IsolationLevel.READ_COMMITTED });
    const tx: Tx = { kysely: trx };
    let outcome: Outcome<T>;
    let records: string | null;
    try {
      outcome = await fn(tx);
      records = toRows(outcome.records ?? []);
      await failpoints?.hit('before-log');
    } catch (error) {
      await this.#rollback(trx);
      throw error;
    }
    const { result, scopes } = outcome;
    const mark = await this.#commit(trx, { scopes, records, nonce: nonceOf(clock.bytes(NONCE_BYTES)) });
    return { result, mark, announced: scopes.length > 0 };
  }

  /**
   * Answers the revision when the server has committed; throws the reason when it certainly has not, else OUTCOME_UNKNOWN. COMMIT
   * may be under way as soon as the statement before it is.
   */
  async #commit(trx: Transaction, ending: Ending): Promise<Mark> {
    try {
      const concluded = conclude({ kysely: trx }, ending);
      await Promise.all([concluded, this.#options.failpoints?.hit('committing')]);
      await this.#options.connection.commit(trx);
      return await concluded;
    } catch (error) {
      await this.#rollback(trx);
      if (isRefusedCommit(error) || isUnbegun(error)) throw error;
      this.#follower?.dropAll();
      throw new UsherError(
        'OUTCOME_UNKNOWN',
        'The connection was lost while the change was being committed: ask whether it was made.',
        { cause: error },
      );
    }
  }

  /**
   * What another instance has taken away already is NOT_FOUND here. That acknowledges the revocation as much as the first answer
   * did, so this instance must have seen it: a reading of the log that begins now has all that the transaction saw.
   */
  async #refused(error: unknown): Promise<never> {
    if (error instanceof UsherError && error.code === 'NOT_FOUND') await this.#reached(ANY_REVISION);
    throw error;
  }

  async #reached(mark: Mark): Promise<void> {
    const follower = this.#follower;
    if (follower === undefined) return;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#options.clock.after(REACH_MS, () => reject(new Error('the change log was not read in time')));
    try {
      await Promise.race([follower.reach(mark), late]);
    } catch (error) {
      // The write stands. Without a cache, what is answered next is read from where it stands.
      this.#options.log.warn(
        { err: error, revision: mark.number },
        'a write was not followed; all cached facts are forgotten',
      );
      follower.dropAll();
    } finally {
      cancel();
    }
  }

  async #repeating<T>(attempt: () => Promise<T>): Promise<T> {
    let dead = 0;
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        // Nothing had been asked of it yet. The idle ones beside it are not trusted any more, so the next is a new one.
        if (isUnbegun(error) && dead++ === 0) continue;
        if (!isWorthRepeating(error)) throw toDatabaseError(error);
        if (tries >= ATTEMPTS) throw this.#givenUp(error);
        await this.#pause(tries);
      }
    }
  }

  /** Others came first that often, or, where a constraint says so each time, the statement never fits: a mistake of ours. */
  #givenUp(error: unknown): unknown {
    if (error instanceof StatementFailed && error.constraint !== null) {
      const { constraint, sqlState } = error;
      const line = { err: error, constraint, sqlState, attempts: ATTEMPTS };
      this.#options.log.error(line, 'a constraint refused every attempt of a transaction');
    }
    return toDatabaseError(error);
  }

  /** The reason for rolling back is thrown by the caller; a failing rollback adds nothing to it, and loses nothing. */
  async #rollback(trx: Transaction): Promise<void> {
    try {
      await this.#options.connection.rollback(trx);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'a rollback did not come through; the connection is given up');
    }
  }

  #pause(tries: number): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      clock.after(clock.random() * 20 * 2 ** tries, resolve);
    });
  }
}

type Transaction = ControlledTransaction<Schema>;

/** Whether the server said no to COMMIT. A lost connection, or a server going down, leaves the outcome open. */
function isRefusedCommit(error: unknown): boolean {
  return error instanceof StatementFailed && error.sqlState !== null && !/^(08|57P)/.test(error.sqlState);
}
