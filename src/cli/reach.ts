import type { Command } from 'commander';
import type { Out } from '../gen/api.ts';
import { atLevel, levelOption } from './flags.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, print } from './io.ts';
import { asksAboutItself, asksAsAdministrator, questionInWords } from './questions.ts';
import { type Answer, addServiceOptions, openService, type Service, type ServiceOptions } from './service.ts';
import { harmless } from './terminal.ts';

interface Options extends ServiceOptions {
  level?: 'view' | 'edit';
}

interface Reached {
  scope: 'all' | 'only';
  resourceIds: string[];
  revision: string | null;
}

const LARGEST_PAGE = 10_000;
/** How often a list that changes while it is read is read in total. */
const ATTEMPTS = 5;

/** `usher reach EMAIL APP PERMISSION TYPE`: the records that a person can reach. */
export function defineReach(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('reach <email> <app> <permission> <type>'))
    .summary('list the records that a person can reach')
    .description(
      'Lists the records of a type for which a person holds a permission: all except those listed, or only those listed.',
    )
    .addOption(levelOption())
    .action(async (email: string, app: string, permission: string, type: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const service = await openService(context.io, options);
      const question = { email, app, permission, resourceType: type, ...atLevel(options.level) };
      const reached = await readReached(service, question);
      await print(context, options, { ...question, ...reached }, inWords(question, reached));
    });
  withExamples(command, [
    'usher reach clara@example.com atelier project.access project',
    'usher reach clara@example.com atelier project.access project --level edit -o json',
  ]);
}

type Question = {
  email: string;
  app: string;
  permission: string;
  resourceType: string;
  accessLevel?: 'view' | 'edit';
};

/** Every page: half a list of exceptions would allow what is denied. */
async function readReached(service: Service, question: Question): Promise<Reached> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readPages(service, question);
    } catch (error) {
      const hasChanged = error instanceof CommandFailed && error.code === 'LIST_CHANGED';
      if (!hasChanged || attempt >= ATTEMPTS) throw error;
    }
  }
}

async function readPages(service: Service, question: Question): Promise<Reached> {
  const resourceIds: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const { data, next, revision }: ReachedPage = await readPage(service, question, cursor);
    resourceIds.push(...data.resourceIds);
    cursor = next;
    if (cursor === null) return { scope: data.scope, resourceIds, revision };
  }
}

type ReachedPage = Answer<Out<'POST /api/check/resources'>>;

async function readPage(
  service: Service,
  { email, app, ...question }: Question,
  cursor: string | null,
): Promise<ReachedPage> {
  const page = { ...question, limit: LARGEST_PAGE, cursor };
  if (asksAboutItself(service, email)) {
    const own = await service.call('POST /api/profile/me/check/resources', { body: { app, ...page } });
    return { ...own, next: own.data.page.nextCursor };
  }
  return asksAsAdministrator(service)
    ? await service.call('POST /api/applications/{appCode}/resources', {
        path: { appCode: app },
        body: { email, ...page },
      })
    : await service.call('POST /api/check/resources', { body: { email, app, ...page } }, { asks: 'checks' });
}

function inWords({ email, permission, app, resourceType }: Question, { scope, resourceIds }: Reached): string {
  const what = questionInWords(permission, app);
  const listed = resourceIds.map((id) => `  ${harmless(id)}`);
  if (scope === 'only') {
    if (listed.length === 0) return `${email} holds ${what} for no ${resourceType}.`;
    return [`${email} holds ${what} only for these ${resourceType} records:`, ...listed].join('\n');
  }
  if (listed.length === 0) return `${email} holds ${what} for every ${resourceType}.`;
  return [`${email} holds ${what} for every ${resourceType} but these:`, ...listed].join('\n');
}
