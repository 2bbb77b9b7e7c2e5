import { CompiledQuery, type RawBuilder } from 'kysely';
import type { Tx } from '../database.ts';
import { nameStatement, preparedName } from './dialect.ts';

/**
 * A statement whose text is always the same: not built for each call, and parsed and planned once per connection of
 * PostgreSQL. Only for look-ups and changes by key, whose plan is the same for all values. `name` is unique in the program.
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

  /** The only row of a statement that always returns one. */
  async row(tx: Tx, ...parameters: readonly unknown[]): Promise<R> {
    const [row, second] = await this.rows(tx, ...parameters);
    if (row === undefined || second !== undefined) throw new Error('This statement must return one row.');
    return row;
  }
}

const BY_INDEX = new Prepared<never>('by_index', `select set_config('enable_seqscan', 'off', true)`);

/**
 * Plans the rest of the transaction by index, as if every table were large. For statements that probe tables for each of
 * many rows: a plan made while they were small is kept after a big load, until the server has analysed them again.
 */
export async function planByIndex(tx: Tx): Promise<void> {
  await BY_INDEX.rows(tx);
}

/** Texts prepared per family; each is a plan in every connection that has run it. */
const MAX_TEXTS = 100;

/**
 * Statements assembled from parts, each with values of its own: there are few texts, and each is parsed and planned once per
 * connection, like a `Prepared`. Only where no value changes the plan. `name` is unique in the program.
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
