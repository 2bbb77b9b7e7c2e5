/**
 * What traces cost: services without an SDK and one with OpenTelemetry's, which samples one in a hundred, asked in turns. What counts
 * is processor time, by the medians of many short rounds: other programs of the machine change it in all of them alike. Two services
 * without an SDK say how far two processes of the same code are apart.
 */

import { startOtlp } from '../../test/support/otlp.ts';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds } from '../processes.ts';
import { median, percentile, type Row, row } from '../report.ts';
import { KEY, Service } from '../service.ts';

const NAME = 'traces';
const ROUNDS_A_SLICE = 6;
const ROUND_MS = 150;
/** Until the code of spans, which one call in a hundred runs, is compiled as that of a service is that has run for a while. */
const WARM_ANSWERS = 400_000;
const WARM_ROUNDS = 8;
const KINDS = { 'calls without a trace': false, 'calls of traced callers': true } as const;

export async function traces(lab: Lab): Promise<Row[]> {
  const databaseUrl = await lab.data();
  const otlp = await startOtlp();
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
  const off = await Service.start({ databaseUrl, core: CORES.server });
  const again = await Service.start({ databaseUrl, core: CORES.server });
  const on = await Service.start({
    databaseUrl,
    core: CORES.server,
    // As the SDK does by itself.
    env: { ...otlp.env, ...sampled, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_BSP_SCHEDULE_DELAY: '1000' },
  });
  const generator = new Generator();
  try {
    const rows: Row[] = [];
    for (const [kind, traced] of Object.entries(KINDS)) {
      rows.push(...(await inTurns(lab, generator, kind, traced, { off, again, on })));
    }
    return [...rows, row(NAME, 'batches of spans received', '', [otlp.batches()], { atLeast: 2 })];
  } finally {
    await generator.end();
    await Promise.all([off.stop(), again.stop(), on.stop()]);
    await otlp.close();
  }
}

type Sides<T> = Record<'off' | 'again' | 'on', T>;

/** The same hot questions to all. */
async function inTurns(
  lab: Lab,
  generator: Generator,
  kind: string,
  traced: boolean,
  services: Sides<Service>,
): Promise<Row[]> {
  const { slices, warmMs, inFlight, connections } = lab.settings;
  const sides = Object.entries(services).map(([name, service]) => {
    return { name, target: `${name}, ${kind}`, service, cpu: [] as number[] };
  });
  for (const { target, service } of sides) {
    const open = { protocol: 'grpc', port: service.grpcPort, workload: 'hot', answers: 'known', key: KEY } as const;
    await generator.open({ target, connections, ...open, traces: traced });
    await warm(generator, target, { inFlight, durationMs: warmMs });
  }
  for (let i = 0; i < slices * ROUNDS_A_SLICE; i++) {
    for (const side of i % 2 === 0 ? sides : sides.toReversed()) {
      const before = cpuSeconds(side.service.pid);
      const { answers } = await generator.slice(side.target, { inFlight, durationMs: ROUND_MS });
      side.cpu.push(((cpuSeconds(side.service.pid) - before) / answers) * 1e6);
    }
  }
  const cpu = Object.fromEntries(sides.map((side) => [side.name, side.cpu])) as Sides<number[]>;
  const without = cpu.off.map((us, i) => (us + (cpu.again[i] as number)) / 2);
  const ratios = cpu.on.map((us, i) => (without[i] as number) / us);
  const control = cpu.again.map((us, i) => (cpu.off[i] as number) / us);
  return [
    row(NAME, `${kind}: Check without traces by processor time, in terms of with`, '', ratios, { atLeast: 0.97 }),
    row(NAME, `${kind}: the same, a quarter of the rounds below`, '', [percentile(ratios, 0.25)]),
    row(NAME, `${kind}: the same, a quarter of the rounds above`, '', [percentile(ratios, 0.75)]),
    row(NAME, `${kind}: the same of the quietest tenth of each`, '', [quietest(without) / quietest(cpu.on)]),
    row(NAME, `${kind}: one service without traces in terms of the other`, '', [median(control)]),
    row(NAME, `${kind}: processor time of a Check without traces`, 'µs', [median(without)]),
  ];
}

async function warm(
  generator: Generator,
  target: string,
  slice: { inFlight: number; durationMs: number },
): Promise<void> {
  let answers = 0;
  for (let i = 0; i < WARM_ROUNDS && answers < WARM_ANSWERS; i++) {
    answers += (await generator.slice(target, slice)).answers;
  }
}

/** What others leave alone is what the code costs. */
function quietest(cpu: readonly number[]): number {
  return percentile(cpu, 0.1);
}
