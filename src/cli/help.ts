/** What the help of every command has in common. */

import type { Command } from 'commander';

/** Ends the help of a command with lines that can be pasted. */
export function withExamples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}
