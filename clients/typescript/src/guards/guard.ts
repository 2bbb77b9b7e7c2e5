/** What the guards of all frameworks share. */

import { InvalidQuestionError, UnavailableError } from '../errors.ts';
import { type Faults, type Members, malformed, requiredText, type Shape } from '../faults.ts';
import { readCheck, readGuardedRecord, readLevel } from '../questions.ts';
import { hasMethod, readBoolean, readLog, readSettings } from '../settings.ts';
import type { Log, Question, Resource, Usher } from '../types.ts';

/** How a guard finds out what to ask. */
export interface GuardOptions<Request> {
  readonly app: string;
  readonly permission: string;
  readonly level?: 'view' | 'edit' | undefined;
  /** The caller's address, from whatever has authenticated them. Null, undefined or empty: nobody, 401. */
  readonly email: (request: Request) => string | null | undefined;
  /** The record that the request is about. Where it gives none the question is malformed: the request is refused. */
  readonly resource?: ((request: Request) => Resource | undefined) | undefined;
  /** Whether trouble is 503, which says that a later try may succeed; otherwise it is 403. */
  readonly unavailable?: boolean | undefined;
  /** Is told why a request was answered with 500; `console` by default. */
  readonly log?: Log | undefined;
}

/** What a guarded request gets instead of its answer; null: nothing, it may go on. */
export interface Refusal {
  readonly status: 401 | 403 | 500 | 503;
  readonly error: 'unauthenticated' | 'forbidden' | 'malformed' | 'unavailable';
}

/** A guard that was read: it judges requests. Never rejects: what is not allowed is refused, trouble included. */
export type Judge<Request> = (request: Request) => Promise<Refusal | null>;

const SHAPE: Shape = {
  name: 'a guard',
  members: ['app', 'permission', 'level', 'email', 'resource', 'unavailable', 'log'],
  meant: {
    resourceType: 'write resource: (request) => ({ type, id })',
    resourceId: 'write resource: (request) => ({ type, id })',
    accessLevel: "write level: 'view' or 'edit'",
  },
};

const FORBIDDEN: Refusal = { status: 403, error: 'forbidden' };
const MALFORMED: Refusal = { status: 500, error: 'malformed' };

/** Throws InvalidQuestionError for options that it does not know or cannot read: when the guard is made, not when a request comes. */
export function judgeOf<Request>(usher: Usher, options: GuardOptions<Request>): Judge<Request> {
  if (!hasMethod(usher, 'check')) throw malformed('usher', 'must be a client, of createUsher or createLocalUsher');
  const guard = readSettings(options, 'options', SHAPE, (members, faults) => guardOf<Request>(members, faults));
  return (request) => judge(usher, guard, request);
}

function guardOf<Request>(members: Members, faults: Faults) {
  const app = requiredText(members, 'app', '', faults);
  const permission = requiredText(members, 'permission', '', faults);
  const level = readLevel(members.get('level'), faults);
  const unavailable = readBoolean(members, 'unavailable', faults) ?? false;
  const log = readLog(members, faults) ?? console;
  const email = members.get('email');
  const resource = members.get('resource');
  if (typeof email !== 'function') faults.add('email', 'must be a function of the request: (request) => address');
  if (resource !== undefined && typeof resource !== 'function') {
    faults.add('resource', 'must be a function of the request: (request) => ({ type, id })');
  }
  return {
    asked: { app, permission, ...(level === undefined ? {} : { level }) },
    email: email as GuardOptions<Request>['email'],
    resource: resource as GuardOptions<Request>['resource'],
    unavailable,
    log,
  };
}

async function judge<Request>(
  usher: Usher,
  { asked, email, resource, unavailable, log }: ReturnType<typeof guardOf<Request>>,
  request: Request,
): Promise<Refusal | null> {
  let question: Question;
  try {
    const caller = email(request);
    if (caller === null || caller === undefined || caller === '') return { status: 401, error: 'unauthenticated' };
    const about = resource === undefined ? {} : { resource: readGuardedRecord(resource(request)) };
    question = { email: caller, ...asked, ...about };
    readCheck(question);
  } catch (error) {
    if (!(error instanceof InvalidQuestionError)) return FORBIDDEN;
    log.warn(`usher: a guard of ${asked.permission} in ${asked.app} cannot ask: ${error.message}. Refused.`);
    return MALFORMED;
  }
  try {
    const { allowed } = await usher.check(question);
    return allowed === true ? null : FORBIDDEN;
  } catch (error) {
    return unavailable && error instanceof UnavailableError ? { status: 503, error: 'unavailable' } : FORBIDDEN;
  }
}
