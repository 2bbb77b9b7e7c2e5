import type { Command } from 'commander';
import { usherCommand } from '../command.ts';
import { misspeltVariables } from '../config-hints.ts';
import type { Context, GlobalOptions } from './io.ts';
import { loadConfig } from './load-config.ts';

/** `usher serve`: the service, until a signal ends it. */
export function defineServe(program: Command, context: Context): void {
  program
    .command('serve')
    .summary('run the service')
    .description(
      `Runs the service until SIGINT or SIGTERM, then lets what is in flight finish: ${usherCommand('serve')}`,
    )
    .action(async (_: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { io } = context;
      const warnings = misspeltVariables(io.env);
      const config = await loadConfig(io, options).catch((error: unknown) => {
        // A misspelt variable is often what is missing.
        if (!options.json) for (const line of warnings) io.stderr.write(`${line}\n`);
        throw error;
      });
      await io.serve({
        config,
        warnings,
        // Whoever asked for JSON reads the log, which is that already.
        print: (text) => {
          if (!options.json) io.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
        },
        stopped: io.stopped(),
        version: io.version,
      });
    });
}
