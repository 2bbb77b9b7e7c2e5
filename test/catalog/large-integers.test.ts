import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseLargeIntegers } from '../../src/catalog/large-integers.ts';

/** The same by a reviver, which is told how each number was written. */
function byReviver(text: string): unknown {
  return JSON.parse(text, ((_key: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '') ? source : value) as (
    key: string,
    value: unknown,
  ) => unknown);
}

const number = fc.oneof(
  fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('-0', '1e400', '12345678901234567890.5', '12345678901234567e2', '-9007199254740993', '1E-30'),
);
const string = fc
  .oneof(fc.string(), fc.constantFrom('12345678901234567', '"12345678901234567', '\\', '\\"', '\\\\"99999999999999999'))
  .map((text) => JSON.stringify(text));
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    string,
    fc.constantFrom('null', 'true', 'false', '{}', '[]'),
    fc.array(tie('value')).map((all) => `[${all.join(', ')}]`),
    fc.array(fc.tuple(string, tie('value'))).map((all) => `{${all.map(([key, one]) => `${key}:${one}`).join(',')}}`),
  ),
}));

describe('whole numbers that a double cannot hold', () => {
  test('large integers keep their digits anywhere, and nothing else changes', () => {
    fc.assert(
      fc.property(value, (text) => expect(parseLargeIntegers(text)).toEqual(byReviver(text))),
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
