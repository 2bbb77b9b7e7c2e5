/** The comparison of secrets that are not on the path of checks (identity/api-keys has one of its own for those). */

import { hash, timingSafeEqual } from 'node:crypto';

/** Whether two texts are the same, in a time that says nothing about where they differ, or how long the expected one is. */
export function isSameSecret(expected: string, given: string): boolean {
  return timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', given, 'buffer'));
}
