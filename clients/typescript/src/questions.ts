/**
 * The one reader of questions, for the service's answers, for the engine in this process, for the fake and for guards
 * (docs/reference/decisions.md#client-packages). What it cannot read it refuses: a question is never answered as a wider one.
 */

import { InvalidQuestionError } from './errors.ts';
import {
  Faults,
  kindOf,
  type Members,
  malformed,
  membersOf,
  requiredText,
  type Shape,
  shortened,
  textOf,
} from './faults.ts';
import type { Question, Resource } from './types.ts';

/** A question as the wire has it: '' and 0 are absent. */
export interface CheckFields extends SubjectFields {
  permission: string;
  /** The numbers of AccessLevel. */
  accessLevel: AskedLevel;
}

export interface SubjectFields {
  email: string;
  app: string;
  resourceType: string;
  resourceId: string;
  minRevision: string;
}

export type AskedLevel = 0 | 2 | 3;

const RECORD = 'write resource: {type, id}';
const LEVEL = "write level: 'view' or 'edit'";
const OPTION = 'it is an option, the argument after the question';
/** The names of REST, of the protocol and of other services. */
const MEANT = {
  resourceType: RECORD,
  resourceId: RECORD,
  resource_type: RECORD,
  resource_id: RECORD,
  accessLevel: LEVEL,
  access_level: LEVEL,
  appCode: 'write app',
  app_code: 'write app',
  application: 'write app',
  user: 'write email',
  userEmail: 'write email',
  subject: 'write email',
  permissionCode: 'write permission',
  action: 'write permission',
  minRevision: OPTION,
  deadlineMs: OPTION,
  signal: OPTION,
};

const shapeOf = (name: string, members: readonly string[], meant: Readonly<Record<string, string>> = {}): Shape => {
  return { name, members, meant: { ...MEANT, ...meant } };
};

const QUESTION = shapeOf('a question', ['email', 'app', 'permission', 'resource', 'level']);
const ABOUT_EVERYBODY = shapeOf('a question about everybody', ['app', 'permission', 'resource', 'level'], {
  email: 'the question is about everybody',
});
const ABOUT_RECORDS = shapeOf('a question about records', ['email', 'app', 'permission', 'resourceType', 'level'], {
  resource: 'the question is about all records of a type; write resourceType',
  resourceId: 'the question is about all records of a type; write resourceType alone',
  resource_type: 'write resourceType',
});
const SUBJECT = shapeOf('a subject', ['email', 'app', 'resource'], {
  permission: 'the question is about every permission of the application',
  level: 'the question is about every level',
});
const BULK = shapeOf('a bulk question', ['email', 'app', 'permissions', 'resource', 'level'], {
  permission: 'write permissions: [permission, …]',
});
const RESOURCE: Shape = {
  name: 'a record',
  members: ['type', 'id'],
  meant: { resourceType: 'write type', resourceId: 'write id' },
};

/** The most questions of one call. */
export const MOST = 1000;

/** Where something stands in what was passed in: what it is called, and what stands before the names of its members. */
interface Place {
  readonly field: string;
  readonly path: string;
}

const WHOLE: Place = { field: 'question', path: '' };
const NO_QUESTION: CheckFields = {
  email: '',
  app: '',
  permission: '',
  resourceType: '',
  resourceId: '',
  accessLevel: 0,
  minRevision: '',
};

/** The question of a check. Throws InvalidQuestionError with every fault. */
export function readCheck(question: unknown): CheckFields {
  try {
    const fields = readUsual(question);
    if (fields !== null && isWellFormed(fields)) return fields;
  } catch {
    // A getter or a Proxy of the caller's: read again, to say where.
  }
  return readWhole(question);
}

/** The same for the engine, which refuses lone surrogates itself: whoever it refuses calls `requireWellFormed`, for the same words. */
export function readCheckForEngine(question: unknown): CheckFields {
  try {
    const fields = readUsual(question);
    if (fields !== null) return fields;
  } catch {
    // As above.
  }
  return readWhole(question);
}

