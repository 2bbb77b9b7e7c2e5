import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { type Context, formatOf, print } from './io.ts';
import { applicationMeant, endOf } from './meant.ts';
import { askEffective, type EffectiveItem, readResource } from './questions.ts';
import { addServiceOptions, openService, type Service, type ServiceOptions } from './service.ts';

interface Options extends ServiceOptions {
  resource?: string;
}

/** `usher effective EMAIL APP`: every permission of the application, and what the person holds of it. */
export function defineEffective(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('effective <email> <app>'))
    .summary('list what a person holds in an application')
    .description(
      'Lists every permission that an application defines, the level that the person holds, and the rule that grants it.',
    )
    .option('--resource <type:id>', 'for one resource, for example project:1042')
    .action(async (email: string, app: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const service = await openService(context.io, options);
      const subject = { email, app, ...readResource(options.resource) };
      const { items, revision } = await askEffective(service, subject);
      const isNothingToShow = items.length === 0 && formatOf(options) === 'table';
      const text = isNothingToShow ? await noneOf(service, app) : byGroup(items);
      await print(context, options, { ...subject, permissions: items, revision }, text);
    });
  withExamples(command, [
    'usher effective clara@example.com atelier',
    'usher effective clara@example.com atelier --resource project:1042 -o json',
  ]);
}

async function noneOf(service: Service, app: string): Promise<string> {
  const meant = await applicationMeant(service, app);
  return `${app} defines no permissions, or there is no such application${meant === null ? '.' : endOf(meant)}`;
}

function byGroup(items: readonly EffectiveItem[]): string {
  const width = Math.max(...items.map(({ code }) => code.length));
  const lines: string[] = [];
  let group: string | null | undefined;
  for (const item of items) {
    if (item.groupName !== group && (item.groupName !== null || lines.length > 0)) {
      lines.push(...(lines.length > 0 ? [''] : []), item.groupName ?? '(no group)');
    }
    group = item.groupName;
    const level = (item.granted ? (item.accessLevel ?? '-') : '-').padEnd('allowed'.length);
    lines.push(`  ${item.code.padEnd(width)}  ${level}  ${source(item)}`.trimEnd());
  }
  return lines.join('\n');
}

function source({ source: by, granted }: EffectiveItem): string {
  if (by === null || by === 'none') return '';
  if (by === 'override') return granted ? 'by override' : 'denied by override';
  return { role: 'by role', superadmin: 'SuperAdmin', app_admin: 'application admin' }[by];
}
