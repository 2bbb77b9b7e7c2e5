import type { Command } from 'commander';
import type { AllowedSubject, Api } from '../gen/api.ts';
import { atLevel, levelOption, limitOption } from './flags.ts';
import { withExamples } from './help.ts';
import { type Context, print } from './io.ts';
import { asksAsAdministrator, questionInWords, readResource } from './questions.ts';
import { type Answer, addServiceOptions, openService, type Service, type ServiceOptions } from './service.ts';
import { painter, table } from './terminal.ts';

interface Options extends ServiceOptions {
  resource?: string;
  level?: 'view' | 'edit';
  limit: number;
}

const SOURCES = { role: 'role', override: 'override', superadmin: 'SuperAdmin', app_admin: 'application admin' };
const LARGEST_PAGE = 1000;

/** `usher who APP PERMISSION`: who holds a permission. */
export function defineWho(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('who <app> <permission>'))
    .summary('list who holds a permission')
    .description(
      'Lists whom a check of the same question allows, with their level and the rule that grants it. Inactive people are allowed nothing.',
    )
    .option('--resource <type:id>', 'for one record, for example project:1042')
    .addOption(levelOption())
    .addOption(limitOption(100))
    .action(async (app: string, permission: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const service = await openService(io, options);
      const question = { permission, ...readResource(options.resource), ...atLevel(options.level) };
      const { subjects, more, revision } = await readSubjects(service, app, question, options.limit);
      const what = questionInWords(permission, app, options.resource);
      const lines = subjects.map(({ email, accessLevel, source }) => [email, accessLevel, SOURCES[source]]);
      const text =
        lines.length === 0 ? `Nobody holds ${what}.` : table(['EMAIL', 'LEVEL', 'BY'], lines, painter(io, io.stdout));
      await print(context, options, { app, ...question, subjects, more, revision }, text);
      if (more) io.stderr.write(`There are more: raise --limit (now ${options.limit}).\n`);
    });
  withExamples(command, [
    'usher who atelier invoice.access',
    'usher who atelier project.access --resource project:1042 --level edit',
    'usher who atelier project.access --limit 1000 -o json',
  ]);
}

/** The first `limit` of them, whether there are more, and the revision of the last page read. */
async function readSubjects(
  service: Service,
  app: string,
  question: Omit<Api['POST /api/check/subjects']['body'], 'app'>,
  limit: number,
): Promise<{ subjects: AllowedSubject[]; more: boolean; revision: string | null }> {
  const subjects: AllowedSubject[] = [];
  let cursor: string | null = null;
  let revision: string | null = null;
  do {
    const page = { ...question, limit: Math.min(LARGEST_PAGE, limit - subjects.length), cursor };
    const answer: Answer<{ subjects: AllowedSubject[] }> = asksAsAdministrator(service)
      ? await service.call('POST /api/applications/{appCode}/subjects', { path: { appCode: app }, body: page })
      : await service.call('POST /api/check/subjects', { body: { app, ...page } }, { asks: 'checks' });
    subjects.push(...answer.data.subjects);
    cursor = answer.next;
    revision = answer.revision;
  } while (cursor !== null && subjects.length < limit);
  return { subjects, more: cursor !== null, revision };
}
