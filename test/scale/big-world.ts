import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';
import { appCode, email } from '../../bench/large-registry.ts';
import { Random } from '../../bench/random.ts';
import { KEY, Service } from '../../bench/service.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type LocalIssuer, openLocalIssuer } from '../../src/identity/local-issuer.ts';
import { call } from '../grpc/support.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import {
  type BigNumbers,
  type BigSize,
  fillBig,
  isActive,
  numbersOf,
  overrideOf,
  refuseFullDisk,
  roundOfAll,
} from './big-data.ts';
import { onServer } from './synchronous-pair.ts';

const run = promisify(execFile);
const ADMIN = 'admin@example.com';
/** Where what is asked is in so many applications, their policies are read once and do not count. */
const ASKED_APPLICATIONS = 100;
const SETTINGS = {
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_buffers: '1GB',
  max_wal_size: '2GB',
  checkpoint_timeout: '10min',
  log_min_messages: 'warning',
};

/** A question whose answer an override decides, and the answer. */
export interface BigQuestion {
  email: string;
  app: string;
  permission: string;
  resourceType: string;
  resourceId: string;
  allowed: boolean;
}

/** One of the two databases, and a service on it. */
export class BigSide {
  readonly name: string;
  readonly numbers: BigNumbers;
  readonly url: string;
  readonly service: Service;
  readonly #issuer: LocalIssuer;
  readonly #client: Client;
  readonly #dataDir: string;

  private constructor(
    parts: Pick<BigSide, 'name' | 'numbers' | 'url' | 'service'> & { issuer: LocalIssuer; dataDir: string },
  ) {
    this.name = parts.name;
    this.numbers = parts.numbers;
    this.url = parts.url;
    this.service = parts.service;
    this.#issuer = parts.issuer;
    this.#dataDir = parts.dataDir;
    this.#client = new Client(`127.0.0.1:${this.service.grpcPort}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  static async start(name: string, numbers: BigNumbers, url: string, roles: string): Promise<BigSide> {
    const dataDir = mkdtempSync(join(tmpdir(), 'usher-big-'));
    const service = await Service.start({
      databaseUrl: url,
      dataDir,
      core: null,
      env: { INTERNAL_API_KEY: `bench:check+notify+metrics:${KEY}`, USHER_ROLES: roles },
    });
    const issuer = await openLocalIssuer({ dataDir, clock: systemClock });
    return new BigSide({ name, numbers, url, service, issuer, dataDir });
  }

  /** Each about another member: a person in an application. */
  questions(count: number, seed: number): BigQuestion[] {
    const random = new Random(seed);
    const asked = new Map<string, BigQuestion>();
    for (let tries = 0; asked.size < count; tries++) {
      if (tries > count * 10_000) throw new Error(`there are not ${count} members to ask about`);
      const [p, j] = [1 + random.below(this.numbers.people), roundOfAll(this.numbers, random.below(1000))];
      const { application, isGranted, ...question } = overrideOf(this.numbers, p, j);
      if (application > ASKED_APPLICATIONS || !isActive(p)) continue;
      const app = appCode(application);
      asked.set(`${app} ${p}`, { email: email(p), app, ...question, allowed: isGranted });
    }
    return [...asked.values()];
  }

