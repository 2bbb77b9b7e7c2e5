/** Answers away from the database: an edge beside an instance, and the engine in the caller's own process. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createUsher } from '../../clients/typescript/src/index.ts';
import { createLocalUsher, type LocalUsher } from '../../clients/typescript/src/local.ts';
import type { Question } from '../../clients/typescript/src/types.ts';
import { makeDataset } from '../dataset.ts';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import type { BenchQuestion } from '../oracle.ts';
import { CORES, cpuSeconds } from '../processes.ts';
import { allQuestions, hotQuestions, toQuestion } from '../questions.ts';
import { median, percentile, type Row, row } from '../report.ts';
import { KEY, Service } from '../service.ts';
import type { SliceResult } from '../slice.ts';

const NAME = 'edge';
/** The instance serves facts to the key of all benchmarks. */
const KEYS = { INTERNAL_API_KEY: `bench:check+facts:${KEY}` };

/** An edge of an instance, in a process of its own. */
function startEdge(upstream: Service, core: string | null): Promise<Service> {
  const env = { ...KEYS, UPSTREAM_ADDRESS: `127.0.0.1:${upstream.grpcPort}`, UPSTREAM_KEY: KEY };
  return Service.start({ core, env });
}

export async function edge(lab: Lab): Promise<Row[]> {
  const databaseUrl = await lab.data();
  const instance = await Service.start({ databaseUrl, core: CORES.server, env: KEYS });
  const beside = await startEdge(instance, CORES.server);
  try {
    return [
      ...(await hot(lab, instance, beside)),
      ...(await cold(lab, instance, beside)),
      ...(await local(lab, instance)),
    ];
  } finally {
    await beside.stop();
    await instance.stop();
  }
}

/** The same hot questions to both, in turns. */
async function hot(lab: Lab, instance: Service, beside: Service): Promise<Row[]> {
  const { slices, sliceMs, warmMs, inFlight, connections } = lab.settings;
  const generator = new Generator();
  const sides = [
    { name: 'instance', service: instance, perSecond: [] as number[], cpu: [] as number[] },
    { name: 'edge', service: beside, perSecond: [] as number[], cpu: [] as number[] },
  ] as const;
  try {
    for (const { name, service } of sides) {
      const open = { protocol: 'grpc', port: service.grpcPort, workload: 'hot', answers: 'known', key: KEY } as const;
      await generator.open({ target: name, connections, ...open });
      await generator.slice(name, { inFlight, durationMs: warmMs });
    }
    for (let i = 0; i < slices; i++) {
      for (const side of i % 2 === 0 ? sides : [...sides].reverse()) {
        const before = cpuSeconds(side.service.pid);
        const result = await generator.slice(side.name, { inFlight, durationMs: sliceMs });
        side.perSecond.push(result.perSecond);
        side.cpu.push(((cpuSeconds(side.service.pid) - before) / result.answers) * 1e6);
      }
    }
  } finally {
    await generator.end();
  }
  const [direct, away] = sides;
  const ratios = away.perSecond.map((perSecond, i) => perSecond / (direct.perSecond[i] as number));
  return [
    row(NAME, 'hot Check at an edge, in terms of an instance', '', [median(ratios)], { atLeast: 0.95 }),
    row(NAME, 'CPU a request, edge', 'µs', [median(away.cpu)]),
    row(NAME, 'CPU a request, instance', 'µs', [median(direct.cpu)]),
  ];
}

/** 50,000 questions of which no fact is cached anywhere: at the instance, then at the edge by way of the instance. */
async function cold(lab: Lab, instance: Service, beside: Service): Promise<Row[]> {
  const { inFlight, connections, quick } = lab.settings;
  const to = quick ? 20_000 : 50_000;
  const generator = new Generator();
  const once = { inFlight, order: 'once', from: 0, to } as const;
  const measured: Record<string, SliceResult> = {};
  try {
    for (const [name, service] of Object.entries({ instance, edge: beside })) {
      const open = { protocol: 'grpc', port: service.grpcPort, workload: 'all', answers: 'known', key: KEY } as const;
      await generator.open({ target: name, connections, ...open });
      await generator.slice(name, once);
      // A change of everything: the edge forgets it all as well.
      await instance.clearCaches();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      measured[name] = await generator.slice(name, once);
    }
  } finally {
    await generator.end();
  }
  const { instance: direct, edge: away } = measured as { instance: SliceResult; edge: SliceResult };
  return [
    row(NAME, 'all cold at an edge, in terms of an instance', '', [away.perSecond / direct.perSecond], {
      atLeast: 0.5,
    }),
    row(NAME, 'all cold at an edge', '/s', [away.perSecond]),
    row(NAME, 'p50 of it', 'ms', [away.p50]),
  ];
}

