import { type Command, Option } from 'commander';
import type { Language, Sections } from '../policy-tests/codegen.ts';
import { issueLines, readText } from './files.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type Io } from './io.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';

const LANGUAGES = ['ts', 'go', 'python', 'java'] as const satisfies readonly Language[];

interface Options extends ServiceOptions {
  lang: Language;
  manifest?: string;
}

/** `usher codegen APP`: constants and types of an application's codes. */
export function defineCodegen(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('codegen <app>'))
    .summary('write constants and types of an application')
    .description(
      "Writes the codes of an application's permissions, roles and entities as source text to standard output, from a running service or a manifest. A misspelled code then does not compile.",
    )
    .addOption(new Option('--lang <language>', 'the language').choices(LANGUAGES).makeOptionMandatory())
    .option('--manifest <file>', 'read this manifest instead of asking a service')
    .action(async (app: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const sections =
        options.manifest === undefined
          ? await fromService(io, app, options)
          : await fromManifest(io, app, options.manifest);
      const { codesOf, generate } = await import('../policy-tests/codegen.ts');
      io.stdout.write(generate(codesOf(app, sections), options.lang));
    });
  withExamples(command, [
    'usher codegen atelier --lang ts > src/atelier-codes.ts',
    'usher codegen atelier --lang go --manifest atelier.yaml > atelier/codes.go',
  ]);
}

async function fromService(io: Io, app: string, options: Options): Promise<Sections> {
  const service = await openService(io, options);
  const { data } = await service.call('GET /api/applications/{appCode}/manifest', { path: { appCode: app } });
  return data;
}

async function fromManifest(io: Io, app: string, name: string): Promise<Sections> {
  const { manifestOf, UnreadableTests } = await import('../policy-tests/files.ts');
  const manifest = await manifestOf(name, await readText(io, name)).catch((error: unknown) => {
    if (!(error instanceof UnreadableTests)) throw error;
    throw new CommandFailed(`${name} has faults.`, { lines: issueLines(name, error.issues) });
  });
  if (manifest.application.code !== app) {
    throw new CommandFailed(`${name} describes ${manifest.application.code}, not ${app}.`);
  }
  return manifest;
}
