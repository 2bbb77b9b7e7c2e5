/** The counts of the parts as Prometheus metrics. Read on scrape, never on the path of a call. */

import { performance } from 'node:perf_hooks';
import { Counter, Gauge } from 'prom-client';
import { exposeHistogram } from '../base/flat-histogram.ts';
import type { LineWriter } from '../base/line-writer.ts';
import type { Registry } from '../base/telemetry.ts';
import { BATCH_BUCKETS, REPLICA_PAUSES, type ReplicaCounters } from '../engine/counters.ts';
import type { Engine } from '../engine/engine.ts';
import type { Watch } from '../engine/watch.ts';
import type { GrpcMetrics } from '../grpc/metrics.ts';
import type { CheckCache } from '../grpc/request-cache.ts';
import type { BarrierCounters } from '../persistence/barrier.ts';
import type { UpstreamCounters } from '../upstream/remote-facts.ts';

/** What is counted. */
interface Counted {
  readonly engine: Engine;
  readonly watch: Watch;
  readonly grpc: GrpcMetrics;
  readonly checks: CheckCache;
  /** How much of the heap cached facts may take. */
  readonly factsBytes: number;
}

export function exposeMetrics(registry: Registry, { engine, watch, grpc, checks, factsBytes }: Counted): void {
  exposeProcess(registry);
  gauge(registry, 'usher_cache_limit_bytes', 'What cached facts may take of the heap.', () => factsBytes);
  exposeEngine(registry, engine);
  exposeGrpc(registry, grpc);
  exposeChecks(registry, checks);
  gauge(registry, 'usher_watch_streams', 'Open streams of changes.', () => watch.size);
}

/** Of an edge. */
export function exposeUpstream(registry: Registry, upstream: UpstreamCounters): void {
  counter(registry, 'usher_upstream_calls_total', 'Calls to the upstream for facts.', () => upstream.calls);
  counter(registry, 'usher_upstream_failures_total', 'Those that failed.', () => upstream.failures);
  counter(registry, 'usher_upstream_follows_total', 'Streams of changes that were opened.', () => upstream.follows);
}

/** Of early release: how writes are made durable together. */
export function exposeBarrier(registry: Registry, barrier: BarrierCounters): void {
  gauge(registry, 'usher_barrier_waiting', 'Writes that wait to be durable.', () => barrier.waiting);
  counter(registry, 'usher_barrier_commits_total', 'Durable commits for those that wait.', () => barrier.commits);
  counter(registry, 'usher_barrier_failures_total', 'Durable commits that failed.', () => barrier.failures);
  new Counter({
    name: 'usher_barrier_writes_total',
    help: 'Writes that waited to be durable: passed, or refused, as nobody knows whether they last.',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ result: 'passed' }, barrier.passed);
      this.inc({ result: 'refused' }, barrier.refused);
    },
  });
  const waits = { name: 'usher_barrier_wait_seconds', help: 'How long writes waited to be durable.' };
  exposeHistogram(registry, waits, () => [barrier.waits.read({})]);
}

export function exposeDecisionLog(registry: Registry, lines: Pick<LineWriter, 'written' | 'dropped'>): void {
  counter(registry, 'usher_decision_log_lines_total', 'Lines that were written.', () => lines.written);
  counter(registry, 'usher_decision_log_dropped_total', 'Lines that were given up.', () => lines.dropped);
}

type Read = () => number;
const gauge = (registry: Registry, name: string, help: string, read: Read) =>
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
const counter = (registry: Registry, name: string, help: string, read: Read) =>
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });

/**
 * The usual names, read on scrape. prom-client's own collection also observes every garbage collection and samples the
 * event loop, which costs a busy server a few percent.
 */
