/** The rows that are ticked, as a set of keys. */

export function withKey<T>(keys: ReadonlySet<T>, key: T, on: boolean): ReadonlySet<T> {
  const after = new Set(keys);
  if (on) after.add(key);
  else after.delete(key);
  return after;
}

/** What a choice adds to what was there, and takes from it. */
export function differences<T>(before: ReadonlySet<T>, after: ReadonlySet<T>): { added: T[]; removed: T[] } {
  return { added: without(after, before), removed: without(before, after) };
}

/** What is in one set and not in another. */
function without<T>(all: ReadonlySet<T>, others: ReadonlySet<T>): T[] {
  return [...all].filter((one) => !others.has(one));
}