export function requireWellFormed(fields: CheckFields): void {
  if (isWellFormed(fields)) return;
  const { email, app, permission, resourceType: type, resourceId: id } = fields;
  readWhole({ email, app, permission, ...(type === '' ? {} : { resource: { type, id } }) });
}

function readWhole(question: unknown): CheckFields {
  return attempt('question', () => {
    const faults = new Faults();
    const fields = questionOf(question, WHOLE, faults);
    faults.throwIfAny();
    return fields;
  });
}

/** The questions of a batch. */
export function readBatch(questions: unknown): CheckFields[] {
  return attempt('questions', () => {
    const faults = new Faults();
    const list = itemsOf(questions, 'questions', 'questions', faults);
    const read = list.map((question, index) => {
      const field = `questions[${index}]`;
      return questionOf(question, { field, path: `${field}.` }, faults);
    });
    faults.throwIfAny();
    return read;
  });
}

export function readSubject(subject: unknown): SubjectFields {
  return reading(subject, SUBJECT, (members, faults) => subjectOf(members, '', faults));
}

/** A bulk question; a repeated code stays. */
export function readBulk(subject: unknown): SubjectFields & { permissions: string[]; accessLevel: AskedLevel } {
  return reading(subject, BULK, (members, faults) => ({
    ...subjectOf(members, '', faults),
    permissions: textsOf(members.get('permissions'), 'permissions', 'codes', faults),
    accessLevel: levelOf(members, '', faults),
  }));
}

export function readAboutEverybody(question: unknown): Omit<CheckFields, 'email'> {
  return reading(question, ABOUT_EVERYBODY, (members, faults) => ({
    app: requiredText(members, 'app', '', faults),
    permission: requiredText(members, 'permission', '', faults),
    ...recordOf(members, '', faults),
    accessLevel: levelOf(members, '', faults),
    minRevision: '',
  }));
}

export function readAboutRecords(question: unknown): Omit<CheckFields, 'resourceId'> {
  return reading(question, ABOUT_RECORDS, (members, faults) => ({
    email: requiredText(members, 'email', '', faults),
    app: requiredText(members, 'app', '', faults),
    permission: requiredText(members, 'permission', '', faults),
    resourceType: requiredText(members, 'resourceType', '', faults),
    accessLevel: levelOf(members, '', faults),
    minRevision: '',
  }));
}

/** What a fake allows: a question without a level. */
export function readGiven(
  given: unknown,
  level: unknown,
): SubjectFields & { permission: string; level: Question['level'] } {
  const shape = shapeOf('what is allowed', ['email', 'app', 'permission', 'resource'], {
    level: 'it is the second argument',
  });
  return reading(given, shape, (members, faults) => ({
    ...subjectOf(members, '', faults),
    permission: requiredText(members, 'permission', '', faults),
    level: readLevel(level, faults),
  }));
}

/** A level beside other things, such as a guard's. */
export function readLevel(level: unknown, faults: Faults): Question['level'] {
  if (level === undefined || level === 'view' || level === 'edit') return level;
  faults.add('level', levelFault(level));
  return undefined;
}

/** The record of a guard's request, which must be one: nothing would be the question about the whole application. */
export function readGuardedRecord(resource: unknown): Resource {
  return attempt('resource', () => {
    const faults = new Faults();
    if (resource === undefined || resource === null) {
      faults.add('resource', `gave ${kindOf(resource)}: a guard with a resource asks about a record, {type, id}`, true);
    }
    const { resourceType: type, resourceId: id } = recordOf(new Map([['resource', resource]]), '', faults);
    faults.throwIfAny();
    return { type, id };
  });
}

/** Texts of a list; `what` is what it holds. */
export function textsOf(value: unknown, field: string, what: string, faults: Faults): string[] {
  return itemsOf(value, field, what, faults).map((item, index) => textOf(item, `${field}[${index}]`, faults));
}

/** Runs a reader. What a getter or a Proxy of the caller's throws is a fault of what they passed in. */
export function attempt<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof InvalidQuestionError ? error : malformed(field, 'cannot be read', error);
  }
}

