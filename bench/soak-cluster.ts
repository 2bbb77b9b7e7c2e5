/**
 * `node bench/soak-cluster.ts [--minutes 120] [--svg FILE] [--json FILE] [--logs FOLDER] [--snapshots FOLDER]`: two instances with all
 * roles and TLS, behind PgBouncer and HAProxy on a primary with a synchronous standby, under checks, writes and sends. The primary ends,
 * the pooler is restarted and the certificates are replaced, over and over. It passes when nothing that was acknowledged is lost, no
 * answer was wrong, nothing failed outside of outages, and neither heap, memory nor open files grew between the second and the last
 * quarter. With `--snapshots` it writes the heaps at the beginning of the second and at the end of the last quarter, and does not judge
 * what is resident.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/base/clock.ts';
import { type LocalIssuer, openLocalIssuer } from '../src/identity/local-issuer.ts';
import { createAuthority } from '../test/grpc/certificates.ts';
import { ClusterDatabase, KINDS } from './cluster/database.ts';
import { Tally } from './cluster/outages.ts';
import { APP, GIVES, HOLDER, PERMISSION, TAKES, Traffic } from './cluster/traffic.ts';
import { judgeInboxes, type Sample, series, verdict } from './cluster/verdict.ts';
import { HELD_TIMES, type HeldMB, heldBy, inWords } from './held.ts';
import { Inspector } from './inspector.ts';
import { plots } from './plot.ts';
import { freePort, memory, preferOwnSession, runToEnd } from './processes.ts';
import { table } from './report.ts';
import { KEY, Service } from './service.ts';
import { Sinks } from './sinks-client.ts';

const SAMPLE_MS = 10_000;
/** Fewer than the strangers who ask in two minutes: caches that are allowed to fill are full before anything is compared. */
const CACHED = 500;
const INSTANCES = 2;
const OUTAGE_MAY_TAKE_MS = 120_000;
const READ_TRIES = 10;

