/** The issues of zod as our own (docs/reference/errors.md#reasons: VALIDATION_FAILED). */

import type { z } from 'zod';
import type { Issue } from './errors.ts';
import { nearest } from './nearest.ts';

type ZodIssue = z.core.$ZodIssue;

/** At most this many unknown fields get a suggestion. */
const SUGGESTIONS = 20;

/** The issues of `schema` in our shape: every unknown field is an issue of its own, named by its path. */
export function zodIssues(issues: readonly ZodIssue[], schema: z.core.$ZodType): Issue[] {
  let unknown = 0;
  return issues
    .flatMap((issue) => ofUnion(issue))
    .flatMap((issue) => {
      if (issue.code !== 'unrecognized_keys') return [{ path: dotted(issue.path), message: inWords(issue) }];
      const known = fieldsAt(schema, issue.path);
      return issue.keys.map((key) => {
        const near = ++unknown > SUGGESTIONS ? null : nearest(key, known);
        const hint = near === null ? '' : `; did you mean ${near}?`;
        return { path: dotted([...issue.path, key]), message: `is not a known field${hint}` };
      });
    });
}

/** What is wrong with an item that may be written in several forms: by the one whose kind it is, where there is one. */
export function ofUnion(issue: ZodIssue, otherwise: 'as it is' | 'by the first' = 'as it is'): readonly ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const isOther = (one: ZodIssue) => one.path.length === 0 && one.code === 'invalid_type';
  const meant =
    issue.errors.find((ones) => !ones.some(isOther)) ?? (otherwise === 'by the first' ? issue.errors[0] : undefined);
  return meant?.flatMap((one) => ofUnion({ ...one, path: [...issue.path, ...one.path] })) ?? [issue];
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
