/** Reads the table of keys from the environment and the file: values, their sources, and every fault at once. */

import { closestMatch } from 'leven';
import { z } from 'zod';
import { keysOf } from '../base/own-keys.ts';
import { KEYS } from './keys.ts';
import type { Key } from './kinds.ts';
import { fileVariable } from './secrets.ts';

export type ConfigKey = keyof typeof KEYS;
/** The value of each key: as given, else its default. */
export type Values = { readonly [K in ConfigKey]: (typeof KEYS)[K] extends Key<infer T> ? Fixed<T> : never };
type Fixed<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;

export interface RawConfig {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The parsed YAML file, if there is one. */
  readonly file?: unknown;
  /** What the files hold that `*_FILE` variables name, by variable. */
  readonly secretFiles?: ReadonlyMap<string, SecretFile>;
}

/** A file that one secret was read from. */
export type SecretFile = { readonly text: string } | { readonly problem: string };

/** A fault of a key, with a message that a person can act on. */
export interface Fault {
  key: string;
  variable?: string;
  problem: string;
}

export interface Resolved {
  readonly values: Values;
  /** The source of each key that is given. */
  readonly sources: ReadonlyMap<string, 'environment' | 'file'>;
  /** The variable of each key: of one that is given by it, that of its file. */
  readonly variables: ReadonlyMap<string, string>;
  readonly faults: readonly Fault[];
}

/** Reads every key of the table: the environment first, then the file. Unknown keys of the file are faults. */
export function resolveKeys({ env, file, secretFiles }: RawConfig): Resolved {
  const faults: Fault[] = [];
  const sources = new Map<string, 'environment' | 'file'>();
  const variables = new Map<string, string>();
  const fromFile = flatten(file, faults);
  const values: Record<string, unknown> & { production: boolean } = { production: env.NODE_ENV === 'production' };
  for (const key of keysOf(KEYS)) {
    const { default: fallback }: Key<unknown> = KEYS[key];
    const given = ofEnvironment(key, env, secretFiles);
    const { variable } = given;
    variables.set(key, variable);
    if (given.problem !== undefined) faults.push({ key, variable, problem: given.problem });
    const raw = given.problem === undefined ? (given.raw ?? fromFile.get(key)) : undefined;
    if (raw !== undefined) sources.set(key, given.raw === undefined ? 'file' : 'environment');
    const { value, problem } = raw === undefined ? {} : read(key, raw);
    if (problem !== undefined) faults.push({ key, variable, problem: withExample(key, problem) });
    values[key] = value ?? (typeof fallback === 'function' ? fallback(values) : fallback);
  }
  // The loop loses only the types of the table's schemas and defaults.
  return { values: values as unknown as Values, sources, variables, faults };
}

const A_FILE = '/run/secrets/usher';

interface Given {
  readonly variable: string;
  /** Undefined where the environment does not give the key, or not in a way that counts. */
  readonly raw?: string | undefined;
  readonly problem?: string;
}

/** The value of a key, or the content of the file that its other variable names. */
function ofEnvironment(key: ConfigKey, env: RawConfig['env'], secretFiles: RawConfig['secretFiles']): Given {
  const { variable } = KEYS[key];
  const ofFile = fileVariable(KEYS[key]);
  const path = ofFile === null ? undefined : env[ofFile];
  if (ofFile === null || path === undefined) return { variable, raw: env[variable] };
  const wrong = (problem: string): Given => ({ variable: ofFile, problem: `${problem}; for example ${A_FILE}` });
  if (env[variable] !== undefined) return { variable, problem: `is given twice: remove ${variable} or ${ofFile}` };
  if (path.trim() === '') return wrong('is empty: leave it out, or name a file');
  const held = secretFiles?.get(ofFile) ?? { problem: `the file ${path} was not read` };
  return 'problem' in held ? wrong(held.problem) : { variable: ofFile, raw: held.text };
}

/** The problem, with an example of a valid value. */
export function withExample(key: ConfigKey, problem: string): string {
  const { example, default: fallback, schema }: Key<unknown> = KEYS[key];
  const [usual = fallback] = (schema.meta()?.examples ?? []) as unknown[];
  return `${problem}; for example ${example ?? String(usual)}`;
}

