/** The command line (contract 11): `run` is the whole of it. */

import { Command } from 'commander';
import { usherCommand } from '../command.ts';
import { misspeltVariables } from '../config-hints.ts';
import { defineApply } from './apply.ts';
import { defineCheck } from './check.ts';
import { defineDemo } from './demo.ts';
import { defineEffective } from './effective.ts';
import { defineExport } from './export.ts';
import { reportFailure } from './failures.ts';
import type { Context, GlobalOptions, Io } from './io.ts';
import { defineMigrate } from './migrate.ts';
import { defineServe } from './serve.ts';
import { defineConfig } from './show-config.ts';
import { defineSuperadmin } from './superadmin.ts';
import { defineToken } from './token.ts';

/** Runs a command line, `argv` without the program and its script; answers the exit code. Never throws. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const context: Context = { io, exitCode: 0 };
  const json = argv.includes('--json');
  const program = createProgram(context, json);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    return reportFailure(io, error, program.opts<GlobalOptions>().json === true || json);
  }
}

function createProgram(context: Context, json: boolean): Command {
  const { io } = context;
  const program = new Command('usher')
    .description('Permissions, profiles and notifications for every application of an organisation.')
    .version(io.version, '--version', 'print the version')
    .option('--config <file>', 'the configuration file (env: USHER_CONFIG)')
    .option('--json', 'print JSON')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      // With --json what is wrong with the arguments is told as JSON, like every other failure: reportFailure.
      writeErr: (text) => void (json || io.stderr.write(text)),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError(`(${usherCommand('--help')} lists the commands)`)
    .exitOverride();
  program.hook('preAction', (_, command) => {
    // The service logs them.
    if (json || command.name() === 'serve') return;
    for (const line of misspeltVariables(io.env)) io.stderr.write(`${line}\n`);
  });
  for (const define of COMMANDS) define(program, context);
  return program;
}

const COMMANDS = [
  defineServe,
  defineMigrate,
  defineDemo,
  defineToken,
  defineCheck,
  defineEffective,
  defineApply,
  defineExport,
  defineSuperadmin,
  defineConfig,
];
