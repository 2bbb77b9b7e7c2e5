import { forEverybody } from './work.ts';

/** Calls `make` at the first use and keeps its result; after a failure the next use tries again. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= forEverybody(make).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
