import { expect, test } from '@jest/globals';
import { trimBoth, trimEnd } from '../../src/base/trim.ts';

test.each([
  ['', '', ''],
  ['///', '', ''],
  ['a', 'a', 'a'],
  ['a//', 'a', 'a'],
  ['//a//b//', '//a//b', 'a//b'],
])('of %s, slashes are cut off the end, or off both ends', (text, end, both) => {
  expect([trimEnd(text, '/'), trimBoth(text, '/')]).toEqual([end, both]);
});

test('any of several characters is cut off', () => {
  expect(trimEnd('a.b).,', ').,;')).toBe('a.b');
  expect(trimBoth(' \t\r\na b\v\f', '\t\n\v\f\r ')).toBe('a b');
  // Only those of the list: a no-break space is not ASCII.
  expect(trimBoth('\u00a0a\u00a0', ' ')).toBe('\u00a0a\u00a0');
});
