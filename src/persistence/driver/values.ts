/** How both drivers read values without an exact JavaScript type. */

/** The number itself. Throws a RangeError above 2^53: a rounded id would be another row's. */
export function exact(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError('The database returned a bigint beyond 2^53.');
  return value;
}

/** A bigint column's text as a number; throws as `exact`. */
export function readBigint(text: string): number {
  return exact(Number(text));
}

/** The text of a one-dimensional `bigint[]` (`{1,2}`) as numbers. */
export function readBigintArray(text: string): number[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(readBigint);
}

/** PostgreSQL's object identifiers of the types that are read differently from the drivers' defaults. */
export const OID = { int8: 20, int8Array: 1016 } as const;
