#!/usr/bin/env node
/** The only reader of the process: arguments, environment, streams, signals, exit code. */

import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Io } from './cli/io.ts';

// Compiled code and stripped types of the last start: half of what a start costs. Beside the packages, not in a shared
// temporary folder, where others could put code. Where it cannot be written it is left out.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/usher', import.meta.url)));
const { run } = await import('./cli/program.ts');
const { systemClock } = await import('./base/clock.ts');

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** A closed service may take so long to leave. */
const EXIT_MS = 1000;

/** Whether a signal has asked for the end. */
let asked = false;

/** The first signal asks for an end in good order; the second does not wait for it. */
function stopped(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(1);
        asked = true;
        resolve(signal);
      });
    }
  });
}

const io: Io = {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stopped,
  // Loaded by the one command that needs it: every other starts without the service's own code.
  serve: async (options) => (await import('./app/serve.ts')).serve(options),
  demo: async (options) => (await import('./app/demo.ts')).demonstrate(options),
  version,
  clock: systemClock,
};

// Who reads our output may leave early (`usher export … | head`); that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});
process.exitCode = await run(process.argv.slice(2), io);
// A service that has closed leaves nothing behind that holds its process. Should there be something, it does not keep it alive.
if (asked) setTimeout(() => process.exit(), EXIT_MS).unref();
