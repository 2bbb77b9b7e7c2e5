/** Questions as the service is asked them: `POST /api/profile/me/check/batch`. */

import { isRecord, UsherError } from './errors.ts';
import type { Level, PermissionOptions, PermissionQuestion, PermissionState } from './types.ts';

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

/** The members of a question, and what other names for them are meant to be. */
const QUESTION = ['permission', 'resource', 'level'];
const OPTIONS = ['resource', 'level'];
const RESOURCE = ['type', 'id'];
const RECORD = 'write resource: {type, id}';
const LEVEL = "write level: 'view' or 'edit'";
const MEANT: Readonly<Record<string, string>> = {
  resourceType: RECORD,
  resourceId: RECORD,
  resource_type: RECORD,
  resource_id: RECORD,
  ressource: 'write resource',
  record: RECORD,
  accessLevel: LEVEL,
  access_level: LEVEL,
  app: 'the provider says which application it is',
  email: 'the question is about the person who is signed in',
  permissions: 'write permission',
};

/**
 * The name of a question; null while its record is not known yet. Throws UsherError INVALID_ARGUMENT for everything that is not a
 * question: nothing of it is dropped, for the rest would be a wider one (docs/reference/decisions.md#client-packages).
 */
export function keyOf(app: string, question: PermissionQuestion): string | null {
  requireMembers(question, 'question', QUESTION);
  const { permission, level } = question;
  requireText(permission, 'permission');
  if (level !== undefined && level !== 'view' && level !== 'edit') {
    throw malformed('level', `must be 'view' or 'edit', not ${saidOf(level)}`);
  }
  const common = { app, permission };
  const needed = level === undefined ? {} : { accessLevel: level };
  // A record that is given but undefined must not become the question without a record, which may well be allowed.
  if (!('resource' in question)) return JSON.stringify({ ...common, ...needed } satisfies Check);
  const { resource } = question;
  if (resource === null || resource === undefined) return null;
  requireMembers(resource, 'resource', RESOURCE);
  for (const half of RESOURCE) {
    if (!(half in resource)) throw malformed(`resource.${half}`, 'is required: a record is {type, id}');
  }
  const { type, id } = resource;
  if (!isGiven(type) || !isGiven(id)) return null;
  requireText(type, 'resource.type');
  const isNumber = typeof id === 'number' && Number.isFinite(id);
  if (!isNumber) requireText(id, 'resource.id', 'a string or a number');
  return JSON.stringify({ ...common, resourceType: type, resourceId: String(id), ...needed } satisfies Check);
}

/** The question of a permission with options. Throws as `keyOf` does, for options that it does not know. */
export function questionOf(permission: string, options: PermissionOptions): PermissionQuestion {
  requireMembers(options, 'options', OPTIONS);
  return { ...options, permission };
}

/** Applications without types give what they have not loaded yet. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** Throws for everything but a plain object with those members alone. */
export function requireMembers(value: unknown, field: string, members: readonly string[]): void {
  if (!isPlain(value)) throw malformed(field, `must be a plain object {${members.join(', ')}}, not ${saidOf(value)}`);
  for (const name of Object.keys(value)) {
    if (members.includes(name)) continue;
    const path = field === 'resource' ? `resource.${name}` : name;
    const advice = Object.hasOwn(MEANT, name) ? MEANT[name] : `known are ${members.join(', ')}`;
    throw malformed(path, `unknown member; ${advice}`);
  }
}

function isPlain(value: unknown): value is object {
  if (!isRecord(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // Made by {}, by JSON or by Object.create(null), in this frame or in another.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export function requireText(value: unknown, field: string, what = 'a string'): void {
  if (typeof value !== 'string') throw malformed(field, `must be ${what}, not ${saidOf(value)}`);
  if (value === '') throw malformed(field, 'must not be empty');
  if (!value.isWellFormed()) throw malformed(field, 'must not hold lone surrogates');
}

/** Never more of a value than its kind, but for short texts: they are codes. */
function saidOf(value: unknown): string {
  if (typeof value === 'string' && value.length <= 20) return `'${value}'`;
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}

/** A mistake of the page: the same at the next try. */
function malformed(path: string, message: string): UsherError {
  return new UsherError(`${path}: ${message}`, {
    code: 'INVALID_ARGUMENT',
    status: 400,
    details: { issues: [{ path, message }] },
  });
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
