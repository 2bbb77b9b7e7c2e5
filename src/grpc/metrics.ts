/** Counts calls of the gRPC listener: numbers in flat arrays on the path of a call, names only when the metrics are read. */

import { FlatHistogram, type Series } from '../base/flat-histogram.ts';
import { FactsService } from '../gen/usher/facts/v1/facts_pb.ts';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';

/** gRPC's status codes by number, as metrics name them. */
export const STATUS_NAMES = [
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

/** Of another project's service, whose method has a name that is taken. */
export const EXT_AUTHZ = 'Authorization.Check';

/** The methods of our services, by their names on the wire, and that one. */
export const METHODS: readonly string[] = [
  ...[...PermissionService.methods, ...FactsService.methods].map(({ name }) => name),
  EXT_AUTHZ,
];
export type MethodName = string;

/** Upper bounds of the histogram's buckets, in seconds; one more without a bound follows. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10];

interface CallCount {
  method: MethodName;
  /** As gRPC spells it, `INVALID_ARGUMENT`. */
  status: string;
  count: number;
}

/**
 * Counts of calls since the start. Durations are those of the handler, from the complete request to the answer's hand-over to the
 * transport. An immediate answer takes microseconds and is counted in the first bucket with a duration of zero: reading the
 * clock twice would cost a tenth of it.
 */
export class GrpcMetrics {
  // Doubles: exact beyond 2^32, and an addition costs the same.
  readonly #calls = new Float64Array(METHODS.length * STATUS_NAMES.length);
  readonly #durations = METHODS.map(() => new FlatHistogram(BOUNDS));
  /** Answers from memory that their callers sample and that had no span (call-traces.ts). */
  untraced = 0;

  /** Counts a call that was answered or refused at once. `status` is a gRPC status code. */
  answered(method: number, status: number): void {
    this.waited(method, status, 0);
  }

  /** Counts a call that waited for its answer, or a stream that was open that long. `trace` is its trace, where it is sampled. */
  waited(method: number, status: number, milliseconds: number, trace?: string): void {
    const call = method * STATUS_NAMES.length + status;
    this.#calls[call] = (this.#calls[call] as number) + 1;
    this.#durations[method]?.observe(milliseconds / 1000, trace);
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

  /** One histogram a method. */
  durations(): Series[] {
    return this.#durations.map((histogram, index) => histogram.read({ method: METHODS[index] as MethodName }));
  }
}
