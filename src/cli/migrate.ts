import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, print } from './io.ts';

interface Options extends GlobalOptions {
  finish?: boolean;
  force?: boolean;
}

/** `usher migrate`: brings the database to this version. */
export function defineMigrate(program: Command, context: Context): void {
  const command = program
    .command('migrate')
    .summary('apply pending migrations to the database')
    .description(
      'Applies the pending migrations, all or none. Stop a service with an embedded database first. ' +
        'After an upgrade of several processes run it with --finish when the last of the version before is gone: ' +
        'until then nothing may be written that those would not understand, as a role that ends.',
    )
    .option('--finish', 'end the upgrade: no process of the version before is left')
    .option('--force', 'with --finish: although sessions of the version before seem to be there')
    .action(async (_: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      if (options.force === true && options.finish !== true) {
        throw new CommandFailed('--force belongs to --finish.', { code: 'USAGE' });
      }
      const { io } = context;
      const { placeOf } = await import('./load-config.ts');
      const place = await placeOf(io, options);
      const local = await io.local();
      const applied = await local.migrate(place);
      const text = applied.length === 0 ? 'No pending migrations.' : `Applied ${applied.join(', ')}.`;
      if (options.finish !== true) {
        await print(context, options, { applied }, text);
        return;
      }
      const finished = await local.finishUpgrade(place, options.force === true);
      const ended = finished ? 'The upgrade is finished.' : 'The upgrade was finished before.';
      await print(context, options, { applied, finished }, `${text} ${ended}`);
    });
  withExamples(command, ['usher migrate', 'usher migrate --config production.yaml', 'usher migrate --finish']);
}
