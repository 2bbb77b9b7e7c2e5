/**
 * Each RPC once: its question and its answer. gRPC, Connect, gRPC-Web and REST each read a request in their own way, call
 * `ask`, and write the answer in their own way; every rule about a question is here or in the engine.
 *
 * A new RPC is a method of permission.proto and a value in `RPCS`, which does not compile without it.
 */

import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { validationFailed } from '../base/errors.ts';
import { LIMITS } from '../base/grammar.ts';
import { answerBulk, type BulkAnswer, peekBulk, reached, readPermissions } from '../engine/bulk.ts';
import { type QuestionKey, questionKey } from '../engine/decisions.ts';
import { DENIED } from '../engine/evaluate.ts';
import { isAllowed, readQuestion, readSubject } from '../engine/question.ts';
import type { Decision, EffectiveItem, Level, Question } from '../engine/types.ts';
import { withCallerPath } from '../engine/unknown-codes.ts';
import { PermissionService, PermissionType } from '../gen/usher/permission/v1/permission_pb.ts';
import { batchCheck } from './batch-check.ts';
import {
  type Call,
  type CheckFields,
  decided,
  type Fields,
  logged,
  type MaybePromise,
  ofOne,
  optionsOf,
  type PermissionEngine,
  pathsOf,
  type Rpc,
  readLevel,
  readRevision,
  type SubjectFields,
} from './call.ts';
import type { DecisionLog } from './decision-log.ts';
import { explain } from './explain.ts';
import { listResources, listSubjects } from './lists.ts';

export interface BulkCheckFields extends SubjectFields {
  permissions: readonly string[];
  accessLevel: number;
}

export interface CheckAnswer {
  readonly allowed: boolean;
  readonly decision: Decision;
  readonly revision: string;
  /** The question, where it was answered from the caches and for any revision: a later request may ask it again as it is. */
  readonly question: Question | null;
}

export interface BulkCheckAnswer extends BulkAnswer {
  /** Each code once, in the order of first mention; `decisions` are in the same order. */
  readonly permissions: readonly string[];
  /** The requested level. */
  readonly level: Level;
}

export interface EffectiveAnswer {
  readonly items: readonly EffectiveItem[];
  readonly revision: string;
}

function check(engine: PermissionEngine, request: CheckFields, call: Call): MaybePromise<CheckAnswer> {
  const level = readLevel(request.accessLevel);
  const question = readQuestion(request, call.naming.fields);
  const minRevision = readRevision(request.minRevision);
  if (question === null) {
    const denied = (revision: string) => ({ allowed: false, decision: DENIED, revision, question: null });
    return engine.isReached(minRevision) ? denied(engine.revision) : reached(engine, minRevision).then(denied);
  }
  if (engine.isReached(minRevision)) {
    const key = questionKey(question);
    const decision = engine.recall(key) ?? peekFacts(engine, question, key, call);
    if (decision !== null) {
      const repeatable = request.minRevision === '' ? question : null;
      return { allowed: isAllowed(decision, level), decision, revision: engine.revision, question: repeatable };
    }
  }
  return engine.check(question, optionsOf(minRevision, call)).then(
    ({ decision, revision }) => ({ allowed: isAllowed(decision, level), decision, revision, question: null }),
    (error: unknown) => {
      throw withCallerPath(error, pathsOf(call.naming.fields));
    },
  );
}

function peekFacts(engine: PermissionEngine, question: Question, key: QuestionKey, call: Call): Decision | null {
  try {
    return engine.peekFacts(question, key);
  } catch (error) {
    throw withCallerPath(error, pathsOf(call.naming.fields));
  }
}

