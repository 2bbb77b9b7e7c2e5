/** The comparison of secrets off the check path (identity/api-keys.ts has a faster one of its own). */

import { hash, timingSafeEqual } from 'node:crypto';

/** Whether two texts are equal, in a time that reveals neither where they differ nor how long the expected one is. */
export function isSameSecret(expected: string, given: string): boolean {
  return timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', given, 'buffer'));
}
