/**
 * Spans of the calls of the gRPC port. An answer from memory takes microseconds, and to ask the SDK whether it is sampled a tenth of
 * that: such a call gets a span where its caller says that the trace is sampled. A call that waits always asks.
 */

import type { Clock } from '../base/clock.ts';
import {
  type Attributes,
  type Beginning,
  type Carrier,
  type Context,
  inContext,
  markFailed,
  nowBeginning,
  type Span,
  saysSampled,
  serverSpan,
  spanOf,
  type Tracer,
} from '../base/tracing.ts';
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
const TRACED: readonly Traced[] = [PermissionService, FactsService].flatMap(({ typeName, methods }) =>
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

const NO_CARRIER: Carrier = {};

/**
 * The most spans of answers from memory in a second. One costs ten times the answer that it describes, and callers decide how many of
 * their calls are sampled.
 */
const MOST_AT_ONCE = 500;
const SECOND_MS = 1000;

/** Follows one call at a time, while its handler runs: a call without a span costs no object. */
export class CallTraces implements Beginning {
  readonly #tracer: Tracer;
  #method = 0;
  #carrier: Carrier = NO_CARRIER;
  #begun: Context | null = null;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #metrics: Pick<GrpcMetrics, 'untraced'>;
  /** When the second began whose spans are counted. */
  #since = Number.NEGATIVE_INFINITY;
  #spans = 0;
  /** Whether the call would have a span but for the limit; if it waits, it gets one. */
  #isLeftOut = false;

  constructor(tracer: Tracer, clock: Pick<Clock, 'monotonic'>, metrics: Pick<GrpcMetrics, 'untraced'>) {
    this.#tracer = tracer;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Runs the handler of a call; then `waits` or `answered` must be called, in the same turn. */
  run(method: number, carrier: Carrier, handle: Handle, request: Buffer): Buffer | Promise<Buffer> {
    this.#method = method;
    this.#carrier = carrier;
    this.#begun = null;
    this.#isLeftOut = false;
    if ((TRACED[method] as Traced).atOnce && !(saysSampled(carrier.traceparent) && this.#mayTrace())) {
      nowBeginning(this);
      return handle(request);
    }
    return inContext(this.begin(), () => handle(request));
  }

  #mayTrace(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#since >= SECOND_MS) {
      this.#since = now;
      this.#spans = 0;
    }
    if (this.#spans < MOST_AT_ONCE) {
      this.#spans++;
      return true;
    }
    this.#isLeftOut = true;
    return false;
  }

  begin(): Context {
    const { name, attributes } = TRACED[this.#method] as Traced;
    this.#begun ??= serverSpan(this.#tracer, name, this.#carrier, attributes);
    return this.#begun;
  }

  /** The span of a call that waits for its answer. */
  waits(): Span | null {
    this.begin();
    return this.answered();
  }

  /** The span of a call that was answered or refused at once; null for most. */
  answered(): Span | null {
    nowBeginning(null);
    const begun = this.#begun;
    this.#begun = null;
    if (begun === null && this.#isLeftOut) this.#metrics.untraced++;
    // A call whose key is refused comes here without `run`.
    this.#isLeftOut = false;
    return begun === null ? null : spanOf(begun);
  }

  /** The span of a stream of messages. */
  stream(method: number, carrier: Carrier): Span | null {
    const { name, attributes } = TRACED[method] as Traced;
    return spanOf(serverSpan(this.#tracer, name, carrier, attributes));
  }
}

/** Ends the span of a call with its status. */
export function endCall(span: Span | null, status: number): void {
  if (span === null) return;
  const name = STATUS_NAMES[status] ?? String(status);
  span.setAttribute('rpc.status_code', name);
  if (FAULTS.has(name)) markFailed(span, name);
  span.end();
}
