import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { jsonInSlices } from '../../src/base/json-slices.ts';
import { atOnce, each, type Sliced, sorted } from '../../src/base/slices.ts';
import { inSlices } from '../../src/base/time-slice.ts';
import { PerTurn, useCountedPieces } from '../support/turns.ts';

/** How often the work lets others run. */
function yieldsOf(work: Sliced<unknown>): number {
  let yields = 0;
  while (!work.next().done) yields++;
  return yields;
}

const numbers = Array.from({ length: 10_000 }, (_, at) => (at * 7919) % 10_007);

describe('work that others may interrupt', () => {
  test('sorts as the platform does, equal ones as they came', () => {
    const pairs = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer()), { maxLength: 3000 });
    fc.assert(
      fc.property(pairs, (all) => {
        const compare = ([a]: [number, number], [b]: [number, number]) => a - b;
        expect(atOnce(sorted(all, compare))).toEqual(all.toSorted(compare));
      }),
      { numRuns: 50 },
    );
  });

  test('goes through all of them in order, and yields on the way', () => {
    const seen: [number, number][] = [];
    expect(yieldsOf(each(numbers, (one, at) => seen.push([one, at])))).toBeGreaterThanOrEqual(100);
    expect(seen).toEqual(numbers.map((one, at) => [one, at]));
    expect(yieldsOf(sorted(numbers, (a, b) => a - b))).toBeGreaterThanOrEqual(500);
  });

  test('fails as the work does', async () => {
    const failing = () =>
      each(numbers, () => {
        throw new Error('wrong');
      });
    expect(() => atOnce(failing())).toThrow('wrong');
    await expect(inSlices(failing())).rejects.toThrow('wrong');
  });
});

describe('beside other work', () => {
  useCountedPieces(2);

  test('it takes a slice of a turn', async () => {
    const { total, most } = await PerTurn.while((happened) => inSlices(each(numbers.slice(0, 2000), happened)));
    expect(total).toBe(2000);
    // As many steps as there are between two looks at the clock, and the looks of a slice.
    expect(most).toBeLessThanOrEqual(150);
  });
});

describe('JSON in slices', () => {
  test('is what JSON.stringify writes', () => {
    const long = fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 15, maxLength: 60 });
    const value = fc.oneof(
      fc.jsonValue(),
      long,
      fc.record({ data: fc.record({ changes: long, 'a "name"\u2028': fc.jsonValue() }), none: fc.constant(undefined) }),
    );
    fc.assert(
      fc.property(value, (one) => {
        expect(atOnce(jsonInSlices(one)).toString()).toBe(JSON.stringify(one));
      }),
      { numRuns: 300 },
    );
  });

  test.each<[string, unknown]>([
    ['undefined in a list', Array.from({ length: 30 }, (_, at) => (at % 2 ? undefined : at))],
    ['a date', { at: new Date(0), list: Array.from({ length: 30 }, () => new Date(0)) }],
    ['nothing in an object', { a: undefined }],
    ['deep lists', { a: { b: { c: { d: { e: Array.from({ length: 30 }, (_, at) => at) } } } } }],
    ['more than a piece', { text: 'ž'.repeat(200_000), list: Array.from({ length: 3000 }, () => 'x'.repeat(100)) }],
  ])('is what JSON.stringify writes: %s', (_name, value) => {
    expect(atOnce(jsonInSlices(value)).toString()).toBe(JSON.stringify(value));
  });

  test('lets others run between the items of a long list', () => {
    const changes = numbers.map((number) => ({ number }));
    expect(yieldsOf(jsonInSlices({ success: true, data: { changes, result: { changes } } }))).toBeGreaterThanOrEqual(
      1000,
    );
  });
});
