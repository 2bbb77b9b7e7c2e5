/** The keys of a value that has no others than its type names: a table written down in the sources. */
export function keysOf<T extends object>(table: T): (keyof T & string)[] {
  return Object.keys(table) as (keyof T & string)[];
}

/** The same with their values. */
export function entriesOf<T extends object>(table: T): (readonly [keyof T & string, T[keyof T & string]])[] {
  return keysOf(table).map((key) => [key, table[key]]);
}
