import { expect, test } from '@jest/globals';
import { cut, piecesOf } from '../../src/persistence/people/text-pieces.ts';

test('a text is looked up by a few of its pieces, spread over it', () => {
  expect(cut('ab')).toEqual([]);
  expect(cut('abc')).toEqual(['abc']);
  expect(cut('grace@example.com')).toEqual(['gra', 'ce@', 'xam', 'ple', 'com']);
  expect(piecesOf('grace')).toBe("'gra' & 'ace'");
});

test('a text shorter than a piece by what it begins', () => {
  expect(piecesOf('ab')).toBe("'ab':*");
  expect(piecesOf("a'", new Set(["a'"]))).toBe("'a''':*");
});

test('pieces that most people have are left out, as long as others remain', () => {
  expect(piecesOf('grace@example.com', new Set(['xam', 'ple', 'com']))).toBe("'gra' & 'ce@'");
  expect(piecesOf('abcabc', new Set(['abc']))).toBe("'abc'");
});
