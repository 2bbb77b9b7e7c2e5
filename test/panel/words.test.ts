import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type ParserOptions, parse } from '@babel/parser';
import { describe, expect, test } from '@jest/globals';
import { PLACE_WORDS } from '../../panel/src/words/places.ts';

const SOURCE = resolve(import.meta.dirname, '../../panel/src');
const PLACES = Object.keys(PLACE_WORDS.en);

type Node = { readonly type: string } & Readonly<Record<string, unknown>>;

function nodesOf(file: string): readonly Node[] {
  const options: ParserOptions = {
    sourceType: 'module',
    createImportExpressions: true,
    plugins: file.endsWith('x') ? ['typescript', 'jsx'] : ['typescript'],
  };
  return nodesIn(parse(readFileSync(file, 'utf8'), options).program);
}

/** A tree, flat: each node before what is below it. */
function nodesIn(tree: unknown, found: Node[] = []): Node[] {
  if (typeof tree !== 'object' || tree === null) return found;
  if (typeof (tree as Node).type === 'string') found.push(tree as Node);
  for (const below of Object.values(tree)) nodesIn(below, found);
  return found;
}

/** The files that one brings, at once or by `lazy`. What is brought by `onDemand` names its own words. */
function importsOf(file: string, nodes: readonly Node[]): string[] {
  const onDemand = new Set(nodes.filter(isOnDemand).flatMap(importsIn));
  return importsIn(nodes)
    .filter((source) => !onDemand.has(source))
    .map(({ value }) => value)
    .filter((path) => /^\..*\.tsx?$/.test(path) && !/\/(en|cs)\.ts$/.test(path))
    .map((path) => resolve(dirname(file), path));
}

function isOnDemand({ type, callee }: Node): boolean {
  return type === 'CallExpression' && (callee as { name?: string }).name === 'onDemand';
}

/** What is imported within, but for types. */
function importsIn(within: unknown): { readonly value: string }[] {
  return nodesIn(within)
    .filter(({ type, importKind }) => /^Import(Declaration|Expression)$/.test(type) && importKind !== 'type')
    .map(({ source }) => source as { value: string });
}

/** The members of all words that a file reads: of `useWords()`, of a variable that holds it, of a parameter of the type Text. */
function placesReadBy(nodes: readonly Node[]): string[] {
  const isAll = (node: unknown): boolean => {
    const { type, callee, name } = (node ?? {}) as { type?: string; callee?: { name?: string }; name?: string };
    return (type === 'CallExpression' && callee?.name === 'useWords') || (type === 'Identifier' && all.has(name ?? ''));
  };
  const isText = ({ typeAnnotation }: Node) =>
    (typeAnnotation as { typeAnnotation?: { typeName?: { name?: string } } })?.typeAnnotation?.typeName?.name ===
    'Text';
  const all = new Set<string>();
  for (const node of nodes) {
    if (node.type === 'Identifier' && isText(node)) all.add(node.name as string);
    const { type, id, init } = node as Node & { id?: Node; init?: unknown };
    if (type === 'VariableDeclarator' && id?.type === 'Identifier' && isAll(init)) all.add(id.name as string);
  }
  const keys = (pattern: Node) =>
    (pattern.properties as readonly { key?: { name?: string } }[]).map(({ key }) => key?.name ?? '');
  const read = nodes.flatMap((node): string[] => {
    if (node.type === 'ObjectPattern' && isText(node)) return keys(node);
    if (node.type === 'MemberExpression' && isAll(node.object)) return [(node.property as { name: string }).name];
    const { id, init } = node as Node & { id?: Node; init?: unknown };
    return node.type === 'VariableDeclarator' && id?.type === 'ObjectPattern' && isAll(init) ? keys(id) : [];
  });
  return read.filter((name) => PLACES.includes(name));
}

const files = new Map(
  globSync('**/*.{ts,tsx}', { cwd: SOURCE }).map((path) => {
    const file = join(SOURCE, path);
    const nodes = nodesOf(file);
    return [file, { imports: importsOf(file, nodes), reads: placesReadBy(nodes), views: nodes.filter(isOnDemand) }];
  }),
);

/** Every place whose words are shown by a file or by what it brings, with one file that does. */
function wordsBelow(entry: string): Map<string, string> {
  const found = new Map<string, string>();
  const seen = new Set([entry]);
  for (const file of seen) {
    const { imports = [], reads = [] } = files.get(file) ?? {};
    for (const path of imports) seen.add(path);
    for (const place of reads) found.set(place, relative(SOURCE, file));
  }
  return found;
}

/** Each `onDemand(() => import(file), …places)` of the panel. */
const views = [...files].flatMap(([file, { views: calls }]) =>
  calls.map((node) => {
    const [load, ...places] = node.arguments as readonly Node[];
    const [source] = importsIn(load);
    const view = relative(SOURCE, resolve(dirname(file), source?.value ?? ''));
    return { view, named: places.map(({ value }) => value as string) };
  }),
);

describe('the words of places', () => {
  test.each(views)('are named by who brings $view', ({ view, named }) => {
    const shown = wordsBelow(join(SOURCE, view));
    const missing = [...shown].filter(([place]) => !named.includes(place));
    expect(missing.map(([place, where]) => `words of ${place} in ${where}`)).toEqual([]);
  });

  test('are not shown by what every view has', () => {
    expect(views.map(({ view }) => view)).toContain('places/home/home.tsx');
    expect(wordsBelow(join(SOURCE, 'app.tsx'))).toEqual(new Map());
  });
});
