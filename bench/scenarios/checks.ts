/** Check over gRPC: hot, all questions with warm facts, one at a time; and REST beside Express. */
import { type Comparison, compare, type Measured } from '../compare.ts';
import type { Lab } from '../lab.ts';
import { type Row, row } from '../report.ts';
import { coldCheck } from './cold.ts';

type Pick = (measured: Measured) => number;

function of(comparisons: readonly Comparison[], pick: Pick): number[] {
  return comparisons.map((c) => pick(c.service));
}

function bareOf(comparisons: readonly Comparison[], pick: Pick): number[] {
  return comparisons.map((c) => pick(c.bare));
}

function common(name: string, results: readonly Comparison[], ratioGoal: number): Row[] {
  return [
    row(
      name,
      'throughput in terms of the bare server',
      '',
      results.map((r) => r.ratio),
      { atLeast: ratioGoal },
    ),
    row(
      name,
      'the same by CPU a request',
      '',
      results.map((r) => r.cpuRatio),
    ),
    row(
      name,
      'service',
      '/s',
      of(results, (m) => m.perSecond),
    ),
    row(
      name,
      'bare',
      '/s',
      bareOf(results, (m) => m.perSecond),
    ),
    row(
      name,
      'CPU a request, service',
      'µs',
      of(results, (m) => m.cpu),
    ),
    row(
      name,
      'CPU a request, bare',
      'µs',
      bareOf(results, (m) => m.cpu),
    ),
    row(
      name,
      'p50, service',
      'ms',
      of(results, (m) => m.p50),
    ),
    row(
      name,
      'p50, bare',
      'ms',
      bareOf(results, (m) => m.p50),
    ),
  ];
}

function tail(name: string, results: readonly Comparison[]): Row[] {
  const versus = row(
    name,
    'p99 in terms of the bare server',
    '',
    results.map((r) => r.service.p99 / r.bare.p99),
  );
  return [
    row(
      name,
      'p99, service',
      'ms',
      of(results, (m) => m.p99),
      { atMost: 5 },
    ),
    row(
      name,
      'p99, bare',
      'ms',
      bareOf(results, (m) => m.p99),
    ),
    // "No worse" within what one run of the bare server differs from the next.
    { ...versus, goal: '≤ 1 (± 0.1)', pass: versus.value <= 1.1 },
    row(
      name,
      'p99.9, service',
      'ms',
      of(results, (m) => m.p999),
    ),
    row(
      name,
      'p99.9, bare',
      'ms',
      bareOf(results, (m) => m.p999),
    ),
  ];
}

function resident(name: string, results: readonly Comparison[]): Row[] {
  return [
    row(
      name,
      'RSS after, service',
      'MB',
      of(results, (m) => m.rss),
      { atMost: 320 },
    ),
    row(
      name,
      'largest RSS, service',
      'MB',
      of(results, (m) => m.largest),
    ),
    row(
      name,
      'RSS after, bare',
      'MB',
      bareOf(results, (m) => m.rss),
    ),
    row(
      name,
      'generator busy',
      'of its core',
      of(results, (m) => m.generatorBusy),
    ),
  ];
}

export async function checkHot(lab: Lab): Promise<Row[]> {
  const name = 'check-hot';
  const { inFlight, connections } = lab.settings;
  const options = { protocol: 'grpc', workload: 'hot', inFlight, connections, withDefaultHeap: true } as const;
  const results = await compare(lab, name, options);
  const untuned = results.flatMap((r) => (r.bareDefault ? [r.bareDefault] : []));
  return [
    ...common(name, results, 0.95),
    ...tail(name, results),
    ...resident(name, results),
    row(
      name,
      'bare with the default heap',
      '/s',
      untuned.map((m) => m.perSecond),
    ),
    row(
      name,
      'p99, bare with the default heap',
      'ms',
      untuned.map((m) => m.p99),
    ),
    row(
      name,
      'RSS after, bare with the default heap',
      'MB',
      untuned.map((m) => m.rss),
    ),
  ];
}

export async function checkAllWarm(lab: Lab): Promise<Row[]> {
  const name = 'check-all-warm';
  const { inFlight, connections } = lab.settings;
  const results = await compare(lab, name, {
    protocol: 'grpc',
    workload: 'all',
    inFlight,
    connections,
    // 10,000 persons and 50,000 members: sized to hold them. The decision cache keeps its 5,000 entries, and facts their TTL
    // of 30 s, which a run of the default length stays within.
    env: { CACHE_PERSONS: '20000', CACHE_MEMBERS: '100000' },
    prepare: async (generator, target) => {
      await generator.slice(target, { inFlight, order: 'once', from: 0, to: 50_000 });
    },
  });
  return [...common(name, results, 0.75), ...tail(name, results), ...resident(name, results)];
}

export async function single(lab: Lab): Promise<Row[]> {
  const name = 'single';
  const results = await compare(lab, name, { protocol: 'grpc', workload: 'hot', inFlight: 1, connections: 1 });
  const cold = await coldCheck(lab, name, { inFlight: 1, connections: 1, questions: lab.settings.quick ? 1000 : 4000 });
  const above = results.map((r) => (r.service.p50 - r.bare.p50) * 1000);
  return [
    row(name, 'hot p50 above the bare server', 'µs', above, { atMost: 15 }),
    row(
      name,
      'hot p50, service',
      'µs',
      of(results, (m) => m.p50 * 1000),
    ),
    row(
      name,
      'hot p50, bare',
      'µs',
      bareOf(results, (m) => m.p50 * 1000),
    ),
    row(
      name,
      'hot p99, service',
      'µs',
      of(results, (m) => m.p99 * 1000),
    ),
    row(
      name,
      'hot p99, bare',
      'µs',
      bareOf(results, (m) => m.p99 * 1000),
    ),
    row(
      name,
      'cold p50, PostgreSQL',
      'µs',
      cold.map((c) => c.result.p50 * 1000),
      { atMost: 700 },
    ),
    row(
      name,
      'cold p99, PostgreSQL',
      'µs',
      cold.map((c) => c.result.p99 * 1000),
    ),
  ];
}

export async function rest(lab: Lab): Promise<Row[]> {
  const name = 'rest';
  const { inFlight } = lab.settings;
  const results = await compare(lab, name, { protocol: 'http1', workload: 'rest', inFlight, connections: inFlight });
  return [
    ...common(name, results, 0.6),
    row(
      name,
      'p99, service',
      'ms',
      of(results, (m) => m.p99),
    ),
    row(
      name,
      'p99, bare',
      'ms',
      bareOf(results, (m) => m.p99),
    ),
  ];
}
