/** Check over gRPC: hot, all questions with warm facts, one at a time; and REST beside Express. */
import { type Comparison, compare } from '../compare.ts';
import type { Lab } from '../lab.ts';
import { type Measure, type Row, row, rowsOf } from '../report.ts';
import { coldCheck } from './cold.ts';

type Measures = readonly Measure<Comparison>[];

const common = (ratioGoal: number): Measures => [
  ['throughput in terms of the bare server', '', ({ ratio }) => ratio, { atLeast: ratioGoal }],
  ['the same by CPU a request', '', ({ cpuRatio }) => cpuRatio],
  ['service', '/s', ({ service }) => service.perSecond],
  ['bare', '/s', ({ bare }) => bare.perSecond],
  ['CPU a request, service', 'µs', ({ service }) => service.cpu],
  ['CPU a request, bare', 'µs', ({ bare }) => bare.cpu],
  ['p50, service', 'ms', ({ service }) => service.p50],
  ['p50, bare', 'ms', ({ bare }) => bare.p50],
];

function tail(name: string, results: readonly Comparison[]): Row[] {
  const runs = results.map(({ service, bare }) => service.p99 / bare.p99);
  const versus = row(name, 'p99 in terms of the bare server', '', runs);
  return [
    ...rowsOf(name, results, [
      ['p99, service', 'ms', ({ service }) => service.p99, { atMost: 5 }],
      ['p99, bare', 'ms', ({ bare }) => bare.p99],
    ]),
    // "No worse" within what one run of the bare server differs from the next.
    { ...versus, goal: '≤ 1 (± 0.1)', pass: versus.value <= 1.1 },
    ...rowsOf(name, results, [
      ['p99.9, service', 'ms', ({ service }) => service.p999],
      ['p99.9, bare', 'ms', ({ bare }) => bare.p999],
    ]),
  ];
}

const RESIDENT: Measures = [
  ['RSS after, service', 'MB', ({ service }) => service.rss, { atMost: 320 }],
  ['largest RSS, service', 'MB', ({ service }) => service.largest],
  ['RSS after, bare', 'MB', ({ bare }) => bare.rss],
  ['generator busy', 'of its core', ({ service }) => service.generatorBusy],
];

export async function checkHot(lab: Lab): Promise<Row[]> {
  const name = 'check-hot';
  const { inFlight, connections } = lab.settings;
  const options = { protocol: 'grpc', workload: 'hot', inFlight, connections, withDefaultHeap: true } as const;
  const results = await compare(lab, name, options);
  const untuned = results.flatMap((r) => (r.bareDefault ? [r.bareDefault] : []));
  return [
    ...rowsOf(name, results, common(0.95)),
    ...tail(name, results),
    ...rowsOf(name, results, RESIDENT),
    ...rowsOf(name, untuned, [
      ['bare with the default heap', '/s', (bare) => bare.perSecond],
      ['p99, bare with the default heap', 'ms', (bare) => bare.p99],
      ['RSS after, bare with the default heap', 'MB', (bare) => bare.rss],
    ]),
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
    // With the default sizes of the caches. Facts keep their TTL of 30 s, which a run of the default length stays within.
    prepare: async (generator, target) => {
      await generator.slice(target, { inFlight, order: 'once', from: 0, to: 50_000 });
    },
  });
  return [...rowsOf(name, results, common(0.75)), ...tail(name, results), ...rowsOf(name, results, RESIDENT)];
}

export async function single(lab: Lab): Promise<Row[]> {
  const name = 'single';
  const results = await compare(lab, name, { protocol: 'grpc', workload: 'hot', inFlight: 1, connections: 1 });
  const cold = await coldCheck(lab, name, { inFlight: 1, connections: 1, questions: lab.settings.quick ? 1000 : 4000 });
  return [
    ...rowsOf(name, results, [
      ['hot p50 above the bare server', 'µs', ({ service, bare }) => (service.p50 - bare.p50) * 1000, { atMost: 15 }],
      ['hot p50, service', 'µs', ({ service }) => service.p50 * 1000],
      ['hot p50, bare', 'µs', ({ bare }) => bare.p50 * 1000],
      ['hot p99, service', 'µs', ({ service }) => service.p99 * 1000],
      ['hot p99, bare', 'µs', ({ bare }) => bare.p99 * 1000],
    ]),
    ...rowsOf(name, cold, [
      ['cold p50, PostgreSQL', 'µs', ({ result }) => result.p50 * 1000, { atMost: 700 }],
      ['cold p99, PostgreSQL', 'µs', ({ result }) => result.p99 * 1000],
    ]),
  ];
}

export async function rest(lab: Lab): Promise<Row[]> {
  const name = 'rest';
  const { inFlight } = lab.settings;
  const results = await compare(lab, name, { protocol: 'http1', workload: 'rest', inFlight, connections: inFlight });
  return rowsOf(name, results, [
    ...common(0.6),
    ['p99, service', 'ms', ({ service }) => service.p99],
    ['p99, bare', 'ms', ({ bare }) => bare.p99],
  ]);
}
