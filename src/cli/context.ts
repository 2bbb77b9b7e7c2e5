import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import { type Contexts, contextNamed, describeCredential, readContexts, writeContexts } from './contexts.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, print } from './io.ts';
import { painter, table } from './terminal.ts';

/** `usher context list|use|show|remove`: the services that `usher login` stored. */
export function defineContext(program: Command, context: Context): void {
  const group = program
    .command('context')
    .summary('list, use, show and remove stored services')
    .description(`The services that ${usherCommand('login')} stored. Credentials are never printed.`);
  withExamples(group, ['usher context list', 'usher context use staging']);
  defineList(group, context);
  defineUse(group, context);
  defineShow(group, context);
  defineRemove(group, context);
}

function defineList(group: Command, context: Context): void {
  const command = group
    .command('list')
    .description('Lists the stored services; * marks the current one.')
    .action(async (_: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { io } = context;
      const contexts = await readContexts(io);
      const all = [...contexts.byName.keys()].map((name) => describeContext(contexts, name));
      const rows = all.map(({ name, url, credential, current }) => [current ? '*' : '', name, url, credential]);
      const text =
        rows.length === 0
          ? `No services are stored; ${usherCommand('login NAME --url URL')} stores one.`
          : table(['', 'NAME', 'URL', 'CREDENTIAL'], rows, painter(io, io.stdout));
      await print(context, options, all, text);
    });
  withExamples(command, ['usher context list', 'usher context list -o json']);
}

function defineUse(group: Command, context: Context): void {
  const command = group
    .command('use <name>')
    .description('Makes a stored service the current one, which commands use.')
    .action(async (name: string, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const contexts = await readContexts(context.io);
      const { url } = contextNamed(contexts, name);
      await writeContexts(context.io, { ...contexts, current: name });
      await print(context, options, { name, url }, `Now using ${name}: ${url}`);
    });
  withExamples(command, ['usher context use staging']);
}

function defineShow(group: Command, context: Context): void {
  const command = group
    .command('show [name]')
    .description('Shows a stored service, by default the current one, without its credential.')
    .action(async (named: string | undefined, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const contexts = await readContexts(context.io);
      const name = named ?? contexts.current;
      if (name === null) {
        throw new CommandFailed(`No context is in use; choose one with ${usherCommand('context use NAME')}.`, {
          code: 'NOT_FOUND',
        });
      }
      const one = describeContext(contexts, name);
      const text = [
        `name:       ${name}`,
        `url:        ${one.url}`,
        `credential: ${one.credential}`,
        `in use:     ${one.current ? 'yes' : 'no'}`,
      ];
      await print(context, options, one, text.join('\n'));
    });
  withExamples(command, ['usher context show', 'usher context show staging']);
}

function defineRemove(group: Command, context: Context): void {
  const command = group
    .command('remove <name>')
    .description('Removes a stored service and its credential.')
    .action(async (name: string, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const contexts = await readContexts(context.io);
      contextNamed(contexts, name);
      contexts.byName.delete(name);
      const current = contexts.current === name ? null : contexts.current;
      await writeContexts(context.io, { ...contexts, current });
      await print(context, options, { name, removed: true }, `Removed ${name}.`);
    });
  withExamples(command, ['usher context remove staging']);
}

function describeContext(
  contexts: Contexts,
  name: string,
): { name: string; url: string; credential: string; current: boolean } {
  const stored = contextNamed(contexts, name);
  return { name, url: stored.url, credential: describeCredential(stored), current: contexts.current === name };
}
