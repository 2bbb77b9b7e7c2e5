import { expect, test } from '@jest/globals';
import { trimBoth, trimEnd } from '../../src/base/trim.ts';

test.each([
  ['', '', ''],
  ['///', '', ''],
  ['a', 'a', 'a'],
  ['a//', 'a', 'a'],
  ['//a//b//', '//a//b', 'a//b'],
])('slashes are trimmed from the end, or from both ends, of %s', (text, end, both) => {
  expect([trimEnd(text, '/'), trimBoth(text, '/')]).toEqual([end, both]);
});

test('each of several characters is trimmed', () => {
  expect(trimEnd('a.b).,', ').,;')).toBe('a.b');
  expect(trimBoth(' \t\r\na b\v\f', '\t\n\v\f\r ')).toBe('a b');
  // Only those of the list: a no-break space is not ASCII.
  expect(trimBoth('\u00a0a\u00a0', ' ')).toBe('\u00a0a\u00a0');
});
