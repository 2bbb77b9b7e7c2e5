import type { Command } from 'commander';
import { check } from './explain.ts';
import { atLevel, levelOption } from './flags.ts';
import { withExamples } from './help.ts';
import { type Context, print } from './io.ts';
import { questionInWords, readResource } from './questions.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';

interface Options extends ServiceOptions {
  resource?: string;
  level?: 'view' | 'edit';
  exitCode?: boolean;
}

/** The exit code of `check --exit-code` for a denial; 1 stays the code of every failure, as in `apply --dry-run`. */
const DENIED = 2;

/** `usher check EMAIL APP PERMISSION`: one decision, with its reason. */
export function defineCheck(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('check <email> <app> <permission>'))
    .summary('ask whether a person has a permission, and why')
    .description(
      [
        'Asks a running service whether a person has a permission, and prints the reason.',
        'Exit codes: 0 answered, whether allowed or denied; 1 failed. With --exit-code: 0 allowed, 2 denied, 1 failed. A failure is not an answer: treat it as denied.',
      ].join('\n\n'),
    )
    .option('--resource <type:id>', 'for one resource, for example project:1042')
    .addOption(levelOption())
    .option('--exit-code', 'exit with 2 when the answer is denied')
    .action(async (email: string, app: string, permission: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const resource = readResource(options.resource);
      const service = await openService(context.io, options);
      const subject = { email, app, ...resource };
      const { level } = options;
      const answer = await check(service, {
        ...subject,
        permission,
        ...atLevel(level),
      });
      const what = questionInWords(permission, app, options.resource);
      const verdict = answer.allowed ? 'allowed' : 'denied';
      const text = `${verdict}: ${email}, ${what}: ${answer.reason}`;
      await print(context, options, { ...subject, permission, ...answer }, text);
      if (options.exitCode && !answer.allowed) context.exitCode = DENIED;
    });
  withExamples(command, [
    'usher check clara@example.com atelier invoice.access',
    'usher check clara@example.com atelier project.access --resource project:1042 --level edit',
    'usher check clara@example.com atelier invoice.access --exit-code && echo "allowed"',
  ]);
}
