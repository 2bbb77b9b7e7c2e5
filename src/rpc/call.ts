/** The common parts of RPCs: request fields, the call's context, and the answer as a message. */

import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import { type Issue, UsherError, validationFailed } from '../base/errors.ts';
import { MAX_CURSOR } from '../engine/cursors.ts';
import type { Engine } from '../engine/engine.ts';
import { type ListPage, notACursor } from '../engine/lists.ts';
import type { AskOptions } from '../engine/options.ts';
import { type FieldNames, parseRevision } from '../engine/question.ts';
import { ANY_REVISION, type Decision, Level, type RevisionToken } from '../engine/types.ts';
import type { CodePaths } from '../engine/unknown-codes.ts';
import type { DecisionLog } from './decision-log.ts';

/** The engine's methods that RPCs use. */
export type PermissionEngine = Pick<
  Engine,
  | 'revision'
  | 'isReached'
  | 'recall'
  | 'peekFacts'
  | 'peekKept'
  | 'check'
  | 'peekBulk'
  | 'bulk'
  | 'peekBatch'
  | 'batch'
  | 'explain'
  | 'peekEffective'
  | 'effective'
  | 'reach'
> & {
  readonly lists: Pick<Engine['lists'], 'subjects' | 'resources'>;
  /** Is told of every decision that an RPC answers. */
  readonly decisionLog?: DecisionLog;
};

/** The names of request fields in a caller's protocol, for the paths of issues. */
export interface Naming {
  readonly fields: FieldNames;
  /** The item of a list: `permissions[3]`, `permissions.3`. */
  item(list: string, index: number): string;
  /** For paged lists. */
  readonly page: { readonly size: string; readonly cursor: string };
  /** A message within the request: `check`; '' if its fields are in the body itself. */
  message(field: string): string;
}

/** The context of a call. */
export interface Call {
  readonly naming: Naming;
  /** Ends this caller's wait, not the work. */
  readonly signal?: AbortSignal | undefined;
}

/** The fields of a message, without those of protobuf-es. '' means an absent text. */
export type Fields<M> = Omit<M, '$typeName' | '$unknown'>;

export type MaybePromise<T> = T | Promise<T>;

/** The subject of a question, and how fresh the answer must be, as sent. */
export interface SubjectFields {
  email: string;
  app: string;
  resourceType: string;
  resourceId: string;
  minRevision: string;
}

export interface CheckFields extends SubjectFields {
  permission: string;
  /** The minimum level: VIEW, EDIT, or 0 for any; others are refused. */
  accessLevel: number;
}

/** One RPC. `ask` is synchronous when it can be; it throws, or rejects with, UsherError. */
export interface Rpc<Q, A, O extends DescMessage> {
  /** The applications that a request is about: a key may be narrowed to some (docs/reference/callers.md#internal-keys). */
  readonly about: (request: Q) => readonly string[];
  readonly ask: (engine: PermissionEngine, request: Q, call: Call) => MaybePromise<A>;
  readonly toMessage: (answer: A) => MessageInitShape<O>;
}

/** What a question about one application is about. */
export function ofOne({ app }: { readonly app: string }): readonly string[] {
  return [app];
}

/** The same question, whose answer the decision log is told of. */
export function logged<Q, A>(
  ask: (engine: PermissionEngine, request: Q, call: Call) => MaybePromise<A>,
  tell: (log: DecisionLog, request: Q, answer: A) => void,
): (engine: PermissionEngine, request: Q, call: Call) => MaybePromise<A> {
  return (engine, request, call) => {
    const answered = ask(engine, request, call);
    const log = engine.decisionLog;
    if (log === undefined) return answered;
    const told = (answer: A): A => {
      tell(log, request, answer);
      return answer;
    };
    return answered instanceof Promise ? answered.then(told) : told(answered);
  };
}

/** The fields of an answer about one permission. Levels and sources have the numbers of the enums. */
export function decided(decision: Decision, allowed: boolean) {
  return { allowed, accessLevel: decision.level, source: decision.source };
}

/** Whether a question may ask for that level. */
export function isAskable(level: number): level is Level {
  return level === Level.NONE || level === Level.VIEW || level === Level.EDIT;
}

/** `path` is the field in RPCs; REST names levels, and its schema checks them. */
export function readLevel(level: number, path = 'access_level'): Level {
  if (isAskable(level)) return level;
  throw validationFailed([{ path, message: 'must be ACCESS_LEVEL_VIEW or ACCESS_LEVEL_EDIT, or unset' }]);
}

/** How many items a page holds at most, and how many where the caller does not say. */
export interface PageSize {
  readonly most: number;
  readonly usual: number;
}

/** The requested page of a list: size 0 means `usual`, cursor '' the first page. */
export function readPage(
  { pageSize, pageToken }: { pageSize: number; pageToken: string },
  { most, usual }: PageSize,
  { page }: Naming,
): ListPage {
  const issues: Issue[] = [];
  const isSize = Number.isInteger(pageSize) && pageSize >= 0 && pageSize <= most;
  if (!isSize) issues.push({ path: page.size, message: `must be from 1 to ${most}, or unset for ${usual}` });
  if (pageToken.length > MAX_CURSOR)
    issues.push({ path: page.cursor, message: `must be at most ${MAX_CURSOR} characters` });
  if (issues.length > 0) throw validationFailed(issues);
  return { limit: pageSize === 0 ? usual : pageSize, cursor: pageToken, cursorPath: page.cursor };
}

/** 400 for a cursor with a malformed question, which never gets one. */
export function refuseCursor({ cursor, cursorPath }: ListPage): void {
  if (cursor !== '') throw notACursor(cursorPath);
}

/** Throws UNKNOWN_REVISION for a revision that this service never issued; '' means none. */
export function readRevision(text: string): RevisionToken {
  return text === '' ? ANY_REVISION : parseRevision(text);
}

export function optionsOf(minRevision: RevisionToken, { signal }: Call): AskOptions {
  return signal === undefined ? { minRevision } : { minRevision, signal };
}

/** The fields that hold the codes of a question about one permission. */
export function pathsOf({ resourceType, permission }: FieldNames): CodePaths {
  return { resourceType, permission: () => permission };
}

/** UNIMPLEMENTED: a method of the protocol that this version of the service does not answer. */
export function unimplemented(): never {
  throw new UsherError('METHOD_NOT_ALLOWED', 'This version of the service does not answer this method.');
}
