/** What those who ask Check notice of a long write. */
import pg from 'pg';
import { Generator } from './generator-client.ts';
import { CORES } from './processes.ts';
import { median } from './report.ts';
import { KEY, Service } from './service.ts';

/** Far below what the service can do: a latency then is what one call costs, and not a place in a queue. */
const IN_FLIGHT = 8;
const NORMAL_SLICES = 3;
const SLICE_MS = 1500;

/** Milliseconds; of Check, the p99 but for `worst`. */
export interface Noticed {
  workMs: number;
  normal: number;
  /** While PostgreSQL works as hard for something else: with two cores it shares the generator's. */
  busy: number;
  during: number;
  worst: number;
}

export interface BesideOptions {
  env?: Record<string, string>;
  /** How long Check is asked beside the work; as long as normally without. */
  sliceMs?: number;
  /** What loads the machine in the slice that is compared; about a second of PostgreSQL's time without. */
  control?: (service: Service, token: string) => Promise<void>;
}

/** Asks a service on a copy of the data set, normally and beside `work`, which begins with the slice. */
export async function checkBeside(
  databaseUrl: string,
  work: (service: Service, token: string) => Promise<void>,
  options: BesideOptions = {},
): Promise<Noticed> {
  // Sized to hold the facts of all who are asked about, as in check-all-warm.
  const env = { CACHE_PERSONS: '20000', CACHE_MEMBERS: '100000', ...options.env };
  const service = await Service.start({ databaseUrl, core: CORES.server, env });
  const generator = new Generator();
  try {
    const token = await service.adminToken();
    const target = 'service';
    const open = { protocol: 'grpc', port: service.grpcPort, answers: 'known', key: KEY } as const;
    await generator.open({ target, workload: 'all', connections: 4, ...open });
    await generator.slice(target, { inFlight: 64, order: 'once', from: 0, to: 50_000 });
    const durationMs = options.sliceMs ?? SLICE_MS;
    const slice = () => generator.slice(target, { inFlight: IN_FLIGHT, durationMs });
    const normal: number[] = [];
    for (let i = 0; i < NORMAL_SLICES; i++) normal.push((await slice()).p99);
    const load = options.control ?? (() => keepBusy(databaseUrl));
    // As long as the normal ones.
    const [busy] = await Promise.all([slice(), load(service, token)]);
    const startedAt = performance.now();
    const [during, workMs] = await Promise.all([
      slice(),
      work(service, token).then(() => performance.now() - startedAt),
    ]);
    return { workMs, normal: median(normal), busy: busy.p99, during: during.p99, worst: during.max };
  } finally {
    await service.stop();
    await generator.end();
  }
}

/** About a second of one server process's time, which touches nothing that Check reads. */
async function keepBusy(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`set max_parallel_workers_per_gather = 0`);
  await client.query(`select count(*) from generate_series(1, 1500000) i where md5(i::text) = ''`);
  await client.end();
}
