import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { parse } from 'yaml';
import { examine } from '../../../src/catalog/manifest/examine.ts';
import { toYaml } from '../../../src/catalog/manifest/export.ts';
import { manifestSchema } from '../../../src/catalog/manifest/schema.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { manifestArbitrary } from './arbitrary.ts';
import { addLanguages, apply, exported } from './fixture.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const LONG = process.env.USHER_LONG !== undefined;
const schema = manifestSchema();
// As editors do: draft 7, whose keywords this validator all knows in strict mode.
const valid = new Ajv({ strict: true, allErrors: true, allowUnionTypes: true }).compile(schema);

/** Every schema within, with where it stands. */
function* within(value: unknown, at = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>];
  for (const [name, member] of Object.entries(value)) yield* within(member, `${at}/${name}`);
}

/** Faults that no JSON Schema can say, or only in part: what is named twice, reserved words, rules of characters. */
const BEYOND =
  /is named before|is listed twice|must be an e-mail|must be an absolute|is not a valid application code|control characters/;

/** What the reader says of a value: `perhaps` where what it refuses is beyond JSON Schema. */
function verdictOf(value: unknown): 'taken' | 'refused' | 'perhaps' {
  const { issues } = examine(JSON.stringify(value));
  if (issues.length === 0) return 'taken';
  return issues.every(({ message }) => BEYOND.test(message)) ? 'perhaps' : 'refused';
}

describe('the JSON Schema of a manifest', () => {
  test('the JSON Schema of a manifest is draft 7, and every object admits only described fields', () => {
    expect(schema.$schema).toBe('http://json-schema.org/draft-07/schema#');
    const objects = [...within(schema)].filter(([, one]) => one.properties !== undefined && one.type === 'object');
    expect(objects.length).toBeGreaterThan(8);
    expect(objects.filter(([, one]) => one.additionalProperties !== false).map(([at]) => at)).toEqual([]);
  });

  test('the JSON Schema of a manifest describes every field and section', () => {
    const fields = [...within(schema)].flatMap(([at, one]) =>
      at.endsWith('/not')
        ? []
        : Object.entries((one.properties ?? {}) as Record<string, { description?: string }>).map(
            ([name, field]) => [`${at}/${name}`, field.description] as const,
          ),
    );
    expect(fields.length).toBeGreaterThan(40);
    expect(fields.filter(([, description]) => !/^\S.*\.$/.test(description ?? ''))).toEqual([]);
    expect(schema).toMatchObject({ title: 'Usher manifest', examples: [{ application: { code: 'billing' } }] });
  });

  test('the JSON Schema of a manifest accepts every example of the repository, its own, and sections of the author', () => {
    const files = readdirSync(join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.ya?ml$/.test(path) && !path.includes('node_modules'))
      .map((path) => readFileSync(join(ROOT, 'examples', path), 'utf8'))
      .filter((text) => /^application:/m.test(text));
    expect(files.length).toBeGreaterThan(0);
    const own = { 'x-own': [1, { a: null }], application: { code: 'a' } };
    for (const value of [own, ...files.map((text) => parse(text) as unknown), ...(schema.examples as unknown[])]) {
      expect([valid(value), valid.errors]).toEqual([true, null]);
      expect(verdictOf(value)).toBe('taken');
    }
  });

  test('the JSON Schema of a manifest accepts every export', async () => {
    await fc.assert(
      fc.asyncProperty(manifestArbitrary('studio'), async (manifest) => {
        expect([valid(parse(await toYaml(manifest))), valid.errors]).toEqual([true, null]);
      }),
      { numRuns: LONG ? 5000 : 100 },
    );
  });

  test.each<[string, unknown]>([
    ['a list', []],
    ['no application', { roles: [] }],
    ['an unknown section', { application: { code: 'a' }, rols: [] }],
    ['an unknown field', { application: { code: 'a' }, roles: [{ code: 'b', title: 'B' }] }],
    ['a section that only looks like one of the author', { application: { code: 'a' }, 'X-roles': [] }],
    ['an empty section', { application: { code: 'a' }, roles: null }],
    ['a section that is a map', { application: { code: 'a' }, roles: {} }],
    ['a code with capitals', { application: { code: 'a' }, entities: [{ code: 'B', name: 'B' }] }],
    ['a role code with a slash', { application: { code: 'a' }, roles: [{ code: 'a/b' }] }],
    ['a wildcard', { application: { code: 'a' }, roles: [{ code: 'b', permissions: { 'c:*': 'view' } }] }],
    ['an unknown level', { application: { code: 'a' }, roles: [{ code: 'b', permissions: { c: 'read' } }] }],
    [
      'a malformed permission code',
      { application: { code: 'a' }, roles: [{ code: 'b', permissions: { 'c ': 'view' } }] },
    ],
    [
      'an id that is a number',
      {
        application: { code: 'a' },
        overrides: [{ email: 'a@b.c', resourceType: 'x', resourceId: 1, permission: 'p', granted: true }],
      },
    ],
    [
      'a denial with a level',
      {
        application: { code: 'a' },
        overrides: [
          { email: 'a@b.c', resourceType: 'x', resourceId: '1', permission: 'p', granted: false, accessLevel: 'view' },
        ],
      },
    ],
    [
      'a time without a zone',
      {
        application: { code: 'a' },
        assignments: [{ email: 'a@b.c', roles: [{ role: 'r', endsAt: '2027-01-01T00:00:00' }] }],
      },
    ],
    [
      'a role that is listed twice',
      { application: { code: 'a' }, assignments: [{ email: 'a@b.c', roles: ['r', 'r'] }] },
    ],
    [
      'too many variables',
      {
        application: { code: 'a' },
        templates: [
          {
            type: 't',
            locale: 'en',
            subject: 's',
            html: '',
            requiredVariables: Array.from({ length: 101 }, (_, at) => `v${at}`),
          },
        ],
      },
    ],
  ])('the JSON Schema of a manifest, like the reader, refuses %s', (_, value) => {
    expect(valid(value)).toBe(false);
    expect(examine(JSON.stringify(value)).issues).not.toEqual([]);
  });

  test('the JSON Schema of a manifest agrees with the reader on mutated manifests', () => {
    const anything = fc.oneof(
      fc.constantFrom(
        null,
        true,
        false,
        1,
        '',
        ' ',
        'x',
        'X',
        'a.b',
        'view',
        'edit',
        'binary',
        'en',
        'x@y.z',
        [],
        {},
        ['x'],
        ['x', 'x'],
        { x: 'view' },
      ),
      fc.constantFrom({ code: 'x' }, [{ code: 'x' }], [{ code: 'x', name: 'X', extra: 1 }], { code: null }),
    );
    // What stands in `tests` is for `usher test`: applying ignores it, whatever editors say of it.
    const all = [...within(schema)].flatMap(([, one]) => Object.keys((one.properties ?? {}) as object));
    const names = [...new Set(all)].filter((name) => name !== 'tests');
    const change = fc.record({
      where: fc.nat(),
      name: fc.constantFrom(...names, 'other', 'constructor'),
      put: fc.option(anything, { nil: undefined }),
    });
    const verdicts = { taken: 0, refused: 0, perhaps: 0 };
    fc.assert(
      fc.property(
        manifestArbitrary('studio'),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        (manifest, changes) => {
          const value = JSON.parse(JSON.stringify(manifest)) as Record<string, unknown>;
          for (const { where, name, put } of changes) mutate(value, where, name, structuredClone(put));
          const verdict = verdictOf(value);
          verdicts[verdict]++;
          if (verdict === 'perhaps') return;
          const said = valid(value) ? 'taken' : 'refused';
          expect({ value, said, why: verdict === 'taken' ? valid.errors : null }).toEqual({
            value,
            said: verdict,
            why: null,
          });
        },
      ),
      { numRuns: LONG ? 50_000 : 2000 },
    );
    // Not vacuous: both happen often.
    expect(Math.min(verdicts.taken, verdicts.refused)).toBeGreaterThan(LONG ? 2500 : 100);
  });
});

