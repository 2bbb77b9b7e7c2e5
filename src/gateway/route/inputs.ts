/** Checked values of paths and queries, and zod's issues as our own (docs/reference/errors.md#reasons: VALIDATION_FAILED). */

import type { z } from 'zod';
import { type Issue, validationFailed } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';

type ZodIssue = z.core.$ZodIssue;

/** At most this many unknown fields get a suggestion. */
const SUGGESTIONS = 20;

/** The issues of `schema` in our shape: every unknown field is an issue of its own, named by its path. */
export function zodIssues(issues: readonly ZodIssue[], schema: z.core.$ZodType): Issue[] {
  let unknown = 0;
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: dotted(issue.path), message: inWords(issue) }];
    const known = fieldsAt(schema, issue.path);
    return issue.keys.map((key) => {
      const near = ++unknown > SUGGESTIONS ? null : nearest(key, known);
      const hint = near === null ? '' : `; did you mean ${near}?`;
      return { path: dotted([...issue.path, key]), message: `is not a known field${hint}` };
    });
  });
}

/** The fields that a schema knows at that path; empty when they cannot be determined. */
function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const [step, ...rest] = path;
      if (step === undefined) return Object.keys(def.shape);
      const name = String(step);
      const field = Object.hasOwn(def.shape, name) ? def.shape[name] : undefined;
      return field === undefined ? [] : fieldsAt(field, rest);
    }
    case 'array':
      return path.length === 0 ? [] : fieldsAt(def.element, path.slice(1));
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
      return fieldsAt(def.innerType, path);
    case 'pipe':
      return fieldsAt(def.in, path);
    case 'union':
      return def.options.flatMap((option) => fieldsAt(option, path));
    default:
      return [];
  }
}

/**
 * The rule that a value breaks. Messages of our schemas state it and begin in lower case; zod's own describe its types, not
 * the value to send.
 */
function inWords(issue: ZodIssue): string {
  if (!/^[A-Z]/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined') ? 'is required' : `must be ${typeInWords(issue.expected)}`;
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' or ')}`;
    case 'too_small':
      return sizeInWords(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return sizeInWords(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'invalid_format':
      return issue.format === 'datetime' ? 'must be a time such as 2026-11-21T10:00:05Z' : issue.message;
    default:
      return issue.message;
  }
}

function typeInWords(expected: string): string {
  if (expected === 'int') return 'a whole number';
  if (expected === 'record') return 'an object';
  return `${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`;
}

function sizeInWords(origin: string, bound: string, size: number | bigint): string {
  if (origin === 'string') return `must have ${bound} ${size} characters`;
  if (origin === 'array') return `must hold ${bound} ${size} ${size === 1 ? 'item' : 'items'}`;
  return `must be ${bound} ${size}`;
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

/**
 * The parameters of a query, on an object without a prototype. A parameter given twice, or one that is not
 * percent-encoded UTF-8, is an issue: one reader may take the first and another the last.
 */
export function parseQuery(search: string): { values: Record<string, string>; issues: Issue[] } {
  const values: Record<string, string> = Object.create(null);
  const issues: Issue[] = [];
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decodeComponent(at < 0 ? pair : pair.slice(0, at));
    const value = decodeComponent(at < 0 ? '' : pair.slice(at + 1));
    if (name === null || value === null) {
      issues.push({ path: name ?? '', message: 'is not percent-encoded UTF-8' });
    } else if (Object.hasOwn(values, name)) {
      issues.push({ path: name, message: 'is given twice' });
    } else if (value.includes('\0') || name.includes('\0')) {
      issues.push({ path: name.replaceAll('\0', '?'), message: 'contains a NUL character' });
    } else {
      values[name] = value;
    }
  }
  return { values, issues };
}

function decodeComponent(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** Collects the issues of every part of a request, so that all are reported at once. */
export class Findings {
  #issues: Issue[] = [];

  add(issues: readonly Issue[]): void {
    // Not spread: thousands of arguments can overflow the stack.
    this.#issues = this.#issues.concat(issues);
  }

  /** The checked value; undefined when it is invalid, which `settle` will throw. */
  check<S extends z.ZodType>(schema: S, value: unknown): z.output<S> | undefined {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    this.add(zodIssues(parsed.error.issues, schema));
    return undefined;
  }

  settle(): void {
    if (this.#issues.length > 0) throw validationFailed(this.#issues);
  }
}

/** A cookie of a `Cookie` header; undefined when absent, or sent twice: the setter of the second one must not decide. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}
