import type { NamingStrategy } from '@mikro-orm/core';
import { CamelCasePlugin, type PluginTransformResultArgs, type QueryResult, type UnknownRow } from 'kysely';

/**
 * Statements and rows have the names of the entities' properties, by the strategy by which MikroORM names columns. In a statement
 * that is built, and in `sql.ref`, a property becomes its column; SQL that is written out has the names of columns. Rows come out
 * by properties, whichever statement they are of. Why not MikroORM's own plugin: docs/adr/0004.
 */
export class PropertyNames extends CamelCasePlugin {
  readonly #columnOf: (property: string) => string;
  readonly #propertyOf: (column: string) => string;

  constructor(strategy: NamingStrategy) {
    super();
    this.#columnOf = remembered((property) => strategy.propertyToColumnName(property));
    this.#propertyOf = remembered((column) => strategy.columnNameToProperty(column));
  }

  protected override snakeCase(property: string): string {
    return this.#columnOf(property);
  }

  protected override camelCase(column: string): string {
    return column.includes('_') ? this.#propertyOf(column) : column;
  }

  /** As Kysely's, but for the names of columns alone: once for all rows, and JSON stays as it is. */
  override transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    const columns = Object.keys(result.rows[0] ?? {});
    if (!columns.some((column) => column.includes('_'))) return Promise.resolve(result);
    const names = columns.map((column) => [column, this.camelCase(column)] as const);
    // Copies of one object stay quick to read, however many columns they have; objects that grow by a column at a time do not.
    const empty: UnknownRow = Object.fromEntries(names.map(([, property]) => [property, null]));
    const rows = result.rows.map((row) => {
      const renamed = { ...empty };
      for (const [column, property] of names) renamed[property] = row[column];
      return renamed;
    });
    return Promise.resolve({ ...result, rows });
  }
}

/** Names stand in the texts of the program: there is a fixed number of them. */
function remembered(name: (from: string) => string): (from: string) => string {
  const known = new Map<string, string>();
  return (from) => {
    let to = known.get(from);
    if (to === undefined) {
      to = name(from);
      known.set(from, to);
    }
    return to;
  };
}
