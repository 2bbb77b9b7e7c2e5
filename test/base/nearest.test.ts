import { expect, test } from '@jest/globals';
import { nearest } from '../../src/base/nearest.ts';

const CODES = ['contacts.export', 'contacts.read', 'invoice.read', 'constructor'];

test.each([
  ['contact.export', 'contacts.export'],
  ['Contacts.Export', 'contacts.export'],
  ['contacts_raed', 'contacts.read'],
  ['invoice.reed', 'invoice.read'],
  ['constructr', 'constructor'],
])('finds the name that %s means', (text, name) => {
  expect(nearest(text, CODES)).toBe(name);
});

test.each(['reports.delete', 'x', '', 'contacts.export.everything', 'a'.repeat(10_000)])(
  'finds no name near %p',
  (text) => {
    expect(nearest(text, CODES)).toBeNull();
  },
);

test('answers the first of several that are equally near', () => {
  expect(nearest('book.rea', ['book.reads', 'book.read', 'book.real'])).toBe('book.read');
});

test('a short name must be nearly the same', () => {
  expect(nearest('cat', ['dog'])).toBeNull();
  expect(nearest('cat', ['cats'])).toBe('cats');
});
