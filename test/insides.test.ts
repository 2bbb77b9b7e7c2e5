import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parse } from '@babel/parser';
import { describe, expect, test } from '@jest/globals';
import packageJson from '../package.json' with { type: 'json' };

/**
 * The code uses other packages, and Node.js, by what they publish: no private file, no replaced method, no private field
 * (docs/adr/0014). What has to reach further is listed here, and the record says what it gains.
 */
const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

/** `FILE: REACH`, each with its reason in docs/adr/0014. */
const ADMITTED = [
  // An option of V8 that no option of a Worker stands for.
  'app/delivery-thread.ts: setFlagsFromString',
  // A documented property of Error, for one synchronous call.
  'delivery/encrypt.ts: stackTraceLimit',
  // docs/adr/0010: the one replaced part, guarded and tested.
  'grpc/http2-streams.ts: getOwnPropertySymbols',
  'grpc/http2-streams.ts: http2Servers',
];

/** Ways into what others keep to themselves, by the name that the code has to say. */
const REACHES = new Set([
  'defineProperties',
  'defineProperty',
  'getOwnPropertySymbols',
  'http2Servers',
  'setFlagsFromString',
  'setPrototypeOf',
  'stackTraceLimit',
]);

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Every node of a file's syntax tree. */
function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && typeof value.type === 'string') yield value as Node;
  for (const member of Object.values(value)) yield* nodesOf(member);
}

function nodesIn(source: string): Node[] {
  return [...nodesOf(parse(source, { sourceType: 'module', plugins: ['typescript'] }).program.body)];
}

const DEPENDENCIES = Object.keys({ ...packageJson.dependencies, ...packageJson.devDependencies });

/** The subpaths that a package names one by one in `exports`. A pattern for all of its files says nothing of what is public. */
function publicPathsOf(name: string): ReadonlySet<string> {
  const { exports = {} } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as {
    exports?: unknown;
  };
  const keys = typeof exports === 'object' && exports !== null ? Object.keys(exports) : [];
  return new Set(keys.filter((key) => !key.includes('*')).map((key) => join(name, key)));
}

/** Texts of a file that name a private file of a package: imported, loaded, or told to somebody who loads it. */
function privatePaths(nodes: readonly Node[]): string[] {
  const texts = nodes.flatMap(({ type, value }) => (type === 'StringLiteral' ? [value as string] : []));
  return texts.filter((text) => {
    if (/(^|\/)node_modules\/(?!\.cache\/)/.test(text)) return true;
    const name = DEPENDENCIES.find((dependency) => text.startsWith(`${dependency}/`));
    return name !== undefined && !publicPathsOf(name).has(text);
  });
}

/** Ways of a file into what others keep to themselves: a name of `REACHES`, or a loader that stands in a package. */
function reaches(nodes: readonly Node[]): string[] {
  return nodes.flatMap((node) => {
    if (node.type === 'Identifier' && REACHES.has(node.name as string)) return [node.name as string];
    if (node.type === 'StringLiteral' && REACHES.has(node.value as string)) return [node.value as string];
    return isLoaderElsewhere(node) ? ['createRequire'] : [];
  });
}

function isLoaderElsewhere({ type, callee, arguments: given }: Node): boolean {
  if (type !== 'CallExpression' || (callee as Node & { name?: string }).name !== 'createRequire') return false;
  const [from] = given as Node[];
  return from === undefined || !JSON.stringify(from).includes('MetaProperty');
}

/** Members of other objects that a file replaces by a function: `message.createReadStream = () => …`, `X.prototype.y = …`. */
function replacedMethods(nodes: readonly Node[]): string[] {
  return nodes.flatMap(({ type, left, right }) => {
    if (type !== 'AssignmentExpression') return [];
    const [target, value] = [left as Node, right as Node];
    const isFunction = value.type === 'FunctionExpression' || value.type === 'ArrowFunctionExpression';
    // A name that is computed is a symbol that its package exports for this, such as openid-client's `customFetch`.
    if (target.type !== 'MemberExpression' || target.computed || !isFunction) return [];
    const [object, property] = [target.object as Node, target.property as Node & { name?: string }];
    return object.type === 'ThisExpression' ? [] : [property.name ?? property.type];
  });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[jt]s$/.test(path))
    .map((path) => join(folder, path));
}

describe('the internals of other packages', () => {
  const files = [SRC, join(ROOT, 'packages')].flatMap(filesBelow).map((file) => ({
    name: relative(SRC, file),
    nodes: nodesIn(readFileSync(file, 'utf8')),
  }));
  const found = (look: (nodes: readonly Node[]) => string[]) =>
    [...new Set(files.flatMap(({ name, nodes }) => look(nodes).map((what) => `${name}: ${what}`)))].sort();

  test('no file of src names a private file of a package', () => {
    expect(files.length).toBeGreaterThan(300);
    expect(found(privatePaths)).toEqual([]);
  });

  test('no file of src replaces a method of an object that is not its own', () => {
    expect(found(replacedMethods)).toEqual([]);
  });

  test('the uses of internals are exactly those of the list', () => {
    expect(found(reaches)).toEqual(ADMITTED);
  });

  test.each([
    ["import x from 'undici/lib/core/request.js'", privatePaths, ['undici/lib/core/request.js']],
    ["load('nodemailer/lib/smtp-pool/pool-resource')", privatePaths, ['nodemailer/lib/smtp-pool/pool-resource']],
    ["load('../node_modules/pg/lib/client.js')", privatePaths, ['../node_modules/pg/lib/client.js']],
    ["import x from 'nodemailer/lib/smtp-pool'; import 'undici'", privatePaths, []],
    ['createRequire(load.resolve(name))', reaches, ['createRequire']],
    ['createRequire(import.meta.url)', reaches, []],
    ["Object.defineProperty(pool, 'send', value)", reaches, ['defineProperty']],
    ['message.createReadStream = () => stream', replacedMethods, ['createReadStream']],
    ['Session.prototype.close = function () {}', replacedMethods, ['close']],
    ['this.close = () => undefined; value = () => 1', replacedMethods, []],
  ])('the check finds the internals that %s uses', (source, look, expected) => {
    expect(look(nodesIn(source))).toEqual(expected);
  });
});
