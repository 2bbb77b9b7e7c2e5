import { CompiledQuery, type RawBuilder } from 'kysely';
import type { Tx } from '../database.ts';
import { nameStatement, preparedName } from './dialect.ts';

/**
 * A statement whose text is always the same: built by nobody for each call, and parsed and planned once a connection of
 * PostgreSQL. Only for look-ups and changes by key, whose plan no value changes. `name` is unique in the program.
 */
export class Prepared<R> {
  readonly #text: string;

  constructor(name: string, text: string) {
    nameStatement(`usher_${name}`, text);
    this.#text = text;
  }

  /** One call of it. */
  with(...parameters: readonly unknown[]): CompiledQuery<R> {
    return CompiledQuery.raw(this.#text, [...parameters]) as CompiledQuery<R>;
  }

  async rows(tx: Tx, ...parameters: readonly unknown[]): Promise<R[]> {
    return (await tx.kysely.executeQuery<R>(this.with(...parameters))).rows;
  }

  /** The only row of a statement that always answers one. */
  async row(tx: Tx, ...parameters: readonly unknown[]): Promise<R> {
    const [row, second] = await this.rows(tx, ...parameters);
    if (row === undefined || second !== undefined) throw new Error('This statement answers one row.');
    return row;
  }
}

const BY_INDEX = new Prepared<never>('by_index', `select set_config('enable_seqscan', 'off', true)`);

/**
 * What is asked in the rest of the transaction is planned by index, as if every table were large. For what probes tables for each of
 * many rows: a plan that was made while they were small is kept after a big load, until the server has counted their rows anew.
 */
export async function planByIndex(tx: Tx): Promise<void> {
  await BY_INDEX.rows(tx);
}

/** So many texts of one family are prepared; each is a plan in every connection that has asked it. */
const MAX_TEXTS = 100;

/**
 * Statements put together of parts, each with values of its own: there are few texts, and each is parsed and planned once a connection,
 * as a `Prepared` is. Only where no value changes the plan. `name` is unique in the program.
 */
export class PreparedFamily {
  readonly #name: string;
  #texts = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async rows<R>(tx: Tx, statement: RawBuilder<R>): Promise<R[]> {
    const query = statement.compile(tx.kysely);
    if (this.#texts < MAX_TEXTS && preparedName(query.sql) === undefined) {
      nameStatement(`usher_${this.#name}_${++this.#texts}`, query.sql);
    }
    return (await tx.kysely.executeQuery(query)).rows;
  }
}
