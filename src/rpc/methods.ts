/**
 * Each RPC once: what is asked, and what is answered. gRPC, Connect, gRPC-Web and REST read a request in their own way, call
 * `ask`, and write the answer in their own way; every rule about a question stands here or in the engine.
 *
 * A new RPC is a method of permission.proto and a value in `RPCS`, which does not compile without it.
 */

import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { type Issue, validationFailed } from '../base/errors.ts';
import { LIMITS } from '../base/grammar.ts';
import { answerBulk, type BulkAnswer, peekBulk, reached, readPermissions } from '../engine/bulk.ts';
import { type QuestionKey, questionKey } from '../engine/decisions.ts';
import type { Engine } from '../engine/engine.ts';
import { DENIED } from '../engine/evaluate.ts';
import { type FieldNames, isAllowed, parseRevision, readQuestion, readSubject } from '../engine/question.ts';
import { ANY_REVISION, type Decision, type EffectiveItem, Level, type Mark, type Question } from '../engine/types.ts';
import { atDoor, type CodePaths } from '../engine/unknown-codes.ts';
import { PermissionService, PermissionType } from '../gen/usher/permission/v1/permission_pb.ts';

/** What the methods ask of the engine. */
export type Asked = Pick<
  Engine,
  'revision' | 'isReached' | 'recall' | 'peekFacts' | 'check' | 'peekBulk' | 'bulk' | 'effective' | 'reach'
>;

/** How a caller's protocol names the fields of a request, for the paths of issues. */
export interface Naming {
  readonly fields: FieldNames;
  /** The item of a list: `permissions[3]`, `permissions.3`. */
  item(list: string, index: number): string;
}

/** What a method needs beside the request. */
export interface Call {
  readonly naming: Naming;
  /** Ends this caller's wait, not the work. */
  readonly signal?: AbortSignal | undefined;
}

/** The fields of a message, without what protobuf-es adds to them. '' is an absent text. */
export type Fields<M> = Omit<M, '$typeName' | '$unknown'>;

/** Who is asked about, and how fresh the answer must be, as it was sent. */
export interface SubjectFields {
  email: string;
  app: string;
  resourceType: string;
  resourceId: string;
  minRevision: string;
}

export interface CheckFields extends SubjectFields {
  permission: string;
  /** The least level that will do; any other than VIEW and EDIT, and 0 for none, is refused. */
  accessLevel: number;
}

export interface BulkCheckFields extends SubjectFields {
  permissions: readonly string[];
  accessLevel: number;
}

export interface CheckAnswer {
  readonly allowed: boolean;
  readonly decision: Decision;
  readonly revision: string;
  /** The question's key where the decision came from the cache and nothing else was asked: it may be found by it again. */
  readonly cachedKey: QuestionKey | null;
}

export interface BulkCheckAnswer extends BulkAnswer {
  /** Each code once, in the order of first mention; `decisions` are in the same order. */
  readonly permissions: readonly string[];
  /** The least level asked for. */
  readonly level: Level;
}

export interface EffectiveAnswer {
  readonly items: readonly EffectiveItem[];
  readonly revision: string;
}

type MaybePromise<T> = T | Promise<T>;

/** One RPC. `ask` answers in the same turn where it can; it throws, or rejects with, UsherError. */
export interface Rpc<Q, A, O extends DescMessage> {
  readonly ask: (engine: Asked, request: Q, call: Call) => MaybePromise<A>;
  readonly toMessage: (answer: A) => MessageInitShape<O>;
}

function check(engine: Asked, request: CheckFields, call: Call): MaybePromise<CheckAnswer> {
  const level = readLevel(request.accessLevel);
  const question = readQuestion(request, call.naming.fields);
  const minRevision = readRevision(request.minRevision);
  if (question === null) {
    const denied = (revision: string) => ({ allowed: false, decision: DENIED, revision, cachedKey: null });
    return engine.isReached(minRevision) ? denied(engine.revision) : reached(engine, minRevision).then(denied);
  }
  if (engine.isReached(minRevision)) {
    const key = questionKey(question);
    const cached = engine.recall(key);
    const decision = cached ?? peekFacts(engine, question, key, call);
    if (decision !== null) {
      // With a `minRevision` the answer depends on more than the cached decision.
      const cachedKey = cached !== null && request.minRevision === '' ? key : null;
      return { allowed: isAllowed(decision, level), decision, revision: engine.revision, cachedKey };
    }
  }
  return engine.check(question, optionsOf(minRevision, call)).then(
    ({ decision, revision }) => ({ allowed: isAllowed(decision, level), decision, revision, cachedKey: null }),
    (error: unknown) => {
      throw atDoor(error, singlePaths(call));
    },
  );
}

function peekFacts(engine: Asked, question: Question, key: QuestionKey, call: Call): Decision | null {
  try {
    return engine.peekFacts(question, key);
  } catch (error) {
    throw atDoor(error, singlePaths(call));
  }
}

/** Where a question about one permission names its codes. */
function singlePaths({ naming }: Call): CodePaths {
  return { resourceType: naming.fields.resourceType, permission: () => naming.fields.permission };
}

