import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { z } from 'zod';
import { ConfigError, toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';
import type { Key } from '../../src/config/kinds.ts';
import { configSchema } from '../../src/config/schema.ts';
import { usher } from '../cli/harness.ts';
import { withTable } from './table.ts';

const valid = new Ajv({ strict: true, allErrors: true, allowUnionTypes: true }).compile(configSchema());
const keys = Object.entries<Key<unknown>>(KEYS);

/** `a.b: value` as a file nests it. */
function nested(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    const path = key.split('.');
    const name = path.pop() ?? key;
    let at = root;
    for (const part of path) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at[name] = value;
  }
  return root;
}

/** What only the service can say: rules of texts, of lists and maps in one text, and of one key beside another. */
const BEYOND =
  /is required|is the port|go together|remove one of|is not an (?:e-mail|asymmetric|application)|must be (?:host:port|an (?:address|http|origin)|the |base64|rpc|one of people|a (?:postgresql|mailto|host|time zone))|must have|several hosts|of no use|pages need/;

describe('the JSON Schema of the configuration', () => {
  test('the JSON Schema of the configuration has exactly the existing keys, with variable and default', () => {
    for (const [name, { variable, default: fallback }] of keys) {
      const found = name
        .split('.')
        .reduce<unknown>(
          (at, part) => (at as { properties?: Record<string, unknown> })?.properties?.[part],
          configSchema(),
        );
      expect([name, found]).toEqual([
        name,
        expect.objectContaining({ description: expect.stringContaining(variable) }),
      ]);
      if (typeof fallback !== 'function' && fallback !== null && !(fallback instanceof Map)) {
        expect(found).toMatchObject({ default: fallback });
      }
    }
    expect(valid({ htp: {} })).toBe(false);
    expect(valid({ http: { prot: 1 } })).toBe(false);
    expect(valid({ http: null, log: { level: 'debug' } })).toBe(true);
  });

  test('the JSON Schema of the configuration accepts the example of every key, as text and as a value', () => {
    const written: Record<string, unknown> = { 'idp.orgToApp': { 1: 'billing' }, roles: ['rpc'], 'http.port': 80 };
    for (const [name, { example, default: fallback }] of keys) {
      for (const value of [example ?? fallback, written[name]]) {
        if (value === undefined || value === null || typeof value === 'function') continue;
        expect([name, value, valid(nested([[name, value]])), valid.errors]).toEqual([name, value, true, null]);
      }
    }
  });

  test('the JSON Schema of the configuration agrees with the service on random files', () => {
    const value = fc.constantFrom<unknown>(
      'x',
      '',
      ' ',
      'true',
      'yes',
      '12',
      '-1',
      '1e3',
      12,
      -1,
      1.5,
      1,
      0,
      true,
      false,
      null,
      [],
      ['x'],
      ['rpc'],
      ['RS256', 'HS256'],
      ['rpc', ''],
      {},
      { a: 'b' },
      { a: 1 },
      'rpc,gateway',
      'either',
      'info',
      'loud',
      'https://a.example.com',
      [1],
      [{}],
    );
    const verdicts = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(fc.constantFrom(...keys.map(([name]) => name)), value, (name, given) => {
        const file = nested([[name, given]]);
        const problems = problemsOf(file, name);
        if (typeof given === 'string' && problems.some((problem) => problem.startsWith('must be a JSON object')))
          return;
        if (problems.length > 0 && problems.every((problem) => BEYOND.test(problem))) return;
        const taken = problems.length === 0;
        verdicts[taken ? 'taken' : 'refused']++;
        expect({ name, given, taken: valid(file), errors: taken ? valid.errors : null }).toEqual({
          name,
          given,
          taken,
          errors: null,
        });
      }),
      { numRuns: process.env.USHER_LONG ? 20_000 : 2000 },
    );
    expect(Math.min(verdicts.taken, verdicts.refused)).toBeGreaterThan(100);
  });

  test('the JSON Schema of a number takes as text what the service takes, about its least and its greatest', () => {
    for (const [name, { schema }] of keys) {
      const { type, minimum = 0, maximum = 0 } = z.toJSONSchema(schema, { io: 'input' });
      if (type !== 'integer') continue;
      for (const bound of [minimum, maximum, 10 ** String(minimum).length, 10 ** (String(maximum).length - 1)]) {
        for (const number of [bound - 1, bound, bound + 1]) {
          for (const given of [`${number}`, ` 00${number} `]) {
            const taken = problemsOf(nested([[name, given]]), name).length === 0;
            expect([name, given, valid(nested([[name, given]]))]).toEqual([name, given, taken]);
          }
        }
      }
    }
  });

  test('`usher config --schema` prints the JSON Schema with any configuration', async () => {
    for (const args of [
      ['config', '--schema'],
      ['config', '--schema', '-o', 'json'],
    ]) {
      const { code, stdout } = await usher(args, { env: { HTTP_PORT: 'nonsense' } });
      expect([code, JSON.parse(stdout)]).toEqual([0, JSON.parse(JSON.stringify(configSchema()))]);
    }
  });
});

/** What the service says of one key of a file. */
function problemsOf(file: unknown, name: string): string[] {
  try {
    toConfig({ env: {}, file });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.filter(({ key }) => key.startsWith(name)).map(({ problem }) => problem);
  }
}

describe('the table of keys in docs/operations/configuration.md', () => {
  test('docs/operations/configuration.md has the generated table of keys (npm run generate)', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/operations/configuration.md'), 'utf8');
    expect(withTable(page)).toBe(page);
  });
});
