/**
 * Traces, by the API of OpenTelemetry alone (docs/adr/0026): the operator brings the SDK, with `node --import`, before the service is
 * loaded. Without one `tracer` is null and nothing here makes an object.
 */

import {
  type Attributes,
  type Context,
  context,
  ProxyTracer,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { membersOf } from './members.ts';

export type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
export { SpanKind } from '@opentelemetry/api';

const found = trace.getTracer('usher');

/** Null where no SDK was registered before this service was loaded: then there are no spans at all. */
export const tracer: Tracer | null = found instanceof ProxyTracer ? null : found;

/** What a caller says of its trace (W3C Trace Context), as sent. */
export interface Carrier {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** The place of the flags in a header of version 00. */
const FLAGS_END = 55;
const LETTERS = 0x61;

/** Whether the caller says that it samples this trace. Of a malformed header, which the SDK ignores later, either. */
export function saysSampled(traceparent: string | undefined): boolean {
  if (traceparent === undefined || traceparent.length < FLAGS_END) return false;
  const digit = traceparent.charCodeAt(FLAGS_END - 1);
  // Of a letter the code is odd where the digit is even.
  return ((digit < LETTERS ? digit : digit + 1) & 1) === 1;
}

/** The one form that there is today, without what makes it invalid (https://www.w3.org/TR/trace-context/#traceparent-header). */
const VERSION_00 = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Whether the operator's SDK reads this format. */
const readsTraceparent = propagation.fields().includes('traceparent');

/** The caller's span. A propagator takes 2.5 µs to read the usual header, a quarter of all that a span costs. */
function parentOf(carrier: Carrier): Context {
  const { traceparent, tracestate } = carrier;
  if (traceparent === undefined) return ROOT_CONTEXT;
  const isUsual = readsTraceparent && (tracestate === undefined || tracestate === '') && VERSION_00.test(traceparent);
  if (!isUsual) return propagation.extract(ROOT_CONTEXT, carrier);
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53), 16),
    isRemote: true,
  });
}

interface ServerSpan {
  readonly attributes: Attributes;
  /** Milliseconds since the start of the process; without it the span begins now. */
  readonly startTime?: number;
}

/** The span of a call that came in: a child of the caller's where `carrier` names one. The operator's sampler decides about it. */
export function serverSpan(by: Tracer, name: string, carrier: Carrier, options: ServerSpan): Context {
  const parent = parentOf(carrier);
  return trace.setSpan(parent, by.startSpan(name, { kind: SpanKind.SERVER, ...options }, parent));
}

/** The headers of a request that leaves, which name the span that is active. Empty without a trace. */
export function carried(): Carrier {
  const carrier: Carrier = {};
  if (tracer !== null) propagation.inject(context.active(), carrier);
  return carrier;
}

/** `traceparent` where this work is sampled, to be kept with what it causes later; else undefined. */
export function keptTrace(): string | undefined {
  return recordingSpan() === null ? undefined : carried().traceparent;
}

/** The span that this work is part of, while it is recorded. */
export function recordingSpan(): Span | null {
  if (tracer === null) return null;
  const span = trace.getActiveSpan();
  return span?.isRecording() ? span : null;
}

interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
}

/** A part of the work that is recorded; null where nothing is. Polls and timers, for which nobody asked, begin none. */
export function childSpan(name: string, { kind = SpanKind.INTERNAL, attributes = {} }: SpanOptions): Span | null {
  return recordingSpan() === null ? null : (tracer as Tracer).startSpan(name, { kind, attributes });
}

interface PastSpan {
  readonly attributes: Attributes;
  /** Milliseconds since the start of the process, as is `to`. */
  readonly from: number;
  readonly to: number;
}

/** A part of the work that is over, where that is recorded: made only once it is known how long it took. */
export function pastSpan(name: string, { attributes, from, to }: PastSpan, error?: unknown): void {
  if (recordingSpan() === null) return;
  const span = (tracer as Tracer).startSpan(name, { attributes, startTime: from });
  if (error !== undefined) markFailed(span, nameOf(error));
  span.end(to);
}

