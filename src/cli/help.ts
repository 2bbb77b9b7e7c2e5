/** The part of the help that all commands share. */

import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';

/** Ends the help of a command with lines that can be pasted; `usher ARGS` in them is written as this installation runs it. */
export function withExamples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${asTyped(line)}`).join('\n')}`);
}

function asTyped(line: string): string {
  return line.replaceAll(/\busher ([a-z][^|>)]*[^|>)\s])/g, (_, args: string) => usherCommand(args));
}
