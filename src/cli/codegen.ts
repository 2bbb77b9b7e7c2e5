import { type Command, Option } from 'commander';
import type { Code, Codes, Language } from '../policy-tests/codegen.ts';
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
    .addOption(new Option('--lang <language>', 'the language').choices(LANGUAGES).default('ts'))
    .option('--manifest <file>', 'read this manifest instead of asking a service')
    .action(async (app: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const codes =
        options.manifest === undefined
          ? await fromService(io, app, options)
          : await fromManifest(io, app, options.manifest);
      const { generate } = await import('../policy-tests/codegen.ts');
      io.stdout.write(generate(codes, options.lang));
    });
  withExamples(command, [
    'usher codegen atelier --lang ts > src/atelier-codes.ts',
    'usher codegen atelier --lang go --manifest atelier.yaml > atelier/codes.go',
  ]);
}

async function fromService(io: Io, app: string, options: Options): Promise<Codes> {
  const service = await openService(io, options);
  const { body } = await service.json({ method: 'GET', path: `/api/applications/${encodeURIComponent(app)}/manifest` });
  const { permissions, roles, entities } = (body as { data: Record<'permissions' | 'roles' | 'entities', Code[]> })
    .data;
  return { app, permissions, roles, entities: entities.map(named) };
}

async function fromManifest(io: Io, app: string, name: string): Promise<Codes> {
  const { parseManifest } = await import('../catalog/manifest/parse.ts');
  const { manifest, issues } = await parseManifest(await readText(io, name));
  if (manifest === null || issues.length > 0) {
    throw new CommandFailed(`${name} has faults.`, { lines: issueLines(name, issues) });
  }
  if (manifest.application.code !== app) {
    throw new CommandFailed(`${name} describes ${manifest.application.code}, not ${app}.`);
  }
  const present = <T>(section: readonly (T | null)[] | null) => (section ?? []).filter((one) => one !== null);
  const { permissions, roles, entities } = manifest;
  return { app, permissions: present(permissions), roles: present(roles), entities: present(entities).map(named) };
}

/** An entity is described by its name where it has no description. */
function named({ code, name, description }: Code & { name?: string }): Code {
  return { code, description: description ?? name };
}