function read(key: ConfigKey, raw: unknown): { value?: unknown; problem?: string } {
  // `key:` with nothing after it, as a template with an unset variable leaves it: never a silent default, and never an
  // empty text, which an audience must not be. Blank counts as empty.
  if (raw === null || (typeof raw === 'string' && raw.trim() === '')) {
    return { problem: 'is empty: leave it out, or give a value' };
  }
  const { schema, secret }: Key<unknown> = KEYS[key];
  const given = asWritten(schema, raw);
  if (Array.isArray(given) && given.includes('')) return { problem: 'has an empty entry' };
  const { data, error } = schema.safeParse(given, { reportInput: true });
  const issue = error?.issues[0];
  if (issue === undefined) return { value: data };
  const [item, ...below] = issue.path;
  if (typeof item === 'number' && (below.length > 0 || typeof issue.input === 'object'))
    return { problem: nestedProblem(issue) };
  // A wrong secret is identified by its position, never by its text.
  if (typeof item !== 'number' || typeof issue.input !== 'string') return { problem: issue.message };
  return { problem: `${secret ? `entry ${item + 1}` : JSON.stringify(issue.input)} ${issue.message}` };
}

/** `[0].addresses[1] "x" must be …`: the place within a list of maps, none of which are secret. */
function nestedProblem({ path, input, message }: z.core.$ZodIssue): string {
  const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const isShown = typeof input === 'string' || typeof input === 'number' || typeof input === 'boolean';
  return `${place} ${isShown ? `${JSON.stringify(input)} ` : ''}${message}`;
}

const FLAGS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** Values of the environment, and possibly of the file, are text: converts them to the type of the key. Other values stay as they are. */
function asWritten(schema: z.ZodType, raw: unknown): unknown {
  if (schema instanceof z.ZodPipe) return asWritten(schema.in as z.ZodType, raw);
  const given = scalarText(raw);
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject) {
    return typeof given === 'string' ? parseJson(given) : given;
  }
  if (schema instanceof z.ZodArray) {
    const items: unknown = typeof given === 'string' ? given.split(',') : given;
    return Array.isArray(items) ? items.map(scalarText) : items;
  }
  if (schema instanceof z.ZodRecord) {
    const map: unknown = typeof given === 'string' ? parseJson(given) : given;
    return isMap(map) ? Object.fromEntries(Object.entries(map).map(([name, value]) => [name, scalarText(value)])) : map;
  }
  if (typeof given !== 'string') return given;
  if (schema instanceof z.ZodBoolean) return FLAGS.get(given) ?? given;
  return schema instanceof z.ZodNumber && /^-?\d+(?:\.\d+)?$/.test(given) ? Number(given) : given;
}

function scalarText(value: unknown): unknown {
  if (typeof value === 'string') return value.trim();
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Flattens nested YAML maps to dotted keys, down to the keys of the table. */
function flatten(file: unknown, faults: Fault[]): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  const walk = (value: unknown, prefix: string) => {
    if (!isMap(value)) {
      faults.push({ key: prefix || '(file)', problem: 'is not a map of keys' });
      return;
    }
    for (const [name, child] of Object.entries(value)) {
      const key = prefix === '' ? name : `${prefix}.${name}`;
      if (Object.hasOwn(KEYS, key)) flat.set(key, child);
      else if (Object.keys(KEYS).some((known) => known.startsWith(`${key}.`))) {
        if (child !== null) walk(child, key);
      } else faults.push({ key, problem: `is not a known key${meant(key)}` });
    }
  };
  if (file !== undefined && file !== null) walk(file, '');
  return flat;
}

/** How many letters of a misspelled key may be wrong. */
const MAX_WRONG = 3;

/** The nearest key or section, else the keys that end in that name, in case a level is missing or wrong. */
function meant(key: string): string {
  const keys = Object.keys(KEYS);
  const sections = keys.flatMap((known) => (known.includes('.') ? [known.slice(0, known.lastIndexOf('.'))] : []));
  const nearest = closestMatch(key, [...new Set([...keys, ...sections])], { maxDistance: MAX_WRONG });
  if (nearest !== undefined) return `; did you mean ${nearest}?`;
  const name = key.slice(key.lastIndexOf('.') + 1);
  const elsewhere = keys.filter((known) => known.endsWith(`.${name}`));
  return elsewhere.length === 0 ? '' : `; did you mean ${elsewhere.join(' or ')}?`;
}
