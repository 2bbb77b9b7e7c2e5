/**
 * Questions as every transport takes them (docs/reference/decisions.md#strict-questions): normalized, refused, or certain to be denied.
 * Nothing else may make a `Question` out of a caller's input.
 */

import { type Issue, UsherError, validationFailed } from '../base/errors.ts';
import {
  hasForbiddenCharacters,
  isLongerThan,
  isPermissionCode,
  isSlug,
  LIMITS,
  normalizeEmail,
} from '../base/grammar.ts';
import { type Decision, Level, type Question, type RevisionToken, type Subject } from './types.ts';

/** A question as sent: '' is absent. (REST refuses empty strings itself, before they get here.) */
export interface RawQuestion {
  email: string;
  app: string;
  permission: string;
  resourceType: string;
  resourceId: string;
}

/** A transport's names of the fields, for the paths of issues. */
export type FieldNames = Readonly<Record<keyof RawQuestion, string>>;

export const REST_FIELDS: FieldNames = {
  email: 'email',
  app: 'app',
  permission: 'permission',
  resourceType: 'resourceType',
  resourceId: 'resourceId',
};

export const PROTO_FIELDS: FieldNames = {
  email: 'email',
  app: 'app',
  permission: 'permission',
  resourceType: 'resource_type',
  resourceId: 'resource_id',
};

/**
 * The question, or null when an address or a code is malformed so that it cannot exist: such a question is denied, for
 * everybody, before cache and database. Throws 400 VALIDATION_FAILED with every field that is missing, too long, or holds
 * control characters or lone surrogates; else INCOMPLETE_RESOURCE when only one half of a resource is given.
 */
export function readQuestion(raw: RawQuestion, names: FieldNames = REST_FIELDS): Question | null {
  if (isPlainSubject(raw) && isPlainCode(raw.permission, PERMISSION_CHARACTERS, LIMITS.permission)) {
    const { email, app, permission, resourceType, resourceId } = raw;
    return { email, app, permission, resourceType, resourceId };
  }
  const issues: Issue[] = [];
  const email = readEmail(raw.email, names.email, issues);
  const app = readCode(raw.app, LIMITS.slug, isSlug, names.app, issues);
  const permission = readCode(raw.permission, LIMITS.permission, isPermissionCode, names.permission, issues);
  const resource = readResource(raw, names, issues);
  if (email === null || app === null || permission === null || resource === null) return null;
  return { email, app, permission, ...resource };
}

/** What of a malformed question may name something, without its resource; '' stands for what cannot. */
export function nameable({ email, app, permission }: RawQuestion): Question {
  return {
    email: normalizeEmail(trimAscii(email)) ?? '',
    app: isSlug(app) ? app : '',
    permission: isPermissionCode(permission) ? permission : '',
    resourceType: '',
    resourceId: '',
  };
}

/** The names of fields that stand within something: `checks[3].email`. */
export function fieldsIn(path: string, names: FieldNames): FieldNames {
  if (path === '') return names;
  return Object.fromEntries(Object.entries(names).map(([field, name]) => [field, `${path}.${name}`])) as FieldNames;
}

/** As `readQuestion`, for the common part of bulk and effective questions. */
export function readSubject(raw: Omit<RawQuestion, 'permission'>, names: FieldNames = REST_FIELDS): Subject | null {
  if (isPlainSubject(raw)) {
    const { email, app, resourceType, resourceId } = raw;
    return { email, app, resourceType, resourceId };
  }
  const issues: Issue[] = [];
  const email = readEmail(raw.email, names.email, issues);
  const app = readCode(raw.app, LIMITS.slug, isSlug, names.app, issues);
  const resource = readResource(raw, names, issues);
  if (email === null || app === null || resource === null) return null;
  return { email, app, ...resource };
}

