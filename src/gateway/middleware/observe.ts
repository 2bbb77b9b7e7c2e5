/** Observability of requests: one log line and two metrics for each, by pattern, never by path. */

import { Counter } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { exposeHistogram, FlatHistogram } from '../../base/flat-histogram.ts';
import { REQUEST_LINE, type Registry } from '../../base/telemetry.ts';
import { sampledTrace, traceFields } from '../../base/tracing.ts';
import type { Exchange } from './exchange.ts';
import { endTraced } from './trace.ts';

export interface Observer {
  /** Follows an exchange to its end. */
  readonly follow: (exchange: Exchange) => void;
}

/** The status that proxies log for a request whose caller left before the answer. */
const CALLER_GONE = 499;
/** Upper bounds in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const;

/** Counts for one method and pattern: plain numbers, because there are ten thousand checks a second. */
interface Tally {
  readonly method: string;
  readonly route: string;
  readonly statuses: Map<number, number>;
  readonly durations: FlatHistogram;
}

class Tallies {
  readonly #byRoute = new Map<string, Map<string, Tally>>();

  count(method: string, route: string, status: number, seconds: number, trace?: string): void {
    let byMethod = this.#byRoute.get(route);
    if (byMethod === undefined) {
      byMethod = new Map();
      this.#byRoute.set(route, byMethod);
    }
    let tally = byMethod.get(method);
    if (tally === undefined) {
      tally = { method, route, statuses: new Map(), durations: new FlatHistogram(BUCKETS) };
      byMethod.set(method, tally);
    }
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    tally.durations.observe(seconds, trace);
  }

  *[Symbol.iterator](): Iterator<Tally> {
    for (const byMethod of this.#byRoute.values()) yield* byMethod.values();
  }
}

export function createObserver(registry: Registry, clock: Clock): Observer {
  const tallies = new Tallies();
  const help = 'From the first byte of the headers to the end of the answer.';
  exposeHistogram(registry, { name: 'usher_http_request_duration_seconds', help }, () =>
    Array.from(tallies, ({ method, route, durations }) => durations.read({ method, route })),
  );
  new Counter({
    name: 'usher_http_requests_total',
    help: 'Requests at the gateway.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { method, route, statuses } of tallies) {
        for (const [status, requests] of statuses) this.inc({ method, route, status }, requests);
      }
    },
  });

  const record = (exchange: Exchange): void => {
    const { req, res, pattern, requestId, log, span } = exchange;
    const status = res.writableFinished ? res.statusCode : CALLER_GONE;
    // Methods come from a closed set of the parser, so they are fit to be a label.
    const method = req.method ?? '';
    const ms = clock.monotonic() - exchange.startedAt;
    tallies.count(method, pattern, status, ms / 1000, sampledTrace(span));
    if (span !== null) endTraced(span, { method, route: pattern, status });
    const level = exchange.quiet && status < 400 ? 'debug' : 'info';
    if (!log.isLevelEnabled(level)) return;
    const rounded = Math.round(ms * 100) / 100;
    const line = { requestId, method, route: pattern, status, ms: rounded, caller: exchange.callerName };
    log[level](span === null ? line : { ...line, ...traceFields(span) }, REQUEST_LINE);
  };

  return {
    follow: (exchange) => {
      // It is emitted once, so the listener need not be removed.
      exchange.res.on('close', () => record(exchange));
    },
  };
}
