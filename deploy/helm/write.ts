/** Writes values.schema.json and the table in the README of the chart, by `npm run generate`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Schema, valuesSchema } from './values-schema.ts';

const CHART = join(import.meta.dirname, 'usher');
const README = join(CHART, 'README.md');
const BETWEEN = /(<!-- values: npm run generate -->\n)[\s\S]*?(\n<!-- \/values -->)/;

/** The files that are generated, by their paths. */
export function generated(): Map<string, string> {
  const schema = valuesSchema();
  const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as unknown;
  const rows = rowsOf(schema, values, '');
  const table = ['| value | default | |', '|---|---|---|', ...rows].join('\n');
  return new Map([
    [join(CHART, 'values.schema.json'), `${JSON.stringify(schema, null, 2)}\n`],
    [
      README,
      readFileSync(README, 'utf8').replace(
        BETWEEN,
        (_, before: string, after: string) => `${before}\n${table}\n${after}`,
      ),
    ],
  ]);
}

/** A row for each value that is not itself a group of named values. */
function rowsOf({ properties = {} }: Schema, values: unknown, prefix: string): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const value = (values as Record<string, unknown>)[name];
    if (name === 'global') return [];
    if (schema.properties !== undefined) return rowsOf(schema, value, `${prefix}${name}.`);
    if (value === undefined) throw new Error(`${prefix}${name} is missing in values.yaml`);
    return [`| \`${prefix}${name}\` | \`${JSON.stringify(value)}\` | ${schema.description ?? ''} |`];
  });
}

if (import.meta.main) for (const [path, content] of generated()) writeFileSync(path, content);
