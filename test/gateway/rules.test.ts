import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { zodIssues } from '../../src/base/zod-issues.ts';
import {
  applicationCode,
  email,
  idParam,
  languageCode,
  namedPermission,
  permissionCode,
  permissionSet,
  resourceId,
  roleCode,
  slug,
  storableUrl,
  timeZone,
} from '../../src/gateway/route/fields.ts';

/** Everything wrong with a value, as a caller reads it. */
function issues(schema: z.ZodType, value: unknown): string[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return zodIssues(parsed.error.issues, schema).map(({ path, message }) => `${path}: ${message}`);
}

describe('messages of invalid fields', () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ['a choice', z.enum(['view', 'edit']), 'all', 'must be view or edit'],
    ['a missing choice', z.enum(['view', 'edit']).nullable(), undefined, 'must be view or edit'],
    ['a whole number', z.int(), 1.5, 'must be a whole number'],
    ['an id', z.int().positive(), 0, 'must be more than 0'],
    ['too large a number', z.int().max(5), 6, 'must be at most 5'],
    ['too short a text', z.string().min(2), 'a', 'must have at least 2 characters'],
    ['too long a text', z.string().max(2), 'abc', 'must have at most 2 characters'],
    ['an empty list', z.array(z.string()).min(1), [], 'must hold at least 1 item'],
    ['too long a list', z.array(z.string()).max(2), ['a', 'b', 'c'], 'must hold at most 2 items'],
    ['an object of any fields', z.record(z.string(), z.unknown()), 'a', 'must be an object'],
    ['a time', z.iso.datetime(), '2026-11-21', 'must be a time such as 2026-11-21T10:00:05Z'],
    ['a schema with words of its own', z.string().min(1, 'must not be empty'), '', 'must not be empty'],
  ])('a message states the rule where zod would name types: %s', (_, schema, value, message) => {
    expect(issues(schema, value)).toEqual([`: ${message}`]);
  });

  test.each<[string, z.ZodType, unknown, string]>([
    [
      'an application code',
      applicationCode,
      'My App',
      'must be lower-case letters and digits, with single . _ - between them, at most 64 characters, and not inbox, stream or preferences',
    ],
    [
      'a reserved application code',
      applicationCode,
      'inbox',
      expect.stringContaining('not inbox, stream or preferences') as never,
    ],
    [
      'a slug',
      slug,
      'A',
      'must be lower-case letters and digits, with single . _ - between them, at most 64 characters',
    ],
    [
      'a permission code',
      permissionCode,
      'a::b',
      'must be letters and digits, with single . _ : / - between them, at most 128 characters',
    ],
    ['a permission code with *', permissionCode, 'orders:*', 'there are no wildcards: name each code, without *'],
    [
      'a role code',
      roleCode,
      'orders/clerk',
      'must be letters and digits, with single . _ : - between them, at most 64 characters',
    ],
    ['a role code with *', roleCode, '*', 'there are no wildcards: name each code, without *'],
    [
      'an address',
      email,
      'nobody',
      'must be an e-mail address such as ada@example.com: ASCII, one @ with a host name after it, at most 254 characters',
    ],
    [
      'a language',
      languageCode,
      'EN',
      'must be a lower-case language code with an optional script and region, such as cs, pt-br, zh-hant or es-419',
    ],
    [
      'a time zone',
      timeZone,
      'Prague',
      'must be a time zone of IANA such as Europe/Prague or UTC, not an abbreviation such as BST',
    ],
    ['an identifier', resourceId, '', 'must be 1 to 256 characters, without control characters or lone surrogates'],
    ['an id in a path', idParam, '007', 'must be the id of a record: a whole number from 1, without leading zeros'],
    [
      'a URL',
      storableUrl(true),
      'ftp://x',
      'must be an absolute http or https URL without credentials, at most 2048 characters',
    ],
    [
      'a URL in production',
      storableUrl(false),
      'http://x',
      'must be an absolute https URL without credentials, at most 2048 characters',
    ],
  ])('a message states the correct form: %s', (_, schema, value, message) => {
    expect(issues(z.strictObject({ field: schema }), { field: value })).toEqual([expect.stringMatching(/^field: /)]);
    expect(issues(schema, value)[0]?.slice(2)).toEqual(message);
  });
});

describe('an unknown field', () => {
  const inner = z.strictObject({ accessLevel: z.string().optional(), granted: z.boolean().optional() });
  const schema = z
    .strictObject({
      supportedLanguages: z.array(z.string()).optional(),
      nested: inner.nullish(),
      list: z.array(inner).optional(),
      set: permissionSet(z.strictObject({ ...namedPermission, granted: z.boolean().optional() })).optional(),
      either: z.union([inner, z.string()]).optional(),
    })
    .refine(() => true);

  test('an unknown field gets the nearest known one as a suggestion', () => {
    expect(
      issues(schema, { supportedLanguage: [], nested: { acessLevel: 'x' }, list: [{}, { grantd: true }] }).sort(),
    ).toEqual([
      'list.1.grantd: is not a known field; did you mean granted?',
      'nested.acessLevel: is not a known field; did you mean accessLevel?',
      'supportedLanguage: is not a known field; did you mean supportedLanguages?',
    ]);
    expect(issues(schema, { set: [{ permision: 'a' }] })).toContain(
      'set.0.permision: is not a known field; did you mean permission?',
    );
  });

  test('an unknown field far from every known one gets no suggestion', () => {
    expect(issues(schema, { colour: 1, x: 2, JSON: 3 })).toEqual([
      'colour: is not a known field',
      'x: is not a known field',
      'JSON: is not a known field',
    ]);
    const proto = JSON.parse('{"__proto__": 1, "constructor": 2, "nested": {"__proto__": 3}}');
    expect(issues(schema, proto).every((issue) => issue.endsWith('is not a known field'))).toBe(true);
  });

  test('only the first twenty unknown fields get suggestions', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`lis${index % 10}${index}`, 1]));
    const guesses = issues(schema, { ...many }).filter((issue) => issue.includes('did you mean'));
    expect(guesses.length).toBeLessThanOrEqual(20);
    expect(issues(schema, many)).toHaveLength(50);
  });
});
