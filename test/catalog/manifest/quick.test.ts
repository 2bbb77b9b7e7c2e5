import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Path, Plain } from '../../../src/catalog/manifest/format.ts';
import { readQuickly } from '../../../src/catalog/manifest/quick.ts';
import { readSource, readThoroughly } from '../../../src/catalog/manifest/source.ts';

const RUNS = process.env.USHER_LONG ? 200_000 : 5000;

/** Whatever the quick reader answers, the library answers too, and finds no fault in. */
function agrees(text: string): boolean {
  const quick = readQuickly(text);
  if (quick === undefined) return false;
  const library = readThoroughly(text);
  const { value, faults } = library;
  expect({ text, value: quick, faults }).toEqual({ text, value, faults: [] });
  const paths = [...pathsIn(quick, []), ['not', 'there']];
  expect({ text, paths, at: readSource(text).locate(paths) }).toEqual({ text, paths, at: library.locate(paths) });
  return true;
}

function pathsIn(value: Plain, path: Path): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const below = Array.isArray(value)
    ? value.map((item: Plain, at) => pathsIn(item, [...path, at]))
    : Object.entries(value).map(([key, item]) => pathsIn(item as Plain, [...path, key]));
  return [path, ...below.flat(), [...path, 'missing']];
}

describe('the quick reader', () => {
  test('reads what it is for', () => {
    const texts = [
      'a: b\n',
      'a:\n',
      'a: [x, y]\nb: []\nc: [ p@x.cz , q ]',
      'a:\n- b\n- c: d\n  e: f\ng: h',
      '# head\n\na: # why\n  - b: "1042" # text\n    c: \'x y\'\n    d:\n      e.f: edit\n  # between\n  - b: https://x.example:80/y?z\n',
      'a: true\nb: False\nc: null\nd: nullable\ne: Some words, with a comma (and more).',
      '{"a": [1, {"b": null}], "constructor": {"__proto__": "x:\\"y\\":"}}',
      '{}',
    ];
    expect(texts.map((text) => agrees(text))).toEqual(texts.map(() => true));
  });

  test('answers objects without a prototype', () => {
    for (const text of ['constructor: x', '{"constructor": "x"}']) {
      expect(Object.getPrototypeOf(readQuickly(text))).toBeNull();
    }
  });

  test.each([
    ['a key given twice', 'a: 1x\na: 2x'],
    ['a key given twice in JSON', '{"a": 1, "b": {"c": 1, "c": 2}}'],
    ['a number', 'a: 12'],
    ['a float', 'a: 1.5e3'],
    ['hexadecimal', 'a: 0x1F'],
    ['a lost number in JSON', '{"a": 99999999999999999999}'],
    ['a tag', 'a: !x b'],
    ['an anchor', 'a: &x b'],
    ['an alias', 'a: *x'],
    ['text over lines', 'a: b\n  c'],
    ['text over lines, with a dash', 'a: b\n  - c'],
    ['a block scalar', 'a: |\n  b'],
    ['a map in a line', 'a: {b: c}'],
    ['an escape', 'a: "\\u0041"'],
    ['a doubled quote', "a: 'it''s'"],
    ['a second document', 'a: b\n---\na: c'],
    ['a tab', 'a:\tb'],
    ['a carriage return', 'a: b\r\n'],
    ['a byte order mark', '\ufeffa: b'],
    ['a control character', 'a: b\u0007'],
    ['a wrong indentation', 'a:\n   - b\n  - c'],
    ['a key within a scalar', 'a: b: c'],
    ['a list alone', '- a'],
    ['nothing', ''],
    ['deep nesting', `${Array.from({ length: 40 }, (_, at) => `${' '.repeat(at)}a:\n`).join('')}`],
    ['deep nesting in JSON', `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`],
  ])('leaves %s to the library', (_, text) => {
    expect(readQuickly(text)).toBeUndefined();
  });

  test('agrees with the library on mutated manifests', () => {
    const demo = readFileSync(`${import.meta.dirname}/../../../examples/demo.yaml`, 'utf8').split('\n');
    const piece = fc.constantFrom(
      ' ',
      '  ',
      '- ',
      '-',
      ': ',
      ':',
      '#',
      ' # ',
      '"',
      "'",
      '[',
      ']',
      ', ',
      ',',
      '{',
      '}',
      '&a',
      '*a',
      '!x',
      '|',
      '>',
      '%',
      '@',

      'null',
      '~',
      'true',
      'No',
      '12',
      '1.',
      '.5',
      '0x1',
      '1e3',
      '+1',
      '-1',
      '.inf',
      '\t',
      '\r',
      '\u00a0',
      '\u2028',
      'é',
      '\n',
      '\n  ',
      '---',
      'a',
      'code: x',
      '- code: x',
      'roles: [a, b]',
      '? a',
      '<<: a',
    );
    const edit = fc.record({
      line: fc.nat({ max: 12 }),
      at: fc.nat({ max: 40 }),
      drop: fc.nat({ max: 4 }),
      put: piece,
    });
    let read = 0;
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
        if (agrees(text.join('\n'))) read++;
      }),
      { numRuns: RUNS },
    );
    // Not vacuous: a good part of them is read quickly.
    expect(read).toBeGreaterThan(RUNS / 20);
  });

  test('agrees with the library on JSON', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5, noUnicodeString: false }),
        fc.constantFrom(undefined, 2, '\t'),
        (value, space) => {
          agrees(JSON.stringify({ value }, null, space));
        },
      ),
      { numRuns: RUNS / 5 },
    );
  });

  test('agrees with the library on broken JSON', () => {
    const piece = fc.constantFrom(
      '"',
      ':',
      ',',
      '{',
      '}',
      '[',
      ']',
      '\\',
      '"a":',
      '1',
      'null',
      ' ',
      '\n',
      '\t',
      '//',
      '#',
    );
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.nat(), fc.nat({ max: 3 }), piece, (value, where, drop, put) => {
        const text = JSON.stringify({ a: value, b: [value] });
        const at = where % text.length;
        agrees(text.slice(0, at) + put + text.slice(at + drop));
      }),
      { numRuns: RUNS },
    );
  });
});
