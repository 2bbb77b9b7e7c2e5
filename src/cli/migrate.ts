import type { Command } from 'commander';
import { migrate } from '../persistence/open.ts';
import { createLogger } from '../telemetry.ts';
import { type Context, type GlobalOptions, print } from './io.ts';
import { dataDirOf, loadConfig } from './load-config.ts';

/** `usher migrate`: brings the database up to this program. */
export function defineMigrate(program: Command, context: Context): void {
  program
    .command('migrate')
    .summary('apply pending migrations to the database')
    .description(
      'Applies the migrations that the database lacks, all or none. On an embedded database the service must not be running.',
    )
    .action(async (_: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { io } = context;
      const config = await loadConfig(io, options);
      const applied = await migrate({
        url: config.database.url,
        dataDir: dataDirOf(io, config),
        clock: io.clock,
        log: createLogger('silent'),
      });
      const text =
        applied.length === 0 ? 'Nothing to do: every migration is applied.' : `Applied ${applied.join(', ')}.`;
      print(context, options, { applied }, text);
    });
}
