import { type Command, Option } from 'commander';
import type { User } from '../gen/api.ts';
import { limitOption } from './flags.ts';
import { withExamples } from './help.ts';
import { type Context, print } from './io.ts';
import { readRows } from './pages.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';
import { moment, painter, table } from './terminal.ts';

interface Options extends ServiceOptions {
  app?: string;
  q?: string;
  active?: boolean;
  inactive?: boolean;
  limit: number;
}

/** `usher users`: the people in the service's records. */
export function defineUsers(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('users'))
    .summary('list people')
    .description(
      'Lists people in the order in which their addresses first appeared. Administrators who are not SuperAdmins see the people of their applications.',
    )
    .option(
      '--app <code>',
      'only people of this application: with a role, an override, preferences or a login there, or its administrators',
    )
    .option('--q <text>', 'only people whose address or name contains this text')
    .addOption(new Option('--active', 'only active people').conflicts('inactive'))
    .option('--inactive', 'only inactive people')
    .addOption(limitOption())
    .action(async (_: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const service = await openService(io, options);
      const active = options.active ? true : options.inactive ? false : undefined;
      const query = { appCode: options.app, q: options.q, active };
      const { rows, more } = await readRows(
        (page) => service.call('GET /api/users', { query: { ...query, ...page } }),
        options.limit,
      );
      const lines = rows.map((user) => [user.email, user.displayName ?? '-', moment(user.lastLoginAt), remarks(user)]);
      const text =
        rows.length === 0
          ? 'No people match.'
          : table(['EMAIL', 'NAME', 'LAST LOGIN', 'REMARKS'], lines, painter(io, io.stdout));
      await print(context, options, rows, text);
      if (more) io.stderr.write(`There are more people: raise --limit (now ${options.limit}).\n`);
    });
  withExamples(command, [
    'usher users --app atelier',
    'usher users --q clara -o json',
    'usher users --inactive --limit 1000',
  ]);
}

function remarks({ active, blocked, registered, isSuperAdmin }: User): string {
  const state = active ? [] : [blocked ? 'blocked' : 'inactive'];
  return [...state, ...(isSuperAdmin ? ['SuperAdmin'] : []), ...(registered ? [] : ['never signed in'])].join(', ');
}
