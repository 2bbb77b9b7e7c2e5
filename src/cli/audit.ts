import { type Command, Option } from 'commander';
import type { AuditRecord } from '../gen/api.ts';
import { limitOption, momentOption } from './flags.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, print } from './io.ts';
import { readRows } from './pages.ts';
import { addServiceOptions, openService, type Service, type ServiceOptions } from './service.ts';
import { moment, painter, table } from './terminal.ts';

interface Options extends ServiceOptions {
  subject?: string;
  person?: string;
  actor?: string;
  app?: string;
  action?: string;
  from?: string;
  to?: string;
  limit: number;
}

/** `usher audit`: audit records, the newest first. */
export function defineAudit(program: Command, context: Context): void {
  const { clock } = context.io;
  const command = addServiceOptions(program.command('audit'))
    .summary('list audit records, the newest first')
    .description(
      'Lists the records of changes and refusals, the newest first. SuperAdmins see all of them; with --app, administrators of that application see its records. Each is one sentence that names what it is about, what it changed and why. With -o json or yaml each record is as it is stored.',
    )
    .addOption(new Option('--person <email>', 'only records about this person').conflicts('subject'))
    .option('--subject <text>', 'only records about this subject: an address or a code')
    .option('--actor <who>', 'only records of this actor: an address, key:NAME, idp, cli or system')
    .option('--app <code>', 'only records of this application')
    .option('--action <action>', 'only records of this action, for example user.blocked')
    .addOption(
      momentOption(
        '--from <when>',
        'only records since then: a date, a date and time (UTC), or an age such as 24h',
        clock,
      ),
    )
    .addOption(momentOption('--to <when>', 'only records before then', clock))
    .addOption(limitOption())
    .action(async (_: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const service = await openService(io, options);
      const { rows, more } = await readRecords(service, options);
      const { actorOf, inWords } = await import('./audit-line.ts');
      const lines = rows.map((row) => [moment(row.at), actorOf(row), inWords(row)]);
      const heads = ['AT', 'ACTOR', 'WHAT'];
      const text = rows.length === 0 ? 'No records match.' : table(heads, lines, painter(io, io.stdout));
      await print(context, options, rows, text);
      if (more) io.stderr.write(`There are more records: raise --limit (now ${options.limit}).\n`);
    });
  withExamples(command, [
    'usher audit --person clara@example.com',
    'usher audit --app atelier --from 7d',
    'usher audit --actor ada@example.com --from 2026-11-01 --to 2026-12-01 -o json',
  ]);
}

async function readRecords(service: Service, options: Options): Promise<{ rows: AuditRecord[]; more: boolean }> {
  const { subject, person, actor, action, from, to, app, limit } = options;
  const query = { subject: person ?? subject, actor, action, from, to };
  try {
    return await readRows(
      (page) => service.call('GET /api/admin/audit', { query: { ...query, appCode: app, ...page } }),
      limit,
    );
  } catch (error) {
    if (app === undefined || !(error instanceof CommandFailed) || error.code !== 'FORBIDDEN') throw error;
    // Not a SuperAdmin: administrators of the application have a list of their own.
    return await readRows(
      (page) =>
        service.call('GET /api/applications/{appCode}/audit', {
          path: { appCode: app },
          query: { ...query, ...page },
        }),
      limit,
    );
  }
}
