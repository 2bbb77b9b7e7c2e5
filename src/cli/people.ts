import type { Command } from 'commander';
import type { ImportResult } from '../gen/api.ts';
import type { Issue } from './files.ts';
import { reasonOption } from './flags.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, print } from './io.ts';
import { faulty, PEOPLE_COLUMNS, type PeopleFile, readPeople } from './people-file.ts';
import { ProgressLine } from './progress.ts';
import { addServiceOptions, openService, type Service, type ServiceOptions } from './service.ts';

/** As many as the service takes at once; each piece is a transaction. */
const PIECE = 500;
const TIMEOUT_MS = 11 * 60_000;

interface Options extends ServiceOptions {
  dryRun?: boolean;
}

/** `usher people import FILE.csv`: people from a list that is kept elsewhere. */
export function definePeople(program: Command, context: Context): void {
  const group = program.command('people').summary('import people').description('Many people at once. For SuperAdmins.');
  const command = addServiceOptions(group.command('import <file>'))
    .summary('import people from a CSV file')
    .description(
      [
        `Makes the people of a CSV file (UTF-8), and gives them roles. Its head names the columns, in any order: ${PEOPLE_COLUMNS.join(', ')}. Only email must be there; an empty cell leaves what is stored.`,
        'roles are APP/ROLE, separated by spaces; they are given in addition. Names are taken only where nobody has changed them. Repeated it changes nothing.',
        'All faults are told at once, with their lines, and then nothing is imported. The file - is standard input. Needs a SuperAdmin, or a key with the scopes profile and manifest.',
      ].join('\n\n'),
    )
    .option('--dry-run', 'tell what would be done, and change nothing')
    .addOption(reasonOption())
    .action(async (name: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const file = await readPeople(io, name);
      const service = await openService(io, options);
      // First all of it without a change, so that a fault at the end does not leave half of a list imported.
      const rehearsed = await send(context, service, file, true);
      const done = options.dryRun === true ? rehearsed : await send(context, service, file, false);
      const answer = { dryRun: options.dryRun === true, ...done };
      await print(context, options, answer, textOf(answer));
    });
  withExamples(group, ['usher people import staff.csv --dry-run', 'usher people import staff.csv']);
  withExamples(command, ['usher people import staff.csv --dry-run', 'usher people import staff.csv']);
}

type Counts = Omit<ImportResult, 'dryRun'>;

async function send({ io }: Context, service: Service, file: PeopleFile, dryRun: boolean): Promise<Counts> {
  const { people } = file;
  const progress = new ProgressLine(io.stderr, io.clock, dryRun ? `examining ${file.name}` : `importing ${file.name}`);
  const counts: Counts = { created: 0, changed: 0, kept: 0, rolesGiven: 0 };
  const issues: Issue[] = [];
  try {
    for (let at = 0; at < people.length; at += PIECE) {
      const piece = people.slice(at, at + PIECE).map(({ person }) => person);
      try {
        const input = { query: { dryRun }, body: { people: piece } };
        const { data } = await service.call('POST /api/users/import', input, { timeoutMs: TIMEOUT_MS });
        for (const name of ['created', 'changed', 'kept', 'rolesGiven'] as const) counts[name] += data[name];
      } catch (error) {
        if (!(error instanceof CommandFailed) || !Array.isArray(error.details?.issues)) throw error;
        issues.push(...placed(file, at, error.details.issues as Issue[]));
      }
      progress.update(Math.min(at + PIECE, people.length), people.length);
    }
  } finally {
    progress.end();
  }
  if (issues.length > 0) throw faulty(file.name, issues);
  return counts;
}

/** The faults that the service found in a piece, at their lines. */
function placed({ people }: PeopleFile, from: number, issues: readonly Issue[]): Issue[] {
  return issues.map(({ path, message }) => {
    const [list, at = '', ...field] = path.split('.');
    const line = list === 'people' ? people[from + Number(at)]?.line : undefined;
    return line === undefined ? { path, message } : { path: field.join('.'), message, line, column: 1 };
  });
}

function textOf({ dryRun, created, changed, kept, rolesGiven }: ImportResult): string {
  const people = `${created} created, ${changed} changed, ${kept} as they are`;
  return dryRun
    ? `It would be: ${people}; ${rolesGiven} roles given. Nothing was changed.`
    : `${people}; ${rolesGiven} roles given.`;
}