async function local(lab: Lab, instance: Service): Promise<Row[]> {
  const address = `127.0.0.1:${instance.grpcPort}`;
  const all = allQuestions(makeDataset());
  const memory = await memoryOfMembers(address, all, 10_000);
  const usher = createLocalUsher({ address, key: KEY, deadlineMs: 10_000, megabytes: 64 });
  try {
    await usher.ready();
    const hundred = await held(usher, hotQuestions(all).map(toQuestion));
    const calls = lab.settings.quick ? 1_000_000 : 5_000_000;
    const runs = Array.from({ length: lab.settings.slices }, () => peeks(usher, hundred, calls / lab.settings.slices));
    const many = await held(usher, all.map(toQuestion));
    const warm = peeks(usher, many, many.length);
    const one = await singly(address, hundred);
    return [
      row(NAME, 'local: 100 hot questions, one thread', '/s', runs, { atLeast: 1_500_000 }),
      row(NAME, 'local: in terms of a Check over gRPC, one at a time', '', [median(runs) / one.check], {
        atLeast: 100,
      }),
      row(NAME, 'local: p99 of one', 'µs', [slowest(usher, hundred)], { atMost: 5 }),
      row(NAME, 'local: 50,000 questions, facts warm', '/s', [warm], { atLeast: 400_000 }),
      row(NAME, 'local: heap for 10,000 members and their decisions', 'MB', [memory], { atMost: 40 }),
      row(NAME, '50 checks of one turn, in terms of one by one', '', [one.batched / one.check], { atLeast: 10 }),
    ];
  } finally {
    usher.close();
  }
}

/** What the heap grows by for that many people in applications, in MB, garbage aside. */
async function memoryOfMembers(address: string, all: readonly BenchQuestion[], members: number): Promise<number> {
  const seen = new Set<string>();
  const asked = all.filter(({ email, app }) => seen.size < members && seen.add(`${app} ${email}`)).map(toQuestion);
  const before = heap();
  const usher = createLocalUsher({ address, key: KEY, deadlineMs: 10_000 });
  try {
    await usher.ready();
    await held(usher, asked);
    return (heap() - before) / 2 ** 20;
  } finally {
    usher.close();
  }
}

function heap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

/** The questions, once their facts are here. */
async function held(usher: LocalUsher, questions: readonly Question[]): Promise<readonly Question[]> {
  for (let from = 0; from < questions.length; from += 500) {
    await Promise.all(questions.slice(from, from + 500).map((question) => usher.check(question)));
  }
  return questions;
}

/** Answers a second; each must be here. */
function peeks(usher: LocalUsher, questions: readonly Question[], count: number): number {
  const since = performance.now();
  for (let i = 0; i < count; i++) {
    const answer = usher.peek(questions[i % questions.length] as Question);
    if (answer === undefined) throw new Error(`question ${i} is not answered here`);
  }
  return (count / (performance.now() - since)) * 1000;
}

function slowest(usher: LocalUsher, questions: readonly Question[]): number {
  const took: number[] = [];
  for (let i = 0; i < 100_000; i++) {
    const since = performance.now();
    usher.peek(questions[i % questions.length] as Question);
    took.push((performance.now() - since) * 1000);
  }
  return percentile(took, 0.99);
}

/** Checks a second over gRPC: one after the other, and in turns of 50. */
async function singly(address: string, questions: readonly Question[]): Promise<{ check: number; batched: number }> {
  const usher = createUsher({ address, key: KEY, deadlineMs: 10_000 });
  try {
    const turn = questions.slice(0, 50);
    for (let i = 0; i < 10; i++) for (const question of turn) await usher.check(question);
    const since = performance.now();
    for (let i = 0; i < 20; i++) for (const question of turn) await usher.check(question);
    const check = 1000 / ((performance.now() - since) / 1000);
    for (let i = 0; i < 20; i++) await Promise.all(turn.map((question) => usher.check(question)));
    const again = performance.now();
    for (let i = 0; i < 100; i++) await Promise.all(turn.map((question) => usher.check(question)));
    return { check, batched: 5000 / ((performance.now() - again) / 1000) };
  } finally {
    usher.close();
  }
}