export function exposeProcess(registry: Registry): void {
  const startedAt = Date.now() / 1000 - process.uptime();
  let last = performance.eventLoopUtilization();
  counter(registry, 'process_cpu_user_seconds_total', 'CPU time in user code.', () => process.cpuUsage().user / 1e6);
  counter(
    registry,
    'process_cpu_system_seconds_total',
    'CPU time in the kernel.',
    () => process.cpuUsage().system / 1e6,
  );
  gauge(registry, 'process_start_time_seconds', 'When the process began, since the epoch.', () => startedAt);
  gauge(registry, 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge(registry, 'nodejs_heap_size_used_bytes', 'JavaScript heap in use.', () => process.memoryUsage().heapUsed);
  gauge(
    registry,
    'nodejs_external_memory_bytes',
    'Memory of buffers outside the heap.',
    () => process.memoryUsage().external,
  );
  gauge(
    registry,
    'nodejs_eventloop_utilization',
    'Share of time that the event loop was busy since the last scrape.',
    () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
  );
}

function exposeEngine(registry: Registry, engine: Engine): void {
  const { counters } = engine;
  gauge(registry, 'usher_revision', 'The revision that answers reflect.', () => engine.cursor);
  gauge(
    registry,
    'usher_head_lag_seconds',
    'Time since the change log was last read.',
    () => engine.status().lastSyncAgeMs / 1000,
  );
  counter(
    registry,
    'usher_facts_left_out_total',
    'Facts discarded because a newer change had superseded them.',
    () => counters.factsLeftOut,
  );
  counter(registry, 'usher_policy_loads_total', 'Statements for policies.', () => counters.policyLoads);
  counter(registry, 'usher_member_loads_total', 'Statements for people and members.', () => counters.memberLoads);
  counter(
    registry,
    'usher_member_needs_total',
    'Needs that statements for people and members answered.',
    () => counters.memberNeeds,
  );
  counter(
    registry,
    'usher_load_failures_total',
    'Statements for facts that failed or timed out.',
    () => counters.loadFailures,
  );
  counter(registry, 'usher_syncs_total', 'Readings of the change log.', () => counters.syncs);
  counter(
    registry,
    'usher_sync_failures_total',
    'Readings of the change log that failed.',
    () => counters.syncFailures,
  );
  counter(registry, 'usher_cache_drops_total', 'How often the whole cache was cleared.', () => counters.drops);
  counter(
    registry,
    'usher_restores_total',
    'How often the database turned out to have another history.',
    () => counters.restores,
  );
  counter(
    registry,
    'usher_boundaries_passed_total',
    'How often facts at hand were read again since a grant among them begins or ends.',
    () => counters.boundariesPassed,
  );
  new Counter({
    name: 'usher_facts_requests_total',
    help: 'Requests of edges and local clients for facts, by the version of the rules by which they decide.',
    labelNames: ['version'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [version, count] of Object.entries(counters.askers)) this.inc({ version }, count);
    },
  });
  exposeCaches(registry, engine);
  if (counters.replica !== null) exposeReplica(registry, counters.replica);
}

/** Metrics with labels: decisions, cache sizes, batches of loads. */
function exposeCaches(registry: Registry, engine: Engine): void {
  const { counters } = engine;
  new Counter({
    name: 'usher_decisions_total',
    help: 'Decisions from the cache (hit) or computed from facts (miss).',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ result: 'hit' }, counters.decisionHits);
      this.inc({ result: 'miss' }, counters.decisionMisses);
    },
  });
  new Counter({
    name: 'usher_unknown_codes_total',
    help: 'Unknown permissions and resource types in questions decided from facts; repetitions that the cache answers are not counted.',
    labelNames: ['app', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { app, kind, count } of engine.unknownCodes.counts()) this.inc({ app, kind }, count);
    },
  });
  new Counter({
    name: 'usher_facts_ahead_total',
    help: 'Facts in use that were due, by what became of reading them again ahead of their expiry.',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(counters.ahead.outcomes)) this.inc({ outcome }, count);
    },
  });
  new Gauge({
    name: 'usher_cache_entries',
    help: 'Entries held in memory, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, entries] of Object.entries(engine.sizes())) this.set({ kind }, entries);
    },
  });
  new Gauge({
    name: 'usher_cache_bytes',
    help: 'Memory of cached facts, about, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, bytes] of Object.entries(engine.bytes())) this.set({ kind }, bytes);
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

/** Where facts are read from a replica. */
function exposeReplica(registry: Registry, counters: ReplicaCounters): void {
  new Counter({
    name: 'usher_replica_loads_total',
    help: 'Loads of facts with a replica, by what became of them: answered by it, completed by the primary (both), or answered by the primary alone, and why.',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [result, count] of Object.entries(counters.results)) this.inc({ result }, count);
    },
  });
  new Counter({
    name: 'usher_replica_needs_total',
    help: 'Needs of people and members, by who answered them: the replica or the primary.',
    labelNames: ['by'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [by, count] of Object.entries(counters.needs)) this.inc({ by }, count);
    },
  });
  counter(
    registry,
    'usher_replica_timed_needs_total',
    'Needs that were left to the primary since a grant in them has a beginning or an end.',
    () => counters.timed,
  );
  new Gauge({
    name: 'usher_replica_paused',
    help: '1 while the replica is left alone, by the reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      for (const reason of REPLICA_PAUSES) this.set({ reason }, counters.paused === reason ? 1 : 0);
    },
  });
  gauge(
    registry,
    'usher_replica_behind_revisions',
    'By how many revisions the newest answer of the replica was behind.',
    () => counters.behind,
  );
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
  const untraced = 'Answers from memory in a sampled trace that had no span, beyond a hundred in a second.';
  counter(registry, 'usher_grpc_untraced_total', untraced, () => grpc.untraced);
  const durations = {
    name: 'usher_grpc_request_duration_seconds',
    help: 'gRPC calls, from the complete request to its answer.',
  };
  exposeHistogram(registry, durations, () => grpc.durations());
}

function exposeChecks(registry: Registry, checks: CheckCache): void {
  const help = 'Checks of gRPC calls and batches known by their bytes';
  gauge(registry, 'usher_check_memo_entries', `${help}.`, () => checks.size.entries);
  gauge(registry, 'usher_check_memo_bytes', `${help}: memory, about.`, () => checks.size.bytes);
}
