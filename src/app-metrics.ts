/** What the parts count as plain numbers, under the names that Prometheus scrapes. Read on scrape, never on the way of a call. */

import { Counter, collectDefaultMetrics, Gauge, Histogram } from 'prom-client';
import { BATCH_BUCKETS } from './engine/counters.ts';
import type { Engine } from './engine/engine.ts';
import type { GrpcMetrics } from './engine/grpc/metrics.ts';
import type { Registry } from './telemetry.ts';

export function exposeMetrics(registry: Registry, engine: Engine, grpc: GrpcMetrics): void {
  collectDefaultMetrics({ register: registry });
  exposeEngine(registry, engine);
  exposeGrpc(registry, grpc);
}

function exposeEngine(registry: Registry, engine: Engine): void {
  const { counters } = engine;
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect: function () {
        this.set(read());
      },
    });
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect: function () {
        this.reset();
        this.inc(read());
      },
    });

  gauge('usher_revision', 'The revision that answers are true of.', () => engine.revision);
  gauge(
    'usher_head_lag_seconds',
    'Time since the change log was last read.',
    () => engine.status().lastSyncAgeMs / 1000,
  );
  counter('usher_facts_left_out_total', 'Facts read that a newer change had overtaken.', () => counters.factsLeftOut);
  counter('usher_policy_loads_total', 'Statements for policies.', () => counters.policyLoads);
  counter('usher_member_loads_total', 'Statements for people and members.', () => counters.memberLoads);
  counter(
    'usher_member_needs_total',
    'Needs that statements for people and members answered.',
    () => counters.memberNeeds,
  );
  counter(
    'usher_load_failures_total',
    'Statements for facts that failed or took too long.',
    () => counters.loadFailures,
  );
  counter('usher_syncs_total', 'Readings of the change log.', () => counters.syncs);
  counter('usher_sync_failures_total', 'Readings of the change log that failed.', () => counters.syncFailures);
  counter('usher_cache_drops_total', 'How often everything cached was forgotten.', () => counters.drops);
  counter(
    'usher_restores_total',
    'How often the database turned out to have another history.',
    () => counters.restores,
  );
  new Counter({
    name: 'usher_decisions_total',
    help: 'Decisions, from the cache (hit) or made from facts (miss).',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ result: 'hit' }, counters.decisionHits);
      this.inc({ result: 'miss' }, counters.decisionMisses);
    },
  });
  new Gauge({
    name: 'usher_cache_entries',
    help: 'What is held in memory, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, entries] of Object.entries(engine.sizes())) this.set({ kind }, entries);
    },
  });
  new Counter({
    name: 'usher_member_load_batches_total',
    help: 'Statements for people and members, by the largest number of needs that they may have held.',
    labelNames: ['needs'],
    registers: [registry],
    collect() {
      this.reset();
      BATCH_BUCKETS.forEach((needs, place) => {
        this.inc({ needs }, counters.batchSizes[place] ?? 0);
      });
    },
  });
}

function exposeGrpc(registry: Registry, grpc: GrpcMetrics): void {
  new Counter({
    name: 'usher_grpc_requests_total',
    help: 'gRPC calls, by method and status.',
    labelNames: ['method', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { method, status, count } of grpc.calls()) this.inc({ method, status }, count);
    },
  });
  new CallDurations(grpc, registry);
}

const DURATION = 'usher_grpc_request_duration_seconds';

/** A histogram that is counted elsewhere: prom-client's own takes single observations, which would cost on every call. */
class CallDurations extends Histogram<'method' | 'le'> {
  readonly #grpc: GrpcMetrics;

  constructor(grpc: GrpcMetrics, registry: Registry) {
    super({
      name: DURATION,
      help: 'gRPC calls, from a whole request to its answer.',
      labelNames: ['method'],
      registers: [registry],
    });
    this.#grpc = grpc;
  }

  override async get(): ReturnType<Histogram<'method' | 'le'>['get']> {
    const shell = await super.get();
    const values = this.#grpc.durations().flatMap(({ method, buckets, sum, count }) => [
      ...buckets.map(({ le, count: value }) => {
        const bound = le === Number.POSITIVE_INFINITY ? '+Inf' : le;
        return { metricName: `${DURATION}_bucket`, labels: { method, le: bound }, value };
      }),
      { metricName: `${DURATION}_sum`, labels: { method }, value: sum },
      { metricName: `${DURATION}_count`, labels: { method }, value: count },
    ]);
    return { ...shell, values };
  }
}
