/**
 * `node bench/soak.ts [--minutes 60] [--svg FILE]`: mixed load on one process with all roles, on PostgreSQL, far below what it can do,
 * and every ten seconds what it uses. It passes when nothing was answered wrongly or failed and neither what it holds nor its open
 * files grew between the second and the last quarter.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { mailBody, signature } from '../test/provider/mail/provider-mails.ts';
import { grown } from './floor.ts';
import { Generator } from './generator-client.ts';
import { HELD_TIMES, type HeldMB, heldBy, inWords } from './held.ts';
import { Inspector } from './inspector.ts';
import { Lab, QUICK } from './lab.ts';
import { APP, Newsroom, ORGANIZATION, reader, SIGNING_KEY } from './newsroom.ts';
import { plots, type Series } from './plot.ts';
import { cpuSeconds, freePort, memory, pinSelf, preferOwnSession, runToEnd } from './processes.ts';
import { median, type Row, row, table } from './report.ts';
import { listen } from './scenarios/streams.ts';
import { KEY } from './service.ts';

const SAMPLE_MS = 10_000;
const SAMPLES_A_CONNECTION = 12;
const READERS = 2000;
const CHECKS_PER_SECOND = 500;
const WEBHOOK_SECRET = 'a-secret-of-the-soak-test-0123456789';

interface Sample {
  rssMB: number;
  files: number;
  cpuPercent: number;
  checkP99: number;
  waiting: number;
}

/** What the people, backends, administrators and the provider of one small company do, over and over. */
class Company {
  done = 0;
  readonly #room: Newsroom;
  readonly #over: AbortSignal;
  #at = 0;

  constructor(room: Newsroom, over: AbortSignal) {
    this.#room = room;
    this.#over = over;
  }

  /** Ends when the signal is aborted; rejects at the first request that fails. */
  async work(): Promise<void> {
    await Promise.all([
      this.#every(25, () => this.#browse()),
      this.#every(200, () => this.#administer()),
      this.#every(500, () => this.#send()),
      this.#every(1000, () => this.#webhook()),
      this.#every(5000, () => this.#authMail()),
      this.#every(250, () => this.#stream()),
      this.#every(5000, () => this.#exportAndAudit()),
    ]);
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    while (!this.#over.aborted) {
      const startedAt = performance.now();
      await work();
      this.done++;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, ms - (performance.now() - startedAt))));
    }
  }

  #someone(): number {
    this.#at = (this.#at * 31 + 17) % READERS;
    return this.#at + 1;
  }

  async #as(number: number, method: string, path: string, body?: unknown): Promise<void> {
    await this.#fetch(path, {
      method,
      headers: {
        authorization: `Bearer ${await this.#room.issuer.sign(reader(number))}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async #fetch(path: string, init: RequestInit): Promise<void> {
    const response = await fetch(this.#room.service.url + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method} ${path} answered ${response.status}: ${text.slice(0, 300)}`);
  }

  async #browse(): Promise<void> {
    const number = this.#someone();
    await this.#as(number, 'GET', '/api/profile/me');
    await this.#as(number, 'GET', '/api/profile/me/notifications/inbox?limit=20');
    await this.#as(number, 'GET', `/api/profile/me/apps/${APP}`);
    await this.#as(number, 'POST', `/api/profile/me/apps/${APP}/activity`);
    await this.#as(number, 'POST', '/api/profile/me/check/bulk', { app: APP, permissions: ['a.b', 'c.d'] });
  }

  async #administer(): Promise<void> {
    const email = reader(this.#someone());
    const round = this.done;
    const { data } = await this.#room.admin<{ data: { id: number } }>('POST', `/api/applications/${APP}/roles`, {
      code: `soak${round}`,
    });
    await this.#room.admin('PUT', `/api/users/${email}/apps/${APP}/roles`, { roleIds: [data.id] });
    await this.#room.admin('DELETE', `/api/applications/${APP}/roles/${data.id}`);
    await this.#room.admin('GET', `/api/users?q=${email}`);
  }

  async #send(): Promise<void> {
    await this.#room.send(
      Array.from({ length: 10 }, () => reader(this.#someone())).filter((one, at, all) => all.indexOf(one) === at),
    );
  }

  async #webhook(): Promise<void> {
    const number = this.#someone();
    await this.#fetch('/api/idp/webhook', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-webhook-secret': WEBHOOK_SECRET },
      body: JSON.stringify({
        eventType: 'user.updated',
        user: { email: reader(number), firstName: `Given${this.done}`, lastName: 'Soaked' },
      }),
    });
  }

  async #authMail(): Promise<void> {
    const { body } = mailBody({ to: reader(this.#someone()), args: { orgID: ORGANIZATION } });
    await this.#fetch('/api/idp/notifications/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idp-signature': signature(body, { key: SIGNING_KEY }) },
      body,
    });
  }

  /** Opens a stream and leaves it after a while, as browsers do. */
  async #stream(): Promise<void> {
    const { socket } = listen(
      this.#room.service.httpPort,
      await this.#room.issuer.sign(reader(this.#someone())),
      () => undefined,
    );
    setTimeout(() => socket.destroy(), 20_000).unref();
  }

  async #exportAndAudit(): Promise<void> {
    await this.#room.admin('GET', `/api/applications/${APP}/notifications`);
    await this.#room.admin('GET', '/api/admin/audit?limit=100');
  }
}

