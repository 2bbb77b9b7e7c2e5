/**
 * The ladder: bare grpc-js with node's default heap, the same with the service's node flags, the service without its front and with
 * it, in turns; with few and many connections, with a deadline in each call, by TLS. And what the front costs those that it does
 * not answer.
 */
import { writeFileSync } from 'node:fs';
import type { Measured } from '../compare.ts';
import { Generator } from '../generator-client.ts';
import { memoryOfIdle } from '../idle-connections.ts';
import type { Lab } from '../lab.ts';
import { ladderPlot } from '../ladder-plot.ts';
import { median, type Row, row } from '../report.ts';
import { RUNGS, type RungName, Rungs, type Setting, type Steps } from '../rungs.ts';
import { KEY, Service } from '../service.ts';

const NAME = 'ladder';
const CONNECTIONS = [1, 4, 16, 256];
const IDLE = 1000;
/** Of check-hot, and of the goals below. */
const USUAL = 4;
const EFFECTIVE = 'Effective of 20 permissions';

type Goals = Partial<Record<'ratio' | 'p99', { atLeast: number } | { atMost: number }>>;

const of = (steps: Steps, name: RungName): Measured => steps.get(name) as Measured;
const FRONT = 'with the front';
const DIRECT = 'without the front';

/** The front in terms of the bare server with the same flags. */
function rowsOf({ title, runs }: Setting, goals: Goals = {}): Row[] {
  const measure = (text: string, unit: string, pick: (steps: Steps) => number, goal?: Goals['ratio']) =>
    row(NAME, `${title}: ${text}`, unit, runs.map(pick), goal);
  return [
    measure('front, to bare', '', (s) => of(s, FRONT).perSecond / of(s, 'bare').perSecond, goals.ratio),
    measure('front, to bare by CPU', '', (s) => of(s, 'bare').cpu / of(s, FRONT).cpu),
    measure('without the front, to bare', '', (s) => of(s, DIRECT).perSecond / of(s, 'bare').perSecond),
    measure('front, p99 to bare', '', (s) => of(s, FRONT).p99 / of(s, 'bare').p99, goals.p99),
    ...RUNGS.filter((name) => runs[0]?.has(name)).flatMap((name) => [
      measure(name, '/s', (s) => of(s, name).perSecond),
      measure(`${name}, CPU`, 'µs', (s) => of(s, name).cpu),
      measure(`${name}, p50`, 'ms', (s) => of(s, name).p50),
      measure(`${name}, p99`, 'ms', (s) => of(s, name).p99),
    ]),
    measure('generator busy at the front', 'of its core', (s) => of(s, FRONT).generatorBusy),
  ];
}

/** A table for docs/evidence/performance.md: a line a setting. */
function markdown(settings: readonly Setting[]): string {
  const line = ({ title, runs }: Setting): string => {
    const value = (name: RungName, pick: (measured: Measured) => number) =>
      median(runs.flatMap((steps) => (steps.has(name) ? [pick(of(steps, name))] : [])));
    const cells = RUNGS.map((name) => {
      const [rate, cpu] = [value(name, (m) => m.perSecond / 1000), value(name, (m) => m.cpu)];
      const [p50, p99] = [value(name, (m) => m.p50), value(name, (m) => m.p99)];
      return Number.isNaN(rate)
        ? '–'
        : `${rate.toFixed(1)} · ${cpu.toFixed(1)} · ${p50.toFixed(2)} · ${p99.toFixed(2)}`;
    });
    const ratio = median(runs.map((steps) => of(steps, FRONT).perSecond / of(steps, 'bare').perSecond));
    const byCpu = median(runs.map((steps) => of(steps, 'bare').cpu / of(steps, FRONT).cpu));
    const busy = median(runs.map((steps) => of(steps, FRONT).generatorBusy));
    return `| ${[title, ...cells, ratio.toFixed(1), byCpu.toFixed(1), busy.toFixed(2)].join(' | ')} |`;
  };
  const head = ['k/s · CPU µs · p50 · p99 ms', ...RUNGS, 'front to bare', 'by CPU', 'generator busy'];
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...settings.map(line)].join('\n');
}

const titleOf = (connections: number, timeouts: boolean): string =>
  `${connections} connection${connections === 1 ? '' : 's'}${timeouts ? ', deadlines' : ''}`;

/** What all the measurements of a run add to. */
class Results {
  readonly #runs = new Map<string, Steps[]>();

  add(title: string, steps: Steps): void {
    this.#runs.set(title, [...(this.#runs.get(title) ?? []), steps]);
  }

