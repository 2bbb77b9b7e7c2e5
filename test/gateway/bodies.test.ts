import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { UsherError } from '../../src/base/errors.ts';
import { checkMedia, json, NO_BODY, parseJson, rawText } from '../../src/gateway/route/bodies.ts';
import { bareType, negotiate } from '../../src/gateway/route/envelopes.ts';
import { parseQuery } from '../../src/gateway/route/inputs.ts';

function issuesOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (error instanceof UsherError) return error.details?.issues;
    throw error;
  }
  return 'nothing was thrown';
}

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

describe('JSON bodies', () => {
  test('ordinary values are accepted, with any content in strings', () => {
    const value = { a: ['[{"', '\\', '\\"]', '\u{1f511}'], b: { c: null, d: 1.5, e: true } };
    expect(parseJson(bytes(JSON.stringify(value)))).toEqual(value);
  });

  test('the last of repeated members takes effect', () => {
    expect(parseJson(bytes('{"a":1,"a":2}'))).toEqual({ a: 2 });
  });

  test('32 levels of nesting are accepted, 33 are refused, and a million cost nothing', () => {
    const nested = (depth: number): Buffer => bytes('['.repeat(depth) + ']'.repeat(depth));
    expect(() => parseJson(nested(32))).not.toThrow();
    expect(issuesOf(() => parseJson(nested(33)))).toEqual([
      { path: '', message: 'the body is nested deeper than 32 levels' },
    ]);
    expect(issuesOf(() => parseJson(bytes('{"a":'.repeat(200_000))))).toHaveLength(1);
    // Brackets in strings do not count, and an escaped quote does not end one.
    expect(() => parseJson(bytes(JSON.stringify('['.repeat(100))))).not.toThrow();
    expect(() => parseJson(bytes(JSON.stringify({ a: `"${'['.repeat(100)}\\` })))).not.toThrow();
  });

  test.each([
    ['malformed', '{"a":'],
    ['trailing comma', '{"a":1,}'],
    ['two values', '{} {}'],
    ['a byte order mark', '\ufeff{}'],
    ['a control character', '{"a":"\u0001"}'],
    ['single quotes', "{'a':1}"],
    ['NaN', '{"a":NaN}'],
    ['an unterminated string', '{"a":"b\\'],
  ])('%s is refused without being repeated', (_what, text) => {
    expect(issuesOf(() => parseJson(bytes(text)))).toEqual([{ path: '', message: 'the body is not well-formed JSON' }]);
  });

  test.each([
    ['a lone byte', Buffer.from([0x22, 0xff, 0x22])],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['half a surrogate pair', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('{}', 'utf16le').subarray(0, 3)],
  ])('bytes that are not UTF-8 (%s) are refused', (what, body) => {
    const message = what === 'UTF-16' ? 'the body is not well-formed JSON' : 'the body is not valid UTF-8';
    expect(issuesOf(() => parseJson(body))).toEqual([{ path: '', message }]);
  });

  test.each([
    ['{"a":{"b":["\\u0000"]}}', 'a.b.0'],
    ['{"a":"\\ud800"}', 'a'],
    ['{"a":"\\udc00\\ud800"}', 'a'],
    ['{"x\\u0000":1}', '?'],
    ['"\\ud800"', ''],
  ])('%s cannot be stored and is refused with its path', (text, path) => {
    expect(issuesOf(() => parseJson(bytes(text)))).toEqual([
      { path, message: 'contains a NUL character or half of a surrogate pair' },
    ]);
  });

  test('a surrogate pair as two escapes is one character', () => {
    expect(parseJson(bytes('"\\ud83d\\udd11"'))).toBe('\u{1f511}');
  });

  test('every unknown field is reported, including __proto__ and nested ones', () => {
    const format = json(z.strictObject({ a: z.string(), list: z.array(z.strictObject({ b: z.int() })) }));
    const body = bytes('{"a":"x","list":[{"b":1},{"b":2,"c":3}],"__proto__":{"admin":true},"constructor":1,"z":2}');
    expect(issuesOf(() => format.parse(body, 'application/json'))).toEqual(
      expect.arrayContaining(
        ['list.1.c', '__proto__', 'constructor', 'z'].map((path) => ({ path, message: 'is not a known field' })),
      ),
    );
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test('missing fields, wrong types and non-objects are reported with a path', () => {
    const format = json(z.strictObject({ a: z.string(), list: z.array(z.int()) }));
    const paths = (text: string) =>
      (issuesOf(() => format.parse(bytes(text), '')) as { path: string }[]).map(({ path }) => path);
    expect(paths('{}')).toEqual(['a', 'list']);
    expect(paths('{"a":1,"list":[1,"2",2.5,9007199254740993]}')).toEqual(['a', 'list.1', 'list.2', 'list.3']);
    expect(paths('[]')).toEqual(['']);
    expect(paths('null')).toEqual(['']);
    expect(issuesOf(() => format.parse(undefined, ''))).toEqual([{ path: '', message: 'a JSON body is required' }]);
  });

  test('an empty body and {} are equal when no body is expected', () => {
    expect(NO_BODY.parse(undefined, '')).toBeUndefined();
    expect(NO_BODY.parse(bytes('{}'), 'application/json')).toEqual({});
    expect(issuesOf(() => NO_BODY.parse(bytes('{"a":1}'), ''))).toEqual([
      { path: 'a', message: 'is not a known field' },
    ]);
  });

  test('text bodies are passed on with their type, never empty and always UTF-8', () => {
    const format = rawText(['application/yaml'], 'manifest');
    expect(format.parse(bytes('a: 1'), 'application/yaml')).toEqual({ text: 'a: 1', media: 'application/yaml' });
    expect(issuesOf(() => format.parse(undefined, ''))).toHaveLength(1);
    expect(issuesOf(() => format.parse(Buffer.from([0xff]), ''))).toHaveLength(1);
  });
});

describe('media types', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8',
    'APPLICATION/JSON',
    'application/json; charset=utf-8; boundary=x',
  ])('%s is JSON', (type) => {
    expect(checkMedia(type, ['application/json'])).toBe('application/json');
  });

  test.each([
    undefined,
    '',
    'text/plain',
    'application/json-patch+json',
    'application/jsonx',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json, application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
  ])('%s is not JSON', (type) => {
    expect(() => checkMedia(type, ['application/json'])).toThrow(expect.objectContaining({ httpStatus: 415 }));
  });

  const offered = ['application/json; charset=utf-8', 'application/x-ndjson'] as const;
  test.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['application/x-ndjson, application/json', 'application/json'],
    ['application/x-ndjson, application/json;q=0.5', 'application/x-ndjson'],
    ['application/json;q=0, */*', 'application/x-ndjson'],
    ['text/html', 'application/json'],
    ['application/*;q=0.1', 'application/json'],
    ['application/x-ndjson;q=nonsense', 'application/json'],
  ])('Accept %s gets %s', (accept, media) => {
    expect(bareType(negotiate(accept, offered))).toBe(media);
  });
});

describe('queries', () => {
  test('query values are decoded, on an object without a prototype', () => {
    const { values, issues } = parseQuery('q=a+b%20c%2B&empty=&flag&&__proto__=x');
    expect({ ...values }).toEqual({ q: 'a b c+', empty: '', flag: '', ['__proto__']: 'x' });
    expect(Object.getPrototypeOf(values)).toBeNull();
    expect(issues).toEqual([]);
  });

  test.each([
    ['a=1&a=1', [{ path: 'a', message: 'is given twice' }]],
    ['a=1&%61=2', [{ path: 'a', message: 'is given twice' }]],
    ['a=%ff', [{ path: 'a', message: 'is not percent-encoded UTF-8' }]],
    ['%=1', [{ path: '', message: 'is not percent-encoded UTF-8' }]],
    ['a=%00', [{ path: 'a', message: 'contains a NUL character' }]],
  ])('the query %s is refused', (search, issues) => {
    expect(parseQuery(search).issues).toEqual(issues);
  });
});
