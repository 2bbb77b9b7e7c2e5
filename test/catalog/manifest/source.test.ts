import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseDocument } from 'yaml';
import type { Path, Plain } from '../../../src/catalog/manifest/faults.ts';
import { placed } from '../../../src/catalog/manifest/places.ts';
import { readSource } from '../../../src/catalog/manifest/source.ts';

const RUNS = process.env.USHER_LONG ? 50_000 : 1500;

/** The values of a text as another library reads them; undefined where it finds a fault. */
function elsewhere(text: string): { value: unknown } | undefined {
  const document = parseDocument(text, {
    prettyErrors: false,
    schema: 'core',
    resolveKnownTags: false,
    merge: true,
    stringKeys: true,
    logLevel: 'error',
  });
  if (document.errors.length + document.warnings.length > 0) return undefined;
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) ?? null };
  } catch {
    return undefined;
  }
}

/** Whether the text is read at all; what is read must be what the other library reads, where that finds no fault. */
function agrees(text: string): boolean {
  const { value, faults } = readSource(text);
  const other = elsewhere(text);
  if (value === undefined || faults.length > 0 || other === undefined) return false;
  // A line break alone is one in YAML; the other library takes it for a character.
  if (/\r(?!\n)/.test(text)) return false;
  expect({ text, value: JSON.parse(JSON.stringify(value)) }).toEqual({
    text,
    value: JSON.parse(JSON.stringify(other.value)),
  });
  return true;
}

