/** The command line as completion needs it, read from commander's tree so that no command is forgotten. */

import type { Command, Option } from 'commander';

export interface OptionNode {
  /** `--level`, or `-o` and `--output`. */
  flags: readonly string[];
  description: string;
  takesValue: boolean;
  /** A fixed set of values; empty when any value is allowed. */
  choices: readonly string[];
  /** The value is a file. */
  isFile: boolean;
}

export interface CommandNode {
  /** The names that lead to it, without the program's: ['superadmin', 'add']. */
  names: readonly string[];
  description: string;
  /** Including those of the program. */
  options: readonly OptionNode[];
  /** The values of its first argument; empty when any value is allowed. */
  choices: readonly string[];
  /** Its arguments are files. */
  takesFiles: boolean;
}

/** The program itself first, then every command with its subcommands. */
export function describeTree(program: Command): CommandNode[] {
  const shared = program.options.filter(({ long }) => long !== '--version');
  return walk(program, [], shared);
}

function walk(command: Command, names: readonly string[], shared: readonly Option[]): CommandNode[] {
  const own = command.options.filter((option) => !shared.includes(option));
  const node: CommandNode = {
    names,
    description: command.summary() || command.description(),
    options: [...own, ...shared]
      .filter(({ hidden }) => !hidden)
      .map(describeOption)
      .concat(HELP),
    choices: command.registeredArguments[0]?.argChoices ?? [],
    takesFiles: command.registeredArguments.some((argument) => argument.name() === 'file'),
  };
  return [node, ...command.commands.flatMap((child) => walk(child, [...names, child.name()], shared))];
}

function describeOption({ short, long, description, required, optional, argChoices, flags }: Option): OptionNode {
  return {
    flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
    description,
    takesValue: required || optional,
    choices: argChoices ?? [],
    isFile: flags.includes('<file>'),
  };
}

const HELP: OptionNode = {
  flags: ['-h', '--help'],
  description: 'display help for command',
  takesValue: false,
  choices: [],
  isFile: false,
};
