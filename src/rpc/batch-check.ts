/** BatchCheck: questions about any users, applications and resources, at one revision (docs/reference/decisions.md#batch). */

import { validationFailed } from '../base/errors.ts';
import { LIMITS } from '../base/grammar.ts';
import type { BatchQuestion } from '../engine/batch.ts';
import { reached } from '../engine/bulk.ts';
import { DENIED } from '../engine/evaluate.ts';
import { type KeptQuestion, keepQuestion } from '../engine/grounds.ts';
import { fieldsIn, isAllowed, readQuestion } from '../engine/question.ts';
import type { Decision, Level, RevisionToken, Subject } from '../engine/types.ts';
import { UnknownCode, withCallerPath } from '../engine/unknown-codes.ts';
import type { BatchCheckResponseSchema } from '../gen/usher/permission/v1/permission_pb.ts';
import {
  type Call,
  type CheckFields,
  decided,
  isAskable,
  logged,
  type MaybePromise,
  optionsOf,
  type PermissionEngine,
  pathsOf,
  type Rpc,
  readLevel,
  readRevision,
} from './call.ts';
import type { DecisionLog } from './decision-log.ts';

export interface BatchCheckFields {
  /** Their own `minRevision` is ''. */
  checks: readonly CheckFields[];
  minRevision: string;
}

export interface BatchCheckAnswer {
  /** In the order of the questions. */
  readonly decisions: readonly Decision[];
  /** The minimum level of each question. */
  readonly levels: readonly Level[];
  readonly revision: string;
}

/** A batch that was read. */
export interface BatchQuestions {
  /** Null for a malformed one. */
  readonly questions: readonly (KeptQuestion | null)[];
  /** The minimum level of each question. */
  readonly levels: readonly Level[];
  readonly minRevision: RevisionToken;
}

function ask(
  engine: PermissionEngine,
  { checks, minRevision }: BatchCheckFields,
  call: Call,
): MaybePromise<BatchCheckAnswer> {
  if (checks.length < 1 || checks.length > LIMITS.batchChecks) {
    throw validationFailed([{ path: 'checks', message: `must hold 1 to ${LIMITS.batchChecks} questions` }]);
  }
  const levels: Level[] = [];
  const questions = checks.map((check, index) => {
    levels.push(readItemLevel(check, index, call));
    const question = readItem(check, index, call);
    return question === null ? null : keepQuestion(question);
  });
  return answerBatch(engine, { questions, levels, minRevision: readRevision(minRevision) }, call);
}

/** Answers without waiting where all facts are cached. */
export function answerBatch(
  engine: PermissionEngine,
  { questions, levels, minRevision }: BatchQuestions,
  call: Call,
): MaybePromise<BatchCheckAnswer> {
  const answered = (decisions: readonly Decision[], revision: string) => ({ decisions, levels, revision });
  if (questions.every((kept) => kept === null)) {
    const denied = questions.map(() => DENIED);
    return engine.isReached(minRevision)
      ? answered(denied, engine.revision)
      : reached(engine, minRevision).then((revision) => answered(denied, revision));
  }
  if (engine.isReached(minRevision)) {
    const decisions = peek(engine, questions, call);
    if (decisions !== null) return answered(decisions, engine.revision);
  }
  return engine.batch(questionsOf(questions), optionsOf(minRevision, call)).then(
    ({ decisions, revision }) => answered(decisions, revision),
    (error: unknown) => {
      throw atItem(error, questions, call);
    },
  );
}

function peek(engine: PermissionEngine, questions: BatchQuestions['questions'], call: Call): Decision[] | null {
  try {
    return engine.peekBatch(questions);
  } catch (error) {
    throw atItem(error, questions, call);
  }
}

function questionsOf(questions: BatchQuestions['questions']): BatchQuestion[] {
  return questions.map((kept) => (kept === null ? null : kept.question));
}

function readItemLevel({ accessLevel, minRevision }: CheckFields, index: number, { naming }: Call): Level {
  if (isAskable(accessLevel) && minRevision === '') return accessLevel;
  const item = naming.item('checks', index);
  if (minRevision === '') return readLevel(accessLevel, `${item}.access_level`);
  const message = 'must be empty: the min_revision of the request holds for every check';
  throw validationFailed([{ path: `${item}.min_revision`, message }]);
}

function readItem(check: CheckFields, index: number, { naming }: Call): BatchQuestion {
  try {
    return readQuestion(check, naming.fields);
  } catch {
    // Read again to name the fields by their place in the batch: making the names for each of a thousand checks is slow.
    return readQuestion(check, fieldsIn(naming.item('checks', index), naming.fields));
  }
}

/** The error with the path of the first question that names the unknown code. */
function atItem(error: unknown, questions: BatchQuestions['questions'], { naming }: Call): unknown {
  if (!(error instanceof UnknownCode)) return error;
  const named = error.kind === 'permission' ? 'permission' : 'resourceType';
  const index = questionsOf(questions).findIndex(
    (question) => question?.app === error.app && question[named] === error.unknown,
  );
  return withCallerPath(error, pathsOf(fieldsIn(naming.item('checks', index), naming.fields)));
}

/** `asked` is a question by its place. */
export function tellOfBatch(
  log: DecisionLog,
  asked: (index: number) => Subject & { readonly permission: string },
  { decisions, levels, revision }: BatchCheckAnswer,
): void {
  for (let index = 0; index < decisions.length; index++) {
    const decision = decisions[index] as Decision;
    const level = levels[index] as Level;
    const allowed = isAllowed(decision, level);
    if (!log.wants(decision.source, allowed)) continue;
    const check = asked(index);
    log.decided('BatchCheck', check, { permission: check.permission, level, decision, allowed, revision });
  }
}

function tell(log: DecisionLog, { checks }: BatchCheckFields, answer: BatchCheckAnswer): void {
  tellOfBatch(log, (index) => checks[index] as CheckFields, answer);
}

export const batchCheck: Rpc<BatchCheckFields, BatchCheckAnswer, typeof BatchCheckResponseSchema> = {
  about: ({ checks }) => checks.map(({ app }) => app),
  ask: logged(ask, tell),
  toMessage: ({ decisions, levels, revision }) => ({
    results: decisions.map((decision, index) => decided(decision, isAllowed(decision, levels[index] as Level))),
    revision,
  }),
};
