/** Calls with many decisions in one answer, BulkCheck of 50, BatchCheck of 100, Effective of 30; and Explain. */
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds, memory, startBare, stop } from '../processes.ts';
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
  const cold = await coldBatches(lab);
  return [
    ...rowsOf('batch', mixed, [
      ['decisions, 100 mixed questions a call: facts warm', '/s', (wide) => wide.perSecond * 100],
      ...LATENCY,
    ]),
    ...rowsOf('batch', ratios, [
      ['decisions in terms of BulkCheck', '', ({ ratio }) => ratio, { atLeast: 0.8 }],
      ['the same by CPU a decision', '', ({ cpu }) => cpu],
    ]),
    ...rowsOf('batch', cold, [
      ['decisions with nothing cached, PostgreSQL', '/s', ({ decisions }) => decisions],
      ['calls of a bare server', '/s', ({ bare }) => bare],
      [
        'decisions with nothing cached, for each of these',
        '',
        ({ decisions, bare }) => decisions / bare,
        { atLeast: 10 },
      ],
    ]),
  ];
}

/** A second each. */
interface ColdBatches {
  decisions: number;
  bare: number;
}

/** 500 batches, each once: every check lacks its member facts. The code is warm. A bare server is asked right after them. */
async function coldBatches(lab: Lab): Promise<ColdBatches[]> {
  const databaseUrl = await lab.data();
  const { inFlight, connections, warmMs, sliceMs, slices } = lab.settings;
  const results: ColdBatches[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const generator = new Generator();
    const service = await Service.start({ databaseUrl, core: CORES.server });
    const bare = await startBare('grpc', CORES.server);
    try {
      const open = { protocol: 'grpc', key: KEY, connections } as const;
      const batches = { ...open, port: service.grpcPort, workload: 'batch-all', answers: 'known' } as const;
      const size = await generator.open({ target: 'service', ...batches });
      const once = { inFlight, order: 'once', from: 0, to: size } as const;
      await generator.slice('service', once);
      await service.clearCaches();
      const { perSecond } = await generator.slice('service', once);
      await generator.open({ target: 'bare', ...open, port: bare.port, workload: 'hot', answers: 'constant' });
      await generator.slice('bare', { inFlight, durationMs: warmMs });
      const { perSecond: calls } = await generator.slice('bare', { inFlight, durationMs: slices * sliceMs });
      results.push({ decisions: perSecond * 100, bare: calls });
      lab.say(`cold batches ${run}/${lab.settings.runs}: ${Math.round(perSecond)} calls/s, bare ${Math.round(calls)}`);
    } finally {
      await service.stop();
      await stop(bare.child);
      await generator.end();
    }
  }
  return results;
}

export async function explain(lab: Lab): Promise<Row[]> {
  const single = await explainOneByOne(lab);
  return [
    ...rowsOf('explain', await measure(lab, 'explain'), [['calls', '/s', (wide) => wide.perSecond], ...LATENCY]),
    ...rowsOf('explain', single, [
      ['p50, one at a time', 'µs', (one) => one.explain * 1000],
      ['p50 of a cold Check, one at a time', 'µs', (one) => one.cold * 1000],
      ['the same in terms of a cold Check', '', (one) => one.explain / one.cold, { atMost: 2 }],
    ]),
  ];
}

/** p50 in ms, of the same service: explanations are always read from the database, the checks are of people new to the caches. */
async function explainOneByOne(lab: Lab): Promise<{ explain: number; cold: number }[]> {
  const databaseUrl = await lab.data();
  const { runs, quick, warmMs, connections, inFlight } = lab.settings;
  const results: { explain: number; cold: number }[] = [];
  for (let run = 1; run <= runs; run++) {
    const generator = new Generator();
    const service = await Service.start({ databaseUrl, core: CORES.server });
    try {
      const open = { protocol: 'grpc', port: service.grpcPort, answers: 'known', key: KEY } as const;
      await generator.open({ target: 'warm', workload: 'all', connections, ...open });
      await generator.open({ target: 'check', workload: 'all', connections: 1, ...open });
      await generator.open({ target: 'explain', workload: 'explain', connections: 1, ...open });
      await generator.slice('warm', { inFlight, order: 'once', from: 0, to: 50_000 });
      await generator.slice('explain', { inFlight: 1, durationMs: warmMs });
      await service.clearCaches();
      const one = { inFlight: 1, order: 'once', from: 0, to: quick ? 1000 : 4000 } as const;
      const { p50: cold } = await generator.slice('check', one);
      const { p50 } = await generator.slice('explain', { inFlight: 1, durationMs: quick ? 1000 : 4000 });
      results.push({ explain: p50, cold });
    } finally {
      await service.stop();
      await generator.end();
    }
  }
  return results;
}

export async function effective(lab: Lab): Promise<Row[]> {
  return rowsOf('effective', await measure(lab, 'effective'), [
    ['calls, 30 permissions each, 2,000 users', '/s', (wide) => wide.perSecond, { atLeast: 8000 }],
    ...LATENCY,
  ]);
}