/** As `readQuestion`, of a question about everybody. */
export function readForSubjects(
  raw: Omit<RawQuestion, 'email'>,
  names: FieldNames = REST_FIELDS,
): Omit<Question, 'email'> | null {
  const issues: Issue[] = [];
  const app = readCode(raw.app, LIMITS.slug, isSlug, names.app, issues);
  const permission = readCode(raw.permission, LIMITS.permission, isPermissionCode, names.permission, issues);
  const resource = readResource(raw, names, issues);
  if (app === null || permission === null || resource === null) return null;
  return { app, permission, ...resource };
}

/** As `readQuestion`, of a question about every resource of a type. */
export function readForResources(
  raw: Omit<RawQuestion, 'resourceId'>,
  names: FieldNames = REST_FIELDS,
): Omit<Question, 'resourceId'> | null {
  const issues: Issue[] = [];
  const email = readEmail(raw.email, names.email, issues);
  const app = readCode(raw.app, LIMITS.slug, isSlug, names.app, issues);
  const permission = readCode(raw.permission, LIMITS.permission, isPermissionCode, names.permission, issues);
  const resourceType = readCode(raw.resourceType, LIMITS.slug, isSlug, names.resourceType, issues);
  if (issues.length > 0) throw validationFailed(issues);
  if (email === null || app === null || permission === null || resourceType === null) return null;
  return { email, app, permission, resourceType };
}

/** One code of a bulk question; null when it is malformed and therefore denied. Throws 400 as `readQuestion` does. */
export function readPermission(code: string, path: string = REST_FIELDS.permission): string | null {
  if (isPlainCode(code, PERMISSION_CHARACTERS, LIMITS.permission)) return code;
  const issues: Issue[] = [];
  const read = readCode(code, LIMITS.permission, isPermissionCode, path, issues);
  if (issues.length > 0) throw validationFailed(issues);
  return read;
}

/**
 * Whether a decision allows the requested level; NONE requests any. Binary permissions, and undefined ones allowed to an
 * app admin, ignore the level (docs/reference/decisions.md#levels).
 */
export function isAllowed(decision: Decision, requested: Level): boolean {
  return decision.granted && (requested === Level.NONE || !decision.tiered || decision.level >= requested);
}

const REVISION = /^(0|[1-9][0-9]{0,15})(?:\.([\w-]{1,40}))?$/;

/** A revision from a caller. Throws UNKNOWN_REVISION for text that `formatRevision` never makes. */
export function parseRevision(text: string): RevisionToken {
  const [, digits, nonce = null] = REVISION.exec(text) ?? [];
  const number = Number(digits);
  if (!Number.isSafeInteger(number)) throw unknownRevision();
  return { number, nonce };
}

/** 400: a revision that this database never made. */
export function unknownRevision(): UsherError {
  return new UsherError('UNKNOWN_REVISION', 'Unknown revision: send one that this service has returned.');
}

// ---- the general case: with every issue ----

/** Whether the text is valid as such; otherwise adds to `issues`. '' is missing. */
function isReadable(text: string, max: number, path: string, issues: Issue[]): boolean {
  let message: string | undefined;
  if (text === '') message = 'is required';
  else if (isLongerThan(text, max)) message = `must be at most ${max} characters`;
  else if (hasForbiddenCharacters(text)) message = 'must not hold control characters or lone surrogates';
  if (message === undefined) return true;
  issues.push({ path, message });
  return false;
}

function readEmail(raw: string, path: string, issues: Issue[]): string | null {
  const email = trimAscii(raw);
  return isReadable(email, LIMITS.email, path, issues) ? normalizeEmail(email) : null;
}

function readCode(
  raw: string,
  max: number,
  isCode: (text: string) => boolean,
  path: string,
  issues: Issue[],
): string | null {
  return isReadable(raw, max, path, issues) && isCode(raw) ? raw : null;
}

