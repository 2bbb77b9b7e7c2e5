import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  hasForbiddenCharacters,
  isApplicationCode,
  isLanguageCode,
  isLongerThan,
  isPermissionCode,
  isResourceId,
  isRoleCode,
  isSlug,
  isStorableUrl,
  LIMITS,
  lowerAscii,
  normalizeEmail,
} from '../../src/base/grammar.ts';

const RUNS = process.env.USHER_LONG ? 200_000 : 5000;
const ATOM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+/=?^_`{|}~-";
const of = (alphabet: string, minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom(...alphabet.split('')), { minLength, maxLength }).map((characters) => characters.join(''));
const local = of(ATOM, 1, 64);
const label = of('abcXYZ019', 1, 20);
const address = fc.tuple(local, fc.array(label, { minLength: 1, maxLength: 4 })).map(([l, h]) => `${l}@${h.join('.')}`);
const space = of(' \t\n\r\f\v', 0, 3);

describe('e-mail addresses', () => {
  test('a valid address only loses surrounding white space and capitals, and is then in normal form', () => {
    fc.assert(
      fc.property(address, space, space, (email, before, after) => {
        const normal = normalizeEmail(before + email + after);
        expect(normal).toBe(email.replace(/[A-Z]/g, (c) => c.toLowerCase()));
        expect(normalizeEmail(normal as string)).toBe(normal);
      }),
      { numRuns: RUNS },
    );
  });

  test('every accepted address is ASCII without white space, and equals its input but for case and white space', () => {
    const input = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.tuple(fc.string(), fc.string()).map((p) => p.join('@')),
    );
    fc.assert(
      fc.property(input, (text) => {
        const normal = normalizeEmail(text);
        if (normal === null) return;
        expect(normal).toMatch(/^[!-~]+$/);
        expect(normal).toBe(lowerAscii(text.trim()));
        expect(normal.split('@')).toHaveLength(2);
      }),
      { numRuns: RUNS },
    );
  });

  test('two addresses that differ in anything but A-Z never become one', () => {
    fc.assert(
      fc.property(address, fc.nat(), fc.constantFrom(...ATOM.split('')), (email, at, character) => {
        const where = at % email.length;
        const other = email.slice(0, where) + character + email.slice(where + 1);
        const [a, b] = [normalizeEmail(email), normalizeEmail(other)];
        if (b === null) return;
        expect(a === b).toBe(email.toUpperCase() === other.toUpperCase());
      }),
      { numRuns: RUNS },
    );
  });

  test.each([
    '\u212Aate@example.com', // KELVIN SIGN lower-cases to k
    'kate@\u212A.example',
    '\u0131ris@example.com',
    'straße@example.com',
    'a@münchen.example',
    'ａ@example.com',
    'a\u00A0@example.com',
    '\u00A0a@example.com',
    '\u2003a@example.com\u2003',
    '\uFEFFa@example.com',
    '"a b"@example.com',
    '"a"@example.com',
    'a:b@example.com',
    'a@b:c',
    'a@[127.0.0.1]',
    'a@b@c',
    '@example.com',
    'a@',
    'a',
    '',
    ' ',
    'a b@example.com',
    'a@exa mple.com',
    'a@example.com\u0000',
    'a\r\nBcc:@example.com',
    'a@example..com',
    'a@.example.com',
    'a@-example.com',
    'a@example_com',
    'a,b@example.com',
    '<a@example.com>',
    'a(comment)@example.com',
    'a\\@example.com',
    `${'a'.repeat(65)}@example.com`,
    `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}`,
  ])('the address %j is refused', (email) => expect(normalizeEmail(email)).toBeNull());

  test('an address has at most 254 characters', () => {
    const host = (length: number) => `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(length - 128)}`;
    expect(normalizeEmail(`${'x'.repeat(64)}@${host(189)}`)).toHaveLength(254);
    expect(normalizeEmail(`${'x'.repeat(64)}@${host(190)}`)).toBeNull();
  });

  test('plus tags and dots are significant', () => {
    const spellings = ['a.b@x.example', 'ab@x.example', 'a.b+c@x.example'];
    expect(new Set(spellings.map(normalizeEmail)).size).toBe(3);
  });
});

describe('codes', () => {
  test.each(['a', 'constructor', 'a.b_c-d', '0', 'a'.repeat(64)])('%j is a slug', (code) =>
    expect(isSlug(code)).toBe(true),
  );
  test.each(['', 'A', 'a..b', '.a', 'a.', 'a b', 'a:b', '__proto__', 'á', 'a\n', 'a'.repeat(65)])(
    '%j is not a slug',
    (code) => expect(isSlug(code)).toBe(false),
  );
  test('application codes exclude the words of paths', () => {
    for (const code of ['inbox', 'stream', 'preferences'])
      expect([isSlug(code), isApplicationCode(code)]).toEqual([true, false]);
  });
  test.each(['Invoice.Read', 'read:orders', 'files/write', 's3:GetObject', 'a:b/c-d_e.f', 'a'.repeat(128)])(
    '%j is a permission code',
    (code) => expect(isPermissionCode(code)).toBe(true),
  );
  test.each([
    'a'.repeat(129),
    'a::b',
    ':a',
    'a/',
    '/a',
    'a:',
    'a.:b',
    '*',
    'a:*',
    'a%3Ab',
    '',
    'a b',
    '__proto__',
    'a.\n',
  ])('%j is not a permission code', (code) => expect(isPermissionCode(code)).toBe(false));
  test.each(['ROLE_ADMIN', 'billing:Clerk', 'a', 'a'.repeat(64)])('%j is a role code', (code) =>
    expect(isRoleCode(code)).toBe(true),
  );
  test.each(['a'.repeat(65), 'a/b', '*', 'a:', '__proto__', 'a b', ''])('%j is not a role code', (code) =>
    expect(isRoleCode(code)).toBe(false),
  );
  test('no slug and no address contains the separator of the cache key, and no code its escape', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect([isSlug(`${a}:${b}`), normalizeEmail(`${a}:${b}`)]).toEqual([false, null]);
        expect([isPermissionCode(`${a}%${b}`), isRoleCode(`${a}%${b}`)]).toEqual([false, false]);
      }),
    );
  });
});

describe('identifiers, languages, zones, URLs', () => {
  test('a resource id has 1 to 256 code points, without control characters or lone surrogates', () => {
    expect(isResourceId('x'.repeat(256))).toBe(true);
    expect(isResourceId('😀'.repeat(256))).toBe(true);
    expect(isResourceId('a:b/c d é')).toBe(true);
    for (const id of ['', 'x'.repeat(257), '😀'.repeat(257), 'a\u0000', 'a\u007f', 'a\u0085', '\ud800', 'a\udc00b']) {
      expect(isResourceId(id)).toBe(false);
    }
  });

  test('isLongerThan counts like an iterator', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.nat(30), (text, max) => {
        expect(isLongerThan(text, max)).toBe(Array.from(text).length > max);
      }),
    );
  });

  test('control characters and lone surrogates are forbidden', () => {
    expect(hasForbiddenCharacters('plain text, é, 😀')).toBe(false);
    expect(hasForbiddenCharacters('line\nbreak')).toBe(true);
    expect(hasForbiddenCharacters('\udfff')).toBe(true);
  });

  test.each(['cs', 'en', 'pt-br', 'es-419', 'zh-hant', 'sr-latn', 'zh-hant-hk', 'fil'])('%j is a language', (code) =>
    expect(isLanguageCode(code)).toBe(true),
  );
  test.each([
    'CS',
    'en-US',
    'english',
    'c',
    '',
    'en_us',
    'en-',
    'zh-Hant',
    'zh-hans-hant',
    'zh-hk-hant',
    'fili',
    'de-1996',
  ])('%j is not a language', (code) => expect(isLanguageCode(code)).toBe(false));

  test('stored URLs are https without credentials, up to 2,048 characters, or http where allowed', () => {
    expect(isStorableUrl('https://cdn.example.com/a.png?b#c', false)).toBe(true);
    expect(isStorableUrl('http://cdn.example.com/a.png', true)).toBe(true);
    const long = `https://example.com/${'a'.repeat(LIMITS.url - 20)}`;
    expect([isStorableUrl(long, false), isStorableUrl(`${long}a`, false)]).toEqual([true, false]);
    for (const url of [
      'http://example.com',
      'javascript:alert(1)',
      'data:text/html,x',
      'https://u@example.com',
      'https://u:p@x.example',
      '//x',
      '',
      'https://',
      'ftp://x.example',
      ' https://x.example',
      'https://x.example/\n',
    ]) {
      expect(isStorableUrl(url, false)).toBe(false);
    }
  });
});