/** Ends it with the name of its error, if any. Never with a message: it may hold an address, or a secret of the other side. */
export function endSpan(span: Span | null, error?: unknown): void {
  if (span === null) return;
  if (error !== undefined) markFailed(span, nameOf(error));
  span.end();
}

export function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function nameOf(error: unknown): string {
  const { code, reason, name } = membersOf(error);
  return (
    [reason, code, name].find((word) => typeof word === 'string' && /^\w{1,64}$/.test(word))?.toString() ?? 'Error'
  );
}

/** Does `work` as a part of recorded work, in a span of its own; with null where nothing is recorded. */
export async function inChild<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  const span = childSpan(name, options);
  return span === null ? await work(null) : await within(trace.setSpan(context.active(), span), span, work);
}

/** Does `work` in a span that continues the kept trace of its cause, or begins one of its own. */
export async function inCaused<T>(
  name: string,
  { traceparent, ...options }: SpanOptions & Carrier,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  if (tracer === null) return await work(null);
  const parent = parentOf({ traceparent });
  const span = tracer.startSpan(name, options, parent);
  return await within(trace.setSpan(parent, span), span, work);
}

/** Does `work` for several who wait for it: in the trace of the first of `spans`, linked with the others. */
export async function inLoad<T>(
  name: string,
  { spans, attributes }: { readonly spans: readonly Span[]; readonly attributes: Attributes },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const [first, ...others] = spans as [Span, ...Span[]];
  const parent = trace.setSpan(ROOT_CONTEXT, first);
  const links = others.map((other) => ({ context: other.spanContext() }));
  const span = (tracer as Tracer).startSpan(name, { attributes, links }, parent);
  return await within(trace.setSpan(parent, span), span, work);
}

async function within<T>(inside: Context, span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await context.with(inside, work, undefined, span);
  } catch (error) {
    markFailed(span, nameOf(error));
    throw error;
  } finally {
    span.end();
  }
}

export function spanOf(inside: Context): Span | null {
  return trace.getSpan(inside) ?? null;
}

/** Does `work` within a context. */
export function inContext<T>(inside: Context, work: () => T): T {
  return context.with(inside, work);
}

/** The names that logs of OpenTelemetry have (https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/). */
export interface TraceFields {
  readonly trace_id?: string;
  readonly span_id?: string;
}

const NO_FIELDS: TraceFields = {};

/** For a line of the log: by default of the work under way. */
export function traceFields(span: Span | null | undefined = recordingSpan()): TraceFields {
  if (span == null) return NO_FIELDS;
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/** The id of a trace that is sampled, so that it can be found; else undefined. */
export function sampledTrace(span: Span | null): string | undefined {
  if (span === null) return undefined;
  const { traceFlags, traceId } = span.spanContext();
  return (traceFlags & TraceFlags.SAMPLED) === 0 ? undefined : traceId;
}

/** The calls of which one runs at a time, whose span is begun when it has to wait. */
export interface Beginning {
  /** Null while none runs, and where its span has begun: what runs within it has the span of its own cause. */
  begin(): Context | null;
}

let followed: Beginning | null = null;

/** Says whose calls run from here on. */
export function follow(calls: Beginning): void {
  // A comparison is cheaper than the write, and there is one for all calls of a process.
  if (followed !== calls) followed = calls;
}

/** Does what a call has to wait for within the call's span. */
export function waiting<T>(wait: () => T): T {
  const begun = followed === null ? null : followed.begin();
  return begun === null ? wait() : context.with(begun, wait);
}

const FLUSH_MS = 1000;

/** Has the SDK send what it holds, for at most a second, before a process or a thread ends. SDKs in JavaScript have `forceFlush`. */
export async function flushTraces(): Promise<void> {
  if (tracer === null) return;
  const provider = trace.getTracerProvider() as { getDelegate?: () => { forceFlush?: () => Promise<void> } };
  const flushed = provider.getDelegate?.().forceFlush?.();
  if (flushed === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FLUSH_MS);
  });
  // A receiver that is away must not fail the end; the SDK has said so itself.
  await Promise.race([flushed.catch(() => undefined), late]);
  clearTimeout(timer);
}