/** Reads the last two fields, then throws the issues of all. */
function readResource(
  { resourceType, resourceId }: Pick<RawQuestion, 'resourceType' | 'resourceId'>,
  names: FieldNames,
  issues: Issue[],
): Pick<Question, 'resourceType' | 'resourceId'> | null {
  if (resourceType !== '') isReadable(resourceType, LIMITS.slug, names.resourceType, issues);
  if (resourceId !== '') isReadable(resourceId, LIMITS.resourceId, names.resourceId, issues);
  if (issues.length > 0) throw validationFailed(issues);
  if ((resourceType === '') !== (resourceId === '')) {
    const message = `${names.resourceType} and ${names.resourceId} go together: send both or neither`;
    const path = resourceType === '' ? names.resourceType : names.resourceId;
    throw new UsherError('INCOMPLETE_RESOURCE', `${message}.`, { details: { issues: [{ path, message }] } });
  }
  return resourceType === '' || isSlug(resourceType) ? { resourceType, resourceId } : null;
}

/** By hand: the regular expression takes quadratic time on a long run of blanks inside the text. */
function trimAscii(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isAsciiSpace(text.charCodeAt(from))) from++;
  while (to > from && isAsciiSpace(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isAsciiSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

// ---- the usual case: ASCII, lower-case where case does not count. One pass a field; gives up on everything else, even if valid ----

const ALNUM = 1;
const SEPARATOR = 2;
const AT = 64;
const DOT = 46;
const HYPHEN = 45;

/** The class of each ASCII character, 0 for others; text beyond ASCII reads undefined, which matches no class. */
function classes(alnum: string, others: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const character of alnum) table[character.charCodeAt(0)] = ALNUM;
  for (const character of others) table[character.charCodeAt(0)] = SEPARATOR;
  return table;
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz0123456789';
const SLUG_CHARACTERS = classes(LOWER, '._-');
const PERMISSION_CHARACTERS = classes(`${LOWER}ABCDEFGHIJKLMNOPQRSTUVWXYZ`, '._:/-');
const LOCAL_CHARACTERS = classes(LOWER, ".!#$%&'*+/=?^_`{|}~-");

function isPlainSubject({ email, app, resourceType, resourceId }: Omit<RawQuestion, 'permission'>): boolean {
  return (
    isPlainEmail(email) &&
    isPlainCode(app, SLUG_CHARACTERS, LIMITS.slug) &&
    (resourceType === ''
      ? resourceId === ''
      : isPlainCode(resourceType, SLUG_CHARACTERS, LIMITS.slug) && isPlainId(resourceId))
  );
}

/** Exactly the grammar's codes: runs of letters and digits with single separators between. */
function isPlainCode(text: string, characters: Uint8Array, max: number): boolean {
  const { length } = text;
  if (length > max) return false;
  let previous = SEPARATOR;
  for (let i = 0; i < length; i++) {
    const kind = characters[text.charCodeAt(i)];
    if (kind !== ALNUM && (kind !== SEPARATOR || previous === SEPARATOR)) return false;
    previous = kind;
  }
  return previous === ALNUM;
}

/** Exactly the addresses that `normalizeEmail` returns unchanged. */
function isPlainEmail(text: string): boolean {
  const { length } = text;
  if (length > LIMITS.email) return false;
  let at = 0;
  for (; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === AT) break;
    if (!LOCAL_CHARACTERS[code]) return false;
  }
  return at >= 1 && at <= LIMITS.emailLocal && isPlainHost(text, at + 1);
}

/** Labels of 1 to 63 letters, digits and inner hyphens, with dots between. */
function isPlainHost(text: string, from: number): boolean {
  let label = 0;
  let previous = DOT;
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      if (label === 0 || previous === HYPHEN) return false;
      label = 0;
    } else {
      if (code === HYPHEN ? label === 0 : SLUG_CHARACTERS[code] !== ALNUM) return false;
      if (++label > 63) return false;
    }
    previous = code;
  }
  return label > 0 && previous !== HYPHEN;
}

function isPlainId(text: string): boolean {
  const { length } = text;
  if (length === 0 || length > LIMITS.resourceId) return false;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code < 32 || code > 126) return false;
  }
  return true;
}
