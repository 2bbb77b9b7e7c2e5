/** How one configuration key is read: from a YAML value or from an environment variable, with a message for what does not fit. */

import { closestMatch } from 'leven';
import { trimEnd } from '../base/trim.ts';

/** What is wrong with a key, in words a person can act on. */
export interface Fault {
  key: string;
  variable?: string;
  problem: string;
}

/** One row of the table. `parse` throws a plain sentence for what does not fit. */
export interface KeySpec<T> {
  variable: string;
  example: string;
  /** Masked wherever it is shown. */
  secret: boolean;
  parse(value: unknown): T;
}

// biome-ignore lint/suspicious/noExplicitAny: the table holds specs of many types; Resolved gives each its own back.
export type KeyTable = Record<string, KeySpec<any>>;
export type Resolved<Table extends KeyTable> = {
  [Key in keyof Table]: (Table[Key] extends KeySpec<infer T> ? T : never) | undefined;
};
export type Origin = 'environment' | 'file';

/** Reads every key of the table: the environment first, then the file. Unknown keys of the file are faults. */
export function resolveKeys<Table extends KeyTable>(
  table: Table,
  env: Readonly<Record<string, string | undefined>>,
  file: unknown,
): { values: Resolved<Table>; sources: Record<string, Origin>; faults: Fault[] } {
  const faults: Fault[] = [];
  const sources: Record<string, Origin> = Object.create(null);
  const values: Record<string, unknown> = Object.create(null);
  const fromFile = flatten(file, table, faults);
  for (const [key, spec] of Object.entries(table)) {
    const variable = env[spec.variable];
    const raw = variable ?? fromFile.get(key);
    if (raw === undefined) continue;
    sources[key] = variable === undefined ? 'file' : 'environment';
    try {
      // `key:` with nothing after it, as a template with an unset variable leaves it: never a silent default, and never an
      // empty text, which an audience must not be. Blanks are nothing.
      if (raw === null || (typeof raw === 'string' && raw.trim() === ''))
        throw new Error('is empty: leave it out, or give a value');
      values[key] = spec.parse(raw);
    } catch (error) {
      faults.push({
        key,
        variable: spec.variable,
        problem: `${(error as Error).message}; for example ${spec.example}`,
      });
    }
  }
  return { values: values as Resolved<Table>, sources, faults };
}

/** Nested YAML maps to dotted keys, as far as the table goes. */
function flatten(file: unknown, table: KeyTable, faults: Fault[]): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  const walk = (value: unknown, prefix: string) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      faults.push({ key: prefix || '(file)', problem: 'is not a map of keys' });
      return;
    }
    for (const [name, child] of Object.entries(value)) {
      const key = prefix === '' ? name : `${prefix}.${name}`;
      if (Object.hasOwn(table, key)) flat.set(key, child);
      else if (Object.keys(table).some((known) => known.startsWith(`${key}.`))) {
        if (child !== null) walk(child, key);
      } else faults.push({ key, problem: `is not a known key${meant(key, table)}` });
    }
  };
  if (file !== undefined && file !== null) walk(file, '');
  return flat;
}

/** Letters that a misspelt key may have wrong. */
const MAX_WRONG = 3;

/** The nearest key or section, else the keys that end in that name: one level is missing, or another one was meant. */
function meant(key: string, table: KeyTable): string {
  const keys = Object.keys(table);
  const sections = keys.flatMap((known) => (known.includes('.') ? [known.slice(0, known.lastIndexOf('.'))] : []));
  const nearest = closestMatch(key, [...new Set([...keys, ...sections])], { maxDistance: MAX_WRONG });
  if (nearest !== undefined) return `; did you mean ${nearest}?`;
  const name = key.slice(key.lastIndexOf('.') + 1);
  const elsewhere = keys.filter((known) => known.endsWith(`.${name}`));
  return elsewhere.length === 0 ? '' : `; did you mean ${elsewhere.join(' or ')}?`;
}

interface Row {
  variable: string;
  example: string;
  secret?: boolean;
  /** Of a list: an empty one, which only a file can give, is wrong. */
  filled?: true;
}

function spec<T>(row: Row, parse: (value: unknown) => T): KeySpec<T> {
  return { variable: row.variable, example: row.example, secret: row.secret ?? false, parse };
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new Error('must be a text');
}

export const text = (row: Row) => spec(row, asText);

export const matching = (row: Row, test: (value: string) => boolean, problem: string | ((value: string) => string)) =>
  spec(row, (value) => {
    const given = asText(value);
    if (!test(given)) throw new Error(typeof problem === 'string' ? problem : problem(given));
    return given;
  });

export const whole = (row: Row, min: number, max: number) =>
  spec(row, (value) => {
    const given = asText(value);
    const number = Number(given);
    if (!/^-?\d+$/.test(given) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}, not ${JSON.stringify(given)}`);
    }
    return number;
  });

export const flag = (row: Row) =>
  spec(row, (value) => {
    const given = asText(value);
    if (given === 'true' || given === '1') return true;
    if (given === 'false' || given === '0') return false;
    throw new Error(`must be true or false, not ${JSON.stringify(given)}`);
  });

export const oneOf = <const T extends string>(row: Row, options: readonly T[]) =>
  spec(row, (value) => {
    const given = asText(value);
    const found = options.find((option) => option === given);
    if (found === undefined) throw new Error(`must be one of ${options.join(', ')}, not ${JSON.stringify(given)}`);
    return found;
  });

/** A comma list in the environment; a list, or the same text, in the file. */
export const list = (row: Row, test: (item: string) => boolean, problem: string) =>
  spec(row, (value) => {
    const items = (Array.isArray(value) ? value.map(asText) : asText(value).split(',')).map((item) => item.trim());
    if (items.some((item) => item === '')) throw new Error('has an empty entry');
    if (row.filled && items.length === 0) throw new Error('is an empty list: leave it out, or name one');
    items.forEach((item, at) => {
      // A wrong secret is named by its place, never by its text.
      if (!test(item))
        throw new Error(row.secret ? `entry ${at + 1} ${problem}` : `${JSON.stringify(item)} ${problem}`);
    });
    return items;
  });

export const url = (row: Row) => matching(row, isHttpUrl, 'must be an http or https URL without credentials');

/** A URL without a trailing slash, a query and a fragment, so that paths can be appended. */
export const baseUrl = (row: Row) => {
  const plain = matching(
    row,
    (value) => isHttpUrl(value) && !/[?#]/.test(value),
    'must be an http or https URL without credentials, query and fragment',
  );
  return spec(row, (value) => trimEnd(plain.parse(value), '/'));
};

export const textMap = (row: Row) =>
  spec(row, (value) => {
    let given = value;
    if (typeof value === 'string') {
      try {
        given = JSON.parse(value);
      } catch {
        throw new Error('must be a JSON object');
      }
    }
    if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error('must be a JSON object');
    return new Map(Object.entries(given).map(([key, item]) => [key, asText(item)]));
  });

export function isHttpUrl(value: string): boolean {
  const parsed = URL.parse(value);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === '';
}

export function isOrigin(value: string): boolean {
  return isHttpUrl(value) && URL.parse(value)?.origin === value;
}
