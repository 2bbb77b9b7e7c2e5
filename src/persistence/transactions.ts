import { IsolationLevel } from '@mikro-orm/core';
import type { AbstractSqlConnection } from '@mikro-orm/sql';
import type { ControlledTransaction, KyselyPlugin } from 'kysely';
import type { Clock } from '../base/clock.ts';
import { UsherError, unavailable } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import { sleep } from '../base/wait.ts';
import { currentWork } from '../base/work.ts';
import { ANY_REVISION, formatRevision, type RevisionToken } from '../engine/types.ts';
import { authorOf, toRows } from './audit.ts';
import type { Barrier } from './barrier.ts';
import { type Concluded, conclude, type Ending, isEarly, NONCE_BYTES, newestRevision, nonceOf } from './change-log.ts';
import type { Committed, Follower, Outcome, Statement, Tx } from './database.ts';
import { endedWith } from './driver/ending.ts';
import { failedToBegin, isUnbegun, isWorthRepeating, StatementFailed, toDatabaseError } from './driver/failures.ts';
import type { Schema } from './entities/schema.ts';

/** Named points of a write, for tests that end the process there. */
export type Failpoint = 'before-log' | 'committing' | 'after-commit' | 'after-reach';

export interface Failpoints {
  hit(name: Failpoint): Promise<void> | void;
}

interface TransactionsOptions {
  connection: AbstractSqlConnection;
  /** The names that statements and rows have in a transaction. */
  names: KyselyPlugin;
  clock: Clock;
  log: Logger;
  /** Wakes other instances after a write; never rejects. */
  notify: () => void;
  /** Whether the lock of the numbering is released before the commit lasts (docs/adr/0024-early-release.md). */
  early: boolean;
  /** What makes that commit last, and those of other instances; an embedded database needs none. */
  barrier?: Barrier | undefined;
  failpoints?: Failpoints | undefined;
}

/** How often a transaction that another one has overtaken runs in all. */
const ATTEMPTS = 7;
/** How long a write waits for its own instance to see it; after that every cached fact is dropped instead. */
const REACH_MS = 3000;

