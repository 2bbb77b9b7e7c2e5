/** Spans by the API of OpenTelemetry: without an SDK they cost next to nothing and go nowhere. */

import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { UsherError } from './errors.ts';

const tracer = trace.getTracer('@usher-service/client');

/** Runs `ask` in a span of that name. E-mail addresses stay out of it. */
export function inSpan<T>(name: string, app: string, ask: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(`usher.${name}`, { kind: SpanKind.CLIENT, attributes: { 'usher.app': app } }, (span) =>
    settle(span, ask()),
  );
}

async function settle<T>(span: Span, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const { code = 'UNKNOWN', reason = code } = error as Partial<UsherError>;
    span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
    span.setAttribute('rpc.grpc.status', code);
    throw error;
  } finally {
    span.end();
  }
}
