/** What the door counts: numbers in flat arrays on the path of a call, names only when somebody reads them. */

import { UNARY } from '../rpc/methods.ts';

/** gRPC's status codes by number, as metrics name them. */
const STATUS_NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

/** The unary methods of the service, by their names on the wire. */
export const METHODS: readonly string[] = UNARY.map(({ name }) => name);
export type MethodName = string;

/** Upper bounds of the histogram's buckets, in milliseconds; one more without a bound follows. */
const BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 2500, 10_000];
const BUCKETS = BOUNDS_MS.length + 1;

export interface CallCount {
  method: MethodName;
  /** As gRPC spells it, `INVALID_ARGUMENT`. */
  status: string;
  count: number;
}

export interface CallDurations {
  method: MethodName;
  /** Upper bounds in seconds, with the calls that took at most so long; the last bound is Infinity. */
  buckets: { le: number; count: number }[];
  /** Seconds. */
  sum: number;
  count: number;
}

/**
 * Counts of calls since the start. Durations are those of the handler, from a whole request to the answer handed to the
 * transport. A call answered in the same turn, which takes microseconds, is counted in the first bucket with a duration
 * of zero: reading the clock twice would cost a tenth of it.
 */
export class GrpcMetrics {
  // Doubles: they count on after 2^32, and adding one costs the same.
  readonly #calls = new Float64Array(METHODS.length * STATUS_NAMES.length);
  readonly #buckets = new Float64Array(METHODS.length * BUCKETS);
  readonly #sums = new Float64Array(METHODS.length);

  /** A call that was answered or refused in the turn it came in. `status` is a gRPC status code. */
  answered(method: number, status: number): void {
    const call = method * STATUS_NAMES.length + status;
    this.#calls[call] = (this.#calls[call] as number) + 1;
    const bucket = method * BUCKETS;
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
  }

  /** A call that waited so long for its answer. */
  waited(method: number, status: number, milliseconds: number): void {
    const call = method * STATUS_NAMES.length + status;
    this.#calls[call] = (this.#calls[call] as number) + 1;
    let bound = 0;
    while (bound < BOUNDS_MS.length && milliseconds > (BOUNDS_MS[bound] as number)) bound++;
    const bucket = method * BUCKETS + bound;
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
    this.#sums[method] = (this.#sums[method] as number) + milliseconds / 1000;
  }

  /** Every method with every status seen so far. */
  calls(): CallCount[] {
    return METHODS.flatMap((method, index) =>
      STATUS_NAMES.map((status, code) => ({
        method,
        status,
        count: this.#calls[index * STATUS_NAMES.length + code] as number,
      })),
    ).filter(({ count }) => count > 0);
  }

  /** One histogram a method, cumulative as Prometheus has it. */
  durations(): CallDurations[] {
    return METHODS.map((method, index) => {
      let count = 0;
      const buckets = [...BOUNDS_MS, Number.POSITIVE_INFINITY].map((bound, place) => {
        count += this.#buckets[index * BUCKETS + place] as number;
        return { le: bound / 1000, count };
      });
      return { method, buckets, sum: this.#sums[index] as number, count };
    });
  }
}