function bulkCheck(engine: Asked, request: BulkCheckFields, call: Call): MaybePromise<BulkCheckAnswer> {
  const level = readLevel(request.accessLevel);
  const subject = readSubject(request, call.naming.fields);
  const { permissions } = request;
  if (permissions.length < 1 || permissions.length > LIMITS.bulkPermissions) {
    throw validationFailed([{ path: 'permissions', message: `must hold 1 to ${LIMITS.bulkPermissions} codes` }]);
  }
  const codes = readPermissions(permissions, (index) => call.naming.item('permissions', index));
  const minRevision = readRevision(request.minRevision);
  const rejected = (error: unknown): never => {
    const permission = (code: string) => call.naming.item('permissions', permissions.indexOf(code));
    throw atDoor(error, { resourceType: call.naming.fields.resourceType, permission });
  };
  const answered = ({ decisions, revision }: BulkAnswer) => ({ permissions: codes.all, level, decisions, revision });
  try {
    const answer = peekBulk(engine, subject, codes, minRevision);
    if (answer !== null) return answered(answer);
  } catch (error) {
    rejected(error);
  }
  return answerBulk(engine, subject, codes, optionsOf(minRevision, call)).then(answered, rejected);
}

async function effective(engine: Asked, request: SubjectFields, call: Call): Promise<EffectiveAnswer> {
  const subject = readSubject(request, call.naming.fields);
  const minRevision = readRevision(request.minRevision);
  if (subject === null) return { items: [], revision: await reached(engine, minRevision) };
  try {
    return await engine.effective(subject, optionsOf(minRevision, call));
  } catch (error) {
    throw atDoor(error, singlePaths(call));
  }
}

/** An answer about one permission, as messages carry it. Levels and sources have the numbers of the enums. */
function decided(decision: Decision, allowed: boolean) {
  return { allowed, accessLevel: decision.level, source: decision.source };
}

type Methods = typeof PermissionService.method;
type RequestOf<K extends keyof Methods> = Fields<MessageShape<Methods[K]['input']>>;

/** Every RPC of the service, by its name in generated code. */
export const RPCS = {
  check: {
    ask: check,
    toMessage: ({ allowed, decision, revision }: CheckAnswer) => ({ ...decided(decision, allowed), revision }),
  },
  bulkCheck: {
    ask: bulkCheck,
    toMessage: ({ permissions, decisions, level, revision }: BulkCheckAnswer) => ({
      results: decisions.map((decision, index) => {
        return { permission: permissions[index] as string, ...decided(decision, isAllowed(decision, level)) };
      }),
      revision,
    }),
  },
  effective: {
    ask: effective,
    toMessage: ({ items, revision }: EffectiveAnswer) => ({
      permissions: items.map(({ tiered, groupName, level, ...item }) => ({
        code: item.code,
        type: tiered ? PermissionType.TIERED : PermissionType.BINARY,
        ...(groupName === null ? {} : { groupName }),
        global: item.global,
        accessLevel: level,
        granted: item.granted,
        source: item.source,
      })),
      revision,
    }),
  },
  // biome-ignore lint/suspicious/noExplicitAny: what an answer is stays between `ask` and `toMessage` of one RPC
} satisfies { [K in keyof Methods]: Rpc<RequestOf<K>, any, Methods[K]['output']> };

/** The methods that are answered once: what gRPC and Connect serve by `answersOf`. */
export const UNARY = PermissionService.methods.filter(({ methodKind }) => methodKind === 'unary');

/** An RPC as a transport calls it that knows no single one: a request message in, a response message out. */
export type Answer = (request: never, call: Call) => MaybePromise<Record<string, unknown>>;

/** The answering functions of all RPCs, by their names in generated code. */
export function answersOf(engine: Asked): Record<keyof Methods, Answer> {
  const answers = Object.entries(RPCS).map(([name, rpc]) => {
    const { ask, toMessage } = rpc as Rpc<unknown, unknown, DescMessage>;
    const answer = (request: unknown, call: Call) => {
      const answered = ask(engine, request, call);
      return answered instanceof Promise ? answered.then(toMessage) : toMessage(answered);
    };
    return [name, answer];
  });
  return Object.fromEntries(answers) as Record<keyof Methods, Answer>;
}

function readLevel(level: number): Level {
  if (level === Level.NONE || level === Level.VIEW || level === Level.EDIT) return level;
  const issue: Issue = { path: 'access_level', message: 'must be ACCESS_LEVEL_VIEW or ACCESS_LEVEL_EDIT, or unset' };
  throw validationFailed([issue]);
}

/** Throws UNKNOWN_REVISION for what is no revision of ours; '' asks for none. */
function readRevision(text: string): Mark {
  return text === '' ? ANY_REVISION : parseRevision(text);
}

function optionsOf(minRevision: Mark, { signal }: Call): { minRevision: Mark; signal?: AbortSignal } {
  return signal === undefined ? { minRevision } : { minRevision, signal };
}
