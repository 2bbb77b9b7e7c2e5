import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import type { Io, Serve } from '../../src/cli/io.ts';
import { run } from '../../src/cli/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = 'src/main.ts';

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** What a test sets of the process around a command. */
export interface Around {
  env?: Record<string, string | undefined>;
  stdin?: string;
  cwd?: string;
  tty?: boolean;
  serve?: Serve;
}

/** Runs a command line in this process. */
export async function usher(argv: readonly string[], around: Around = {}): Promise<Outcome> {
  const written = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    isTTY: around.tty ?? false,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const io: Io = {
    env: around.env ?? {},
    cwd: around.cwd ?? ROOT,
    stdin: (async function* () {
      yield around.stdin ?? '';
    })(),
    stdout: output('stdout'),
    stderr: output('stderr'),
    stopped: () => Promise.resolve('SIGTERM'),
    onHangUp: () => undefined,
    // As main.ts does: each is loaded where a command needs it, which is a second less for the tests of all others.
    demo: async (options) => (await import('../../src/app/demo.ts')).demonstrate(options),
    doctor: async (options) => (await import('../../src/app/doctor/doctor.ts')).examine(options),
    serve: around.serve ?? (() => Promise.reject(new Error('serve was not expected'))),
    local: async () => (await import('../../src/app/local.ts')).LOCAL,
    configChecks: async () => (await import('../../src/app/config-checks.ts')).CONFIG_CHECKS,
    version: '1.2.3',
    clock: systemClock,
  };
  const code = await run(argv, io);
  return { code, ...written };
}

/** A folder of the test's own, for files by name. */
export function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'usher-cli-'));
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  return { folder, file };
}

/** The environment of a child: nothing of the developer's own configuration. */
function childEnv(env: Record<string, string>): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, NODE_OPTIONS: '', ...env };
}

/** Runs a command line as a user does: a process of its own. `root` is another tree of the project, for another version. */
export async function usherProcess(
  argv: readonly string[],
  env: Record<string, string>,
  { stdin = '', root = ROOT }: { stdin?: string; root?: string } = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [join(root, MAIN), ...argv], { cwd: root, env: childEnv(env) });
  const outcome = { code: -1, stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    outcome.stdout += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    outcome.stderr += chunk.toString('utf8');
  });
  child.stdin.end(stdin);
  outcome.code = await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
  return outcome;
}

export interface RunningService {
  readonly url: string;
  /** `host:port` of the gRPC door. */
  readonly grpc: string;
  readonly pid: number;
  /** Its exit code, or the signal's absence of one (-1), once it has ended. */
  readonly exited: Promise<number>;
  readonly dataDir: string;
  /** What a command beside it needs in its environment. */
  readonly env: Record<string, string>;
  /** Ends it by SIGTERM; answers its exit code. The directory stays. */
  stop(): Promise<number>;
  remove(): Promise<void>;
}

/**
 * Starts `usher serve` on an empty embedded database, as a development start, and waits until it is ready. `root` as for
 * `usherProcess`; `onOutput` is told what it prints; `npm` starts it by `npm start`, in a process group of its own.
 */
export async function startService(
  env: Record<string, string> = {},
  {
    root = ROOT,
    onOutput = () => undefined,
    npm = false,
  }: { root?: string; onOutput?: (text: string) => void; npm?: boolean } = {},
): Promise<RunningService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-cli-'));
  const isElsewhere = ['DATA_DIR', 'DATABASE_URL', 'UPSTREAM_ADDRESS'].some((key) => env[key] !== undefined);
  // Another version makes its own database, and what npm starts is started as a user does.
  if (root === ROOT && !npm && !isElsewhere) await (await import('../support/databases.ts')).copyEmbedded(dataDir);
  const [file, argv] = npm ? ['npm', ['start']] : [process.execPath, [join(root, MAIN), 'serve']];
  const child = spawn(file, argv, {
    cwd: root,
    env: childEnv({ DATA_DIR: dataDir, HTTP_PORT: '0', GRPC_PORT: '0', ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: npm,
  });
  const exited = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
  child.stdout.setEncoding('utf8').on('data', onOutput);
  child.stderr.setEncoding('utf8').on('data', onOutput);
  const { url, grpc } = await readyAt(child, exited);
  return {
    url,
    grpc,
    pid: child.pid ?? 0,
    exited,
    dataDir,
    env: { DATA_DIR: dataDir, USHER_URL: url },
    stop: async () => {
      child.kill('SIGTERM');
      return await exited;
    },
    remove: async () => {
      if (npm) killGroup(child);
      else child.kill('SIGKILL');
      await exited;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** With what npm started, also where npm itself has ended. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function readyAt(child: ChildProcess, exited: Promise<number>): Promise<{ url: string; grpc: string }> {
  let output = '';
  const ready = new Promise<{ url: string; grpc: string }>((resolve) => {
    const read = (chunk: string): void => {
      output += chunk;
      const line = output.split('\n').find((text) => text.endsWith('"msg":"ready"}'));
      if (line === undefined) return;
      child.stdout?.off('data', read);
      child.stderr?.off('data', read);
      const { rest, grpc } = JSON.parse(line) as { rest: string; grpc: string };
      resolve({ url: rest, grpc });
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
  });
  const failed = exited.then((code) => {
    throw new Error(`the service ended with ${code} before it was ready:\n${output}`);
  });
  return await Promise.race([ready, failed]);
}
