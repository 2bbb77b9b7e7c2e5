/** What the writes of all records share: tags, and what no write may do. (docs/reference/http.md#preconditions.) */

import { hash } from 'node:crypto';
import { UsherError, validationFailed } from '../base/errors.ts';

/** The tag of a state, without quotes: equal exactly when what it was made of is. */
export function tagOf(state: unknown): string {
  return hash('sha256', JSON.stringify(state), 'base64url').slice(0, 22);
}

/** Whether two states say the same, as JSON writes them. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Throws STALE when `ifMatch` names another state than `tag`. RFC 9110 13.1.1: a list, or `*` for whatever there is. */
export function refuseStale(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined) return;
  const named = ifMatch.split(',').map((entry) => entry.trim());
  if (named.includes('*') || named.includes(`"${tag}"`)) return;
  throw new UsherError('STALE', 'It has changed since you read it: read it again, and decide anew.');
}

/** Throws IMMUTABLE_FIELD when another value than the present one was sent. */
export function refuseImmutable<T extends string | boolean | number>(
  field: string,
  present: T,
  sent: T | undefined,
): void {
  if (sent === undefined || sent === present) return;
  throw new UsherError('IMMUTABLE_FIELD', `${field} cannot be changed.`, { details: { field } });
}

/** Throws SYSTEM_RECORD when the service itself needs it. */
export function refuseSystem(needed: boolean | undefined, what: string): void {
  if (needed) throw new UsherError('SYSTEM_RECORD', `The service itself needs the ${what}.`);
}

/** Throws VALIDATION_FAILED about one field, for what only the database can tell. */
export function refuseField(path: string, message: string): never {
  throw validationFailed([{ path, message }]);
}
