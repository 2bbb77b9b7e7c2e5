/**
 * Long work in steps: generators that yield every few of them. time-slice.ts answers calls of the service between two steps; `atOnce`
 * does all of them. Nothing here needs Node.js, since the panel uses it too.
 */

export type Sliced<R = void> = Generator<void, R, void>;

/** Steps without a yield, each of some microseconds at most. */
const STEPS = 50;
/** What is sorted at once. */
const RUN = 100;

/** `work` with each of them. */
export function* each<T>(all: Iterable<T>, work: (one: T, at: number) => void): Sliced {
  let at = 0;
  for (const one of all) {
    work(one, at++);
    if (at % STEPS === 0) yield;
  }
}

/** All of them in order, those that are equal as they came. */
export function* sorted<T>(all: Iterable<T>, compare: (a: T, b: T) => number): Sliced<T[]> {
  const given: T[] = [];
  yield* each(all, (one) => given.push(one));
  let runs: T[][] = [];
  for (let at = 0; at < given.length; at += RUN) {
    runs.push(given.slice(at, at + RUN).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Sliced<T[]> {
  const merged: T[] = [];
  let [inA, inB] = [0, 0];
  while (inA < a.length || inB < b.length) {
    const fromA = inB >= b.length || (inA < a.length && compare(a[inA] as T, b[inB] as T) <= 0);
    merged.push(fromA ? (a[inA++] as T) : (b[inB++] as T));
    if (merged.length % STEPS === 0) yield;
  }
  return merged;
}

/** Does the work without interruption. */
export function atOnce<R>(work: Sliced<R>): R {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
