import type { Command } from 'commander';
import type { Clock } from '../clock.ts';
import { usherCommand } from '../command.ts';
import { normalizeEmail } from '../grammar.ts';
import { record } from '../persistence/audit.ts';
import type { Database, Outcome, Tx } from '../persistence/database.ts';
import { openDatabase } from '../persistence/open.ts';
import { addSuperadmin, listSuperadmins, removeSuperadmin } from '../persistence/superadmins.ts';
import { createLogger } from '../telemetry.ts';
import { CommandFailed, type Context, type GlobalOptions, type Io, print } from './io.ts';
import { dataDirOf, loadConfig } from './load-config.ts';

/** `usher superadmin add|remove|list`: on the database itself, so that nobody can lock himself out. */
export function defineSuperadmin(program: Command, context: Context): void {
  const superadmin = program
    .command('superadmin')
    .summary('add, remove and list SuperAdmins, on the database itself')
    .description(
      'Works on the database itself. An embedded one must not be in use: stop the service first. A service on PostgreSQL follows within a second.',
    );
  superadmin
    .command('add <email>')
    .description('Makes somebody a SuperAdmin. A person need not have signed in before.')
    .action(async (given: string, _: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const email = readEmail(given);
      const added = await change(context.io, options, (tx) => addSuperadmin(tx, email), 'superadmin.added', email);
      print(context, options, { email, added }, added ? `${email} is a SuperAdmin now.` : `${email} was one already.`);
    });
  superadmin
    .command('remove <email>')
    .description('Takes it away again. The last active one cannot be removed.')
    .action(async (given: string, _: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const email = readEmail(given);
      const removed = await change(
        context.io,
        options,
        (tx) => removeSuperadmin(tx, email),
        'superadmin.removed',
        email,
      );
      if (!removed) throw new CommandFailed(`${email} is no SuperAdmin.`, { code: 'NOT_FOUND' });
      print(context, options, { email, removed }, `${email} is no SuperAdmin any more.`);
    });
  superadmin
    .command('list')
    .description('Lists them, by address.')
    .action(async (_: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const rows = await withDatabase(context.io, options, (database) => database.read(listSuperadmins));
      const lines = rows.map(({ email, active }) => `${email}${active ? '' : ' (inactive)'}`);
      print(
        context,
        options,
        rows,
        lines.length === 0 ? `There are none: ${usherCommand('superadmin add EMAIL')}` : lines.join('\n'),
      );
    });
}

function readEmail(text: string): string {
  const email = normalizeEmail(text);
  if (email === null)
    throw new CommandFailed(`${JSON.stringify(text)} is no e-mail address.`, { code: 'VALIDATION_FAILED' });
  return email;
}

/** Whether anything was changed; then with an audit record in the same transaction. */
async function change(
  io: Io,
  options: GlobalOptions,
  write: (tx: Tx) => Promise<Outcome<boolean>>,
  action: string,
  email: string,
): Promise<boolean> {
  return await withDatabase(io, options, async (database) => {
    const { result } = await database.change(async (tx) => {
      const outcome = await write(tx);
      if (outcome.result) await record(tx, { actor: 'cli', action, subject: email });
      return outcome;
    });
    return result;
  });
}

async function withDatabase<T>(io: Io, options: GlobalOptions, use: (database: Database) => Promise<T>): Promise<T> {
  const config = await loadConfig(io, options);
  const clock: Clock = io.clock;
  const database = await openDatabase({
    url: config.database.url,
    dataDir: dataDirOf(io, config),
    poolSize: 2,
    migrateOnStart: config.database.migrateOnStart,
    clock,
    log: createLogger('silent'),
  });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}
