import { describe, expect, test } from '@jest/globals';
import { nearest } from '../../src/base/nearest.ts';

const CODES = ['contacts.export', 'contacts.read', 'invoice.read', 'constructor'];

test.each([
  ['contact.export', 'contacts.export'],
  ['Contacts.Export', 'contacts.export'],
  ['contacts_raed', 'contacts.read'],
  ['invoice.reed', 'invoice.read'],
  ['constructr', 'constructor'],
])('the search finds the name nearest to %s', (text, name) => {
  expect(nearest(text, CODES)).toBe(name);
});

test.each(['reports.delete', 'x', '', 'contacts.export.everything', 'a'.repeat(10_000)])(
  'the search finds no name near %p',
  (text) => {
    expect(nearest(text, CODES)).toBeNull();
  },
);

test('the first of several equally near names wins', () => {
  expect(nearest('book.rea', ['book.reads', 'book.read', 'book.real'])).toBe('book.read');
});

test('a short name must match almost exactly', () => {
  expect(nearest('cat', ['dog'])).toBeNull();
  expect(nearest('cat', ['cats'])).toBe('cats');
});

describe('the time of a suggestion', () => {
  /** How many of 5,000 names of that length are looked at, all of them equally far from the text. */
  function lookedAt(length: number): number {
    let count = 0;
    function* names(): Generator<string> {
      for (; count < 5000; count++) yield 'b'.repeat(length);
    }
    nearest('a'.repeat(length), names());
    return count;
  }

  test('a suggestion examines only part of thousands of long names', () => {
    expect(lookedAt(128)).toBeLessThan(600);
  });

  test('a suggestion examines all of thousands of names of usual length', () => {
    expect(lookedAt(36)).toBe(5000);
  });
});