const say = (text: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

/** The cluster, and what its operators do to it. */
class Cluster {
  readonly tally = new Tally(INSTANCES);
  readonly services: Service[] = [];
  readonly #inspectors: Inspector[] = [];
  readonly #authority = createAuthority('Soak');
  readonly #folder = mkdtempSync(join(tmpdir(), 'usher-soak-'));
  database!: ClusterDatabase;
  sinks!: Sinks;
  issuer!: LocalIssuer;
  rotations = 0;
  #failovers = 0;
  #hasStandby = true;

  get ca(): string {
    return this.#authority.cert;
  }

  async start(logs: string | undefined): Promise<void> {
    setDefaultCACertificates([...getCACertificates(), this.ca]);
    this.sinks = await Sinks.start();
    this.database = await ClusterDatabase.start();
    this.#issue();
    const env = {
      INTERNAL_API_KEY: `bench:check+notify:${KEY}`,
      DATABASE_DIRECT_URL: this.database.directUrl,
      CACHE_PERSONS: String(CACHED),
      CACHE_MAX_ENTRIES: String(CACHED),
      ...Object.fromEntries(
        ['GRPC', 'HTTP'].flatMap((door) => [
          [`${door}_TLS_CERT`, join(this.#folder, 'tls.crt')],
          [`${door}_TLS_KEY`, join(this.#folder, 'tls.key')],
        ]),
      ),
      ...(process.env.DATABASE_EARLY_RELEASE === undefined
        ? {}
        : { DATABASE_EARLY_RELEASE: process.env.DATABASE_EARLY_RELEASE }),
    };
    if (logs !== undefined) mkdirSync(logs, { recursive: true });
    for (let at = 0; at < INSTANCES; at++) {
      const inspectPort = await freePort();
      const service = await Service.start({
        databaseUrl: this.database.url,
        dataDir: join(this.#folder, 'data'),
        core: null,
        ca: this.ca,
        nodeFlags: [`--inspect=127.0.0.1:${inspectPort}`, '--inspect-publish-uid=http'],
        env,
        ...(logs === undefined ? {} : { onOutput: (text) => appendFileSync(join(logs, `instance-${at}.log`), text) }),
      });
      this.services.push(service);
      const inspector = await Inspector.connect(inspectPort);
      await inspector.withThreads();
      this.#inspectors.push(inspector);
    }
    this.issuer = await openLocalIssuer({ dataDir: join(this.#folder, 'data'), clock: systemClock });
    await this.#setUp();
  }

  url(at: number): string {
    return `https://127.0.0.1:${this.services[at]?.httpPort}`;
  }

  /** Collects the garbage of each in turn. */
  async held(): Promise<HeldMB[]> {
    const all: HeldMB[] = [];
    for (const [at, inspector] of this.#inspectors.entries()) {
      all.push(await heldBy(inspector, this.services[at]?.pid ?? 0));
    }
    return all;
  }

  async snapshots(folder: string, name: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    for (const [at, inspector] of this.#inspectors.entries())
      await inspector.snapshot(join(folder, `instance-${at}-${name}`));
  }

  /** Reads as `email`, again where the machine has no time for it. */
  async read<T>(email: string, path: string): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.as<T>(email, 'GET', path);
      } catch (error) {
        if (tries === READ_TRIES) throw error;
        await delay(1000);
      }
    }
  }

  /** As `email`; rejects when it is refused. */
  async as<T>(email: string, method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.url(0) + path, {
      method,
      headers: { authorization: `Bearer ${await this.issuer.sign(email)}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return JSON.parse(text) as T;
  }

  async #setUp(): Promise<void> {
    const admin = 'admin@example.com';
    for (const email of [GIVES, TAKES]) await this.as(admin, 'POST', '/api/users/admins/super', { email });
    await this.as(admin, 'POST', '/api/manifests/apply', {
      application: { code: APP, name: 'Shop' },
      permissions: [{ code: PERMISSION, type: 'binary' }],
      roles: [{ code: 'reader', permissions: { [PERMISSION]: 'allowed' } }],
      assignments: [{ email: HOLDER, roles: ['reader'] }],
    });
    const { data } = await this.as<{ data: { id: number; isDefault: boolean }[] }>(admin, 'GET', '/api/admin/brands');
    await this.as(admin, 'PUT', `/api/admin/brands/${data.find(({ isDefault }) => isDefault)?.id}`, {
      emailFrom: 'shop@example.com',
      emailFromName: 'Shop',
      smtp: { host: '127.0.0.1', port: this.sinks.smtpPort, secure: false, user: null },
    });
  }

  #issue(): void {
    const { cert, key } = this.#authority.issue(`rotation ${this.rotations}`);
    writeFileSync(join(this.#folder, 'tls.key'), key);
    writeFileSync(join(this.#folder, 'tls.crt'), cert);
  }

  /** New certificates for both; resolves when whoever connects to any of their ports is shown them. */
  async rotate(): Promise<void> {
    this.rotations++;
    this.#issue();
    for (const { pid } of this.services) process.kill(pid, 'SIGHUP');
    const ports = this.services.flatMap(({ grpcPort, httpPort }) => [grpcPort, httpPort]);
    for (const port of ports) {
      for (const end = performance.now() + 30_000; ; await delay(50)) {
        if ((await shownAt(port, this.ca)) === `rotation ${this.rotations}`) break;
        if (performance.now() > end) throw new Error(`port ${port} does not show the new certificate`);
      }
    }
  }

  async restartPooler(): Promise<void> {
    const outage = this.tally.begin('pooler restarted');
    await this.database.restartPooler();
    await over(outage);
  }

  /** The next kind of failover; resolves when there is a standby again. */
  async failOver(): Promise<void> {
    // An earlier one that failed in the middle.
    if (!this.#hasStandby) await this.database.rebuild();
    this.#hasStandby = false;
    const kind = KINDS[this.#failovers++ % KINDS.length] ?? 'stopped';
    const outage = this.tally.begin(`primary ${kind}`);
    await this.database.failOver(kind);
    await over(outage);
    await delay(5000);
    await this.database.rebuild();
    this.#hasStandby = true;
  }

  async close(): Promise<void> {
    for (const inspector of this.#inspectors) inspector.close();
    await Promise.all(this.services.map((service) => service.stop()));
    await this.database?.close();
    await this.sinks?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function over(outage: { kind: string; from: number; to: number }): Promise<void> {
  while (outage.to === Number.POSITIVE_INFINITY) {
    if (performance.now() > outage.from + OUTAGE_MAY_TAKE_MS)
      throw new Error(`no instance writes again (${outage.kind})`);
    await delay(50);
  }
  say(`${outage.kind}: writes again after ${((outage.to - outage.from) / 1000).toFixed(1)} s`);
}

function shownAt(port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca, ALPNProtocols: ['h2', 'http/1.1'] });
    socket.once('secureConnect', () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

function sample({ services }: Cluster): Sample[] {
  return services.map(({ pid }) => ({ rssMB: memory(pid).rss, files: readdirSync(`/proc/${pid}/fd`).length }));
}

/** Does each in turn when it is due, one at a time, until `minutes` are over. */
async function disturb(cluster: Cluster, ends: number, everyMinutes: readonly number[]): Promise<void> {
  const work = [() => cluster.failOver(), () => cluster.restartPooler(), () => cluster.rotate()];
  const due = everyMinutes.map((minutes) => performance.now() + minutes * 60_000);
  for (;;) {
    const next = Math.min(...due);
    // Time for a standby to be made, and for what it finds afterwards to be seen.
    if (next > ends - 30_000) return;
    await delay(Math.max(0, next - performance.now()));
    const at = due.indexOf(next);
    await work[at]?.().catch((error: Error) => cluster.tally.trouble(error.message));
    due[at] = next + (everyMinutes[at] ?? 0) * 60_000;
  }
}

interface Options {
  minutes: number;
  every: readonly number[];
  svg: string | undefined;
  json: string | undefined;
  logs: string | undefined;
  snapshots: string | undefined;
}

/** Until `ends`: what each holds, from time to time, while no outage goes on. */
async function measure(cluster: Cluster, ends: number, options: Options): Promise<HeldMB[][]> {
  const held: HeldMB[][] = [];
  const began = performance.now();
  const everyMs = (ends - began) / HELD_TIMES;
  for (let at = 1; at <= HELD_TIMES; at++) {
    await delay(Math.max(0, began + (at - 0.5) * everyMs - performance.now()));
    while (cluster.tally.outages.at(-1)?.to === Number.POSITIVE_INFINITY && performance.now() < ends) await delay(1000);
    try {
      const taken = await cluster.held();
      held.push(taken);
      say(`${at} of ${HELD_TIMES}, without garbage: ${taken.map(inWords).join('; ')}`);
      if (options.snapshots !== undefined && (at === HELD_TIMES / 4 + 1 || at === HELD_TIMES))
        await cluster.snapshots(options.snapshots, String(at));
    } catch (error) {
      cluster.tally.trouble(`not measured: ${(error as Error).message}`);
    }
  }
  return held;
}

interface Taken {
  samples: Sample[][];
  held: HeldMB[][];
  traffic: Traffic;
}

async function soak(cluster: Cluster, options: Options): Promise<Taken> {
  const { minutes, every } = options;
  const instances = cluster.services.map(({ grpcPort }, at) => ({ grpcPort, url: cluster.url(at) }));
  const tokens = { gives: await cluster.issuer.sign(GIVES), takes: await cluster.issuer.sign(TAKES) };
  const traffic = new Traffic(instances, { ca: cluster.ca, tally: cluster.tally, tokens });
  const began = performance.now();
  const ends = began + minutes * 60_000;
  const samples: Sample[][] = [];
  let held: HeldMB[][] = [];
  const sampling = async (): Promise<void> => {
    for (let at = 1; performance.now() < ends; at++) {
      await delay(Math.max(0, began + at * SAMPLE_MS - performance.now()));
      try {
        samples.push(sample(cluster));
      } catch (error) {
        cluster.tally.trouble(`no sample: ${(error as Error).message}`);
      }
      if (at % 6 === 0) {
        const last = samples.at(-1)?.map((s) => `${s.rssMB.toFixed(0)} MB, ${s.files} files`);
        say(
          `minute ${at / 6} of ${minutes}: ${last?.join('; ')}; acknowledged ${traffic.acknowledged.length}, sent ${traffic.sent.length}, wrong ${traffic.wrong.length}; refused outside of outages ${cluster.tally.outsideAll()}`,
        );
      }
    }
  };
  const measuring = async (): Promise<void> => {
    held = await measure(cluster, ends, options);
  };
  try {
    await Promise.race([traffic.working, Promise.all([sampling(), measuring(), disturb(cluster, ends, every)])]);
  } finally {
    await traffic.stop();
  }
  return { samples, held, traffic };
}

function read(): Options {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '120' },
      every: { type: 'string', default: '8,5,3' },
      svg: { type: 'string' },
      json: { type: 'string' },
      logs: { type: 'string' },
      snapshots: { type: 'string' },
    },
  });
  const minutes = Number(values.minutes);
  const every = values.every.split(',').map(Number);
  if (!(minutes > 0)) throw new Error('--minutes takes a positive number');
  if (every.length !== 3 || every.some((one) => !(one > 0)))
    throw new Error(
      '--every takes three positive numbers: minutes between failovers, restarts of the pooler, rotations',
    );
  return { minutes, every, svg: values.svg, json: values.json, logs: values.logs, snapshots: values.snapshots };
}

async function main(): Promise<number> {
  const options = read();
  // It uses a fraction of a core, and what is judged is not how it fares beside other work.
  preferOwnSession();
  const cluster = new Cluster();
  try {
    await cluster.start(options.logs);
    say('started');
    const { samples, held, traffic } = await soak(cluster, options);
    say('the load is over; reading the inboxes');
    const inboxes = await judgeInboxes(traffic, async (email, path) => await cluster.read(email, path));
    const rows = await verdict({
      samples,
      held,
      hasSnapshots: options.snapshots !== undefined,
      traffic,
      inboxes,
      cluster,
    });
    console.log(table(rows));
    for (const example of [...cluster.tally.examples, ...traffic.wrong, ...inboxes.examples]) console.log(example);
    if (options.json !== undefined) writeFileSync(options.json, cluster.tally.toJson({ rows, samples, held }));
    if (options.svg !== undefined) {
      const caption = `${options.minutes} minutes, a sample every ${SAMPLE_MS / 1000} s, the heaps ${HELD_TIMES} times; ${cluster.tally.outages.length} outages, ${cluster.rotations} rotations of certificates`;
      writeFileSync(options.svg, plots(caption, series({ samples, held })));
    }
    return rows.some((r) => r.pass === false) ? 1 : 0;
  } finally {
    await cluster.close();
  }
}

runToEnd(main);
