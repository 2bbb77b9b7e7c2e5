import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, print } from './io.ts';
import type { PlanAnswer } from './show-plan.ts';
import { painter } from './terminal.ts';

/** `usher demo`: loads the demonstration into the configured database. */
export function defineDemo(program: Command, context: Context): void {
  const command = program
    .command('demo')
    .summary('load the demonstration into the database')
    .description(
      [
        'Applies examples/demo.yaml, the application atelier with people and roles, to the configured database and keeps everything else in it. A second run changes nothing.',
        'For development only: refused in production. Stop a service with an embedded database first; a service on PostgreSQL sees the change within a second.',
      ].join('\n\n'),
    )
    .action(async (_: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { io } = context;
      const { dataDirOf, loadConfig } = await import('./load-config.ts');
      const { hasWork, showPlan } = await import('./show-plan.ts');
      const config = await loadConfig(io, options);
      if (config.production) {
        throw new CommandFailed(
          'The demonstration is for development only, and NODE_ENV is production: its people would hold roles in production.',
          { code: 'PRODUCTION' },
        );
      }
      const plan = (await io.demo({ config: { ...config, dataDir: dataDirOf(io, config) } })) as PlanAnswer;
      const next = `Ask about it while the service runs: ${usherCommand('check clara@example.com atelier project.access')}`;
      const done = hasWork(plan)
        ? showPlan(plan, io.stdout, painter(io, io.stdout))
        : 'The demonstration is already loaded.';
      await print(context, options, plan, `${done}\n\n${next}`);
    });
  withExamples(command, ['usher demo']);
}
