import type { Command } from 'commander';
import type { RuleName } from '../base/level-names.ts';
import type { Explanation } from '../gen/api.ts';
import { explain, reasonFor } from './explain.ts';
import { atLevel, levelOption } from './flags.ts';
import { withExamples } from './help.ts';
import { type Context, print } from './io.ts';
import { questionInWords, readResource } from './questions.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';
import { type Paint, painter, table } from './terminal.ts';

interface Options extends ServiceOptions {
  resource?: string;
  level?: 'view' | 'edit';
}

/** `usher explain EMAIL APP PERMISSION`: one decision, and the result of each of the six rules. */
export function defineExplain(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('explain <email> <app> <permission>'))
    .summary('show the result of each rule for a question')
    .description(
      [
        'Asks a running service for one decision, and for the result of each of the six rules by itself.',
        'Needs an API key with the scope check, or the token of somebody who may view the application.',
      ].join('\n\n'),
    )
    .option('--resource <type:id>', 'for one record, for example project:1042')
    .addOption(levelOption())
    .action(async (email: string, app: string, permission: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const subject = { email, app, ...readResource(options.resource) };
      const question = {
        ...subject,
        permission,
        ...atLevel(options.level),
      };
      const service = await openService(context.io, options);
      const { explained, revision } = await explain(service, question);
      const what = questionInWords(permission, app, options.resource);
      const verdict = explained.allowed ? 'allowed' : 'denied';
      const text = `${verdict}: ${email}, ${what}: ${await reasonFor(service, question, explained)}`;
      const rules = ruleTable(explained, painter(context.io, context.io.stdout));
      const { behindInWords, recordBehind } = await import('./given.ts');
      const behind = await recordBehind(service, question, explained);
      const origin = behind === null ? '' : `\n${behindInWords(behind)}`;
      await print(
        context,
        options,
        { ...subject, permission, ...explained, revision, since: behind },
        `${text}${origin}\n\n${rules}`,
      );
    });
  withExamples(command, [
    'usher explain clara@example.com atelier project.access --resource project:1042',
    'usher explain clara@example.com atelier invoice.access --level edit --json',
  ]);
}

const NAMES: Readonly<Record<RuleName, string>> = {
  inactive: 'inactive account',
  superadmin: 'SuperAdmin',
  app_admin: 'application admin',
  override: 'override',
  roles: 'roles',
  default: 'default',
};

function ruleTable({ rules }: Explanation, paint: Paint): string {
  const rows = rules.map((one) => [
    `${one.rule}`,
    NAMES[one.name],
    one.applies ? 'yes' : 'no',
    one.applies ? (one.accessLevel ?? 'denied') : '-',
    one.decides ? 'decides' : '',
    (one.roles ?? []).map(({ code, accessLevel }) => `${code}: ${accessLevel ?? '-'}`).join(', '),
  ]);
  return table(['#', 'rule', 'applies', 'gives', '', 'roles'], rows, paint);
}
