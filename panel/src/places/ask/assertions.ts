/** Questions with expected answers, kept in the browser for each person and application, in the form of policy tests. */

import { keep, readKept } from '../../session/kept.ts';
import { session } from '../../session/session.ts';
import type { TestCase, Verdict } from './question.ts';

/** They name people, whom the next one at this browser may not see. */
const nameOf = (app: string): string => `assertions.${session.person ?? ''}.${app}`;
/** More would be a file, not a list to look at. */
const MAX = 500;

export function readAssertions(app: string): readonly TestCase[] {
  return assertionsIn(readKept('local', nameOf(app)));
}

/** What was kept, without what this version cannot read. */
export function assertionsIn(text: string | null): readonly TestCase[] {
  if (text === null) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isCase) : [];
  } catch {
    // Written by something else: start anew.
    return [];
  }
}

function isCase(value: unknown): value is TestCase {
  if (typeof value !== 'object' || value === null) return false;
  const { email, permission, expect } = value as Partial<Record<keyof TestCase, unknown>>;
  return (
    typeof email === 'string' &&
    typeof permission === 'string' &&
    ['allowed', 'denied', 'view', 'edit'].includes(String(expect))
  );
}

/** A question is kept once; a later expectation replaces the earlier. */
export function keepAssertion(app: string, test: TestCase): void {
  const others = readAssertions(app).filter((one) => questionOf(one) !== questionOf(test));
  keep('local', nameOf(app), JSON.stringify([...others, test].slice(-MAX)));
}

export function dropAssertion(app: string, test: TestCase): void {
  const others = readAssertions(app).filter((one) => questionOf(one) !== questionOf(test));
  keep('local', nameOf(app), others.length === 0 ? null : JSON.stringify(others));
}

/** What tells one assertion from another. */
export function questionOf({ email, permission, resource = '', level }: TestCase): string {
  return [email, permission, resource, level ?? ''].join('\n');
}

/** Null: as expected; else what came out instead. As `usher test` compares. */
export function differenceOf({ expect, via }: TestCase, { allowed, accessLevel, source }: Verdict): Verdict | null {
  const verdict = { allowed, accessLevel, source };
  const fits = expect === 'allowed' ? allowed : expect === 'denied' ? !allowed : accessLevel === expect;
  return fits && (via === undefined || via === (source ?? 'none')) ? null : verdict;
}
