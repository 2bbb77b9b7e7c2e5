/** One's own profile: with a warm token beside a bare Express route, first requests of everybody at once, and activity. */
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { openLocalIssuer } from '../../src/identity/local-issuer.ts';
import { type Comparison, compare } from '../compare.ts';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds } from '../processes.ts';
import { percentile, type Row, row, rowsOf } from '../report.ts';
import { send, sendRight } from '../rest-calls.ts';
import { Service } from '../service.ts';

/** As many tokens as one instance may see in a while. */
const WARM_PEOPLE = 1000;
const FIRST_AT_ONCE = 500;
const ACTIVE_PEOPLE = 1000;
const APP = 'billing';

export async function tokensOf(service: Service, emails: readonly string[]): Promise<string[]> {
  const issuer = await openLocalIssuer({ dataDir: service.dataDir, clock: systemClock });
  return await Promise.all(emails.map((email) => issuer.sign(email)));
}

export const people = (count: number, what: string): string[] =>
  Array.from({ length: count }, (_, i) => `${what}${i}@example.com`);

async function warm(lab: Lab): Promise<Row[]> {
  const name = 'profile';
  const { inFlight } = lab.settings;
  const results: Comparison[] = await compare(lab, name, {
    protocol: 'http1',
    workload: 'profile',
    inFlight,
    connections: inFlight,
    bareAnswers: '"email":',
    databaseUrl: await lab.emptyDatabase(),
    // Everybody's first request, and the check of every token's signature, lie before.
    requestsOf: async (service) => {
      const emails = people(WARM_PEOPLE, 'warm');
      const tokens = await tokensOf(service, emails);
      return emails.map((email, i) => ({ token: tokens[i] as string, expected: `"email":"${email}"` }));
    },
    prepare: async (generator, target) => {
      await generator.slice(target, { inFlight, order: 'once', from: 0, to: WARM_PEOPLE });
    },
  });
  return rowsOf(name, results, [
    ['GET /api/profile/me in terms of a bare Express route', '', ({ ratio }) => ratio, { atLeast: 0.5 }],
    ['the same by CPU a request', '', ({ cpuRatio }) => cpuRatio],
    ['service', '/s', ({ service }) => service.perSecond],
    ['bare', '/s', ({ bare }) => bare.perSecond],
    ['CPU a request, service', 'µs', ({ service }) => service.cpu],
    ['CPU a request, bare', 'µs', ({ bare }) => bare.cpu],
    ['p99, service', 'ms', ({ service }) => service.p99],
    ['p99, bare', 'ms', ({ bare }) => bare.p99],
  ]);
}

async function first(lab: Lab): Promise<Row[]> {
  const count = lab.settings.users / 10;
  const url = await lab.emptyDatabase();
  const service = await Service.start({ databaseUrl: url, core: null });
  try {
    const emails = people(count, 'first');
    const tokens = await tokensOf(service, emails);
    const latencies: number[] = [];
    const ids = new Set<number>();
    const errors = new Map<string, number>();
    let next = 0;
    const before = cpuSeconds(service.pid);
    const began = performance.now();
    const come = async (): Promise<void> => {
      for (let i = next++; i < count; i = next++) {
        const startedAt = performance.now();
        const { status, body } = await send(service.url, tokens[i] as string, {
          method: 'GET',
          path: '/api/profile/me',
        });
        latencies.push(performance.now() - startedAt);
        if (status === 200 && body.data.email === emails[i]) ids.add(body.data.id);
        else errors.set(`${status} ${body.code}`, (errors.get(`${status} ${body.code}`) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: FIRST_AT_ONCE }, come));
    const seconds = (performance.now() - began) / 1000;
    const cpu = (cpuSeconds(service.pid) - before) / count;
    for (const [what, times] of errors) lab.say(`profile: ${times} first requests were answered ${what}`);
    const failed = [...errors.values()].reduce((sum, times) => sum + times, 0);
    lab.say(
      `profile: ${count} first requests in ${seconds.toFixed(1)} s, p99 ${percentile(latencies, 0.99).toFixed(0)} ms`,
    );
    return [
      row('profile', `first requests, ${FIRST_AT_ONCE} at once`, '/s', [count / seconds]),
      row('profile', `errors of ${count}`, '', [failed], { atMost: 0 }),
      row('profile', 'duplicates', '', [count - failed - ids.size], { atMost: 0 }),
      row('profile', 'CPU a first request, service', 'µs', [cpu * 1e6]),
      row('profile', 'p99 of a first request', 'ms', [percentile(latencies, 0.99)]),
    ];
  } finally {
    await service.stop();
  }
}

/** Rows of preferences that were written so far, as the server counts them. */
async function written(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // The service's sessions report what they did at the latest a second after.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const { rows } = await client.query<{ written: string }>(
    `select n_tup_ins + n_tup_upd as written from pg_stat_user_tables where relname = 'app_preference'`,
  );
  await client.end();
  return Number(rows[0]?.written);
}

async function activity(lab: Lab): Promise<Row[]> {
  const url = await lab.emptyDatabase();
  const service = await Service.start({ databaseUrl: url, core: CORES.server });
  const generator = new Generator();
  try {
    const admin = await service.adminToken();
    await sendRight(service.url, admin, {
      method: 'POST',
      path: '/api/applications',
      body: { code: APP, name: 'Billing' },
    });
    const tokens = await tokensOf(service, people(ACTIVE_PEOPLE, 'active'));
    const target = 'service';
    await generator.open({
      target,
      protocol: 'http1',
      port: service.httpPort,
      workload: 'activity',
      answers: 'known',
      connections: lab.settings.inFlight,
      key: undefined,
      requests: tokens.map((token) => ({ token, expected: '"recorded":' })),
    });
    const before = await written(url);
    const { inFlight } = lab.settings;
    // Everybody's one write; what comes after it is to be free.
    const first = await generator.slice(target, { inFlight, order: 'once', from: 0, to: ACTIVE_PEOPLE });
    await generator.slice(target, { inFlight, durationMs: lab.settings.warmMs });
    const result = await generator.slice(target, {
      inFlight,
      durationMs: lab.settings.quick ? 3000 : 6000,
    });
    const writes = (await written(url)) - before;
    return [
      row('profile', `activity of ${ACTIVE_PEOPLE} people, ${lab.settings.inFlight} at once`, '/s', [result.perSecond]),
      row('profile', 'p99 of it', 'ms', [result.p99]),
      row('profile', "p99 of a person's first, which writes", 'ms', [first.p99]),
      row('profile', `writes a person for it all, in less than five minutes`, '', [writes / ACTIVE_PEOPLE], {
        atMost: 1,
      }),
    ];
  } finally {
    await service.stop();
    await generator.end();
  }
}

export async function profile(lab: Lab): Promise<Row[]> {
  return [...(await warm(lab)), ...(await first(lab)), ...(await activity(lab))];
}
