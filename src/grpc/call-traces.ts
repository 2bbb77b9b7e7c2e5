/**
 * Spans of the calls of the gRPC port. An answer from memory takes microseconds, and a span costs several times that: such a call gets
 * one where its caller says that the trace is sampled, once it is answered. A call that waits always asks the SDK (docs/adr/0029, 0031).
 */

import type { Clock } from '../base/clock.ts';
import {
  type Attributes,
  type Beginning,
  type Carrier,
  type Context,
  follow,
  markFailed,
  type Span,
  saysSampled,
  serverSpan,
  spanOf,
  type Tracer,
  waiting,
} from '../base/tracing.ts';
import { Authorization } from '../gen/envoy/service/auth/v3/external_auth_pb.ts';
import { FactsService } from '../gen/usher/facts/v1/facts_pb.ts';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import { type GrpcMetrics, STATUS_NAMES } from './metrics.ts';

type Handle = (request: Buffer) => Buffer | Promise<Buffer>;

interface Traced {
  /** As the conventions of OpenTelemetry name an RPC. */
  readonly name: string;
  readonly attributes: Attributes;
  /** Whether it is mostly answered from memory. */
  readonly atOnce: boolean;
}

const AT_ONCE: ReadonlySet<string> = new Set(
  [
    PermissionService.method.check,
    PermissionService.method.bulkCheck,
    PermissionService.method.batchCheck,
    PermissionService.method.effective,
  ].map(({ name }) => name),
);

/** In the order of METHODS. */
const TRACED: readonly Traced[] = [PermissionService, FactsService, Authorization].flatMap(({ typeName, methods }) =>
  methods.map((method) => {
    const name = `${typeName}/${method.name}`;
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name };
    return { name, attributes, atOnce: typeName === PermissionService.typeName && AT_ONCE.has(method.name) };
  }),
);

/** The failures of a service rather than of its caller (https://opentelemetry.io/docs/specs/semconv/rpc/grpc/). */
const FAULTS: ReadonlySet<string> = new Set([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

/** By the place in METHODS: 1 for a method whose calls wait. */
const WAITS = Uint8Array.from(TRACED, ({ atOnce }) => (atOnce ? 0 : 1));

/** The calls of a connection, which are asked only about one that gets a span. */
export interface Callers {
  /** What an open call says of its trace. Calls have numbers other than 0. */
  carrierOf(call: number): Carrier;
}

const NOBODY: Callers = { carrierOf: () => ({}) };
const NO_CALL = 0;
const ONLY_CALL = 1;

/**
 * The most spans of answers from memory in a second, as the time from one to the next, and how many may come at once after a pause. One
 * costs ten times the answer that it describes, or more, and callers decide how many of their calls are sampled. Spread over the
 * second, so that no call waits behind hundreds of spans.
 */
const MOST_AT_ONCE_A_SECOND = 100;
const MOST_TOGETHER = 10;
const APART_MS = 1000 / MOST_AT_ONCE_A_SECOND;

/**
 * Follows one call at a time, while its handler runs. A call without a span costs no object, and none is kept: to store one that was
 * just made in one that is old is work for the garbage collector in every call.
 */
export class CallTraces implements Beginning {
  readonly #tracer: Tracer;
  #method = 0;
  #callers: Callers = NOBODY;
  /** While its handler runs. */
  #call = NO_CALL;
  #begun: Context | null = null;
  /** Whether the call would have a span even if it does not wait, and since when it runs. */
  #isSampled = false;
  #since = 0;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #metrics: Pick<GrpcMetrics, 'untraced'>;
  /** Until when the spans that were made would take, each at its distance from the one before. */
  #spentUntil = Number.NEGATIVE_INFINITY;

  constructor(tracer: Tracer, clock: Pick<Clock, 'monotonic'>, metrics: Pick<GrpcMetrics, 'untraced'>) {
    this.#tracer = tracer;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Runs the handler of a call; then `waits` or `answered` must be called, in the same turn. */
  run(method: number, carrier: Carrier, handle: Handle, request: Buffer): Buffer | Promise<Buffer> {
    this.begins(method, { carrierOf: () => carrier }, ONLY_CALL, carrier.traceparent);
    return WAITS[method] === 1 ? waiting(() => handle(request)) : handle(request);
  }

  /**
   * The handler of a call runs from here on; then `waits` or `answered` must be called, in the same turn. What it waits for it begins
   * by `waiting`.
   */
  begins(method: number, callers: Callers, call: number, traceparent: string | undefined): void {
    this.#method = method;
    this.#callers = callers;
    this.#call = call;
    if (traceparent !== undefined && saysSampled(traceparent)) {
      this.#isSampled = true;
      this.#since = this.#clock.monotonic();
    }
    follow(this);
  }

  begin(): Context | null {
    return this.#call === NO_CALL || this.#begun !== null ? null : this.#begin();
  }

  #begin(): Context {
    this.#begun ??= this.#serverSpan({});
    return this.#begun;
  }

  #serverSpan(since: { readonly startTime?: number }): Context {
    const { name, attributes } = TRACED[this.#method] as Traced;
    return serverSpan(this.#tracer, name, this.#callers.carrierOf(this.#call), { attributes, ...since });
  }

  /** The span of a call that waits for its answer. */
  waits(): Span | null {
    const begun = this.#begin();
    this.#forget();
    return spanOf(begun);
  }

  /** The span of a call that was answered or refused at once; null for most. */
  answered(): Span | null {
    if (this.#isSampled || this.#begun !== null) return this.#tracedAnswer();
    this.#call = NO_CALL;
    return null;
  }

  #tracedAnswer(): Span | null {
    const begun = this.#begun ?? (this.#mayTrace() ? this.#serverSpan({ startTime: this.#since }) : null);
    this.#forget();
    return begun === null ? null : spanOf(begun);
  }

  /** Ends what `answered` gave. In the terms of its beginning: the SDK takes milliseconds since the start of the process for such. */
  end(span: Span | null, status: number): void {
    if (span !== null) endCall(span, status, this.#clock.monotonic());
  }

  #forget(): void {
    this.#call = NO_CALL;
    this.#begun = null;
    // A call whose key is refused comes to `answered` without having begun.
    this.#isSampled = false;
  }

  #mayTrace(): boolean {
    const from = Math.max(this.#spentUntil, this.#since);
    if (from - this.#since <= (MOST_TOGETHER - 1) * APART_MS) {
      this.#spentUntil = from + APART_MS;
      return true;
    }
    this.#metrics.untraced++;
    return false;
  }

  /** The span of a stream of messages. */
  stream(method: number, carrier: Carrier): Span | null {
    const { name, attributes } = TRACED[method] as Traced;
    return spanOf(serverSpan(this.#tracer, name, carrier, { attributes }));
  }
}

/** Ends the span of a call with its status. */
export function endCall(span: Span | null, status: number, endTime?: number): void {
  if (span === null) return;
  const name = STATUS_NAMES[status] ?? String(status);
  span.setAttribute('rpc.status_code', name);
  if (FAULTS.has(name)) markFailed(span, name);
  span.end(endTime);
}