  /** Answers how long the answer took, in ms; throws when it is not right. */
  async check({ allowed, ...question }: BigQuestion): Promise<number> {
    const began = performance.now();
    const { message } = await call(this.#client, 'Check', question, { metadata: { 'x-internal-api-key': KEY } });
    const taken = performance.now() - began;
    if (message.allowed !== allowed)
      throw new Error(`${this.name}: ${JSON.stringify(question)} is ${message.allowed}, by ${message.source}`);
    return taken;
  }

  /** A request of somebody, by default of a SuperAdmin; throws when it is refused. */
  async ask<T>(
    method: string,
    path: string,
    { as = ADMIN, body }: { as?: string | null; body?: unknown } = {},
  ): Promise<T> {
    const response = await fetch(this.service.url + path, {
      method,
      headers: {
        ...(as === null ? { 'x-internal-api-key': KEY } : { authorization: `Bearer ${await this.#issuer.sign(as)}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async stop(): Promise<void> {
    this.#client.close();
    await this.service.stop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }
}

interface Options {
  small: BigSize;
  large: BigSize;
  /** Where PostgreSQL has its data, which stay there: a run that finds databases of these sizes fills none. */
  keepIn?: string | undefined;
  /** The programs of another PostgreSQL than that of the package. */
  bin?: string | undefined;
  tell: (line: string) => void;
}

/** A PostgreSQL with a database of each size. */
export class BigWorld {
  readonly #options: Options;
  readonly #dir: string;
  #server: PostgresServer;

  private constructor(options: Options, dir: string, server: PostgresServer) {
    this.#options = options;
    this.#dir = dir;
    this.#server = server;
  }

  static async open(options: Options): Promise<BigWorld> {
    const dir = options.keepIn ?? mkdtempSync(join(tmpdir(), 'usher-big-'));
    mkdirSync(dir, { recursive: true });
    const isThere = existsSync(join(dir, 'data'));
    if (!isThere) refuseFullDisk(dir, [options.small, options.large]);
    const server = await startPostgres({
      ...(isThere ? { from: { dir } } : { dir }),
      ...(options.bin === undefined ? {} : { bin: options.bin }),
      settings: SETTINGS,
      logFile: logOf(dir),
    });
    const world = new BigWorld(options, dir, server);
    for (const size of [options.small, options.large]) await world.#fill(size);
    return world;
  }

  get logFile(): string {
    return logOf(this.#dir);
  }

  async #fill(size: BigSize): Promise<void> {
    const { tell } = this.#options;
    const name = databaseOf(size);
    // The comment comes when all else is there.
    const { rowCount } = await onServer(this.#server.url, (client) =>
      client.query(`select from pg_database where datname = $1 and shobj_description(oid, 'pg_database') = 'whole'`, [
        name,
      ]),
    );
    if (rowCount === 1) return;
    await onServer(this.#server.url, async (client) => {
      await client.query(`drop database if exists ${name}`);
      await client.query(`create database ${name}`);
    });
    await fillBig(this.#urlOf(size), size, (line) => tell(`${name}: ${line}`));
    await onServer(this.#server.url, (client) => client.query(`comment on database ${name} is 'whole'`));
  }

  #urlOf(size: BigSize): string {
    const url = new URL(this.#server.url);
    url.pathname = `/${databaseOf(size)}`;
    return url.href;
  }

  urls(): readonly [small: string, large: string] {
    return [this.#urlOf(this.#options.small), this.#urlOf(this.#options.large)];
  }

  /** A service on each. */
  async start(roles = 'rpc,gateway,worker'): Promise<readonly [small: BigSide, large: BigSide]> {
    const { small, large } = this.#options;
    return [
      await BigSide.start('small', numbersOf(small), this.#urlOf(small), roles),
      await BigSide.start('large', numbersOf(large), this.#urlOf(large), roles),
    ];
  }

  /** Begins PostgreSQL anew with nothing of its data in memory: not in its own, and on Linux not in that of the system. */
  async restartCold(): Promise<void> {
    await onServer(this.#server.url, (client) => client.query('checkpoint'));
    const from = await this.#server.crash('SIGQUIT');
    const files = globSync(join(from.dir, 'data', 'base', '*', '*'));
    for (let at = 0; at < files.length; at += 500) await run('sync', files.slice(at, at + 500));
    for (const file of files) await run('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
    const { bin } = this.#options;
    this.#server = await startPostgres({
      from,
      ...(bin === undefined ? {} : { bin }),
      settings: SETTINGS,
      logFile: this.logFile,
    });
  }

  async close(): Promise<void> {
    if (this.#options.keepIn === undefined) {
      await this.#server.close();
      rmSync(this.logFile, { force: true });
    } else {
      await onServer(this.#server.url, (client) => client.query('checkpoint'));
      await this.#server.crash('SIGQUIT');
    }
  }
}

/** Beside the directory, which PostgreSQL's user owns. */
function logOf(dir: string): string {
  return `${dir}.log`;
}

function databaseOf({ people, overrides, inbox }: BigSize): string {
  return `big_${people}_${overrides}_${inbox}`;
}
