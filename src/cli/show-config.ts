import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { type Context, type GlobalOptions, print } from './io.ts';

/** `usher config`: the effective configuration, secrets masked; with `--schema` what a file of it can hold. */
export function defineConfig(program: Command, context: Context): void {
  const command = program
    .command('config')
    .summary('show the effective configuration, secrets masked')
    .description('Shows the value of every key and its source. Secrets are masked. Fails on an invalid value.')
    .option('--schema', 'print the JSON Schema of the configuration file instead, for editors')
    .action(async (_: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions & { schema?: true }>();
      if (options.schema) {
        const { configSchema } = await import('../config/schema.ts');
        const schema = configSchema();
        await print(context, options, schema, JSON.stringify(schema, null, 2));
        return;
      }
      const { effectiveValues } = await import('../config/config.ts');
      const { CONFIG_CHECKS, readRawConfig } = await import('./load-config.ts');
      const values = effectiveValues(await readRawConfig(context.io, options), CONFIG_CHECKS);
      const rows = values.map(({ key, variable, value, source }) => [key, variable, show(value), source] as const);
      const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
      const lines = rows.map(([key, variable, value, source]) => {
        const origin = source === 'default' ? '' : `  (${source})`;
        return `${key.padEnd(widths[0] ?? 0)}  ${variable.padEnd(widths[1] ?? 0)}  ${value}${origin}`;
      });
      await print(context, options, values, lines.join('\n'));
    });
  withExamples(command, [
    'usher config',
    'usher config --config usher.yaml -o json',
    'usher config --schema > usher.schema.json',
  ]);
}

function show(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
