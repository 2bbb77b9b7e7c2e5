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
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .summary('write a script that completes this command line in a shell')
    .description(
      [
        'Writes a script that makes a shell complete commands, options and the values of those that have a fixed set. It knows the commands of this version and starts no process of its own.',
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
