import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import { normalizeEmail } from '../base/grammar.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, print } from './io.ts';

/** `usher superadmin add|remove|list`: on the database itself, so that nobody can lock themselves out. */
export function defineSuperadmin(program: Command, context: Context): void {
  const group = program
    .command('superadmin')
    .summary('add, remove and list SuperAdmins, on the database itself')
    .description(
      'Works on the database itself. An embedded one must not be in use: stop the service first. A service on PostgreSQL follows within a second.',
    );
  withExamples(group, ['usher superadmin list', 'usher superadmin add ada@example.com']);
  defineAdd(group, context);
  defineRemove(group, context);
  defineList(group, context);
}

function defineAdd(group: Command, context: Context): void {
  const command = group
    .command('add <email>')
    .description('Makes a person a SuperAdmin. They need not have signed in before.')
    .action(async (given: string, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const email = readEmail(given);
      const { add } = await import('./superadmin-database.ts');
      const added = await add(context.io, options, email);
      const text = added ? `${email} is a SuperAdmin now.` : `${email} was one already.`;
      await print(context, options, { email, added }, text);
    });
  withExamples(command, ['usher superadmin add ada@example.com']);
}

function defineRemove(group: Command, context: Context): void {
  const command = group
    .command('remove <email>')
    .description('Makes a person a SuperAdmin no longer. The last active one cannot be removed.')
    .action(async (given: string, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const email = readEmail(given);
      const { remove } = await import('./superadmin-database.ts');
      const removed = await remove(context.io, options, email);
      if (!removed) throw new CommandFailed(`${email} is no SuperAdmin.`, { code: 'NOT_FOUND' });
      await print(context, options, { email, removed }, `${email} is no SuperAdmin any more.`);
    });
  withExamples(command, ['usher superadmin remove ada@example.com']);
}

function defineList(group: Command, context: Context): void {
  const command = group
    .command('list')
    .description('Lists them, by address.')
    .action(async (_: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { list } = await import('./superadmin-database.ts');
      const rows = await list(context.io, options);
      const lines = rows.map(({ email, active }) => `${email}${active ? '' : ' (inactive)'}`);
      const text = lines.length === 0 ? `There are none: ${usherCommand('superadmin add EMAIL')}` : lines.join('\n');
      await print(context, options, rows, text);
    });
  withExamples(command, ['usher superadmin list', 'usher superadmin list -o json']);
}

function readEmail(text: string): string {
  const email = normalizeEmail(text);
  if (email !== null) return email;
  throw new CommandFailed(`${JSON.stringify(text)} is no e-mail address.`, { code: 'VALIDATION_FAILED' });
}
