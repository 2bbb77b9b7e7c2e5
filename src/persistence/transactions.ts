import { IsolationLevel } from '@mikro-orm/core';
import type { AbstractSqlConnection } from '@mikro-orm/sql';
import type { ControlledTransaction } from 'kysely';
import type { Clock } from '../clock.ts';
import { formatRevision, type Mark } from '../engine/types.ts';
import { UsherError } from '../errors.ts';
import type { Logger } from '../telemetry.ts';
import { announce, NONCE_BYTES, newestRevision, nonceOf } from './change-log.ts';
import type { Committed, Follower, Outcome, Tx } from './database.ts';
import { isLost, isWorthRepeating, StatementFailed, toDatabaseError } from './failures.ts';
import type { Schema } from './schema.ts';

/** Named points of a write, for tests that end the process there. */
export type Failpoint = 'before-log' | 'after-log' | 'after-commit' | 'after-reach';

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
const ATTEMPTS = 4;
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
    return this.#repeating(async () => {
      const trx = await this.#begin({ isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true });
      try {
        const result = await fn({ kysely: trx });
        await this.#options.connection.commit(trx);
        return result;
      } catch (error) {
        await this.#rollback(trx);
        throw error;
      }
    });
  }

  async change<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<Committed<T>> {
    const committed = await this.#repeating(() => this.#write(fn));
    await this.#options.failpoints?.hit('after-commit');
    await this.#reached(committed.mark);
    await this.#options.failpoints?.hit('after-reach');
    if (committed.announced) this.#options.notify();
    const { result, mark } = committed;
    return { result, revision: formatRevision(mark), number: mark.number };
  }

  async #write<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<{ result: T; mark: Mark; announced: boolean }> {
    const { clock, failpoints } = this.#options;
    // Read committed: the numbering below must see what was committed while it waited for its turn.
    const trx = await this.#begin({ isolationLevel: IsolationLevel.READ_COMMITTED });
    const tx: Tx = { kysely: trx };
    let result: T;
    let mark: Mark;
    let announced: boolean;
    try {
      const outcome = await fn(tx);
      result = outcome.result;
      announced = outcome.scopes.length > 0;
      await failpoints?.hit('before-log');
      mark = announced
        ? await announce(tx, outcome.scopes, nonceOf(clock.bytes(NONCE_BYTES)))
        : await newestRevision(tx);
      await failpoints?.hit('after-log');
    } catch (error) {
      await this.#rollback(trx);
      throw error;
    }
    await this.#commit(trx);
    return { result, mark, announced };
  }

  /** Returns when the server has committed; throws the reason when it certainly has not, else OUTCOME_UNKNOWN. */
  async #commit(trx: ControlledTransaction<Schema>): Promise<void> {
    try {
      await this.#options.connection.commit(trx);
    } catch (error) {
      await this.#rollback(trx);
      if (isRefusedCommit(error)) throw error;
      this.#follower?.dropAll();
      throw new UsherError(
        'OUTCOME_UNKNOWN',
        'The connection was lost while the change was being committed: ask whether it was made.',
        { cause: error },
      );
    }
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
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        if (!isWorthRepeating(error) || tries >= ATTEMPTS) throw toDatabaseError(error);
        await this.#pause(tries);
      }
    }
  }

  /** Begins; once more when the connection turned out dead, since nothing had been asked of it yet. */
  async #begin(mode: BeginMode): Promise<ControlledTransaction<Schema>> {
    const { connection } = this.#options;
    try {
      return await connection.begin(mode);
    } catch (error) {
      if (!isLost(error)) throw error;
      return await connection.begin(mode);
    }
  }

  /** The reason for rolling back is thrown by the caller; a failing rollback adds nothing to it, and loses nothing. */
  async #rollback(trx: ControlledTransaction<Schema>): Promise<void> {
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

interface BeginMode {
  isolationLevel: IsolationLevel;
  readOnly?: true;
}

/** Whether the server said no to COMMIT. A lost connection, or a server going down, leaves the outcome open. */
function isRefusedCommit(error: unknown): boolean {
  return error instanceof StatementFailed && error.sqlState !== null && !/^(08|57P)/.test(error.sqlState);
}
