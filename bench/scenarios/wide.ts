/** Calls with many decisions in one answer, BulkCheck of 50, BatchCheck of 100, Effective of 30; and Explain. */
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds, memory } from '../processes.ts';
import { type Measure, median, type Row, rowsOf } from '../report.ts';
import { KEY, Service } from '../service.ts';
import type { SliceResult } from '../slice.ts';
import type { WorkloadName } from '../workloads.ts';

interface Wide {
  perSecond: number;
  cpu: number;
  p50: number;
  p99: number;
  rss: number;
}

/** The workloads take turns at one service; by run, in the order of the workloads. */
async function measureInTurns(
  lab: Lab,
  workloads: readonly WorkloadName[],
  env: Record<string, string> = {},
): Promise<Wide[][]> {
  const databaseUrl = await lab.data();
  const { inFlight, connections, warmMs, sliceMs, slices } = lab.settings;
  const results: Wide[][] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const generator = new Generator();
    const service = await Service.start({ databaseUrl, core: CORES.server, env });
    try {
      const open = { protocol: 'grpc', port: service.grpcPort, answers: 'known', key: KEY } as const;
      for (const workload of workloads) {
        await generator.open({ target: workload, workload, connections, ...open });
        await generator.slice(workload, { inFlight, durationMs: warmMs });
      }
      const taken: SliceResult[][] = workloads.map(() => []);
      const spent = workloads.map(() => 0);
      for (let i = 0; i < slices; i++) {
        for (const [index, workload] of workloads.entries()) {
          const before = cpuSeconds(service.pid);
          taken[index]?.push(await generator.slice(workload, { inFlight, durationMs: sliceMs }));
          spent[index] = (spent[index] ?? 0) + cpuSeconds(service.pid) - before;
        }
      }
      const measured = taken.map((parts, index) => ({
        perSecond: median(parts.map((t) => t.perSecond)),
        cpu: ((spent[index] ?? 0) / parts.reduce((sum, slice) => sum + slice.answers, 0)) * 1e6,
        p50: median(parts.map((t) => t.p50)),
        p99: median(parts.map((t) => t.p99)),
        rss: memory(service.pid).rss,
      }));
      results.push(measured);
      const said = workloads.map(
        (workload, index) => `${workload} ${Math.round(measured[index]?.perSecond ?? 0)} calls/s`,
      );
      lab.say(`${run}/${lab.settings.runs}: ${said.join(', ')}`);
    } finally {
      await service.stop();
      await generator.end();
    }
  }
  return results;
}

async function measure(lab: Lab, workload: WorkloadName): Promise<Wide[]> {
  return (await measureInTurns(lab, [workload])).flat();
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

/** In turns with BulkCheck: machines, and minutes of one machine, differ by more than the two calls do. */
export async function batch(lab: Lab): Promise<Row[]> {
  // The batches ask about 10,000 people, BulkCheck about 2,000: sized to hold them all.
  const runs = await measureInTurns(lab, ['bulk', 'batch'], { CACHE_PERSONS: '20000', CACHE_MEMBERS: '40000' });
  const mixed = runs.flatMap(([, batch]) => batch ?? []);
  const ratios = runs.flatMap(([bulk, batch]) =>
    bulk === undefined || batch === undefined
      ? []
      : { ratio: (batch.perSecond * 100) / (bulk.perSecond * 50), cpu: (2 * bulk.cpu) / batch.cpu },
  );
  return [
    ...rowsOf('batch', mixed, [
      ['decisions, 100 mixed questions a call: facts warm', '/s', (wide) => wide.perSecond * 100],
      ...LATENCY,
    ]),
    ...rowsOf('batch', ratios, [
      ['decisions in terms of BulkCheck', '', ({ ratio }) => ratio, { atLeast: 0.8 }],
      ['the same by CPU a decision', '', ({ cpu }) => cpu],
    ]),
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
