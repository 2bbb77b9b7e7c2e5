/** Exports of a manifest of 60,000 rows: what those who ask Check notice, and what is left of them once their callers have gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkBeside, type Noticed } from '../beside.ts';
import type { Lab } from '../lab.ts';
import { CORES, spawnPinned, stop } from '../processes.ts';
import { type Row, rowsOf } from '../report.ts';
import { sendRight } from '../rest-calls.ts';
import { KEY, type Service } from '../service.ts';
import { addDoomed } from './application-delete.ts';

const CALLERS = 8;
const ROWS = 60_000;
const SLICE_MS = 4000;
/** Of those who leave. */
const LEAVING = 40;
const LEAVING_AFTER_MS = 400;

interface Left {
  /** From the leaving of all until another caller's profile is answered, and until no statement of the service is at work. */
  profileMs: number;
  restMs: number;
}

const keyOf = (caller: number): string => `${caller}`.padStart(32, 'k');
const keys = Array.from({ length: CALLERS }, (_, caller) => `caller${caller}:manifest:${keyOf(caller)}`);

/** Each caller asks for the next answer once it has read the last. */
async function inTurns(work: (caller: number) => Promise<unknown>): Promise<void> {
  const end = performance.now() + SLICE_MS;
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      while (performance.now() < end) await work(caller);
    }),
  );
}

/** One that the service has no place for now is asked for again by the next turn. */
async function exportOnce(service: Service, caller: number, signal?: AbortSignal): Promise<void> {
  const response = await fetch(`${service.url}/api/applications/doomed/manifest`, {
    headers: { 'x-internal-api-key': keyOf(caller) },
    ...(signal === undefined ? {} : { signal }),
  });
  // As a caller does that was told to come again.
  if (response.status === 429) {
    await response.body?.cancel();
    return sleep(Number(response.headers.get('retry-after') ?? '1') * 1000);
  }
  if (!response.ok) throw new Error(`an export answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
  for await (const _ of response.body ?? []);
}

/** How many statements of others PostgreSQL is at work for. */
async function atWork(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle' and query not like 'listen%'`,
  );
  return rows[0]?.count ?? 0;
}

/** As many threads as write exports on two cores, on the server's, which make nothing. */
async function spin(): Promise<void> {
  const spinning = [1, 2].map(() => spawnPinned(CORES.server, ['-e', 'for (;;);']));
  await sleep(SLICE_MS);
  await Promise.all(spinning.map(stop));
}

async function leave(service: Service, token: string, url: string): Promise<Left> {
  const leaving = new AbortController();
  // Refused (too many a caller) and ended ones alike: what counts is what they leave behind.
  const exports = Array.from({ length: LEAVING }, (_, i) => exportOnce(service, i % CALLERS, leaving.signal));
  const settled = Promise.allSettled(exports);
  await sleep(LEAVING_AFTER_MS);
  leaving.abort();
  const startedAt = performance.now();
  await sendRight(service.url, token, { method: 'GET', path: '/api/profile/me' });
  const profileMs = performance.now() - startedAt;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  while ((await atWork(client)) > 0) await sleep(10);
  const restMs = performance.now() - startedAt;
  await client.end();
  await settled;
  return { profileMs, restMs };
}

async function once(lab: Lab): Promise<Noticed & Left> {
  const url = await lab.copyOf(await lab.data());
  await lab.postgresGivesWay();
  await addDoomed(url, ROWS);
  let left: Left = { profileMs: Number.NaN, restMs: Number.NaN };
  const noticed = await checkBeside(
    url,
    async (service, token) => {
      await inTurns((caller) => exportOnce(service, caller));
      left = await leave(service, token, url);
    },
    {
      env: { INTERNAL_API_KEY: [`bench:check:${KEY}`, ...keys].join(',') },
      sliceMs: SLICE_MS,
      control: spin,
    },
  );
  return { ...noticed, ...left };
}

export async function besideExports(lab: Lab): Promise<Row[]> {
  const name = 'beside-exports';
  const runs: (Noticed & Left)[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const one = await once(lab);
    runs.push(one);
    lab.say(
      `${name} ${run}/${lab.settings.runs}: Check p99 ${one.normal.toFixed(2)}, ${one.busy.toFixed(2)} and ${one.during.toFixed(2)} ms`,
    );
  }
  return rowsOf(name, runs, [
    ['p99 of Check, normal', 'ms', ({ normal }) => normal],
    ['p99 of Check beside two threads that only count', 'ms', ({ busy }) => busy],
    ['p99 of Check beside eight exports', 'ms', ({ during }) => during],
    ['the same in terms of those threads', '', ({ during, busy }) => during / busy, { atMost: 2 }],
    ['longest Check meanwhile', 'ms', ({ worst }) => worst],
    [`a profile, once ${LEAVING} callers have left`, 'ms', ({ profileMs }) => profileMs, { atMost: 1000 }],
    ['from their leaving until PostgreSQL rests', 'ms', ({ restMs }) => restMs, { atMost: 1000 }],
  ]);
}
