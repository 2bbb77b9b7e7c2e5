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
      const { placeOf } = await import('./load-config.ts');
      const applied = await (await io.local()).migrate(await placeOf(io, options));
      const text = applied.length === 0 ? 'No pending migrations.' : `Applied ${applied.join(', ')}.`;
      await print(context, options, { applied }, text);
    });
  withExamples(command, ['usher migrate', 'usher migrate --config production.yaml']);
}
