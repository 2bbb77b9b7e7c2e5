/** The command line. Commands load their code when they run, so that --help is quick. */

import { Command, Option } from 'commander';
import { usherCommand } from '../base/command.ts';
import { defineAccess } from './access.ts';
import { defineApply } from './apply.ts';
import { defineAudit } from './audit.ts';
import { defineBackup, defineRestore } from './backup.ts';
import { defineCheck } from './check.ts';
import { defineCodegen } from './codegen.ts';
import { defineCompletion } from './completion.ts';
import { defineContext } from './context.ts';
import { defineDemo } from './demo.ts';
import { defineDoctor } from './doctor.ts';
import { defineEffective } from './effective.ts';
import { defineExplain } from './explain-command.ts';
import { defineExport } from './export.ts';
import { reportFailure } from './failures.ts';
import { defineGrant, defineRevoke } from './grant.ts';
import { defineHealth } from './health.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, FORMATS, type GlobalOptions, type Io } from './io.ts';
import { defineLogin } from './login.ts';
import { defineMigrate } from './migrate.ts';
import { definePeople } from './people.ts';
import { definePerson } from './person.ts';
import { defineReach } from './reach.ts';
import { defineReincarnate } from './reincarnate.ts';
import { defineRoles } from './roles.ts';
import { defineServe } from './serve.ts';
import { defineConfig } from './show-config.ts';
import { defineSuperadmin } from './superadmin.ts';
import { hasColours, painter } from './terminal.ts';
import { defineTest } from './test.ts';
import { defineToken } from './token.ts';
import { defineUsers } from './users.ts';
import { defineWho } from './who.ts';

/** Runs a command line, `argv` without the program and its script; returns the exit code. Never throws. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const context: Context = { io, exitCode: 0 };
  const forPrograms = asksForPrograms(argv);
  const program = createProgram(context, forPrograms);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    return await reportFailure(io, error, forPrograms);
  }
}

/** Whether the reader is a program: then faults of the arguments are printed in its format, too. */
function asksForPrograms(argv: readonly string[]): boolean {
  return argv.some((word, i) => {
    if (word === '--json') return true;
    const value = word === '-o' || word === '--output' ? argv[i + 1] : /^(?:-o|--output=)(.+)$/.exec(word)?.[1];
    return value === 'json' || value === 'yaml';
  });
}

/** The tree of commands, for help, completion and `run`. */
export function createProgram(context: Context, forPrograms: boolean): Command {
  const { io } = context;
  const paint = painter(io, io.stdout);
  const program = new Command('usher')
    .description('Permissions, profiles and notifications for every application of an organization.')
    .version(io.version, '--version', 'print the version')
    .option('--config <file>', 'the configuration file (env: USHER_CONFIG)')
    .addOption(new Option('-o, --output <format>', 'the format of the result').choices(FORMATS))
    .option('--json', 'the same as --output json')
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => paint('bold', title) })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      // For programs reportFailure prints faults of the arguments as JSON, like every other failure.
      writeErr: (text) => void (forPrograms || io.stderr.write(text)),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      getOutHasColors: () => hasColours(io, io.stdout),
      getErrHasColors: () => hasColours(io, io.stderr),
    })
    .hook('preAction', (_, command) => refuseTwoFormats(command.optsWithGlobals<GlobalOptions>()))
    .hook('preAction', async (_, command) => {
      // `serve` logs them.
      if (forPrograms || command.name() === 'serve') return;
      const { misspelledVariables } = await import('../config/hints.ts');
      for (const line of misspelledVariables(io.env)) io.stderr.write(`${line}\n`);
    })
    .exitOverride();
  // After the settings, which commands copy when they are defined.
  for (const define of COMMANDS) define(program, context);
  nameHelp(program, '');
  withExamples(program, [
    'usher check clara@example.com atelier invoice.access',
    'usher grant clara@example.com atelier accountant',
    'usher apply atelier.yaml --dry-run',
  ]);
  return program;
}

/** Ends each message about invalid arguments with the command that prints the help. */
function nameHelp(command: Command, path: string): void {
  command.showHelpAfterError(`(see ${usherCommand(`${path}--help`)})`);
  for (const child of command.commands) nameHelp(child, `${path}${child.name()} `);
}

function refuseTwoFormats({ json, output }: GlobalOptions): void {
  if (json && output !== undefined && output !== 'json') {
    throw new CommandFailed(`--json and --output ${output} conflict: give one format.`, { code: 'USAGE' });
  }
}

const COMMANDS = [
  defineServe,
  defineHealth,
  defineMigrate,
  defineBackup,
  defineRestore,
  defineReincarnate,
  defineDemo,
  defineDoctor,
  defineToken,
  defineCheck,
  defineExplain,
  defineEffective,
  defineWho,
  defineReach,
  defineAccess,
  defineGrant,
  defineRevoke,
  defineRoles,
  defineUsers,
  definePerson,
  definePeople,
  defineAudit,
  defineApply,
  defineExport,
  defineTest,
  defineCodegen,
  defineSuperadmin,
  defineLogin,
  defineContext,
  defineConfig,
  defineCompletion,
];
