import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import { hasForbiddenCharacters, normalizeEmail, RULES } from '../base/grammar.ts';
import { reasonOption } from './flags.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, type Io, type LocalWork, type Place, print } from './io.ts';

/** As tokens may have it (identity/claims.ts). */
const MAX_SUBJECT = 255;

interface WriteOptions extends GlobalOptions {
  reason?: string;
}

/** `usher superadmin add|remove|list`: works in the database itself, so that administrators cannot lock themselves out. */
export function defineSuperadmin(program: Command, context: Context): void {
  const group = program
    .command('superadmin')
    .summary('add, remove and list SuperAdmins in the database itself')
    .description(
      'Works in the database itself. Stop a service with an embedded database first; a service on PostgreSQL sees the change within a second.',
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
    .option(
      '--account <sub>',
      'the account at the identity provider that the address belongs to: the claim sub of its tokens',
    )
    .addOption(reasonOption())
    .action(async (given: string, _: unknown, self: Command) => {
      const options = self.optsWithGlobals<WriteOptions & { account?: string }>();
      const email = readEmail(given);
      const account = options.account === undefined ? null : readSubject(options.account);
      const { local, place } = await databaseOf(context.io, options);
      const added = await local.addSuperadmin(place, email, account, options.reason);
      const named = account === null ? '' : ` The address belongs to the account ${account}.`;
      const text = added ? `${email} is now a SuperAdmin.` : `${email} already was a SuperAdmin.`;
      await print(context, options, { email, added, ...(account === null ? {} : { account }) }, `${text}${named}`);
    });
  withExamples(command, [
    'usher superadmin add ada@example.com',
    'usher superadmin add ada@example.com --account 271828182845904523',
  ]);
}

function defineRemove(group: Command, context: Context): void {
  const command = group
    .command('remove <email>')
    .description("Ends a person's SuperAdmin rights. The last active SuperAdmin cannot be removed.")
    .addOption(reasonOption())
    .action(async (given: string, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<WriteOptions>();
      const email = readEmail(given);
      const { local, place } = await databaseOf(context.io, options);
      const removed = await local.removeSuperadmin(place, email, options.reason);
      if (!removed) throw new CommandFailed(`${email} is not a SuperAdmin.`, { code: 'NOT_FOUND' });
      await print(context, options, { email, removed }, `${email} is no longer a SuperAdmin.`);
    });
  withExamples(command, ['usher superadmin remove ada@example.com']);
}

function defineList(group: Command, context: Context): void {
  const command = group
    .command('list')
    .description('Lists the SuperAdmins, by address.')
    .action(async (_: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { local, place } = await databaseOf(context.io, options);
      const rows = await local.superadmins(place);
      const lines = rows.map(({ email, active }) => `${email}${active ? '' : ' (inactive)'}`);
      const text =
        lines.length === 0
          ? `There are no SuperAdmins; ${usherCommand('superadmin add EMAIL')} adds one.`
          : lines.join('\n');
      await print(context, options, rows, text);
    });
  withExamples(command, ['usher superadmin list', 'usher superadmin list -o json']);
}

async function databaseOf(io: Io, options: GlobalOptions): Promise<{ local: LocalWork; place: Place }> {
  const { placeOf } = await import('./load-config.ts');
  return { place: await placeOf(io, options), local: await io.local() };
}

function readEmail(text: string): string {
  const email = normalizeEmail(text);
  if (email !== null) return email;
  throw new CommandFailed(`${JSON.stringify(text)} is not a valid e-mail address: it must be ${RULES.email}.`, {
    code: 'VALIDATION_FAILED',
  });
}

function readSubject(text: string): string {
  if (text.trim() !== '' && text.length <= MAX_SUBJECT && !hasForbiddenCharacters(text)) return text;
  throw new CommandFailed(`--account must be the claim sub of a token: 1 to ${MAX_SUBJECT} characters.`, {
    code: 'VALIDATION_FAILED',
  });
}
