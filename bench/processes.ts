/** Child processes on cores of their own, and what the kernel says they used. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { availableParallelism, constants, setPriority } from 'node:os';
import packageJson from '../package.json' with { type: 'json' };

/** The heap of the service as package.json's "start" shapes it; the bare servers get the same. */
export const START_FLAGS: readonly string[] = packageJson.scripts.start
  .split(' ')
  .filter((word) => word.startsWith('--') && word !== '--import');

const CPUS = availableParallelism();

/** The server has core 0 to itself; the generator core 1; PostgreSQL and the orchestrator what is left, or core 1. */
export const CORES = { server: '0', generator: '1', rest: CPUS > 2 ? `2-${CPUS - 1}` : '1' } as const;

const hasTaskset = (() => {
  try {
    execFileSync('taskset', ['-c', CORES.server, 'true'], { stdio: 'ignore' });
    return CPUS > 1;
  } catch {
    return false;
  }
})();

export const pinning = hasTaskset ? 'taskset' : 'none';

/** Moves this process, and with it all that it will start unpinned (PostgreSQL), off the server's core. */
export function pinSelf(): void {
  if (hasTaskset) allow(CORES.rest);
}

/** Lets this process run on every core while something is done: what a library starts (a browser) keeps to the cores that it sees. */
export async function unpinned<T>(work: () => Promise<T>): Promise<T> {
  if (hasTaskset) allow(`0-${CPUS - 1}`);
  try {
    return await work();
  } finally {
    pinSelf();
  }
}

function allow(cores: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', cores, String(process.pid)], { stdio: 'ignore' });
}

export interface SpawnOptions {
  ipc?: boolean;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Where standard output goes: nowhere by default. Errors are always shown. */
  onOutput?: (text: string) => void;
}

/** Starts this Node with `args`; `core` null leaves it wherever the kernel puts it, on every core. */
export function spawnPinned(core: string | null, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const command: string[] = [process.execPath, ...args];
  if (hasTaskset) command.unshift('taskset', '-c', core ?? `0-${CPUS - 1}`);
  const child = spawn(command[0] as string, command.slice(1), {
    stdio: ['ignore', options.onOutput ? 'pipe' : 'ignore', 'inherit', ...(options.ipc ? (['ipc'] as const) : [])],
    ...(options.env ? { env: options.env } : {}),
    ...(options.cwd ? { cwd: options.cwd } : {}),
  });
  child.stdout?.on('data', (chunk: Buffer) => options.onOutput?.(chunk.toString('utf8')));
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Asks a child to end and waits; kills it after five seconds. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await exited;
  clearTimeout(timer);
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

/** CPU seconds of all threads of a process so far, to the nanosecond where the kernel keeps it; NaN off Linux. */
export function cpuSeconds(pid: number): number {
  try {
    let ns = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    }
    return ns / 1e9;
  } catch {
    return Number.NaN;
  }
}

/** Resident memory of a process in MB, now and at its largest; NaN off Linux. */
export function memory(pid: number): { rss: number; largest: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kb = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN);
    return { rss: kb('VmRSS') / 1024, largest: kb('VmHWM') / 1024 };
  } catch {
    return { rss: Number.NaN, largest: Number.NaN };
  }
}

/** It gets what processor time the others leave: elsewhere it has a machine of its own. Later ones inherit it from it. */
export function giveWay(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW);
}

const AUTOGROUP = '/proc/self/autogroup';

/**
 * Has what gives way give way to this session until the process ends. Where Linux shares processors out by sessions first
 * (sched_autogroup_enabled), a priority counts only within one, and each backend of PostgreSQL is a session of its own: it would get as
 * much as the service and whoever asks it together.
 */
export function preferOwnSession(): void {
  let before: string | undefined;
  try {
    before = / nice (-?\d+)/.exec(readFileSync(AUTOGROUP, 'utf8'))?.[1];
  } catch {
    // Not Linux, or one without such groups.
    return;
  }
  try {
    writeFileSync(AUTOGROUP, String(constants.priority.PRIORITY_HIGHEST));
  } catch (error) {
    console.error(`PostgreSQL gives way to nobody here: ${String(error)}`);
    return;
  }
  process.on('exit', () => writeFileSync(AUTOGROUP, before ?? '0'));
}

/** The pid of a child, or an error: it did not start. */
export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the process did not start');
  return child.pid;
}

/** Resolves when somebody listens on `port`; rejects when `child` ends first or ten seconds pass. */
export async function waitForPort(port: number, child: ChildProcess): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (open) return;
    if (child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`no server on port ${port}`);
}

/** A server of the same transport that answers without deciding anything. Rejects when it does not begin to listen. */
export async function startBare(
  protocol: 'grpc' | 'http1',
  core: string | null,
  flags = START_FLAGS,
  args: readonly string[] = [],
): Promise<{ port: number; child: ChildProcess }> {
  const port = await freePort();
  const file = new URL(protocol === 'grpc' ? './bare-grpc.ts' : './bare-express.ts', import.meta.url).pathname;
  const child = spawnPinned(core, [...flags, file, String(port), ...args]);
  await waitForPort(port, child);
  return { port, child };
}

/** The end of a program: its exit code is what `main` answers, 2 on trouble, 130 when it is interrupted. Children end with it. */
export function runToEnd(main: () => Promise<number>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
  main().then(
    (code) => process.exit(code),
    (error: Error) => {
      console.error(error.message);
      process.exit(2);
    },
  );
}
