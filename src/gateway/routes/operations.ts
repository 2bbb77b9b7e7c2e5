/** Probes and metrics for operators (docs/reference/service.md#health-and-metrics). */

import { z } from 'zod';
import { unavailable } from '../../base/errors.ts';
import { bare, text } from '../route/envelopes.ts';
import { type Guard, key, keyIfSent, open } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const Health = record('Health', { status: z.literal('ok') });

const healthz = defineRoute({
  method: 'get',
  path: '/healthz',
  tag: 'Operations',
  summary: 'Liveness: the process runs',
  description: 'Does not check the database: a process need not restart because its database is down.',
  guard: open,
  envelope: bare,
  status: 200,
  response: Health,
  quiet: true,
  handle: () => ({ status: 'ok' }) as const,
});

const Readiness = record('Readiness', {
  status: z.literal('ready'),
  revision: z.string().meta({ description: 'The newest revision of the permission data seen here.' }),
});

const readyz = defineRoute({
  method: 'get',
  path: '/readyz',
  tag: 'Operations',
  summary: 'Readiness: the service can answer',
  description:
    'The database answers, its migrations are applied, the permission engine follows it, and so does every process of the gRPC port. Else 503.',
  guard: open,
  envelope: bare,
  status: 200,
  response: Readiness,
  errors: ['UNAVAILABLE'],
  quiet: true,
  handle: async ({ ping, engine }) => {
    const status = engine.status();
    if (!status.ready) throw unavailable('The permission engine is behind the database.');
    await ping();
    return { status: 'ready', revision: status.revision } as const;
  },
});

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

function metricsRoute(guard: Guard<unknown>): Route {
  return defineRoute({
    method: 'get',
    path: '/metrics',
    tag: 'Operations',
    summary: 'Metrics for Prometheus',
    guard,
    envelope: text(METRICS_TYPE),
    status: 200,
    response: z.string(),
    quiet: true,
    handle: ({ metrics }) => metrics(),
  });
}

const openMetrics = metricsRoute(open);
const keyIfSentMetrics = metricsRoute(keyIfSent('metrics'));
const keyedMetrics = metricsRoute(key('metrics'));

/** At the gateway: metrics are open outside production (but refuse a wrong key); in production they need a key with the scope `metrics`. */
export function operationRoutes(production: boolean): readonly Route[] {
  return [healthz, readyz, production ? keyedMetrics : keyIfSentMetrics];
}

/** At the operators' own listener, which only they can reach. */
export const opsRoutes: readonly Route[] = [healthz, readyz, openMetrics];
