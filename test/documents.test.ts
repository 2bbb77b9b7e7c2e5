import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { KEYS } from '../src/config/keys.ts';
import { usher } from './cli/harness.ts';
import { EVALUATOR_MUTANTS } from './engine/evaluator-mutants.ts';
import { AHEAD_MUTANTS } from './engine/model/ahead-mutants.ts';
import { DURABILITY_MUTANTS } from './engine/model/durability-mutants.ts';
import { MODEL_MUTANTS } from './engine/model/mutants.ts';
import { MUTANTS } from './mutants/mutants.ts';

/**
 * The documents name files, headings and tests of this repository. A move leaves them behind without a trace, and sends their
 * readers nowhere. (test/reference.test.ts does the same for citations of rules, test/cli/documents.test.ts for commands.)
 */
const ROOT = resolve(import.meta.dirname, '..');

const DOCUMENTS = [
  '.',
  'docs',
  'docs/adr',
  'docs/evidence',
  'docs/guides',
  'docs/operations',
  'docs/reference',
  'docs/runbook',
  'bench',
  'clients/go',
  'clients/java',
  'clients/python',
  'clients/react',
  'clients/typescript',
  'examples/clients',
  'examples/react',
  'examples/web-push',
]
  .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(folder, name)))
  .filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md');

/** What the registry of metrics is given: names end in their unit, or in what they count. */
const METRIC = /'(usher_[a-z_]+_(?:total|seconds|waiting|entries|characters|revision)|usher_revision)'/g;

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** Examples in fences are for the reader's own files. */
const prose = (path: string): string => read(path).replace(/^```[\s\S]*?^```/gm, '');

/** A heading's anchor as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (path: string): string[] =>
  [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => anchorOf(text));

/** Folders of the root, whose names begin a path. */
const FOLDERS = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !['.git', 'node_modules', 'dist'].includes(entry.name))
  .map(({ name }) => name);

/**
 * Paths from the root, those of a room as docs/architecture.md writes them (`gateway/router`), and what stands beside a document; tests
 * without their ending.
 */
function exists(path: string, document: string): boolean {
  const places = [path, `src/${path}`, `test/${path}`, join(dirname(document), path)];
  const endings = ['', '.ts', '.test.ts', '.browser.ts', '.scale.ts'];
  return places.some((place) => endings.some((ending) => existsSync(join(ROOT, place + ending))));
}

describe('the documents', () => {
  test('every link to a file of the repository, or to a heading in one, resolves', () => {
    const broken = DOCUMENTS.flatMap((document) =>
      [...prose(document).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^(?:https?|mailto):/.test(target))
        .filter((target) => {
          const [path = '', anchor] = target.split('#');
          const file = path === '' ? document : join(dirname(document), path);
          if (!existsSync(join(ROOT, file))) return true;
          return anchor !== undefined && !anchorsOf(file).includes(anchor);
        })
        .map((target) => `${document}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test('every file in a document exists', () => {
    const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const roots = FOLDERS.map((name) => name.replace('.', String.raw`\.`)).join('|');
    const sources = rooms.map(({ name }) => name).join('|');
    const named = new RegExp(`^(?:(?:${roots})/[\\w./-]*[\\w-]|(?:${sources})/[\\w./-]*[\\w-])$`);
    const found = DOCUMENTS.flatMap((document) =>
      [...prose(document).matchAll(/`([^`\n]+)`/g)]
        .flatMap(([, text = '']) => text.split(/[\s,;:]+/))
        // What is installed is not of the repository: on a fresh clone the tools are not there yet.
        .filter((word) => named.test(word) && !word.includes('node_modules/'))
        .map((word) => ({ document, word })),
    );
    expect(found.length).toBeGreaterThan(400);
    expect(found.filter(({ document, word }) => !exists(word, document))).toEqual([]);
  });

  test('the tree of docs/architecture.md says what kind each folder of tests is', () => {
    const tree = read('docs/architecture.md').match(/^test\/[\s\S]*?^panel\//m)?.[0] ?? '';
    const named = [...tree.matchAll(/([\w-]+)\//g)].map(([, name]) => name);
    const rooms = [...readdirSync(join(ROOT, 'src')), ...FOLDERS];
    const folders = readdirSync(join(ROOT, 'test'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const unnamed = folders.map(({ name }) => name).filter((name) => !named.includes(name) && !rooms.includes(name));
    expect(unnamed).toEqual([]);
  });

  test('the table of docs/evidence/mutants.md matches the existing mutants and tests', () => {
    const rows = [...read('docs/evidence/mutants.md').matchAll(/^\| (.+?) \| `(\S+)` \| `(\S+\.test\.ts)` \|$/gm)];
    const files = new Map(MUTANTS.map(({ name, file }) => [name, file]));
    const wrong = rows.filter(
      ([, name = '', file, noticed]) => files.get(name) !== file || !existsSync(join(ROOT, 'test', String(noticed))),
    );
    expect(wrong.map(([row]) => row)).toEqual([]);
    expect(rows.length).toBeGreaterThan(100);
    for (const count of [
      `\`test/engine/evaluator-mutants.ts\`: ${String(Object.keys(EVALUATOR_MUTANTS).length)},`,
      `\`test/engine/model/durability-mutants.ts\`: ${String(Object.keys(DURABILITY_MUTANTS).length)}`,
      `\`test/engine/model/ahead-mutants.ts\`: ${String(Object.keys(AHEAD_MUTANTS).length)}`,
      `\`test/engine/model/mutants.ts\`: ${String(Object.keys(MODEL_MUTANTS).length)})`,
    ])
      expect(read('docs/testing.md')).toContain(count);
  });

  test('docs/operations lists every key of the configuration with its variable, and every metric', () => {
    const table = read('docs/operations/configuration.md');
    const page = read('docs/operations/observe.md');
    const keys = Object.entries(KEYS).flatMap(([key, { variable }]) => [key, variable]);
    expect(keys.filter((name) => !table.includes(name))).toEqual([]);
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.ts'),
    );
    const metrics = sources.flatMap((path) =>
      [...read(join('src', path)).matchAll(METRIC)].map(([, name = '']) => name),
    );
    expect(metrics.length).toBeGreaterThan(20);
    expect(metrics.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });

  test.each(['docs/guides/command-line.md', 'docs/reference/command-line.md'])(
    '%s lists every command',
    async (page) => {
      const { stdout } = await usher(['--help']);
      const commands = [...stdout.matchAll(/^ {2}([a-z]+) (?:\[|<| {2})/gm)].map(([, name = '']) => name);
      expect(commands).toEqual(expect.arrayContaining(['serve', 'check', 'demo', 'completion']));
      const rows = read(page)
        .split('\n')
        .filter((line) => line.startsWith('| `usher '));
      const missing = commands.filter((name) => name !== 'help' && !rows.some((row) => row.includes(`usher ${name}`)));
      expect(missing).toEqual([]);
    },
  );
});
