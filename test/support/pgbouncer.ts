import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from './postgres-server.ts';

/** PgBouncer refuses to run as root. */
const NOBODY = 65534;
/** The first that keeps prepared statements. */
const OLDEST = [1, 21] as const;

/** Where PgBouncer is: PGBOUNCER, or the one that is installed. Throws where it is none, or too old. */
function binary(): string {
  const path = process.env.PGBOUNCER ?? 'pgbouncer';
  const [, major = 0, minor = 0] = /PgBouncer (\d+)\.(\d+)/.exec(execFileSync(path, ['--version']).toString()) ?? [];
  if (Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])) {
    throw new Error(`${path} is ${major}.${minor}, and ${OLDEST.join('.')} or newer is needed: name one in PGBOUNCER.`);
  }
  return path;
}

/** What docs/guides/postgresql.md says that the service needs. */
export const WORKING_LINES = {
  ignore_startup_parameters: 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout,options',
  max_prepared_statements: 500,
};

/** And what it says that the role needs, since the limits of a session do not get through. */
export const LIMITS_OF_ROLE = {
  statement_timeout: '15s',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '10s',
};

/** A PgBouncer in transaction mode, before one server. */
export class PgBouncer {
  readonly #dir: string;
  readonly #server: URL;
  readonly #port: number;
  #child: ChildProcess;

  private constructor(dir: string, server: URL, port: number) {
    this.#dir = dir;
    this.#server = server;
    this.#port = port;
    this.#child = this.#spawn();
  }

  /** `lines` are further ones of its configuration. */
  static async start(server: string, lines: Readonly<Record<string, string | number>>): Promise<PgBouncer> {
    const dir = mkdtempSync(join(tmpdir(), 'usher-pgbouncer-'));
    const url = new URL(server);
    const port = await freePort();
    const settings = {
      listen_addr: '127.0.0.1',
      listen_port: port,
      unix_socket_dir: '',
      // A client is whom it says, on the server too; that one lets everybody in, and says who is there.
      auth_type: 'trust',
      auth_user: url.username,
      auth_dbname: 'postgres',
      pool_mode: 'transaction',
      ...lines,
    };
    const text = [
      '[databases]',
      `* = host=${url.hostname} port=${url.port}`,
      '[pgbouncer]',
      ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
    ];
    writeFileSync(join(dir, 'pgbouncer.ini'), `${text.join('\n')}\n`);
    if (process.getuid?.() === 0) chownSync(dir, NOBODY, NOBODY);
    const bouncer = new PgBouncer(dir, url, port);
    try {
      await bouncer.#ready();
      return bouncer;
    } catch (error) {
      await bouncer.close();
      throw error;
    }
  }

  /** A database of the server by way of PgBouncer. */
  url(database: string): string {
    const url = new URL(database);
    url.host = `127.0.0.1:${this.#port}`;
    return url.href;
  }

  /** Ends it at once, with all its connections, and starts it anew. */
  async restart(): Promise<void> {
    await this.#stop();
    this.#child = this.#spawn();
    await this.#ready();
  }

  async close(): Promise<void> {
    await this.#stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  #spawn(): ChildProcess {
    const command = [binary(), join(this.#dir, 'pgbouncer.ini')];
    const user = process.getuid?.() === 0 ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
    return spawn('setpriv', [...user, '--pdeathsig=KILL', ...command], { stdio: 'ignore', cwd: this.#dir });
  }

  async #stop(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }

  async #ready(): Promise<void> {
    for (const end = performance.now() + 15_000; ; ) {
      const client = new pg.Client({ connectionString: this.url(this.#server.href), connectionTimeoutMillis: 2000 });
      try {
        await client.connect();
        await client.end();
        return;
      } catch (error) {
        if (performance.now() > end || this.#child.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}
