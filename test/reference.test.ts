import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ERROR_TABLE, GrpcStatus } from '../src/base/errors.ts';

/**
 * The rules that code and tests cite stand in docs/reference. A citation that no heading answers sends its reader nowhere, and
 * a table of errors that differs from the code misleads every client.
 */
const ROOT = resolve(import.meta.dirname, '..');

function filesBelow(folder: string, ending: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/src/gen/') && !path.includes('/node_modules/'));
}

/** A heading's anchor as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(page: string): Set<string> {
  const text = readFileSync(page, 'utf8');
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map((match) => anchorOf(match[1] ?? '')));
}

const pages = new Map(
  filesBelow('docs/reference', /\.md$/).map((path) => [path.slice(path.lastIndexOf('/') + 1), anchorsOf(path)]),
);
const citing = ['src', 'packages', 'test', 'bench', 'proto', 'docs'].flatMap((folder) =>
  filesBelow(folder, /\.(ts|proto|md)$/),
);

function resolves(page: string, anchor: string | undefined): boolean {
  const anchors = pages.get(page);
  return anchors !== undefined && (anchor === undefined || anchors.has(anchor));
}

/** Names of TypeScript files in comments and tables: `persistence/driver/refused.ts`, `app/roles.test.ts`. */
const FILE_NAME = /(?<![\w/.-])[\w-][\w./-]*\.ts\b/g;
const COMMENT = /^\s*(?:\/?\*|\/\/)/;

describe('names of files', () => {
  const existing = ['src', 'packages', 'test', 'bench'].flatMap((folder) => filesBelow(folder, /\.ts$/));
  const missing = (text: string) =>
    [...text.matchAll(FILE_NAME)]
      .map(([name]) => name)
      .filter((name) => !existing.some((path) => path.endsWith(`/${name}`)));

  test('every file in a comment of the sources exists', () => {
    const sources = [...filesBelow('src', /\.ts$/), ...filesBelow('packages', /\.ts$/)];
    const broken = sources.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => COMMENT.test(line))
        .flatMap(missing)
        .map((name) => `${file.slice(ROOT.length + 1)}: ${name}`),
    );
    expect(broken).toEqual([]);
  });

  test.each(['testing.md', 'evidence/mutants.md', 'evidence/long-runs.md'])(
    'every test and source in docs/%s exists',
    (page) => {
      const rows = readFileSync(join(ROOT, 'docs', page), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('| '));
      expect(rows.flatMap(missing)).toEqual([]);
    },
  );
});

describe('docs/reference', () => {
  test('every citation of a reference page resolves to a heading', () => {
    const broken = citing.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/docs\/reference\/([a-z-]+\.md)(?:#([a-z0-9-]+))?/g)]
        .filter((match) => !resolves(match[1] ?? '', match[2]))
        .map((match) => `${file.slice(ROOT.length + 1)}: ${match[0]}`),
    );
    expect(broken).toEqual([]);
  });

  test('links between reference pages resolve to a heading', () => {
    const broken = filesBelow('docs/reference', /\.md$/).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\]\(([a-z-]+\.md)(?:#([a-z0-9-]+))?\)/g)]
        .filter((match) => !resolves(match[1] ?? '', match[2]))
        .map((match) => `${file.slice(ROOT.length + 1)}: ${match[1]}#${match[2]}`),
    );
    expect(broken).toEqual([]);
  });

  test('code and tests cite only texts of the repository', () => {
    const absent = ['src', 'packages', 'test', 'bench']
      .flatMap((folder) => filesBelow(folder, /\.ts$/))
      .filter((file) => !file.endsWith('test/reference.test.ts'))
      .flatMap((file) =>
        [
          ...readFileSync(file, 'utf8').matchAll(/\bcontract(?:'s)?,? (?:section )?\d+\b|\bspecification(?:'s|,)? "/gi),
        ].map((match) => `${file.slice(ROOT.length + 1)}: ${match[0]}`),
      );
    expect(absent).toEqual([]);
  });

  test('the tables of errors match the code', () => {
    const text = readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8');
    const rows = [...text.matchAll(/^\| ([A-Z_]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map((row) => [row[1], row[2], row[3]]);
    const nameOf = (status: number) => Object.entries(GrpcStatus).find(([, value]) => value === status)?.[0];
    const codes = Object.entries(ERROR_TABLE.codes).map(([code, { http, grpc }]) => [code, String(http), nameOf(grpc)]);
    expect(rows.filter((row) => row[0] !== undefined && row[0] in ERROR_TABLE.codes)).toEqual(codes);
    const reasons = rows
      .filter((row) => row[0] !== undefined && row[0] in ERROR_TABLE.reasons)
      .map((row) => row.slice(0, 2));
    expect(reasons).toEqual(Object.entries(ERROR_TABLE.reasons));
    expect(rows).toHaveLength(codes.length + reasons.length);
  });
});
