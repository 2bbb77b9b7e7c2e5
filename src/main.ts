#!/usr/bin/env node
/** The only reader of the process: arguments, environment, streams, signals, exit code. */

import { isatty } from 'node:tty';
import type { Io } from './cli/io.ts';
// Before everything else, which is therefore imported later.
import './compile-cache.js';

const { run } = await import('./cli/program.ts');
const { systemClock } = await import('./base/clock.ts');
const { product } = await import('./base/product.ts');

/** The time in which the process of a closed service must end by itself. */
const EXIT_MS = 1000;

/** Whether a signal has requested the shutdown. */
let stopping = false;

/** Ctrl-C reaches every process of a terminal, and npm passes it on: the same signal again within this time is the same one. */
const SAME_SIGNAL_MS = 500;

/** The first signal starts an orderly shutdown; the second ends the process at once. */
function stopped(): Promise<string> {
  return new Promise((resolve) => {
    let first = { signal: '', at: 0 };
    const stop = (signal: string): void => {
      if (signal === first.signal && performance.now() - first.at < SAME_SIGNAL_MS) return;
      if (stopping) process.exit(1);
      stopping = true;
      first = { signal, at: performance.now() };
      resolve(signal);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
    // The shell sends it, and the kernel.
    endByHangUp = () => {
      if (!stopping) stop('SIGHUP');
    };
  });
}

/** The terminal that the process was started from, by its descriptor. */
const terminal = [0, 1, 2].find((descriptor) => isatty(descriptor));
let endByHangUp = (): void => undefined;

/** SIGHUP is also what a process gets whose terminal is closed, and then it means the end. */
function onHangUp(told: () => void): void {
  process.on('SIGHUP', () => {
    if (terminal !== undefined && !isatty(terminal)) endByHangUp();
    else told();
  });
}

const io: Io = {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stopped,
  onHangUp,
  // Loaded by the one command that needs it: every other starts without the service's own code.
  serve: async (options) => (await import('./app/serve.ts')).serve(options),
  demo: async (options) => (await import('./app/demo.ts')).demonstrate(options),
  doctor: async (options) => (await import('./app/doctor/doctor.ts')).examine(options),
  local: async () => (await import('./app/local.ts')).LOCAL,
  configChecks: async () => (await import('./app/config-checks.ts')).CONFIG_CHECKS,
  version: product().version,
  clock: systemClock,
};

// The reader of our output may leave early (`usher export … | head`); that is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});
process.exitCode = await run(process.argv.slice(2), io);
// A service that has closed leaves nothing behind that holds its process. Should there be something, it does not keep it alive.
if (stopping) setTimeout(() => process.exit(), EXIT_MS).unref();
