/** Questions as the service is asked them: `POST /api/profile/me/check/batch`. */

import { isRecord, type UsherError } from './errors.ts';
import type { Level, PermissionQuestion, PermissionState } from './types.ts';

/** One item of a batch. Written as JSON it is the name of the question: the same question is asked once. */
export interface Check {
  readonly app: string;
  readonly permission: string;
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly accessLevel?: Level;
}

/** The most questions of one request. */
export const MOST = 1000;

/** Before the first answer, and after the last one has become too old. */
export const UNKNOWN: PermissionState = Object.freeze({ allowed: false, known: false, level: null, error: null });
/** A denial that is an answer. */
export const DENIED: PermissionState = Object.freeze({ ...UNKNOWN, known: true });

/** The name of a question; null while its record is not known yet. */
export function keyOf(app: string, question: PermissionQuestion): string | null {
  const { permission, level } = question;
  const common = { app, permission };
  const needed = level === undefined ? {} : { accessLevel: level };
  // A record that is given but undefined must not become the question without a record, which may well be allowed.
  if (!('resource' in question)) return JSON.stringify({ ...common, ...needed } satisfies Check);
  const { resource } = question;
  if (resource === null || resource === undefined) return null;
  const { type, id } = resource;
  if (!isGiven(type) || !isGiven(id)) return null;
  return JSON.stringify({ ...common, resourceType: type, resourceId: String(id), ...needed } satisfies Check);
}

/** Applications without types give what they have not loaded yet. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** The answers of a batch of `count` questions. Throws where the answer is not one. */
export function answersOf(body: unknown, count: number): PermissionState[] {
  const results = isRecord(body) ? body.results : undefined;
  if (!Array.isArray(results) || results.length !== count) throw new Error('the answer does not fit the questions');
  return results.map((result: unknown) => {
    const { allowed, accessLevel } = isRecord(result) ? result : {};
    // Everything but a plain yes is a no.
    return { allowed: allowed === true, known: true, level: levelOf(accessLevel), error: null };
  });
}

function levelOf(value: unknown): PermissionState['level'] {
  return value === 'allowed' || value === 'view' || value === 'edit' ? value : null;
}

/** The place in the batch of the question for which the service refused all of them (`checks.3.permission`); null where it names none. */
export function faultyPlace({ details }: UsherError): number | null {
  const issues = Array.isArray(details.issues) ? details.issues : [];
  for (const { path } of [details, ...issues.filter(isRecord)]) {
    const [, place] = /^checks[.[](\d+)\b/.exec(typeof path === 'string' ? path : '') ?? [];
    if (place !== undefined) return Number(place);
  }
  return null;
}