function bulkCheck(engine: PermissionEngine, request: BulkCheckFields, call: Call): MaybePromise<BulkCheckAnswer> {
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
    throw withCallerPath(error, { resourceType: call.naming.fields.resourceType, permission });
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

function effective(engine: PermissionEngine, request: SubjectFields, call: Call): MaybePromise<EffectiveAnswer> {
  const subject = readSubject(request, call.naming.fields);
  const minRevision = readRevision(request.minRevision);
  const rejected = (error: unknown): never => {
    throw withCallerPath(error, pathsOf(call.naming.fields));
  };
  if (subject === null) {
    const nothing = (revision: string) => ({ items: [], revision });
    return engine.isReached(minRevision) ? nothing(engine.revision) : reached(engine, minRevision).then(nothing);
  }
  try {
    const items = engine.isReached(minRevision) ? engine.peekEffective(subject) : null;
    if (items !== null) return { items, revision: engine.revision };
  } catch (error) {
    rejected(error);
  }
  return engine.effective(subject, optionsOf(minRevision, call)).catch(rejected);
}

function tellOfCheck(log: DecisionLog, request: CheckFields, answer: CheckAnswer): void {
  if (!log.wants(answer.decision.source, answer.allowed)) return;
  log.decided('Check', request, { ...answer, permission: request.permission, level: request.accessLevel as Level });
}

function tellOfBulk(log: DecisionLog, request: BulkCheckFields, answer: BulkCheckAnswer): void {
  const { permissions, decisions, level, revision } = answer;
  decisions.forEach((decision, index) => {
    const permission = permissions[index] as string;
    const allowed = isAllowed(decision, level);
    if (!log.wants(decision.source, allowed)) return;
    log.decided('BulkCheck', request, { permission, level, decision, allowed, revision });
  });
}

function tellOfEffective(log: DecisionLog, request: SubjectFields, { items, revision }: EffectiveAnswer): void {
  log.listed('Effective', request, items, revision);
}

type Methods = typeof PermissionService.method;
/** The names of the methods that answer once, in generated code. */
type UnaryName = { [K in keyof Methods]: Methods[K]['methodKind'] extends 'unary' ? K : never }[keyof Methods];
type RequestOf<K extends UnaryName> = Fields<MessageShape<Methods[K]['input']>>;

/** Every unary RPC of the service, by its name in generated code. */
export const RPCS = {
  check: {
    about: ofOne,
    ask: logged(check, tellOfCheck),
    toMessage: ({ allowed, decision, revision }: CheckAnswer) => ({ ...decided(decision, allowed), revision }),
  },
  bulkCheck: {
    about: ofOne,
    ask: logged(bulkCheck, tellOfBulk),
    toMessage: ({ permissions, decisions, level, revision }: BulkCheckAnswer) => ({
      results: decisions.map((decision, index) => {
        return { permission: permissions[index] as string, ...decided(decision, isAllowed(decision, level)) };
      }),
      revision,
    }),
  },
  effective: {
    about: ofOne,
    ask: logged(effective, tellOfEffective),
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
  batchCheck,
  explain,
  listSubjects,
  listResources,
  // biome-ignore lint/suspicious/noExplicitAny: what an answer is stays between `ask` and `toMessage` of one RPC
} satisfies { [K in UnaryName]: Rpc<RequestOf<K>, any, Methods[K]['output']> };

/** The methods with a single answer: gRPC and Connect serve them through `answersOf`. */
export const UNARY = PermissionService.methods.filter(({ methodKind }) => methodKind === 'unary');

/** The applications that a message of a method is about, by the method's name in generated code. */
export const ABOUT = Object.fromEntries([
  ...Object.entries(RPCS).map(([name, { about }]) => [name, about]),
  ['watch', ({ apps }: { readonly apps: readonly string[] }) => apps],
]) as Readonly<Record<UnaryName | 'watch', (request: never) => readonly string[]>>;

/** An RPC as a generic transport calls it: a request message in, a response message out. */
export type Answer = (request: never, call: Call) => MaybePromise<Record<string, unknown>>;

/** The answering functions of all RPCs, by their names in generated code. */
export function answersOf(engine: PermissionEngine): Record<UnaryName, Answer> {
  const answers = Object.entries(RPCS).map(([name, rpc]) => {
    const { ask, toMessage } = rpc as Rpc<unknown, unknown, DescMessage>;
    const answer = (request: unknown, call: Call) => {
      const answered = ask(engine, request, call);
      return answered instanceof Promise ? answered.then(toMessage) : toMessage(answered);
    };
    return [name, answer];
  });
  return Object.fromEntries(answers) as Record<UnaryName, Answer>;
}
