/** An application with 100,000 overrides is deleted while Check is asked about others: what those who ask notice. */
import pg from 'pg';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES } from '../processes.ts';
import { median, type Row, rowsOf } from '../report.ts';
import { sendRight } from '../rest-calls.ts';
import { KEY, Service } from '../service.ts';

/** Far below what the service can do: a latency then is what one call costs, and not a place in a queue. */
const IN_FLIGHT = 8;
const NORMAL_SLICES = 3;

/** An application `doomed` with ten permissions and overrides of the data set's users. */
async function addDoomed(url: string, overrides: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`insert into application (code, name) values ('doomed', 'Doomed')`);
    await client.query(`insert into permission (application_id, code, tiered)
      select a.id, 'p' || i, false from application a, generate_series(1, 10) i where a.code = 'doomed'`);
    await client.query(
      `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
       select p.person, a.id, 'document', i::text, pe.id, false, 1
       from application a, generate_series(1, $1::int) i
         join (select id as person, row_number() over (order by id) - 1 as n from person) p on p.n = i % (select count(*) from person)
         join permission pe on pe.code = 'p' || (i % 10 + 1)
       where a.code = 'doomed' and pe.application_id = a.id`,
      [overrides],
    );
    await client.query(`insert into policy_change (revision, nonce, scopes)
      select max(revision) + 1, 'bench', array['*'] from policy_change`);
    await client.query('vacuum analyze resource_override');
  } finally {
    await client.end();
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

interface Noticed {
  deleteMs: number;
  normal: number;
  /** While PostgreSQL works as hard for something else: with two cores it shares the generator's. */
  busy: number;
  during: number;
  worst: number;
}

async function once(lab: Lab, overrides: number): Promise<Noticed> {
  const url = await lab.copyOf(await lab.data());
  await lab.postgresGivesWay();
  await addDoomed(url, overrides);
  // Sized to hold the facts of all who are asked about, as in check-all-warm.
  const env = { CACHE_PERSONS: '20000', CACHE_MEMBERS: '100000' };
  const service = await Service.start({ databaseUrl: url, core: CORES.server, env });
  const generator = new Generator();
  try {
    const token = await service.adminToken();
    const target = 'service';
    const open = { protocol: 'grpc', port: service.grpcPort, answers: 'known', key: KEY } as const;
    await generator.open({ target, workload: 'all', connections: 4, ...open });
    await generator.slice(target, { inFlight: 64, order: 'once', from: 0, to: 50_000 });
    const normal: number[] = [];
    const durationMs = 1500;
    for (let i = 0; i < NORMAL_SLICES; i++) {
      normal.push((await generator.slice(target, { inFlight: IN_FLIGHT, durationMs })).p99);
    }
    const busySlice = generator.slice(target, { inFlight: IN_FLIGHT, durationMs });
    await keepBusy(url);
    const busy = await busySlice;
    // The slice lasts as long as the normal ones, and the deletion begins with it.
    const slice = generator.slice(target, { inFlight: IN_FLIGHT, durationMs });
    const startedAt = performance.now();
    await sendRight(service.url, token, { method: 'DELETE', path: '/api/applications/doomed' });
    const deleteMs = performance.now() - startedAt;
    const during = await slice;
    return { deleteMs, normal: median(normal), busy: busy.p99, during: during.p99, worst: during.max };
  } finally {
    await service.stop();
    await generator.end();
  }
}

export async function applicationDelete(lab: Lab): Promise<Row[]> {
  const name = 'application-delete';
  const overrides = lab.settings.users;
  const runs: Noticed[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const noticed = await once(lab, overrides);
    runs.push(noticed);
    lab.say(
      `${name} ${run}/${lab.settings.runs}: ${Math.round(noticed.deleteMs)} ms, Check p99 ${noticed.normal.toFixed(2)} and ${noticed.during.toFixed(2)} ms`,
    );
  }
  return rowsOf(name, runs, [
    [`deletion with ${overrides} overrides`, 'ms', ({ deleteMs }) => deleteMs],
    ['p99 of Check, normal', 'ms', ({ normal }) => normal],
    ['p99 of Check meanwhile', 'ms', ({ during }) => during],
    ['the same in terms of the normal one', '', ({ during, normal }) => during / normal, { atMost: 2 }],
    ['p99 of Check while PostgreSQL works for something else', 'ms', ({ busy }) => busy],
    ['longest Check meanwhile', 'ms', ({ worst }) => worst],
  ]);
}
