/** What operators see of requests: one log line and two metrics for each, by pattern, never by path. */

import { Counter, Histogram } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { Registry } from '../telemetry.ts';
import type { Exchange } from './exchange.ts';

export interface Observer {
  /** Follows an exchange to its end. */
  follow(exchange: Exchange): void;
}

/** The answer that nobody was there to receive, as proxies write it. */
const CALLER_GONE = 499;

export function createObserver(registry: Registry, clock: Clock): Observer {
  const requests = new Counter({
    name: 'usher_http_requests_total',
    help: 'Requests at the gateway.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'usher_http_request_duration_seconds',
    help: 'From the first byte of the headers to the end of the answer.',
    labelNames: ['method', 'route'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });

  const record = (exchange: Exchange): void => {
    const { req, res, pattern: route, requestId } = exchange;
    const status = res.writableFinished ? res.statusCode : CALLER_GONE;
    // Methods come from a closed set of the parser, so they are fit to be a label.
    const method = req.method ?? '';
    const ms = clock.monotonic() - exchange.startedAt;
    requests.inc({ method, route, status });
    durations.observe({ method, route }, ms / 1000);
    const line = { requestId, method, route, status, ms: Math.round(ms * 100) / 100, caller: exchange.caller };
    if (exchange.quiet && status < 400) exchange.log.debug(line, 'request');
    else exchange.log.info(line, 'request');
  };

  return {
    follow: (exchange) => {
      exchange.res.once('close', () => record(exchange));
    },
  };
}