/** The only place that begins transactions: `read` and `change` of the Database, whose interface documents their guarantees. */
export class Transactions {
  readonly #options: TransactionsOptions;
  #follower: Follower | undefined;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: TransactionsOptions) {
    this.#options = options;
  }

  follow(follower: Follower): void {
    if (this.#follower !== undefined) throw new Error('A follower is already registered.');
    this.#follower = follower;
  }

  read<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const settings = { isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true };
    return forCaller(() => this.#repeating(() => this.#within(settings, fn)));
  }

  /** Repeatable read: reads before and after the write must differ by the write alone. */
  rehearse<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { connection } = this.#options;
    const attempt = async (): Promise<T> => {
      const trx: Transaction = await connection.begin({ isolationLevel: IsolationLevel.REPEATABLE_READ });
      try {
        return await fn(this.#tx(trx));
      } finally {
        await this.#rollback(trx);
      }
    };
    return forCaller(() => this.#repeating(attempt));
  }

  async change<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<Committed<T>> {
    const changing = this.#change(fn);
    this.#underWay.add(changing);
    try {
      return await changing;
    } finally {
      this.#underWay.delete(changing);
    }
  }

  /** Resolves when the writes that have begun are over, one way or the other. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #change<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<Committed<T>> {
    const committed = await this.#repeating(() => this.#write(fn)).catch((error: unknown) => this.#refused(error));
    await this.#options.failpoints?.hit('after-commit');
    // Both before the caller is told; neither needs the other.
    await Promise.all([this.#lasting(committed), this.#reached(committed.mark)]);
    await this.#options.failpoints?.hit('after-reach');
    if (committed.announced) this.#options.notify();
    const { result, mark } = committed;
    return { result, revision: formatRevision(mark), number: mark.number };
  }

  once<R>(statement: Statement<R>): Promise<R[]> {
    const settings = { isolationLevel: IsolationLevel.READ_COMMITTED };
    const ask = async (tx: Tx) => (await tx.kysely.executeQuery(statement)).rows;
    // The statement may have run, and may run twice: treat the connection as if nothing had been sent.
    return this.#repeating(() => this.#within(settings, ask, failedToBegin));
  }

  /** `failure` maps an error that occurs after the transaction has begun. */
  async #within<T>(
    settings: { isolationLevel: IsolationLevel; readOnly?: boolean },
    work: (tx: Tx) => Promise<T>,
    failure: (error: unknown) => unknown = (error) => error,
  ): Promise<T> {
    const { connection } = this.#options;
    const trx: Transaction = await connection.begin(settings);
    try {
      const result = await work(this.#tx(trx));
      await connection.commit(trx);
      return result;
    } catch (error) {
      await this.#rollback(trx);
      throw failure(error);
    }
  }

  async #write<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<Concluded & { result: T; announced: boolean }> {
    const { connection, clock, failpoints } = this.#options;
    // Read committed: the numbering below must see what was committed while it waited for its lock.
    const trx: Transaction = await connection.begin({ isolationLevel: IsolationLevel.READ_COMMITTED });
    const tx = this.#tx(trx);
    let outcome: Outcome<T>;
    let records: string | null;
    try {
      outcome = await fn(tx);
      records = toRows(outcome.records ?? []);
      await failpoints?.hit('before-log');
    } catch (error) {
      const seen = await this.#seen(tx, error).finally(() => this.#rollback(trx));
      await this.#options.barrier?.pass(seen).catch((cause: unknown) => {
        throw unavailable('What this answer rests on may have been lost in a failover; try again.', cause);
      });
      throw error;
    }
    const { result, scopes } = outcome;
    const actor = authorOf(tx) ?? outcome.records?.[0]?.actor ?? null;
    const nonce = nonceOf(clock.bytes(NONCE_BYTES), this.#options.early);
    const concluded = await this.#commit(trx, tx, { scopes, records, actor, nonce });
    return { ...concluded, result, announced: scopes.length > 0 };
  }

  /**
   * What has to last before `error` is told: a deletion that NOT_FOUND acknowledges may have been seen before it lasts. The
   * newest revision, since a later statement sees at least what earlier ones saw.
   */
  async #seen(tx: Tx, error: unknown): Promise<RevisionToken> {
    if (this.#options.barrier === undefined || !isNotFound(error)) return ANY_REVISION;
    const newest = await newestRevision(tx);
    return this.#options.early || isEarly(newest) ? newest : ANY_REVISION;
  }

  /** Resolves when what the server has committed outlives it; else nobody may be told that it was done. */
  async #lasting({ mark, lasts }: Concluded): Promise<void> {
    const { barrier } = this.#options;
    if (barrier === undefined || lasts) return;
    try {
      await barrier.pass(mark);
    } catch (cause) {
      this.#follower?.dropAll();
      throw new UsherError(
        'OUTCOME_UNKNOWN',
        'The change was made, and may have been lost with the server that made it: check whether it is there.',
        { cause },
      );
    }
  }

  /**
   * Returns the revision when the server has committed; throws the reason when it certainly has not, else OUTCOME_UNKNOWN. COMMIT
   * may be sent as soon as the statement before it.
   */
  async #commit(trx: Transaction, tx: Tx, ending: Ending): Promise<Concluded> {
    try {
      const concluded = conclude(tx, ending, this.#options.early);
      await Promise.all([concluded, this.#options.failpoints?.hit('committing')]);
      await this.#options.connection.commit(trx);
      return await concluded;
    } catch (error) {
      await this.#rollback(trx);
      if (isRefusedCommit(error) || isUnbegun(error)) throw error;
      // A write without scopes touched no policy: what is cached is as true as before, and a database that is away is the worst
      // moment to forget it.
      if (ending.scopes.length > 0) this.#follower?.dropAll();
      throw new UsherError(
        'OUTCOME_UNKNOWN',
        'The connection was lost while the change was being committed: check whether it was made.',
        { cause: error },
      );
    }
  }

  /**
   * NOT_FOUND for a record that another instance has deleted acknowledges that deletion, so this instance must have seen it: a read
   * of the log that begins now includes everything that the transaction saw.
   */
  async #refused(error: unknown): Promise<never> {
    if (isNotFound(error)) await this.#reached(ANY_REVISION);
    throw error;
  }

  async #reached(mark: RevisionToken): Promise<void> {
    const follower = this.#follower;
    if (follower === undefined) return;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#options.clock.after(REACH_MS, () => reject(new Error('the change log was not read in time')));
    try {
      await Promise.race([follower.reach(mark), late]);
    } catch (error) {
      // The write stands. With an empty cache, the next answers are read from the database.
      this.#options.log.warn(
        { err: error, revision: mark.number },
        'write not seen by this instance in time; all cached facts dropped',
      );
      follower.dropAll();
    } finally {
      cancel();
    }
  }

  #tx(trx: Transaction): Tx {
    return { kysely: trx.withPlugin(this.#options.names) };
  }

  async #repeating<T>(attempt: () => Promise<T>): Promise<T> {
    let dead = 0;
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        // Nothing was sent on it yet. The idle connections are replaced as well, so the next one is new.
        if (isUnbegun(error) && dead++ === 0) continue;
        if (!isWorthRepeating(error)) throw toDatabaseError(error);
        if (tries >= ATTEMPTS) throw this.#givenUp(error);
        await this.#pause(tries);
      }
    }
  }

  /** Others came first each time; or, where a constraint refused each attempt, the statement can never succeed: a defect. */
  #givenUp(error: unknown): unknown {
    if (error instanceof StatementFailed && error.constraint !== null) {
      const { constraint, sqlState } = error;
      const line = { err: error, constraint, sqlState, attempts: ATTEMPTS };
      this.#options.log.error(line, 'constraint refused every attempt of a transaction');
    }
    return toDatabaseError(error);
  }

  /** The caller throws the reason for rolling back; a failing rollback adds nothing to it. */
  async #rollback(trx: Transaction): Promise<void> {
    try {
      await this.#options.connection.rollback(trx);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'rollback failed; connection discarded');
    }
  }

  async #pause(tries: number): Promise<void> {
    const { clock } = this.#options;
    await sleep(clock, clock.random() * 20 * 2 ** tries);
  }
}

type Transaction = ControlledTransaction<Schema>;

/** Runs what writes nothing: it may be ended with its caller, by the session that it opens (driver/ending.ts). */
function forCaller<T>(run: () => Promise<T>): Promise<T> {
  const work = currentWork();
  if (work === undefined) return run();
  const isDear = work.connected !== undefined;
  const ending = (): Promise<T> => endedWith({ signal: work.signal, last: isDear }, run);
  return work.connected?.(ending) ?? ending();
}

function isNotFound(error: unknown): boolean {
  return error instanceof UsherError && error.code === 'NOT_FOUND';
}

/** Whether the server refused COMMIT. A lost connection, or a server shutting down, leaves the outcome unknown. */
function isRefusedCommit(error: unknown): boolean {
  return error instanceof StatementFailed && error.sqlState !== null && !/^(08|57P)/.test(error.sqlState);
}
