import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { type Context, type GlobalOptions, print } from './io.ts';

/** `usher migrate`: brings the database to this version. */
export function defineMigrate(program: Command, context: Context): void {
  const command = program
    .command('migrate')
    .summary('apply pending migrations to the database')
    .description('Applies the pending migrations, all or none. Stop a service with an embedded database first.')
    .action(async (_: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { io } = context;
      const { dataDirOf, loadConfig } = await import('./load-config.ts');
      const config = await loadConfig(io, options);
      const { migrate } = await import('../persistence/open.ts');
      const { createLogger } = await import('../base/telemetry.ts');
      const applied = await migrate({
        url: config.database.url,
        directUrl: config.database.directUrl,
        dataDir: dataDirOf(io, config),
        clock: io.clock,
        log: createLogger('silent'),
      });
      const text = applied.length === 0 ? 'No pending migrations.' : `Applied ${applied.join(', ')}.`;
      await print(context, options, { applied }, text);
    });
  withExamples(command, ['usher migrate', 'usher migrate --config production.yaml']);
}
