/** Shared by the writes of all records: tags, and common refusals. (docs/reference/http.md#preconditions.) */

import { hash } from 'node:crypto';
import { namesState } from '../base/entity-tag.ts';
import { UsherError, validationFailed } from '../base/errors.ts';
import { keysOf } from '../base/own-keys.ts';

/** The tag of a state, without quotes: equal exactly when the states are. */
export function tagOf(state: unknown): string {
  return hash('sha256', JSON.stringify(state), 'base64url').slice(0, 22);
}

/** Whether two states are equal as JSON. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The fields of a change as they were sent: absent ones are undefined. */
export type Sent<T> = { readonly [Field in keyof T]?: T[Field] | undefined };

/** The fields of `present`, each replaced where the change has it. */
export function merged<T extends object>(present: T, sent: Sent<T>): T {
  const after = { ...present };
  for (const field of keysOf(present)) {
    const value = sent[field];
    if (value !== undefined) after[field] = value;
  }
  return after;
}

/** Throws STALE when `ifMatch` excludes `tag`. RFC 9110 13.1.1: a list, or `*` for any. */
export function refuseStale(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined || namesState(ifMatch, tag)) return;
  throw new UsherError(
    'STALE',
    'It has changed since you read it: read it again, then repeat the change if it still applies.',
  );
}

/** Throws IMMUTABLE_FIELD when the sent value differs from the present one. */
export function refuseImmutable<T extends string | boolean | number>(
  field: string,
  present: T,
  sent: T | undefined,
): void {
  if (sent === undefined || sent === present) return;
  throw new UsherError('IMMUTABLE_FIELD', `${field} cannot be changed.`, { details: { field } });
}

/** Throws SYSTEM_RECORD when the service itself needs the record. */
export function refuseSystem(needed: boolean | undefined, what: string): void {
  if (needed) throw new UsherError('SYSTEM_RECORD', `The service itself needs the ${what}.`);
}

/** The error of a question or a write about an application that does not exist. */
export function unknownApplication(code: string): UsherError {
  return new UnknownApplication(code);
}

/** 404, to which the gateway adds what an administrator most likely meant (suggestions.ts). */
export class UnknownApplication extends UsherError {
  readonly app: string;

  constructor(app: string) {
    super('NOT_FOUND', `There is no application ${app}.`);
    this.app = app;
  }
}

/** Throws VALIDATION_FAILED for one field, where only the database can decide. */
export function refuseField(path: string, message: string): never {
  throw validationFailed([{ path, message }]);
}
