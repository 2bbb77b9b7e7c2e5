/** Calls with many decisions in one answer, BulkCheck of 50, BatchCheck of 100, Effective of 30; and Explain. */
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds, memory } from '../processes.ts';
import { type Measure, median, type Row, rowsOf } from '../report.ts';
import { KEY, Service } from '../service.ts';
import type { WorkloadName } from '../workloads.ts';

interface Wide {
  perSecond: number;
  cpu: number;
  p50: number;
  p99: number;
  rss: number;
}

async function measure(lab: Lab, workload: WorkloadName): Promise<Wide[]> {
  const databaseUrl = await lab.data();
  const { inFlight, connections, warmMs, sliceMs, slices } = lab.settings;
  const results: Wide[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const generator = new Generator();
    const service = await Service.start({ databaseUrl, core: CORES.server });
    try {
      const open = { protocol: 'grpc', port: service.grpcPort, answers: 'known', key: KEY } as const;
      await generator.open({ target: 'service', workload, connections, ...open });
      await generator.slice('service', { inFlight, durationMs: warmMs });
      const before = cpuSeconds(service.pid);
      const taken = [];
      for (let i = 0; i < slices; i++) taken.push(await generator.slice('service', { inFlight, durationMs: sliceMs }));
      const answers = taken.reduce((sum, slice) => sum + slice.answers, 0);
      results.push({
        perSecond: median(taken.map((t) => t.perSecond)),
        cpu: ((cpuSeconds(service.pid) - before) / answers) * 1e6,
        p50: median(taken.map((t) => t.p50)),
        p99: median(taken.map((t) => t.p99)),
        rss: memory(service.pid).rss,
      });
      lab.say(`${workload} ${run}/${lab.settings.runs}: ${Math.round(results.at(-1)?.perSecond ?? 0)} calls/s`);
    } finally {
      await service.stop();
      await generator.end();
    }
  }
  return results;
}

const LATENCY: readonly Measure<Wide>[] = [
  ['CPU a call', 'µs', (wide) => wide.cpu],
  ['p50', 'ms', (wide) => wide.p50],
  ['p99', 'ms', (wide) => wide.p99],
  ['RSS after', 'MB', (wide) => wide.rss, { atMost: 320 }],
];

export async function bulk(lab: Lab): Promise<Row[]> {
  const hot = await measure(lab, 'bulk-hot');
  const many = await measure(lab, 'bulk');
  const decisions = (what: string): Measure<Wide>[] => [
    [`decisions, 50 a call, ${what}`, '/s', (wide) => wide.perSecond * 50, { atLeast: 500_000 }],
  ];
  return [
    ...rowsOf('bulk', hot, decisions('50 users: all cached')),
    ...rowsOf('bulk, 50 users', hot, LATENCY),
    ...rowsOf('bulk', many, decisions('2,000 users: facts warm')),
    ...rowsOf('bulk, 2,000 users', many, LATENCY),
  ];
}

/** Beside BulkCheck in the same minute: machines differ by more than the two calls do. */
export async function batch(lab: Lab): Promise<Row[]> {
  const one = await measure(lab, 'bulk');
  const mixed = await measure(lab, 'batch');
  // By run, beside the BulkCheck of the same turn.
  const ratios = mixed.map(({ perSecond }, run) => ({ ratio: (perSecond * 100) / ((one[run]?.perSecond ?? 0) * 50) }));
  return [
    ...rowsOf('batch', mixed, [
      ['decisions, 100 mixed questions a call: facts warm', '/s', (wide) => wide.perSecond * 100],
      ...LATENCY,
    ]),
    ...rowsOf('batch', ratios, [['decisions in terms of BulkCheck', '', ({ ratio }) => ratio, { atLeast: 0.8 }]]),
  ];
}

export async function explain(lab: Lab): Promise<Row[]> {
  return rowsOf('explain', await measure(lab, 'explain'), [['calls', '/s', (wide) => wide.perSecond], ...LATENCY]);
}

export async function effective(lab: Lab): Promise<Row[]> {
  return rowsOf('effective', await measure(lab, 'effective'), [
    ['calls, 30 permissions each, 2,000 users', '/s', (wide) => wide.perSecond, { atLeast: 8000 }],
    ...LATENCY,
  ]);
}
