/** Calls with many decisions in one answer: BulkCheck of 50, Effective of 30. */
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds, memory } from '../processes.ts';
import { median, type Row, row } from '../report.ts';
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

function latency(name: string, results: readonly Wide[]): Row[] {
  return [
    row(
      name,
      'CPU a call',
      'µs',
      results.map((r) => r.cpu),
    ),
    row(
      name,
      'p50',
      'ms',
      results.map((r) => r.p50),
    ),
    row(
      name,
      'p99',
      'ms',
      results.map((r) => r.p99),
    ),
    row(
      name,
      'RSS after',
      'MB',
      results.map((r) => r.rss),
      { atMost: 320 },
    ),
  ];
}

export async function bulk(lab: Lab): Promise<Row[]> {
  const hot = await measure(lab, 'bulk-hot');
  const many = await measure(lab, 'bulk');
  const goal = { atLeast: 500_000 };
  return [
    row(
      'bulk',
      'decisions, 50 a call, 50 users: all cached',
      '/s',
      hot.map((r) => r.perSecond * 50),
      goal,
    ),
    ...latency('bulk, 50 users', hot),
    row(
      'bulk',
      'decisions, 50 a call, 2,000 users: facts warm',
      '/s',
      many.map((r) => r.perSecond * 50),
      goal,
    ),
    ...latency('bulk, 2,000 users', many),
  ];
}

export async function effective(lab: Lab): Promise<Row[]> {
  const results = await measure(lab, 'effective');
  return [
    row(
      'effective',
      'calls, 30 permissions each, 2,000 users',
      '/s',
      results.map((r) => r.perSecond),
      { atLeast: 8000 },
    ),
    ...latency('effective', results),
  ];
}
