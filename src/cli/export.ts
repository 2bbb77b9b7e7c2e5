import type { Command } from 'commander';
import { type Context, print } from './io.ts';
import { asksService, openService, type ServiceOptions } from './service.ts';

const TIMEOUT_MS = 11 * 60_000;

/** `usher export APP`: the application as a manifest. */
export function defineExport(program: Command, context: Context): void {
  asksService(program.command('export <app>'))
    .summary('write an application as a manifest')
    .description(
      'Writes an application as a manifest to standard output. Applied with --prune, it brings exactly that state about.',
    )
    .action(async (app: string, _: ServiceOptions, command: Command) => {
      const options = command.optsWithGlobals<ServiceOptions>();
      const service = await openService(context.io, options);
      const path = `/api/applications/${encodeURIComponent(app)}/manifest`;
      if (options.json) {
        const { body } = await service.json({ method: 'GET', path, timeoutMs: TIMEOUT_MS });
        print(context, options, (body as { data?: unknown }).data, '');
        return;
      }
      const response = await service.ask({
        method: 'GET',
        path,
        headers: { accept: 'application/yaml' },
        timeoutMs: TIMEOUT_MS,
      });
      print(context, options, null, await response.text());
    });
}
