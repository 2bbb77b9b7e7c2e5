/** Service and bare server side by side: fresh processes, slices taken in turns, so that a drifting machine hits both. */
import type { OpenOptions } from './generator.ts';
import { Generator } from './generator-client.ts';
import type { Lab } from './lab.ts';
import { CORES, cpuSeconds, memory, pidOf, START_FLAGS, startBare, stop } from './processes.ts';
import { median } from './report.ts';
import { KEY, Service } from './service.ts';
import type { SliceResult } from './slice.ts';
import type { SignedInRequest, WorkloadName } from './workloads.ts';

/** What one process gave: medians over its slices. Latencies in ms, CPU in µs a request, memory in MB. */
export interface Measured {
  perSecond: number;
  cpu: number;
  p50: number;
  p99: number;
  p999: number;
  rss: number;
  largest: number;
  generatorBusy: number;
}

/** One run: each server's numbers, and the service's throughput in terms of the bare one's, slice by slice. */
export interface Comparison {
  service: Measured;
  bare: Measured;
  bareDefault: Measured | null;
  ratio: number;
  /** The bare server's CPU a request in terms of the service's: steadier than throughput where others use the machine. */
  cpuRatio: number;
}

export interface CompareOptions {
  protocol: 'grpc' | 'http1';
  workload: WorkloadName;
  inFlight: number;
  connections: number;
  env?: Record<string, string>;
  /** Also a bare server with node's default heap. */
  withDefaultHeap?: boolean;
  /** None: the one with the data set. */
  databaseUrl?: string;
  /** The requests of a workload of signed-in people. The bare server gets one that is as long. */
  requestsOf?: (service: Service) => Promise<SignedInRequest[]>;
  /** What stands in every answer of such a workload, the bare server's too. */
  bareAnswers?: string;
  /** Brings the service into the state to be measured, just before the first slice. */
  prepare?: (generator: Generator, target: string) => Promise<void>;
}

export interface Side {
  name: string;
  pid: number;
  slices: { result: SliceResult; cpu: number }[];
  end: () => Promise<void>;
}

async function bare(
  generator: Generator,
  name: string,
  flags: readonly string[],
  options: CompareOptions,
): Promise<Side> {
  const { port, child } = await startBare(options.protocol, CORES.server, flags);
  const { bareAnswers: expected } = options;
  const requests = expected === undefined ? undefined : [{ token: 'x'.repeat(420), expected }];
  await generator.open({ ...openOptions(name, port, 'constant', options), ...(requests ? { requests } : {}) });
  return { name, pid: pidOf(child), slices: [], end: () => stop(child) };
}

async function service(generator: Generator, lab: Lab, options: CompareOptions): Promise<Side> {
  const started = await Service.start({
    databaseUrl: options.databaseUrl ?? (await lab.data()),
    core: CORES.server,
    ...(options.env ? { env: options.env } : {}),
  });
  const port = options.protocol === 'grpc' ? started.grpcPort : started.httpPort;
  const requests = await options.requestsOf?.(started);
  await generator.open({ ...openOptions('service', port, 'known', options), ...(requests ? { requests } : {}) });
  return { name: 'service', pid: started.pid, slices: [], end: () => started.stop() };
}

function openOptions(
  target: string,
  port: number,
  answers: 'known' | 'constant',
  options: CompareOptions,
): OpenOptions {
  const { protocol, workload, connections } = options;
  return { target, protocol, port, workload, answers, connections, key: KEY };
}

export async function measure(generator: Generator, side: Side, inFlight: number, durationMs: number): Promise<void> {
  const before = cpuSeconds(side.pid);
  const result = await generator.slice(side.name, { inFlight, durationMs });
  side.slices.push({ result, cpu: ((cpuSeconds(side.pid) - before) / result.answers) * 1e6 });
}

export function summarise(side: Side): Measured {
  const of = (pick: (result: SliceResult) => number): number => median(side.slices.map((s) => pick(s.result)));
  return {
    perSecond: of((r) => r.perSecond),
    cpu: median(side.slices.map((s) => s.cpu)),
    p50: of((r) => r.p50),
    p99: of((r) => r.p99),
    p999: of((r) => r.p999),
    generatorBusy: of((r) => r.generatorBusy),
    ...memory(side.pid),
  };
}

async function once(lab: Lab, options: CompareOptions): Promise<Comparison> {
  const { slices, sliceMs, warmMs } = lab.settings;
  const generator = new Generator();
  const sides: Side[] = [];
  try {
    const floor = await bare(generator, 'bare', START_FLAGS, options);
    sides.push(floor);
    if (options.withDefaultHeap) sides.push(await bare(generator, 'bare-default', [], options));
    const ours = await service(generator, lab, options);
    sides.push(ours);
    for (const side of sides) {
      if (side === ours) await options.prepare?.(generator, side.name);
      await generator.slice(side.name, { inFlight: options.inFlight, durationMs: warmMs });
    }
    for (let i = 0; i < slices; i++) {
      // Every second round the other way about: what one leaves behind must not always fall on the same other.
      for (const side of i % 2 === 0 ? sides : [...sides].reverse())
        await measure(generator, side, options.inFlight, sliceMs);
    }
    const pairs = ours.slices.map((s, i) => ({ ours: s, floor: floor.slices[i] as (typeof floor.slices)[number] }));
    return {
      service: summarise(ours),
      bare: summarise(floor),
      bareDefault: sides.length === 3 ? summarise(sides[1] as Side) : null,
      ratio: median(pairs.map((p) => p.ours.result.perSecond / p.floor.result.perSecond)),
      cpuRatio: median(pairs.map((p) => p.floor.cpu / p.ours.cpu)),
    };
  } finally {
    for (const side of sides) await side.end();
    await generator.end();
  }
}

/** `runs` comparisons, each with processes of its own. */
export async function compare(lab: Lab, name: string, options: CompareOptions): Promise<Comparison[]> {
  const results: Comparison[] = [];
  if (options.databaseUrl === undefined) await lab.data();
  for (let run = 1; run <= lab.settings.runs; run++) {
    const result = await once(lab, options);
    lab.say(
      `${name} ${run}/${lab.settings.runs}: service ${Math.round(result.service.perSecond)}/s, ` +
        `bare ${Math.round(result.bare.perSecond)}/s, ratio ${result.ratio.toFixed(3)} (CPU ${result.cpuRatio.toFixed(3)}), ` +
        `p99 ${result.service.p99.toFixed(2)} and ${result.bare.p99.toFixed(2)} ms`,
    );
    results.push(result);
  }
  return results;
}
