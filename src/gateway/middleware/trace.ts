/** The span of a request (docs/guides/tracing.md): named by its route, never by its path, which holds addresses. */

import type { NextFunction, Request } from 'express';
import { inContext, markFailed, type Span, serverSpan, spanOf, tracer } from '../../base/tracing.ts';

/** Asked every second, by those who look at the answer alone. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/readyz/checks', '/metrics']);

interface Traced {
  readonly req: Request;
  span: Span | null;
}

/** Goes on within the request's span, where an SDK is registered. */
export function goOnTraced(exchange: Traced, next: NextFunction): void {
  const { req } = exchange;
  if (tracer === null || PROBES.has(req.url)) {
    next();
    return;
  }
  const method = req.method;
  const carrier = { traceparent: req.get('traceparent'), tracestate: req.get('tracestate') };
  const attributes = { 'http.request.method': method, 'url.scheme': req.protocol };
  // The route is unknown until it has matched.
  const inside = serverSpan(tracer, method, carrier, { attributes });
  exchange.span = spanOf(inside);
  inContext(inside, next);
}

/** Ends it with the status that the log has. */
export function endTraced(
  span: Span,
  { method, route, status }: { method: string; route: string; status: number },
): void {
  span.updateName(`${method} ${route}`);
  span.setAttributes({ 'http.route': route, 'http.response.status_code': status });
  if (status >= 500) markFailed(span, String(status));
  span.end();
}
