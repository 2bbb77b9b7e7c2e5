/** What operators see of requests: one log line and two metrics for each, by pattern, never by path. */

import { Counter, type Histogram } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { REQUEST_LINE, type Registry } from '../../base/telemetry.ts';
import type { Exchange } from '../http/exchange.ts';

export interface Observer {
  /** Follows an exchange to its end. */
  follow(exchange: Exchange): void;
}

/** The answer that nobody was there to receive, as proxies write it. */
const CALLER_GONE = 499;
/** Upper bounds in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const;

/** What was seen of one method and pattern: plain numbers, because checks come by the ten thousand a second. */
interface Tally {
  readonly method: string;
  readonly route: string;
  readonly statuses: Map<number, number>;
  /** Requests by bucket, not cumulated; the last place is for those above every bound. */
  readonly buckets: Float64Array;
  seconds: number;
  count: number;
}

class Tallies {
  readonly #byRoute = new Map<string, Map<string, Tally>>();

  count(method: string, route: string, status: number, seconds: number): void {
    let byMethod = this.#byRoute.get(route);
    if (byMethod === undefined) {
      byMethod = new Map();
      this.#byRoute.set(route, byMethod);
    }
    let tally = byMethod.get(method);
    if (tally === undefined) {
      tally = {
        method,
        route,
        statuses: new Map(),
        buckets: new Float64Array(BUCKETS.length + 1),
        seconds: 0,
        count: 0,
      };
      byMethod.set(method, tally);
    }
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++;
    tally.buckets[bucket] = (tally.buckets[bucket] as number) + 1;
    tally.seconds += seconds;
    tally.count++;
  }

  *[Symbol.iterator](): Iterator<Tally> {
    for (const byMethod of this.#byRoute.values()) yield* byMethod.values();
  }
}

const DURATIONS = {
  name: 'usher_http_request_duration_seconds',
  help: 'From the first byte of the headers to the end of the answer.',
  type: 'histogram',
  aggregator: 'sum',
} as const;

/** The tallies as prom-client's own histogram would show them. */
function durationValues(
  tallies: Tallies,
): { metricName: string; labels: Record<string, string | number>; value: number }[] {
  const { name } = DURATIONS;
  return [...tallies].flatMap(({ method, route, buckets, seconds, count }) => {
    const labels = { method, route };
    let upTo = 0;
    const cumulated = BUCKETS.map((le, index) => {
      upTo += buckets[index] as number;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: upTo };
    });
    return [
      ...cumulated,
      { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${name}_sum`, labels, value: seconds },
      { metricName: `${name}_count`, labels, value: count },
    ];
  });
}

export function createObserver(registry: Registry, clock: Clock): Observer {
  const tallies = new Tallies();
  // All that a registry asks of a metric is its name and its values.
  const durations = {
    ...DURATIONS,
    get: async () => ({ ...DURATIONS, values: durationValues(tallies) }),
    reset: () => {},
  };
  registry.registerMetric(durations as unknown as Histogram);
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
    const { req, res, pattern, requestId, log } = exchange;
    const status = res.writableFinished ? res.statusCode : CALLER_GONE;
    // Methods come from a closed set of the parser, so they are fit to be a label.
    const method = req.method ?? '';
    const ms = clock.monotonic() - exchange.startedAt;
    tallies.count(method, pattern, status, ms / 1000);
    const level = exchange.quiet && status < 400 ? 'debug' : 'info';
    if (!log.isLevelEnabled(level)) return;
    const rounded = Math.round(ms * 100) / 100;
    log[level]({ requestId, method, route: pattern, status, ms: rounded, caller: exchange.caller }, REQUEST_LINE);
  };

  return {
    follow: (exchange) => {
      // It comes once: no need to be taken off again.
      exchange.res.on('close', () => record(exchange));
    },
  };
}