  get(title: string): Setting {
    return { title, runs: this.#runs.get(title) ?? [] };
  }
}

async function cleartext(lab: Lab, results: Results, idle: number[][]): Promise<void> {
  const rungs = await Rungs.start(lab, RUNGS);
  const usual = { connections: USUAL, inFlight: lab.settings.inFlight, timeouts: false, workload: 'hot' } as const;
  try {
    for (const connections of CONNECTIONS) {
      for (const timeouts of [false, true]) {
        const inFlight = Math.max(connections, usual.inFlight);
        results.add(titleOf(connections, timeouts), await rungs.measure({ ...usual, connections, inFlight, timeouts }));
      }
    }
    results.add(EFFECTIVE, await rungs.measure({ ...usual, workload: 'effective-20' }));
    results.add('one at a time', await rungs.measure({ ...usual, connections: 1, inFlight: 1 }));
  } finally {
    await rungs.end();
  }
  const passing = await Rungs.start(lab, [DIRECT, FRONT]);
  try {
    // In fresh processes: what a heap has taken once it can use again.
    const servers = passing.servers;
    idle.push([]);
    for (const name of [DIRECT, FRONT] as const) {
      idle.at(-1)?.push(await memoryOfIdle(servers.get(name) as { pid: number; port: number }, IDLE));
    }
    results.add('passed on', await passing.measure({ ...usual, workload: 'health' }));
  } finally {
    await passing.end();
  }
}

async function byTls(lab: Lab, results: Results): Promise<void> {
  const rungs = await Rungs.start(lab, ['bare', DIRECT, FRONT], true);
  const { inFlight } = lab.settings;
  try {
    results.add('TLS', await rungs.measure({ connections: USUAL, inFlight, timeouts: false, workload: 'hot' }));
  } finally {
    await rungs.end();
  }
}

/** Calls a second of one process and of two, on all cores that the generator leaves. */
async function processes(lab: Lab, front: boolean): Promise<number[]> {
  const { slices, sliceMs, warmMs, inFlight } = lab.settings;
  const generator = new Generator();
  const services: Service[] = [];
  const rates: number[][] = [[], []];
  try {
    for (const count of [1, 2]) {
      const env = { GRPC_FRONT: String(front), GRPC_PROCESSES: String(count) };
      const service = await Service.start({ databaseUrl: await lab.data(), core: null, env });
      services.push(service);
      const [target, port] = [String(count), service.grpcPort];
      await generator.open({
        target,
        port,
        protocol: 'grpc',
        workload: 'hot',
        answers: 'known',
        connections: 16,
        key: KEY,
      });
      await generator.slice(target, { inFlight, durationMs: warmMs });
    }
    for (let i = 0; i < slices * 2; i++) {
      const { perSecond } = await generator.slice(String((i % 2) + 1), { inFlight, durationMs: sliceMs });
      rates[i % 2]?.push(perSecond);
    }
  } finally {
    for (const service of services) await service.stop();
    await generator.end();
  }
  return rates.map(median);
}

export async function ladder(lab: Lab): Promise<Row[]> {
  const results = new Results();
  const idle: number[][] = [];
  const several: number[][] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    await cleartext(lab, results, idle);
    await byTls(lab, results);
    several.push([...(await processes(lab, false)), ...(await processes(lab, true))]);
    lab.say(`${NAME} ${run}/${lab.settings.runs} done`);
  }
  const hot = CONNECTIONS.map((connections) => results.get(titleOf(connections, false)));
  const late = CONNECTIONS.map((connections) => results.get(titleOf(connections, true)));
  const [alone, tls, wide, passed] = ['one at a time', 'TLS', EFFECTIVE, 'passed on'].map((title) =>
    results.get(title),
  ) as [Setting, Setting, Setting, Setting];
  lab.say(`for docs/evidence/performance.md\n${markdown([...hot, ...late, tls, wide, alone])}`);
  const { svg } = lab.settings;
  if (svg !== undefined) writeFileSync(svg, ladderPlot(CONNECTIONS, hot, late));
  const toBare = (steps: Steps): number => of(steps, FRONT).p50 / of(steps, 'bare').p50;
  const isUsual = (at: number): boolean => CONNECTIONS[at] === USUAL;
  return [
    ...hot.flatMap((one, at) => rowsOf(one, isUsual(at) ? { ratio: { atLeast: 12 }, p99: { atMost: 0.25 } } : {})),
    ...late.flatMap((one, at) => rowsOf(one, isUsual(at) ? { ratio: { atLeast: 7 } } : {})),
    ...rowsOf(tls, { ratio: { atLeast: 6 } }),
    ...rowsOf(wide, { ratio: { atLeast: 1 } }),
    row(NAME, 'one at a time: front, p50 to bare', '', alone.runs.map(toBare), { atMost: 0.5 }),
    ...RUNGS.map((name) =>
      row(
        NAME,
        `one at a time: ${name}, p50`,
        'µs',
        alone.runs.map((steps) => of(steps, name).p50 * 1000),
      ),
    ),
    row(
      NAME,
      'passed on to grpc-js (health): CPU to that without the front',
      '',
      passed.runs.map((steps) => of(steps, FRONT).cpu / of(steps, DIRECT).cpu),
      { atMost: 1.3 },
    ),
    ...idleRows(idle),
    ...severalRows(several),
  ];
}

function idleRows(runs: readonly (readonly number[])[]): Row[] {
  const at = (place: number): number[] => runs.map((run) => run[place] as number);
  return [
    row(NAME, `an idle connection of ${IDLE}, with the front`, 'KB', at(1), { atMost: 30 }),
    row(NAME, `an idle connection of ${IDLE}, without`, 'KB', at(0)),
  ];
}

function severalRows(runs: readonly (readonly number[])[]): Row[] {
  const ratio = (place: number): number[] => runs.map((run) => (run[place + 1] as number) / (run[place] as number));
  return [
    row(NAME, 'two processes to one, without the front (the generator on one of the cores)', '', ratio(0)),
    row(NAME, 'two processes to one, with the front (the same)', '', ratio(2)),
  ];
}
