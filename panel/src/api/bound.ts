/** What binds an undo to the state that its write left, so that it never overwrites what somebody else has changed meanwhile. */

import type { Answer, CallOptions } from './call.ts';

/**
 * The options for the inverse of a write, from the write's answer: STALE when anything concerned has changed since
 * (docs/reference/administration.md#dry-runs). Empty for a write that made no revision.
 */
export function undoBound(answer: unknown): CallOptions {
  const { revision } = (answer ?? {}) as Partial<Answer<unknown>>;
  return typeof revision === 'string' ? { ifRevision: revision } : {};
}
