import { type Command, Option } from 'commander';
import { explain } from './explain.ts';
import { withExamples } from './help.ts';
import { type Context, print } from './io.ts';
import { readResource } from './questions.ts';
import { asksService, openService, type ServiceOptions } from './service.ts';

interface Options extends ServiceOptions {
  resource?: string;
  level?: 'view' | 'edit';
  exitCode?: boolean;
}

/** What `check --exit-code` ends with for a denial: as `apply --dry-run`, 1 stays what every failure ends with. */
const DENIED = 2;

/** `usher check EMAIL APP PERMISSION`: one decision, with its reason. */
export function defineCheck(program: Command, context: Context): void {
  const command = asksService(program.command('check <email> <app> <permission>'))
    .summary('ask whether a person holds a permission, and why')
    .description(
      [
        'Asks a running service whether a person holds a permission, and says why.',
        'Exit codes: 0 answered, whether allowed or denied; 1 failed. With --exit-code: 0 allowed, 2 denied, 1 failed. A failure is not an answer: treat it as a denial.',
      ].join('\n\n'),
    )
    .option('--resource <type:id>', 'for one record, for example project:1042')
    .addOption(new Option('--level <level>', 'the level that is needed').choices(['view', 'edit']))
    .option('--exit-code', 'end with 2 when the answer is a denial')
    .action(async (email: string, app: string, permission: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const resource = readResource(options.resource);
      const service = await openService(context.io, options);
      const subject = { email, app, ...resource };
      const answer = await explain(service, subject, permission, options.level);
      const what = `${permission} in ${app}${options.resource === undefined ? '' : ` for ${options.resource}`}`;
      const verdict = answer.allowed ? 'allowed' : 'denied';
      const text = `${verdict}: ${email}, ${what}: ${answer.reason}`;
      await print(context, options, { ...subject, permission, ...answer }, text);
      if (options.exitCode && !answer.allowed) context.exitCode = DENIED;
    });
  withExamples(command, [
    'usher check clara@example.com atelier invoice.access',
    'usher check clara@example.com atelier project.access --resource project:1042 --level edit',
    'usher check clara@example.com atelier invoice.access --exit-code && echo "may go on"',
  ]);
}
