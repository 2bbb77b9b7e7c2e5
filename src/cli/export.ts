import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, formatOf, print } from './io.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';

const TIMEOUT_MS = 11 * 60_000;

/** `usher export APP`: prints an application as a manifest. */
export function defineExport(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('export <app>'))
    .summary('print an application as a manifest')
    .description(
      'Prints an application as a manifest, as YAML or with -o json as JSON. Applied with --prune, the manifest restores exactly that state.',
    )
    .action(async (app: string, _: ServiceOptions, self: Command) => {
      const options = self.optsWithGlobals<ServiceOptions>();
      if (options.output === 'table') {
        throw new CommandFailed('A manifest has no table format: export prints yaml, or json with -o json.', {
          code: 'USAGE',
        });
      }
      const service = await openService(context.io, options);
      const operation = 'GET /api/applications/{appCode}/manifest';
      const path = { appCode: app };
      if (formatOf(options) === 'json') {
        const { data } = await service.call(operation, { path }, { timeoutMs: TIMEOUT_MS });
        await print(context, options, data, '');
        return;
      }
      const headers = { accept: 'application/yaml' };
      const response = await service.open(operation, { path }, { headers, timeoutMs: TIMEOUT_MS });
      // The service's own YAML, with its order and line breaks.
      await print(context, { output: 'table' }, null, await response.text());
    });
  withExamples(command, ['usher export atelier > atelier.yaml', 'usher export atelier -o json']);
}
