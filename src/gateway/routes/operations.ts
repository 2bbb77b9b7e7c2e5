/** Probes and metrics for operators (docs/reference/service.md#health-and-metrics). */

import { Registry } from 'prom-client';
import { z } from 'zod';
import { bare, text } from '../route/envelopes.ts';
import { type Guard, key, keyIfSent, open } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const Health = record('Health', { status: z.literal('ok') });

const healthz = defineRoute({
  method: 'get',
  path: '/healthz',
  operation: 'getLiveness',
  tag: 'Operations',
  summary: 'Liveness: the process runs',
  description: 'Does not check the database: a process need not restart because its database is down.',
  guard: open,
  envelope: bare,
  response: Health,
  quiet: true,
  handle: () => ({ status: 'ok' }) as const,
});

const Readiness = record('Readiness', {
  status: z.literal('ready'),
  revision: z.string().meta({ description: 'The newest revision of the permission data seen here.' }),
});

const probe = {
  tag: 'Operations',
  guard: open,
  envelope: bare,
  errors: ['UNAVAILABLE'],
  quiet: true,
} as const;

const readyz = defineRoute({
  ...probe,
  method: 'get',
  path: '/readyz',
  operation: 'getReadiness',
  summary: 'Readiness: all of the process works',
  description:
    'The database answers, its migrations are applied, the permission engine follows it, and so does every process of the gRPC port. Else 503, and also from the start of a shutdown.',
  response: Readiness,
  handle: async ({ readiness, engine }) => {
    await readiness.everything();
    return { status: 'ready', revision: engine.status().revision } as const;
  },
});

const readyzChecks = defineRoute({
  ...probe,
  method: 'get',
  path: '/readyz/checks',
  operation: 'getReadinessForChecks',
  summary: 'Readiness for permission checks',
  description:
    'As `/readyz` without a question to the database: while that is away, checks are answered from what is cached. 503 once nothing proves any more that it is fresh (`cache.ttlMs`), and from the start of a shutdown. gRPC health says the same of the gRPC port.',
  response: Readiness,
  handle: async ({ readiness, engine }) => {
    await readiness.checks();
    return { status: 'ready', revision: engine.status().revision } as const;
  },
});

const METRICS_TYPES = [Registry.PROMETHEUS_CONTENT_TYPE, Registry.OPENMETRICS_CONTENT_TYPE] as const;

function metricsRoute(guard: Guard<unknown>): Route {
  return defineRoute({
    method: 'get',
    path: '/metrics',
    operation: 'getMetrics',
    tag: 'Operations',
    summary: 'Metrics for Prometheus',
    description: 'In OpenMetrics where `Accept` prefers it: then histograms name traces that were sampled.',
    guard,
    envelope: text(METRICS_TYPES, { vary: 'accept' }),
    response: z.string(),
    quiet: true,
    handle: ({ metrics }, { media }) => metrics(media === Registry.OPENMETRICS_CONTENT_TYPE),
  });
}

const openMetrics = metricsRoute(open);
const keyIfSentMetrics = metricsRoute(keyIfSent('metrics'));
const keyedMetrics = metricsRoute(key('metrics'));

/** At the gateway: metrics are open outside production (but refuse a wrong key); in production they need a key with the scope `metrics`. */
export function operationRoutes(production: boolean): readonly Route[] {
  return [healthz, readyz, readyzChecks, production ? keyedMetrics : keyIfSentMetrics];
}

/** At the operators' own listener, which only they can reach. */
export const opsRoutes: readonly Route[] = [healthz, readyz, readyzChecks, openMetrics];
