import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { undoBound } from '../../panel/src/api/bound.ts';
import { csvOf } from '../../panel/src/api/csv.ts';
import { curlOf } from '../../panel/src/api/curl.ts';
import { urlOf } from '../../src/base/operations.ts';
import { openApiDocument } from '../../src/gateway/openapi/document.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { apiTypes } from '../gateway/write-api-types.ts';

test('the types of the API are those of the routes', async () => {
  const made = apiTypes(await openApiDocument(gatewayRoutes({ production: false }), '1.0'));
  const kept = readFileSync(new URL('../../src/gen/api.ts', import.meta.url), 'utf8');
  // Compared as a whole: a difference in 60 kB of types would be printed for pages.
  expect(made === kept ? 'current' : 'run npm run generate').toBe('current');
});

describe('the address of a request', () => {
  test('escapes every parameter, so that no value reaches another path', () => {
    const input = {
      path: { email: 'a/../b?c#d@example.com' },
      query: { q: 'x&y=z', limit: 5, cursor: null, role: '' },
    };
    expect(urlOf('GET /api/users/{email}', input)).toBe(
      '/api/users/a%2F..%2Fb%3Fc%23d%40example.com?q=x%26y%3Dz&limit=5',
    );
  });
});

describe('an undo', () => {
  const answer = { data: null, etag: '"e"', next: null, since: null };

  test('is bound to the revision of its write', () => {
    expect(undoBound({ ...answer, revision: 'a.1.7' })).toEqual({ ifRevision: 'a.1.7' });
  });

  test.each([{ ...answer, revision: null }, undefined, null, 'text'])('is bound to nothing by %j', (written) => {
    expect(undoBound(written)).toEqual({});
  });
});

describe('an export for spreadsheets', () => {
  test('quotes separators and line ends, and leaves no cell that is a formula', () => {
    const rows = [
      ['name', 'note'],
      ['=HYPERLINK("http://x")', 'a,b'],
      ['+1', '-2'],
      ['@SUM(A1)', ' =1'],
      ['anna;=1', 'a;b'],
      [-3, null],
      ['line\nbreak', 'a "quote"'],
    ];
    expect(csvOf(rows)).toBe(
      [
        'name,note',
        `"'=HYPERLINK(""http://x"")","a,b"`,
        "'+1,'-2",
        "'@SUM(A1),' =1",
        "anna;'=1,a;b",
        '-3,',
        '"line\nbreak","a ""quote"""',
      ].join('\r\n'),
    );
  });

  test('reads back as what was exported, but for the apostrophe before formulas', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', ';', '"', '\n', '\r', '=', '-', ' ', '\t') });
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { minLength: 1 }), (rows) => {
        const read = parsed(csvOf(rows));
        expect(
          read.map((row) => row.map((text) => text.replaceAll(/(^|[;\t\r\n])'(?=[\t\r\n ]*[=+\-@])/g, '$1'))),
        ).toEqual(rows);
      }),
    );
  });
});

/** A reader of RFC 4180. */
function parsed(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    rows.at(-1)?.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if (end === '\r\n') rows.push([]);
    if (end === '') break;
  }
  return rows;
}

describe('a request as a command', () => {
  test('is one word a value for a shell, and never holds the token', () => {
    const record = {
      method: 'PUT',
      url: '/api/users/x',
      body: `{"name":"it's $HOME"}`,
      headers: { 'if-match': '"a"' },
    };
    expect(curlOf(record, 'http://localhost:8080')).toBe(
      [
        "curl -sS -X PUT 'http://localhost:8080/api/users/x' \\",
        '  -H "authorization: Bearer $TOKEN" \\',
        `  -H 'if-match: "a"' \\`,
        `  --data-raw '{"name":"it'\\''s $HOME"}'`,
      ].join('\n'),
    );
  });
});
