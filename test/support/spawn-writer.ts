import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { WriterOrders } from './writer-process.ts';

export interface Writer {
  readonly child: ChildProcess;
  /** Lines that it has said so far. */
  readonly lines: string[];
  /** Resolves when it says `line`; rejects when it ends first, with what it wrote to stderr. */
  says(line: string): Promise<void>;
  /** The signal or code that ended it. */
  readonly ended: Promise<NodeJS.Signals | number | null>;
  /** What it has written to stderr so far. */
  readonly complaints: () => string;
  /** Kills it with -9, where it still lives. */
  kill(): Promise<void>;
}

export function spawnWriter(orders: WriterOrders): Writer {
  return spawnScript('writer-process.ts', orders);
}

/** Runs a script of this folder in a process of its own, with its orders as the one argument; `flags` are node's. */
export function spawnScript(name: string, orders: unknown, flags: readonly string[] = []): Writer {
  const script = join(import.meta.dirname, name);
  const all = ['--disable-warning=ExperimentalWarning', ...flags, script, JSON.stringify(orders)];
  const child = spawn(process.execPath, all);
  const lines: string[] = [];
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  // `close`, not `exit`: by then everything that it said has been read.
  const ended = new Promise<NodeJS.Signals | number | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  return {
    child,
    lines,
    ended,
    complaints: () => errors,
    async says(line) {
      while (!lines.includes(line)) {
        const over = await Promise.race([once(reader, 'line').then(() => false), ended.then(() => true)]);
        if (over && !lines.includes(line)) throw new Error(`the process ended and never said "${line}": ${errors}`);
      }
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