describe('the reader of texts', () => {
  test.each([
    ['block YAML', 'a: b\nc:\n  - d\n  -\n  - e: f\n    g:\n'],
    ['lists and maps in a line', 'a: [x, y]\nb: []\nc: { p@x.cz: q , r: [s, {t: u}]}'],
    ['texts over lines', 'a: b\n  c\nd: |\n  e\n  f\ng: >-\n  h\n  i\n'],
    ['quotes and escapes', `a: 'it''s'\nb: "\\u0041\\n"\n"c": ''\n`],
    [
      'numbers and words',
      'a: 12\nb: 1.5e3\nc: 0x1F\nd: 0o7\ne: +1\nf: true\ng: False\nh: ~\ni: NULL\nj: no\nk: 1_0\nl: 2001-01-01',
    ],
    [
      'tags that say what stands there',
      'a: !!str 12\nb: !!int "3"\nc: !!null ""\nd: !!seq [x]\ne: !!map {}\nf: !!bool true',
    ],
    ['anchors and aliases', 'a: &x [b, {c: d}]\ne: *x\nf: &y g\nh: *y'],
    ['merge keys', 'a: &x {b: 1, c: 2}\nd: &y {c: 3, e: 4}\nf: {<<: *x, c: 5}\ng: {c: 5, <<: [*y, *x]}\nh: {"<<": 6}'],
    ['a merge key of a map that merges', 'a: &x {b: 1}\nc: &y {<<: *x, d: 2}\ne: {<<: *y}\nf: {<<: {g: 3}}'],
    ['comments, carriage returns and a byte order mark', '\ufeff# a\r\na: b # c\r\n\r\n# d\r\n'],
    ['JSON with tabs and pairs of surrogates', '{"a":\t[1, null, "\\ud83d\\ude00"],\n"b": {"": "x:\\"y\\":"}}'],
    ['nothing', ''],
    ['only a comment', '# a'],
  ])('the reader of texts reads %s like another library', (_, text) => {
    expect(agrees(text)).toBe(true);
  });

  test('the reader of texts returns maps without a prototype', () => {
    for (const text of ['constructor: x', '{"constructor": "x", "__proto__": 1}']) {
      const { value } = readSource(text);
      expect(Object.getPrototypeOf(value)).toBeNull();
      expect(Object.keys(value as object)).toContain('constructor');
    }
  });

  test.each<[string, string, string]>([
    ['a key that is a list', 'a: b\n? [c]\n: d', '2:3 : has a key that is not text'],
    [
      'an empty item of a list among others, by its dash',
      'a:\n  - b: c\n  # x - y\n  -\n  - &x d\n  - *x\n  - !y e',
      '7:5 : unresolved tag: !y',
    ],
    ['a key given twice, at the second', 'a: {b: 1, c: 2, b: 3}', '1:17 a.b: is given twice'],
    ['a second document', 'a: b\n---\nc: d', '2:1 : source contains multiple documents: a manifest is one'],
    [
      'a character that YAML does not know',
      'a: b\u0007',
      '1:5 : is not YAML: the stream contains non-printable characters',
    ],
  ])('the reader of texts reports the place of %s', (_, text, fault) => {
    const { faults, places } = readSource(text);
    expect(
      placed(text, places, faults).map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`),
    ).toEqual([fault]);
  });

  test.each<[string, Path, string]>([
    ['the whole, by its first key', [], '2:1'],
    ['a key', ['roles', 0, 'code'], '4:5'],
    ['a key in quotes, in a line', ['roles', 1, 'permissions', 'a: b'], '5:29'],
    ['what an alias stands for, by the alias', ['roles', 1, 'more'], '5:44'],
    ['what is in an alias, by what it stands for', ['roles', 1, 'more', 1], '2:18'],
    ['an empty item, by its dash', ['admins', 1], '8:4'],
    ['an item behind it', ['admins', 2], '9:6'],
    ['what is not there, by what is above it', ['roles', 0, 'nothing', 'at', 'all'], '4:5'],
  ])('the reader of texts records the place of %s', (_, path, place) => {
    const text = `# comment
first: &list [x, y]
roles:
  - code: a
  - {code: b, permissions: {"a: b": view}, more: *list}
admins:
   - a
   -
   - b
`;
    const { line, column } = placed(text, readSource(text).places, [{ path, message: '' }])[0] ?? {};
    expect(`${line}:${column}`).toBe(place);
  });

  test('the reader of texts agrees with another library on mutated manifests, and reads most of those that it reads', () => {
    const demo = readFileSync(`${import.meta.dirname}/../../../examples/demo.yaml`, 'utf8').split('\n');
    // biome-ignore format: one piece after the other.
    const piece = fc.constantFrom(
      ' ', '  ', '- ', '-', ': ', ':', '#', ' # ', '"', "'", '[', ']', ', ', ',', '{', '}', '&a ', '*a', '!x ', '!!str ', '|', '>',
      '%', '@', 'null', '~', 'true', 'No', '12', '1.', '.5', '0x1', '1e3', '+1', '-1', '.inf', '0o7', '1_000', '2001-01-01', '\t',
      '\r\n', '\u00a0', '\u2028', 'é', '\n', '\n  ', '---', '...', 'a', 'code: x', '- code: x', 'roles: [a, b]', '? a', '<<: a',
      '|+\n   x', '>-\n  y\n  z',
    );
    const edit = fc.record({
      line: fc.nat({ max: 12 }),
      at: fc.nat({ max: 40 }),
      drop: fc.nat({ max: 4 }),
      put: piece,
    });
    let both = 0;
    let known = 0;
    fc.assert(
      fc.property(fc.nat({ max: demo.length - 12 }), fc.array(edit, { maxLength: 3 }), (from, edits) => {
        const lines = demo.slice(from, from + 12);
        // A window of the demo, moved to the margin, so that it is a document of its own.
        const margin = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
        const text = lines.map((line) => line.slice(margin));
        for (const { line, at, drop, put } of edits) {
          const old = text[line] ?? '';
          text[line] = old.slice(0, at) + put + old.slice(at + drop);
        }
        if (elsewhere(text.join('\n')) !== undefined) known++;
        if (agrees(text.join('\n'))) both++;
      }),
      { numRuns: RUNS },
    );
    expect(known).toBeGreaterThan(RUNS / 10);
    expect(both).toBeGreaterThan(0.9 * known);
  });

  test('the reader of texts agrees with JSON.parse on JSON', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5, noUnicodeString: false }),
        fc.constantFrom(undefined, 2, '\t'),
        (value, space) => {
          const text = JSON.stringify({ value }, null, space);
          const { value: read, faults } = readSource(text);
          if (faults.every(({ message }) => !message.startsWith('is a number'))) {
            expect({ text, read: JSON.stringify(read), faults }).toEqual({
              text,
              read: JSON.stringify({ value }),
              faults: [],
            });
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('the reader of texts never throws, and places every path', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'ab:-?#&*!|>%[]{},"\'\n\t ~1\\'.split('')), maxLength: 40 }),
        (text) => {
          const { value, places, faults } = readSource(text);
          const paths = value === undefined ? [] : pathsIn(value, []);
          const issues = placed(text, places, [...faults, ...paths.map((path) => ({ path, message: '' }))]);
          const lines = text.split('\n');
          for (const { line, column } of issues) {
            expect(line).toBeLessThanOrEqual(lines.length);
            expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
          }
        },
      ),
      { numRuns: RUNS * 2 },
    );
  });
});

function pathsIn(value: Plain, path: Path): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const below = Array.isArray(value)
    ? value.map((item: Plain, at) => pathsIn(item, [...path, at]))
    : Object.entries(value).map(([key, item]) => pathsIn(item as Plain, [...path, key]));
  return [path, ...below.flat(), [...path, 'missing']];
}