/** Sets, replaces or takes away one field or item of one of the collections within. */
function mutate(root: Record<string, unknown>, where: number, name: string, put: unknown): void {
  const all = [...within(root)].map(([, one]) => one);
  const lists = all.flatMap((one) => Object.values(one)).filter((value): value is unknown[] => Array.isArray(value));
  const chosen = [...all, ...lists][where % (all.length + lists.length)];
  if (Array.isArray(chosen)) {
    const at = chosen.length === 0 ? 0 : where % chosen.length;
    if (put === undefined) chosen.splice(at, 1);
    else chosen[at] = put;
    return;
  }
  if (chosen === undefined) return;
  // Mostly a field that is there.
  const known = Object.keys(chosen);
  const field = where % 3 === 0 || known.length === 0 ? name : (known[where % known.length] ?? name);
  if (put === undefined) delete chosen[field];
  else chosen[field] = put;
}

forEachDatabase('an export that names its schema', (fixture) => {
  beforeAll(() => addLanguages(fixture.database));

  test('an export that names its schema reproduces the state, and its comment changes nothing', async () => {
    await apply(fixture.database, readFileSync(join(ROOT, 'examples/demo.yaml'), 'utf8'));
    const text = `# yaml-language-server: $schema=https://usher.example.com/api/manifest.schema.json\n\n${await exported(fixture.database, 'atelier')}`;
    expect((await apply(fixture.database, text, { prune: true })).changes).toEqual([]);
  });
});
