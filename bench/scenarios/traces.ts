/** What traces cost: a service without an SDK and one with OpenTelemetry's, which samples one in a hundred, asked in turns. */

import { startOtlp } from '../../test/support/otlp.ts';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds } from '../processes.ts';
import { median, type Row, row } from '../report.ts';
import { KEY, Service } from '../service.ts';

const NAME = 'traces';
const KINDS = { 'calls without a trace': false, 'calls of traced callers': true } as const;

export async function traces(lab: Lab): Promise<Row[]> {
  const databaseUrl = await lab.data();
  const otlp = await startOtlp();
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
  const off = await Service.start({ databaseUrl, core: CORES.server });
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
      rows.push(...(await inTurns(lab, generator, kind, traced, { off, on })));
    }
    return [...rows, row(NAME, 'batches of spans received', '', [otlp.batches()], { atLeast: 2 })];
  } finally {
    await generator.end();
    await Promise.all([off.stop(), on.stop()]);
    await otlp.close();
  }
}

/** The same hot questions to both. */
async function inTurns(
  lab: Lab,
  generator: Generator,
  kind: string,
  traced: boolean,
  services: { off: Service; on: Service },
): Promise<Row[]> {
  const { slices, sliceMs, warmMs, inFlight, connections } = lab.settings;
  const sides = Object.entries(services).map(([name, service]) => {
    return { target: `${name}, ${kind}`, service, perSecond: [] as number[], cpu: [] as number[] };
  });
  for (const { target, service } of sides) {
    const open = { protocol: 'grpc', port: service.grpcPort, workload: 'hot', answers: 'known', key: KEY } as const;
    await generator.open({ target, connections, ...open, traces: traced });
    await generator.slice(target, { inFlight, durationMs: warmMs });
  }
  for (let i = 0; i < slices; i++) {
    for (const side of i % 2 === 0 ? sides : sides.toReversed()) {
      const before = cpuSeconds(side.service.pid);
      const result = await generator.slice(side.target, { inFlight, durationMs: sliceMs });
      side.perSecond.push(result.perSecond);
      side.cpu.push(((cpuSeconds(side.service.pid) - before) / result.answers) * 1e6);
    }
  }
  const [off, on] = sides as [(typeof sides)[number], (typeof sides)[number]];
  const ratios = on.perSecond.map((perSecond, i) => perSecond / (off.perSecond[i] as number));
  const byCpu = on.cpu.map((cpu, i) => (off.cpu[i] as number) / cpu);
  return [
    row(NAME, `${kind}: Check with traces, in terms of without`, '', [median(ratios)], { atLeast: 0.97 }),
    row(NAME, `${kind}: the same by CPU a request`, '', [median(byCpu)]),
    row(NAME, `${kind}: CPU a request without traces`, 'µs', [median(off.cpu)]),
  ];
}