async function sample(room: Newsroom, generator: Generator, cpuBefore: number): Promise<Sample> {
  const { pid } = room.service;
  const slice = await generator.slice('service', {
    inFlight: 0,
    order: 'paced',
    perSecond: CHECKS_PER_SECOND,
    durationMs: SAMPLE_MS,
  });
  const { rows } = await room.sql.query<{ waiting: number }>(
    `select count(*)::int as waiting from delivery where status in ('queued', 'sending')`,
  );
  return {
    rssMB: memory(pid).rss,
    files: readdirSync(`/proc/${pid}/fd`).length,
    cpuPercent: ((cpuSeconds(pid) - cpuBefore) / (SAMPLE_MS / 1000)) * 100,
    checkP99: slice.p99,
    waiting: rows[0]?.waiting ?? Number.NaN,
  };
}

interface Taken {
  samples: Sample[];
  held: HeldMB[];
  done: number;
}

function judge({ samples, held, done }: Taken): Row[] {
  return [
    row('soak', 'rounds of work, none failed', '', [done]),
    ...grown('soak', 'heap', held, { unit: 'MB', pick: (one) => one.heap, atMost: 10 }),
    ...grown('soak', 'heap of the delivery thread', held, { unit: 'MB', pick: (one) => one.thread, atMost: 10 }),
    ...grown('soak', 'external memory', held, { unit: 'MB', pick: (one) => one.external, atMost: 10 }),
    ...grown('soak', 'RSS', held, { unit: 'MB', pick: (one) => one.rss, atMost: 25 }),
    ...grown('soak', 'open files', samples, { unit: '', pick: (s) => s.files, atMost: 10 }),
    row('soak', 'p99 of Check, median of all samples', 'ms', [median(samples.map((s) => s.checkP99))]),
    row('soak', 'CPU', '% of a core', [median(samples.map((s) => s.cpuPercent))]),
    row('soak', 'deliveries waiting at the end', '', [samples.at(-1)?.waiting ?? Number.NaN], { atMost: 100 }),
  ];
}

function series({ samples, held }: Taken): Series[] {
  return [
    { name: 'Heap without garbage', unit: 'MB', values: held.map((one) => one.heap) },
    { name: 'Heap without garbage, delivery thread', unit: 'MB', values: held.map((one) => one.thread) },
    { name: 'Resident memory', unit: 'MB', values: samples.map((s) => s.rssMB) },
    { name: 'Open files and sockets', unit: '', values: samples.map((s) => s.files) },
    { name: 'CPU', unit: '%', values: samples.map((s) => s.cpuPercent) },
    { name: 'p99 of Check', unit: 'ms', values: samples.map((s) => s.checkP99) },
    { name: 'Deliveries waiting', unit: '', values: samples.map((s) => s.waiting) },
  ];
}

async function soak(lab: Lab, minutes: number): Promise<Taken> {
  const databaseUrl = await lab.copyOf(await lab.data());
  const env = { IDP_WEBHOOK_SECRET: WEBHOOK_SECRET };
  const inspectPort = await freePort();
  const nodeFlags = [`--inspect=127.0.0.1:${inspectPort}`, '--inspect-publish-uid=http'];
  const room = await Newsroom.open(lab, { readers: READERS, subscribed: READERS / 2, databaseUrl, env, nodeFlags });
  const inspector = await Inspector.connect(inspectPort);
  const generator = new Generator();
  const over = new AbortController();
  try {
    const open = { protocol: 'grpc', port: room.service.grpcPort, answers: 'known', key: KEY } as const;
    const company = new Company(room, over.signal);
    let failed: Error | null = null;
    const work = company.work().catch((error: Error) => {
      failed = error;
    });
    await inspector.withThreads();
    const samples: Sample[] = [];
    const held: HeldMB[] = [];
    const count = Math.max(HELD_TIMES, Math.round((minutes * 60_000) / SAMPLE_MS));
    for (let at = 1; at <= count; at++) {
      // A backend's connections do not outlive max_connection_age, whose GOAWAY the generator does not follow.
      if (at % SAMPLES_A_CONNECTION === 1) {
        if (at > 1) await generator.close('service');
        await generator.open({ target: 'service', workload: 'all', connections: 4, ...open });
      }
      samples.push(await sample(room, generator, cpuSeconds(room.service.pid)));
      if (failed) throw failed;
      const last = samples.at(-1) as Sample;
      if (at % 6 === 0)
        lab.say(`soak: minute ${at / 6} of ${minutes}, RSS ${last.rssMB.toFixed(0)} MB, ${last.files} files`);
      if (at >= ((held.length + 1) * count) / HELD_TIMES) {
        const now = await heldBy(inspector, room.service.pid);
        held.push(now);
        lab.say(`soak: without garbage ${inWords(now)}`);
      }
    }
    over.abort();
    await work;
    return { samples, held, done: company.done };
  } finally {
    over.abort();
    inspector.close();
    await generator.end();
    await room.close();
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' }, svg: { type: 'string' } } });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error('--minutes takes a positive number');
  pinSelf();
  // As in the soak of a cluster, what is judged is not how it fares beside other work.
  preferOwnSession();
  const lab = new Lab(QUICK);
  try {
    const taken = await soak(lab, minutes);
    const rows = judge(taken);
    console.log(table(rows));
    if (values.svg !== undefined) {
      const caption = `${minutes} minutes, a sample every ${SAMPLE_MS / 1000} s, the heaps ${HELD_TIMES} times; ${taken.done} rounds of work beside ${CHECKS_PER_SECOND} checks a second`;
      writeFileSync(values.svg, plots(caption, series(taken)));
    }
    return rows.some((r) => r.pass === false) ? 1 : 0;
  } finally {
    await lab.close();
  }
}

runToEnd(main);
