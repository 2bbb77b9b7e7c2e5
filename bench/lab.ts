/** What the scenarios share: settings, the PostgreSQL server with the data set in it, and how much to measure. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type PostgresServer, startPostgres } from '../test/support/postgres-server.ts';
import { makeDataset } from './dataset.ts';
import { loadDataset } from './load-postgres.ts';
import { giveWay, preferOwnSession } from './processes.ts';
import type { Row } from './report.ts';
import { Service } from './service.ts';

export interface Settings {
  /** Fresh processes of each kind; results are medians over them. */
  runs: number;
  /** Measured slices of each server in a run, taken in turns. */
  slices: number;
  sliceMs: number;
  /** Unmeasured load before the first slice, for the compiler. */
  warmMs: number;
  inFlight: number;
  connections: number;
  /** Trials of `propagation` in each of its modes. */
  trials: number;
  /** Of the registry of `administration`; overrides are ten times as many, applications a hundredth. */
  users: number;
  /** Engines that follow the instance of `followers`. */
  followers: number;
  quick: boolean;
  /** Where `ladder` writes its plot; nowhere without. */
  svg?: string;
}

export const NORMAL: Settings = {
  runs: 3,
  slices: 10,
  sliceMs: 600,
  warmMs: 4000,
  inFlight: 64,
  connections: 4,
  trials: 300,
  users: 100_000,
  followers: 1000,
  quick: false,
};

export const QUICK: Settings = {
  ...NORMAL,
  runs: 1,
  slices: 6,
  sliceMs: 300,
  warmMs: 2500,
  trials: 40,
  users: 10_000,
  followers: 200,
  quick: true,
};

export type Scenario = (lab: Lab) => Promise<Row[]>;

export class Lab {
  readonly settings: Settings;
  #postgres: Promise<PostgresServer> | null = null;
  #gaveWay: Promise<void> | null = null;
  #data: Promise<string> | null = null;
  #databases = 0;
  readonly #logDir = mkdtempSync(join(tmpdir(), 'usher-bench-log-'));

  constructor(settings: Settings) {
    this.settings = settings;
  }

  /** A line about what is going on, beside the results. */
  say(text: string): void {
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
  }

  /** The URL of a migrated database that holds the data set; made on first use, only read by scenarios. */
  data(): Promise<string> {
    this.#data ??= this.#makeData();
    return this.#data;
  }

  async #makeData(): Promise<string> {
    this.say('loading the data set into PostgreSQL');
    const url = await this.emptyDatabase();
    // The service's own start migrates and seeds it, as it would for anybody.
    const service = await Service.start({ databaseUrl: url, core: null });
    await service.stop();
    await loadDataset(url, makeDataset());
    return url;
  }

  /** The URL of a new, empty database. */
  async emptyDatabase(): Promise<string> {
    return await this.#createDatabase('template1');
  }

  /** The URL of a copy of a database that nobody is connected to. */
  async copyOf(url: string): Promise<string> {
    return await this.#createDatabase(new URL(url).pathname.slice(1));
  }

  /** Where PostgreSQL logs, for databases that were told to (statement-log.ts). */
  get logFile(): string {
    return join(this.#logDir, 'postgresql.log');
  }

  /**
   * From now on PostgreSQL gives way to the generator, whose core it shares where there are but two: elsewhere it has a machine of
   * its own, and what is to be seen is what the service makes its callers wait for, not what the generator waits for.
   */
  postgresGivesWay(): Promise<void> {
    this.#gaveWay ??= this.#giveWay();
    return this.#gaveWay;
  }

  async #giveWay(): Promise<void> {
    preferOwnSession();
    const { pid } = await this.#server();
    // Those of its processes that are there already; later ones inherit it from the first.
    const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '--ppid', String(pid)]);
    for (const one of [pid, ...stdout.split('\n').map(Number).filter(Boolean)]) {
      giveWay(one);
    }
  }

  #server(): Promise<PostgresServer> {
    this.#postgres ??= startPostgres({ logFile: this.logFile });
    return this.#postgres;
  }

  async #createDatabase(template: string): Promise<string> {
    const server = await this.#server();
    const name = `bench_${++this.#databases}`;
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`create database ${name} template ${template}`);
    await client.end();
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  async close(): Promise<void> {
    if (this.#postgres) await (await this.#postgres).close();
    rmSync(this.#logDir, { recursive: true, force: true });
  }
}
