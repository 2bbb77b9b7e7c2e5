/** What a list or a map must hold at this place. Throws where it does not: a missing value makes no answer. */
export function certain<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('A value that must be there is missing.');
  return value;
}
