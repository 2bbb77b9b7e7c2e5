import type { Command } from 'commander';
import type { Impact, Input, Out } from '../gen/api.ts';
import { reasonOption } from './flags.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, formatOf, print } from './io.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';

/** A large inbox: as long as the service gives an erasure. */
const TIMEOUT_MS = 11 * 60_000;

interface WriteOptions extends ServiceOptions {
  dryRun?: boolean;
  yes?: boolean;
  handOverTo?: string;
}

/** `usher person export|move|offboard|erase EMAIL`: what is stored about a person, and how it moves or ends. */
export function definePerson(program: Command, context: Context): void {
  const group = program
    .command('person')
    .summary('export, move, offboard and erase a person')
    .description('What is stored about a person, and how it moves or ends. For SuperAdmins.');
  withExamples(group, ['usher person export clara@example.com > clara.json', 'usher person erase clara@example.com']);
  defineExport(group, context);
  defineMove(group, context);
  defineOffboard(group, context);
  defineErase(group, context);
}

function defineExport(group: Command, context: Context): void {
  const command = addServiceOptions(group.command('export <email>'))
    .description('Prints everything that is stored about a person, as JSON.')
    .action(async (email: string, _: ServiceOptions, self: Command) => {
      const options = self.optsWithGlobals<ServiceOptions>();
      if (options.output !== undefined && formatOf(options) !== 'json') {
        throw new CommandFailed("A person's data is printed as json alone.", { code: 'USAGE' });
      }
      const { io } = context;
      const service = await openService(io, options);
      const limit = { timeoutMs: TIMEOUT_MS };
      const response = await service.open('GET /api/users/{email}/export', { path: { email } }, limit);
      try {
        // In the pieces in which it comes: an inbox may be larger than what this process should hold.
        const text = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
        for await (const piece of text) io.stdout.write(piece);
      } catch {
        throw new CommandFailed('The service broke off: what was printed is not complete. Try again.');
      }
    });
  withExamples(command, ['usher person export clara@example.com > clara.json']);
}

function defineMove(group: Command, context: Context): void {
  const command = addServiceOptions(group.command('move <email> <to>'))
    .description(
      'Moves a person to another address, with everything that they have: rights, profile, preferences, inbox, account. The old address stays, inactive.',
    )
    .option('--dry-run', 'change nothing, and say what would move')
    .addOption(reasonOption())
    .action(async (email: string, to: string, _: WriteOptions, self: Command) => {
      const options = self.optsWithGlobals<WriteOptions>();
      const isRehearsal = options.dryRun === true;
      const answer = await write(context, options, isRehearsal, 'POST /api/users/{email}/move', {
        path: { email },
        body: { to },
      });
      const done = isRehearsal ? `${email} would be moved to ${to}.` : `${email} is moved to ${to}.`;
      await print(context, options, answer.value, textOf(done, answer));
    });
  withExamples(command, [
    'usher person move clara@example.com clara.novak@example.com --dry-run',
    'usher person move clara@example.com clara.novak@example.com',
  ]);
}

function defineOffboard(group: Command, context: Context): void {
  const command = addServiceOptions(group.command('offboard <email>'))
    .description(
      'Blocks a person and ends every right: SuperAdmin, roles, overrides, administration of applications. Their data stays.',
    )
    .option('--hand-over-to <email>', 'an active person who takes over the administration of the same applications')
    .option('--dry-run', 'change nothing, and say what would end')
    .addOption(reasonOption())
    .action(async (email: string, _: WriteOptions, self: Command) => {
      const options = self.optsWithGlobals<WriteOptions>();
      const isRehearsal = options.dryRun === true;
      const answer = await write(context, options, isRehearsal, 'POST /api/users/{email}/offboard', {
        path: { email },
        body: { handOverTo: options.handOverTo },
      });
      const done = isRehearsal ? `${email} would be offboarded.` : `${email} is offboarded.`;
      await print(context, options, answer.value, textOf(done, answer));
    });
  withExamples(command, [
    'usher person offboard clara@example.com --dry-run',
    'usher person offboard clara@example.com --hand-over-to david@example.com',
  ]);
}

function defineErase(group: Command, context: Context): void {
  const command = addServiceOptions(group.command('erase <email>'))
    .description(
      'Erases everything that is stored about a person; the audit keeps a pseudonym. It cannot be undone, so without --yes it only says what would go.',
    )
    .option('--yes', 'erase')
    .addOption(reasonOption())
    .action(async (email: string, _: WriteOptions, self: Command) => {
      const options = self.optsWithGlobals<WriteOptions>();
      const isRehearsal = options.yes !== true;
      const answer = await write(context, options, isRehearsal, 'POST /api/users/{email}/erase', { path: { email } });
      const done = isRehearsal
        ? `${email} would be erased; nothing was changed. With --yes it is done.`
        : `${email} is erased; in the audit they are ${answer.result.pseudonym}.`;
      await print(context, options, answer.value, textOf(done, answer));
    });
  withExamples(command, ['usher person erase clara@example.com', 'usher person erase clara@example.com --yes']);
}

type Write = 'POST /api/users/{email}/move' | 'POST /api/users/{email}/offboard' | 'POST /api/users/{email}/erase';

interface Written<K extends Write> {
  /** For programs: the answer, with the impact of a dry run. */
  value: unknown;
  result: Out<K>;
  impact: Impact | null;
}

async function write<K extends Write>(
  { io }: Context,
  options: ServiceOptions,
  isRehearsal: boolean,
  operation: K,
  input: Input<K>,
): Promise<Written<K>> {
  const service = await openService(io, options);
  const limit = { timeoutMs: TIMEOUT_MS };
  if (isRehearsal) {
    const rehearsed = await service.rehearse(operation, input, limit);
    return { value: rehearsed, ...rehearsed };
  }
  const { data } = await service.call(operation, input, limit);
  return { value: data, result: data, impact: null };
}

function textOf(done: string, { result, impact }: Written<Write>): string {
  const counts = Object.entries('removed' in result ? result.removed : {}).filter(([, count]) => count > 0);
  const rows = counts.map(([kind, count]) => `  ${kind}: ${count}`);
  const handedOver = 'handedOver' in result ? result.handedOver : [];
  return [
    done,
    ...(rows.length === 0 ? [] : ['Removed:', ...rows]),
    ...(handedOver.length === 0 ? [] : [`Handed over: ${handedOver.join(', ')}`]),
    ...(impact === null ? [] : [`Decisions: ${impact.lost} fall, ${impact.gained} rise.`]),
    ...(impact?.everywhere === 'loses' ? ['They would be no SuperAdmin any more.'] : []),
  ].join('\n');
}
