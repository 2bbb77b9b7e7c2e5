/** A service that a script starts as an operator does, asked as a caller does. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

interface Started {
  readonly child: ChildProcess;
  /** Everything it has printed so far. */
  readonly output: () => string;
  /** Ends it by SIGTERM; throws unless it ends well and in time. */
  stop(): Promise<void>;
}

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Longer than a shutdown in production with its notice (docs/operations/upgrade.md#stopping-it). */
const STOP_MS = 45_000;

export function start({ file, args, env, cwd }: Command): Started {
  const child = spawn(file, [...args], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = once(child, 'exit') as Promise<[number | null]>;
  return {
    child,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      const ended = await Promise.race([exited, sleep(STOP_MS, null, { ref: false })]);
      if (ended === null) child.kill('SIGKILL');
      if (ended?.[0] !== 0) throw new Error(`the service did not end well: ${String(ended?.[0])}\n${output}`);
    },
  };
}

/** The first match of `pattern` in what a service prints; throws with all of it when the service ends before, or after a minute. */
export async function printed({ child, output }: Started, pattern: RegExp): Promise<string> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
    const found = pattern.exec(output())?.[1];
    if (found !== undefined) return found;
    if (child.exitCode !== null) break;
  }
  throw new Error(`${String(pattern)} was not printed:\n${output()}`);
}

/** Throws with `words` unless `holds`. */
export function must(holds: boolean, words: string): asserts holds {
  if (!holds) throw new Error(words);
}