function reading<T>(value: unknown, shape: Shape, read: (members: Members, faults: Faults) => T): T {
  return attempt('question', () => {
    const faults = new Faults();
    const members = membersOf(value, shape, WHOLE, faults);
    if (members === null) throw faults.error();
    const fields = read(members, faults);
    faults.throwIfAny();
    return fields;
  });
}

function questionOf(question: unknown, place: Place, faults: Faults): CheckFields {
  const members = membersOf(question, QUESTION, place, faults);
  if (members === null) return NO_QUESTION;
  return {
    ...subjectOf(members, place.path, faults),
    permission: requiredText(members, 'permission', place.path, faults),
    accessLevel: levelOf(members, place.path, faults),
  };
}

function subjectOf(members: Members, path: string, faults: Faults): SubjectFields {
  return {
    email: requiredText(members, 'email', path, faults),
    app: requiredText(members, 'app', path, faults),
    ...recordOf(members, path, faults),
    minRevision: '',
  };
}

/** A record is whole, or not there at all. */
function recordOf(members: Members, path: string, faults: Faults): Pick<CheckFields, 'resourceType' | 'resourceId'> {
  if (!members.has('resource')) return { resourceType: '', resourceId: '' };
  const field = `${path}resource`;
  const record = membersOf(members.get('resource'), RESOURCE, { field, path: `${field}.` }, faults);
  if (record === null) return { resourceType: '', resourceId: '' };
  return {
    resourceType: requiredText(record, 'type', `${field}.`, faults, true),
    resourceId: requiredText(record, 'id', `${field}.`, faults, true),
  };
}

function levelOf(members: Members, path: string, faults: Faults): AskedLevel {
  const level = members.get('level');
  if (level === undefined) return 0;
  if (level === 'view') return 2;
  if (level === 'edit') return 3;
  faults.add(`${path}level`, levelFault(level));
  return 0;
}

function levelFault(level: unknown): string {
  return `must be 'view' or 'edit', not ${typeof level === 'string' ? `'${shortened(level)}'` : kindOf(level)}`;
}

function itemsOf(value: unknown, field: string, what: string, faults: Faults): unknown[] {
  if (!Array.isArray(value)) faults.add(field, `must be an array of ${what}, not ${kindOf(value)}`);
  else if (value.length < 1 || value.length > MOST) faults.add(field, `must hold 1 to ${MOST} ${what}`);
  // Also visits holes, which are undefined.
  else return Array.from(value as readonly unknown[]);
  return [];
}

/**
 * The usual case, for speed: plain objects of this realm with members in any order. Gives up on everything else, even if valid.
 * Each member is read once.
 */
function readUsual(question: unknown): CheckFields | null {
  if (typeof question !== 'object' || question === null || Object.getPrototypeOf(question) !== Object.prototype) {
    return null;
  }
  for (const name in question) {
    if (name !== 'email' && name !== 'app' && name !== 'permission' && name !== 'resource' && name !== 'level')
      return null;
  }
  const { email, app, permission, resource, level } = question as Readonly<Record<string, unknown>>;
  if (!isText(email) || !isText(app) || !isText(permission)) return null;
  const accessLevel = level === undefined ? 0 : level === 'view' ? 2 : level === 'edit' ? 3 : -1;
  if (accessLevel === -1) return null;
  if (resource === undefined) {
    return { email, app, permission, resourceType: '', resourceId: '', accessLevel, minRevision: '' };
  }
  if (typeof resource !== 'object' || resource === null || Object.getPrototypeOf(resource) !== Object.prototype)
    return null;
  for (const name in resource) if (name !== 'type' && name !== 'id') return null;
  const { type, id } = resource as Readonly<Record<string, unknown>>;
  if (!isText(type) || !isText(id)) return null;
  return { email, app, permission, resourceType: type, resourceId: id, accessLevel, minRevision: '' };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A lone surrogate would become another character on the wire. */
function isWellFormed({ email, app, permission, resourceType, resourceId }: CheckFields): boolean {
  return (
    email.isWellFormed() &&
    app.isWellFormed() &&
    permission.isWellFormed() &&
    resourceType.isWellFormed() &&
    resourceId.isWellFormed()
  );
}
