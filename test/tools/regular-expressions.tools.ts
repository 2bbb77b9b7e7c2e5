import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { parse } from '@babel/parser';
import { describe, expect, test } from '@jest/globals';

/**
 * Outsiders write what the service scans, and it scans on the thread that answers checks. Every regular expression of src and packages must
 * therefore take time in proportion to its input. `recheck` decides that from the automaton, and names an attack where it does not.
 */
const SRC = resolve(import.meta.dirname, '../../src');
const PACKAGES = resolve(import.meta.dirname, '../../packages');

type Checked =
  | { status: 'safe' }
  | { status: 'vulnerable'; complexity: { summary: string }; attack: { pattern: string } }
  | { status: 'unknown'; error: { kind: string } };

/** Of the tools that have a lock file of their own, so without its types. */
const { check } = createRequire(new URL('../../.ci/tools/package.json', import.meta.url))('recheck') as {
  check: (pattern: string, flags: string, limits: { timeout: number }) => Promise<Checked>;
};

/** Expressions that are known and admitted, each with the reason why nobody can use it. */
const ADMITTED: ReadonlyMap<string, string> = new Map([
  [
    'notifications/render/printed-members.ts: /\\{\\{[\\s\\S]*?\\}\\}|\\{%[\\s\\S]*?%\\}/g',
    'runs where it can be killed',
  ],
  ['delivery/p256.ts: /=+$/', 'the text is a key, and at most twice as long as one'],
  ['config/schema.ts: /\\[([^\\]]+)\\]\\([^)]*\\)/g', 'the texts are descriptions in keys.ts'],
  ['delivery/smtp-failure.ts: /=+$/', 'the text is base64 made here'],
]);
/** Files that build an expression from a string, which nothing here can see. */
const BUILDERS: ReadonlyMap<string, string> = new Map([
  ['notifications/merge.ts', 'an alternation of marks made here, each a plain word'],
]);

interface Expression {
  file: string;
  pattern: string;
  flags: string;
}

interface Found {
  literals: Expression[];
  /** Files that call `RegExp`. */
  builders: string[];
}

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|js)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(SRC, file).startsWith('gen/'));
}

interface Node {
  type: string;
  pattern?: string;
  flags?: string;
  callee?: { name?: string };
}

function read(file: string, text: string, found: Found): void {
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, pattern = '', flags = '', callee } = value as Node;
    if (type === 'RegExpLiteral') found.literals.push({ file, pattern, flags });
    if ((type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp') found.builders.push(file);
    for (const member of Object.values(value)) visit(member);
  };
  visit(parse(text, { sourceType: 'module', plugins: ['typescript'] }).program.body);
}

/** Why an expression is refused; null for one that takes linear time. */
async function problemOf({ pattern, flags }: Omit<Expression, 'file'>): Promise<string | null> {
  const found = await check(pattern, flags, { timeout: 60_000 });
  if (found.status === 'safe') return null;
  if (found.status === 'unknown') return `not decided (${found.error.kind})`;
  return `${found.complexity.summary}, for example on ${found.attack.pattern}`;
}

describe('regular expressions', () => {
  const found: Found = { literals: [], builders: [] };
  for (const file of [...sources(SRC), ...sources(PACKAGES)])
    read(relative(SRC, file), readFileSync(file, 'utf8'), found);

  test('every expression of src runs in time proportional to its input', async () => {
    expect(found.literals.length).toBeGreaterThan(100);
    const refused: string[] = [];
    for (const expression of found.literals) {
      const name = `${expression.file}: /${expression.pattern}/${expression.flags}`;
      if (ADMITTED.has(name)) continue;
      const problem = await problemOf(expression);
      if (problem !== null) refused.push(`${name} is ${problem}`);
    }
    expect(refused).toEqual([]);
  }, 300_000);

  test('every exception still exists where it is granted', () => {
    const names = found.literals.map(({ file, pattern, flags }) => `${file}: /${pattern}/${flags}`);
    expect([...ADMITTED.keys()].filter((name) => !names.includes(name))).toEqual([]);
    expect([...BUILDERS.keys()].filter((file) => !found.builders.includes(file))).toEqual([]);
  });

  test('no expression is built from an unknown string', () => {
    expect(found.builders.filter((file) => !BUILDERS.has(file))).toEqual([]);
  });

  // Each of these stood in src and held the service for seconds, or is a sibling of one.
  test.each([
    ['[).,;:!?]+$', ''],
    ['<a\\b[\\s\\S]*?<\\/a\\s*>|<[^>]*>|&[#\\w]*', 'gi'],
    ['<(?:img|image|source|input|video|audio|iframe|embed|object|link|script|base)\\b[^>]*>', 'gi'],
    ['^[\\t\\n\\v\\f\\r ]+|[\\t\\n\\v\\f\\r ]+$', 'g'],
    ['\\/+$', ''],
    ['^https?:\\/\\/[^/?#]+([^?#]*)(?:\\?([^#]*))?$', 'i'],
    ['\\beyJ[A-Za-z0-9_-]{5,}\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*', 'g'],
    ["[\\w.!#$%&'*+/=?^`{|}~-]{1,64}@", 'g'],
    ['^(?:mailto:.+@.+|https:\\/\\/.+)$', ''],
    [
      '^( *)(- )?(?:([A-Za-z0-9][A-Za-z0-9._-]*):(?= |$))?(?: *("[^"\\\\]*"|\'[^\']*\'|\\[[^[\\]{}"\'#:]*\\]|[A-Za-z0-9](?:[^\\s:#]|:(?=[^\\s:#])| (?=[^\\s:#]))*))?(?: +#.*)?$',
      '',
    ],
    ['^(a+)+$', ''],
  ])(
    'the check refuses /%s/%s',
    async (pattern, flags) => {
      expect(await problemOf({ pattern, flags })).toMatch(/polynomial|exponential/);
    },
    120_000,
  );

  test('the check reads literals and builders of TypeScript', () => {
    const of: Found = { literals: [], builders: [] };
    read('x.ts', 'const a: RegExp = /x+$/g; export function f(b: string) { return new RegExp(b as string); }', of);
    expect(of).toEqual({ literals: [{ file: 'x.ts', pattern: 'x+$', flags: 'g' }], builders: ['x.ts'] });
  });
});
