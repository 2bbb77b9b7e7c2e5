/**
 * What instances of a cluster have between them and their data: two PostgreSQL with synchronous replication, HAProxy that leads to the
 * primary of the moment, and PgBouncer in transaction mode before it. Needs a PostgreSQL with its tools (PG_BIN, or where Debian puts
 * them), HAProxy and PgBouncer 1.21 or newer (HAPROXY, PGBOUNCER).
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chownSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { HaProxy } from '../../test/support/haproxy.ts';
import { PgBouncer, WORKING_LINES } from '../../test/support/pgbouncer.ts';
import { freePort } from '../../test/support/postgres-server.ts';

const run = promisify(execFile);
/** PostgreSQL refuses to run as root. */
const NOBODY = 65534;
const IDENTITY = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const DATABASE = 'usher';

/** How a primary ends: in order, at once, or not at all: it hangs, with every connection open. */
export const KINDS = ['stopped', 'ended at once', 'frozen'] as const;
export type Kind = (typeof KINDS)[number];

function tools(): string {
  const found = process.env.PG_BIN ?? globSync('/usr/lib/postgresql/*/bin').sort().at(-1);
  if (found === undefined) throw new Error('PostgreSQL is not installed: name its folder of programs in PG_BIN');
  return found;
}

/** One server on a port that it keeps; what it holds goes with every new start as a standby. */
class Server {
  readonly port: number;
  readonly #root: string;
  #data = '';
  #child: ChildProcess | null = null;
  #starts = 0;

  constructor(root: string, port: number) {
    this.#root = root;
    this.port = port;
  }

  url(database = DATABASE): string {
    return `postgresql://postgres@127.0.0.1:${this.port}/${database}`;
  }

  async tool(name: string, ...words: string[]): Promise<void> {
    await run(join(tools(), name), words, {
      ...IDENTITY,
      cwd: this.#root,
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
  }

  async query(text: string, database?: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 5000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  async begin(): Promise<void> {
    this.#newFolder();
    await this.tool('initdb', '-D', this.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C');
    await this.#start();
    await this.query(`create database ${DATABASE}`, 'postgres');
  }

  /** With a copy of the primary's data, taken while that goes on. */
  async follow(primary: Server): Promise<void> {
    this.#newFolder();
    const from = `host=127.0.0.1 port=${primary.port} user=postgres`;
    await this.tool('pg_basebackup', '-d', from, '-D', this.#data, '-R', '-X', 'stream', '-c', 'fast');
    await this.#start();
    // Once it is promoted it has nobody to wait for until the other one is back.
    await this.query('alter system reset synchronous_standby_names', 'postgres');
    await this.query('select pg_reload_conf()', 'postgres');
  }

  /** Resolves when every commit waits for the standby. */
  async demandStandby(): Promise<void> {
    await this.query(`alter system set synchronous_standby_names = '*'`, 'postgres');
    await this.query('select pg_reload_conf()', 'postgres');
    const ask = `select from pg_stat_replication where sync_state = 'sync'`;
    for (const end = performance.now() + 60_000; (await this.query(ask, 'postgres')).length === 0; await delay(50)) {
      if (performance.now() > end) throw new Error('the standby did not connect');
    }
  }

  #newFolder(): void {
    if (this.#data !== '') rmSync(this.#data, { recursive: true, force: true, maxRetries: 5 });
    this.#data = join(this.#root, `data-${this.port}-${++this.#starts}`);
  }

  async #start(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: this.port,
      wal_keep_size: '256MB',
      log_min_messages: 'fatal',
    };
    const words = ['-D', this.#data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])];
    const user = 'uid' in IDENTITY ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
    // It dies with this process, whatever ends that.
    const child = spawn('setpriv', [...user, '--pdeathsig=INT', join(tools(), 'postgres'), ...words], {
      cwd: this.#root,
      stdio: 'ignore',
    });
    this.#child = child;
    for (const end = performance.now() + 60_000; ; await delay(50)) {
      if (await this.query('select', 'postgres').catch(() => null)) return;
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode} before it was ready`);
      if (performance.now() > end) throw new Error('PostgreSQL did not start');
    }
  }

  async #processes(): Promise<number[]> {
    const pid = this.#child?.pid ?? 0;
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', `${pid}`]);
    return [pid, ...stdout.split('\n').map(Number).filter(Boolean)];
  }

  async end(kind: Kind): Promise<void> {
    if (kind === 'stopped') this.#child?.kill('SIGINT');
    else if (kind === 'ended at once') this.#child?.kill('SIGQUIT');
    else {
      this.#child?.kill('SIGSTOP');
      for (const pid of (await this.#processes()).slice(1)) process.kill(pid, 'SIGSTOP');
    }
  }

  /** Whatever is left of it. */
  async destroy(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    for (const pid of await this.#processes()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    await gone;
  }
}

export class ClusterDatabase {
  readonly #root = mkdtempSync(join(tmpdir(), 'usher-cluster-'));
  #primary!: Server;
  #standby!: Server;
  #proxy!: HaProxy;
  #bouncer!: PgBouncer;

  static async start(): Promise<ClusterDatabase> {
    const made = new ClusterDatabase();
    if ('uid' in IDENTITY) chownSync(made.#root, NOBODY, NOBODY);
    made.#primary = new Server(made.#root, await freePort());
    made.#standby = new Server(made.#root, await freePort());
    await made.#primary.begin();
    // What a pooler lets no session say, as docs/guides/postgresql.md has it.
    for (const limit of ['statement_timeout = 15s', 'lock_timeout = 5s', 'idle_in_transaction_session_timeout = 10s']) {
      const [name, value] = limit.split(' = ');
      await made.#primary.query(`alter role postgres set ${name} = '${value}'`, 'postgres');
    }
    await made.#standby.follow(made.#primary);
    await made.#primary.demandStandby();
    made.#proxy = await HaProxy.start([made.#primary.url('postgres'), made.#standby.url('postgres')], {
      patient: true,
    });
    made.#bouncer = await PgBouncer.start(made.#proxy.url(made.#primary.url('postgres')), {
      ...WORKING_LINES,
      default_pool_size: 20,
      server_login_retry: 1,
    });
    return made;
  }

  /** By way of PgBouncer and HAProxy. */
  get url(): string {
    return this.#bouncer.url(this.#primary.url());
  }

  /** Past PgBouncer. */
  get directUrl(): string {
    return this.#proxy.url(this.#primary.url());
  }

  /** The primary ends and the standby is promoted; resolves when it is. */
  async failOver(kind: Kind): Promise<void> {
    const [old, next] = [this.#primary, this.#standby];
    await old.end(kind);
    await delay(400);
    await next.query('select pg_promote()', 'postgres');
    this.#primary = next;
    this.#standby = old;
  }

  /** The server that was the primary becomes the standby that all commits wait for. */
  async rebuild(): Promise<void> {
    await this.#standby.destroy();
    await this.#standby.follow(this.#primary);
    await this.#primary.demandStandby();
  }

  async restartPooler(): Promise<void> {
    await this.#bouncer.restart();
  }

  /** Straight to the primary. */
  async use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.#primary.url() });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    await this.#bouncer?.close();
    this.#proxy?.close();
    await Promise.all([this.#primary?.destroy(), this.#standby?.destroy()]);
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }
}
