import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import type { EffectiveValue } from '../config/config.ts';
import { withExamples } from './help.ts';
import { type Context, type Io, print } from './io.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';

interface Options extends ServiceOptions {
  schema?: true;
}

/** `usher config`: the effective configuration, secrets masked; with `--schema` what a file of it can hold. */
export function defineConfig(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('config'))
    .summary('show the effective configuration, secrets masked')
    .description(
      'Shows the value of every key and its source, as a service that is started here would have them. Secrets are masked. Fails on an invalid value. With --url, --context or their variables it shows those that a running service was started with (SuperAdmins).',
    )
    .option('--schema', 'print the JSON Schema of the configuration file instead, for editors')
    .action(async (_: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      if (options.schema) {
        const { configSchema } = await import('../config/schema.ts');
        const schema = configSchema();
        await print(context, options, schema, JSON.stringify(schema, null, 2));
        return;
      }
      const { values, note } = await valuesFor(context.io, options);
      const rows = values.map(({ key, variable, value, source }) => [key, variable, show(value), source] as const);
      const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
      const lines = rows.map(([key, variable, value, source]) => {
        const origin = source === 'default' ? '' : `  (${source})`;
        return `${key.padEnd(widths[0] ?? 0)}  ${variable.padEnd(widths[1] ?? 0)}  ${value}${origin}`;
      });
      await print(context, options, values, lines.join('\n'));
      if (note !== null) context.io.stderr.write(`${note}\n`);
    });
  withExamples(command, [
    'usher config',
    'usher config --config usher.yaml -o json',
    'usher config --url http://localhost:8080',
    'usher config --schema > usher.schema.json',
  ]);
}

/** Those of the service that is named, or those that a start would have here. */
async function valuesFor(
  io: Io,
  options: Options,
): Promise<{ values: readonly EffectiveValue[]; note: string | null }> {
  const { differsFromRunning, valuesOf } = await import('./running.ts');
  const { USHER_URL, USHER_CONTEXT } = io.env;
  const named = [options.url, options.context, ...(options.config === undefined ? [USHER_URL, USHER_CONTEXT] : [])];
  if (named.some((one) => one !== undefined && one !== '')) {
    return { values: await valuesOf(await openService(io, options)), note: null };
  }
  const { readRawConfig } = await import('./load-config.ts');
  const { toConfig } = await import('../config/config.ts');
  const config = toConfig(await readRawConfig(io, options), await io.configChecks());
  const values = config.effective;
  const differing = await differsFromRunning(io, options, config);
  if (differing === null) return { values, note: null };
  const { url, keys } = differing;
  const note = `The service that runs at ${url} was started with other values of ${keys.join(', ')}: ${usherCommand(`config --url ${url}`)} shows them.`;
  return { values, note };
}

function show(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
