import { Argument, type Command } from 'commander';
import { bashScript, fishScript, zshScript } from './completion-scripts.ts';
import { describeTree } from './completion-tree.ts';
import { withExamples } from './help.ts';
import { type Context, type GlobalOptions, print } from './io.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof SCRIPTS;

/** `usher completion bash|zsh|fish`: a script that completes commands, options and values. */
export function defineCompletion(program: Command, context: Context): void {
  const command = program
    .command('completion')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(Object.keys(SCRIPTS)))
    .summary('print a completion script for a shell')
    .description(
      [
        'Prints a script that completes commands, options and the values of options with a fixed set. It knows the commands of this version and starts no process.',
        'bash: load it in ~/.bashrc. zsh: write it to a file _usher in a folder of $fpath. fish: write it to ~/.config/fish/completions/usher.fish.',
      ].join('\n\n'),
    )
    .action(async (shell: Shell, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const script = SCRIPTS[shell](describeTree(program));
      await print(context, options, { shell, script }, script);
    });
  withExamples(command, [
    'source <(usher completion bash)',
    'usher completion zsh > ~/.zfunc/_usher',
    'usher completion fish > ~/.config/fish/completions/usher.fish',
  ]);
}
