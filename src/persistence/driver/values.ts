/** How both drivers read what JavaScript has no exact type for. */

/** A bigint column's text as a number. Throws a RangeError above 2^53: a rounded id would be another row's. */
export function readBigint(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('A bigint beyond 2^53 came from the database.');
  return value;
}

/** The text of a one-dimensional `bigint[]` (`{1,2}`) as numbers. */
export function readBigintArray(text: string): number[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(readBigint);
}

/** PostgreSQL's object identifiers of the types that are read differently from the drivers' defaults. */
export const OID = { int8: 20, int8Array: 1016 } as const;
