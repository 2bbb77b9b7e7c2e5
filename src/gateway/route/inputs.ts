/** Checked values of paths and queries (docs/reference/errors.md#reasons: VALIDATION_FAILED). */

import type { z } from 'zod';
import { type Issue, validationFailed } from '../../base/errors.ts';
import { zodIssues } from '../../base/zod-issues.ts';

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
