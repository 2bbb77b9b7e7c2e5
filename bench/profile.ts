/** `node bench/profile.ts hot|hot-deadlines|single|all|cold|bulk-hot|bulk|batch|batch-cold|explain|effective|effective-20|health|rest|me|activity|bare|bare-rest [seconds]`: where CPU and memory go under that load. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Generator } from './generator-client.ts';
import { Inspector, type Spent } from './inspector.ts';
import { Lab, NORMAL } from './lab.ts';
import { CORES, freePort, pinSelf, START_FLAGS, startBare, stop } from './processes.ts';
import { people, tokensOf } from './scenarios/profile.ts';
import { KEY, Service } from './service.ts';
import type { SliceOptions, SliceResult } from './slice.ts';
import type { SignedInRequest, WorkloadName } from './workloads.ts';

const LINES = 45;

interface Subject {
  protocol: 'grpc' | 'http1';
  workload: WorkloadName;
  bare: boolean;
  cold: boolean;
  /** A deadline in each call. */
  timeouts?: true;
  /** One call at a time, over one connection. */
  alone?: true;
}

const SUBJECTS: Record<string, Subject> = {
  hot: { protocol: 'grpc', workload: 'hot', bare: false, cold: false },
  'hot-deadlines': { protocol: 'grpc', workload: 'hot', bare: false, cold: false, timeouts: true },
  all: { protocol: 'grpc', workload: 'all', bare: false, cold: false },
  cold: { protocol: 'grpc', workload: 'all', bare: false, cold: true },
  'bulk-hot': { protocol: 'grpc', workload: 'bulk-hot', bare: false, cold: false },
  bulk: { protocol: 'grpc', workload: 'bulk', bare: false, cold: false },
  batch: { protocol: 'grpc', workload: 'batch', bare: false, cold: false },
  'batch-cold': { protocol: 'grpc', workload: 'batch-all', bare: false, cold: true },
  explain: { protocol: 'grpc', workload: 'explain', bare: false, cold: false },
  effective: { protocol: 'grpc', workload: 'effective', bare: false, cold: false },
  'effective-20': { protocol: 'grpc', workload: 'effective-20', bare: false, cold: false },
  health: { protocol: 'grpc', workload: 'health', bare: false, cold: false },
  single: { protocol: 'grpc', workload: 'hot', bare: false, cold: false, alone: true },
  rest: { protocol: 'http1', workload: 'rest', bare: false, cold: false },
  bare: { protocol: 'grpc', workload: 'hot', bare: true, cold: false },
  me: { protocol: 'http1', workload: 'profile', bare: false, cold: false },
  activity: { protocol: 'http1', workload: 'activity', bare: false, cold: false },
  'bare-rest': { protocol: 'http1', workload: 'rest', bare: true, cold: false },
};

interface Running {
  port: number;
  /** Of a workload of signed-in people. */
  requests?: SignedInRequest[];
  clear: () => Promise<void>;
  stop: () => Promise<void>;
}

async function bareServer(protocol: 'grpc' | 'http1', inspect: string): Promise<Running> {
  const { port, child } = await startBare(protocol, CORES.server, [...START_FLAGS, inspect]);
  return { port, clear: async () => {}, stop: () => stop(child) };
}

async function startService(lab: Lab, subject: Subject, inspect: string): Promise<Running> {
  const service = await Service.start({
    databaseUrl: await lab.data(),
    core: CORES.server,
    nodeFlags: [inspect],
    env: subject.cold ? {} : { CACHE_MEMBERS: '100000' },
  });
  const port = subject.protocol === 'grpc' ? service.grpcPort : service.httpPort;
  const requests = await signedIn(service, subject.workload);
  return { port, ...(requests ? { requests } : {}), clear: () => service.clearCaches(), stop: () => service.stop() };
}

/** A thousand people with their tokens, and what each is answered. */
async function signedIn(service: Service, workload: WorkloadName): Promise<SignedInRequest[] | undefined> {
  if (workload !== 'profile' && workload !== 'activity') return undefined;
  const emails = people(1000, 'warm');
  const tokens = await tokensOf(service, emails);
  return emails.map((email, i) => ({
    token: tokens[i] as string,
    expected: workload === 'profile' ? `"email":"${email}"` : '"recorded":',
  }));
}

function show(title: string, spent: readonly Spent[], per: number, unit: string): void {
  const total = spent.reduce((sum, s) => sum + s.amount, 0);
  console.log(`\n${title}: ${(total / per).toFixed(2)} ${unit} a call`);
  const line = (name: string, amount: number): string =>
    `${(amount / per).toFixed(3).padStart(10)} ${((amount / total) * 100).toFixed(1).padStart(5)} %  ${name}`;
  const files = new Map<string, number>();
  for (const { file, amount } of spent) files.set(file, (files.get(file) ?? 0) + amount);
  console.log('by file');
  for (const [file, amount] of [...files].sort((a, b) => b[1] - a[1]).slice(0, LINES / 2))
    console.log(line(file, amount));
  console.log('by function, itself');
  for (const { name, amount } of [...spent].sort((a, b) => b.amount - a.amount).slice(0, LINES))
    console.log(line(name, amount));
}

async function main(): Promise<void> {
  const name = process.argv[2] ?? 'hot';
  const subject = SUBJECTS[name];
  if (!subject) throw new Error(`one of ${Object.keys(SUBJECTS).join(', ')}`);
  const durationMs = Number(process.argv[3] ?? 5) * 1000;
  pinSelf();
  const lab = new Lab({ ...NORMAL, runs: 1 });
  const generator = new Generator();
  const inspectPort = await freePort();
  const inspect = `--inspect=127.0.0.1:${inspectPort}`;
  const server = subject.bare ? await bareServer(subject.protocol, inspect) : await startService(lab, subject, inspect);
  try {
    const connections = subject.alone ? 1 : subject.protocol === 'grpc' ? 4 : 64;
    const inFlight = subject.alone ? 1 : 64;
    const answers = subject.bare ? 'constant' : 'known';
    const { protocol, workload } = subject;
    const { port, requests } = server;
    const signed = { ...(requests ? { requests } : {}), timeouts: subject.timeouts ?? false };
    const open = { target: 'it', protocol, workload, port, answers, connections, key: KEY, ...signed } as const;
    const size = await generator.open(open);
    if (requests) await generator.slice('it', { inFlight: 64, order: 'once', from: 0, to: requests.length });
    const pass: Partial<SliceOptions> = { order: 'once', from: 0, to: size };
    const load = async (): Promise<SliceResult> => {
      if (subject.cold) await server.clear();
      return generator.slice('it', { inFlight, durationMs, ...(subject.cold ? pass : {}) });
    };
    if (workload === 'all') await generator.slice('it', { inFlight: 64, ...pass });
    await load();
    const inspector = await Inspector.connect(inspectPort);
    let answered = 0;
    const counted = async (): Promise<void> => {
      const result = await load();
      answered = result.answers;
      console.log(`${Math.round(result.perSecond)}/s while profiled, p50 ${result.p50} ms, p99 ${result.p99} ms`);
    };
    const { raw, spent } = await inspector.cpu(counted);
    const file = join(tmpdir(), `usher-${name}.cpuprofile`);
    writeFileSync(file, JSON.stringify(raw));
    show(`CPU (${file})`, spent, answered, 'µs');
    show('Allocations', await inspector.allocations(counted), answered, 'bytes');
    inspector.close();
  } finally {
    await server.stop();
    await generator.end();
    await lab.close();
  }
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message);
    process.exit(2);
  },
);
