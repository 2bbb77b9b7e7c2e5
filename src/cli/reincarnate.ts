import type { Command } from 'commander';
import { reasonOption } from './flags.ts';
import { withExamples } from './help.ts';
import { type Context, type GlobalOptions, print } from './io.ts';

interface Options extends GlobalOptions {
  yes?: boolean;
  reason?: string;
}

/** `usher reincarnate`: a new history for a restored or copied database. */
export function defineReincarnate(program: Command, context: Context): void {
  const command = program
    .command('reincarnate')
    .summary('give a restored or copied database a new history')
    .description(
      'Gives the database a new history: instances and edges forget what they have cached, and revisions from before are refused. ' +
        'For a copy, and for a database whose rows were changed by hand. Without --yes it only says so.',
    )
    .option('--yes', 'begin the new history')
    .addOption(reasonOption())
    .action(async (_: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      if (options.yes !== true) {
        const text =
          'Every instance and edge would forget what it has cached, and refuse revisions from before. Nothing was changed; with --yes it is done.';
        await print(context, options, { done: false }, text);
        return;
      }
      const { io } = context;
      const { placeOf } = await import('./load-config.ts');
      const place = await placeOf(io, options);
      const { revisions, revision } = await (await io.local()).reincarnate(place, options.reason);
      const text = `The database has a new history; its newest revision is ${revision}.`;
      await print(context, options, { done: true, revisions, revision }, text);
    });
  withExamples(command, ['usher reincarnate', 'usher reincarnate --yes']);
}
