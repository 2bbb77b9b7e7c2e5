/**
 * The methods of the service as this listener serves them: a request's bytes in, an answer's bytes out. Check, BulkCheck,
 * BatchCheck and Effective are read and written by hand (docs/adr/0003), everything else by generated code; rpc/methods.ts has the answers.
 */

import { create, type DescMessage, type DescMethod, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type KeptQuestion, keepQuestion } from '../engine/grounds.ts';
import { isAllowed } from '../engine/question.ts';
import type { Decision, Level } from '../engine/types.ts';
import type { Watch, WatchBatch } from '../engine/watch.ts';
import { WatchRequestSchema, WatchResponseSchema } from '../gen/usher/permission/v1/permission_pb.ts';
import { answerBatch, type BatchCheckAnswer, tellOfBatch } from '../rpc/batch-check.ts';
import type { Call, CheckFields, MaybePromise, PermissionEngine } from '../rpc/call.ts';
import type { DecisionLog } from '../rpc/decision-log.ts';
import {
  answersOf,
  type BulkCheckAnswer,
  type CheckAnswer,
  type EffectiveAnswer,
  RPCS,
  UNARY,
} from '../rpc/methods.ts';
import { PROTO } from '../rpc/naming.ts';
import { decodeStrictly } from '../rpc/strict.ts';
import { openWatch, toWatchResponse } from '../rpc/watch.ts';
import type { Handle } from './bridge.ts';
import { readBatch, readBulk, readCheck, readEffective } from './codec/read.ts';
import { CheckAnswers, writeBatch, writeBulk, writeEffective } from './codec/write.ts';
import { type KeptBatch, readKeptBatch } from './kept-batch.ts';
import { type CheckCache, type ParsedCheck, requestText } from './request-cache.ts';
import type { OpenStream } from './streaming.ts';
import { checkSize, MAX_MESSAGE } from './waiting.ts';

/** No signal: one per call would cost more than the statement it waits for, and the loaded data serves others. */
const CALL: Call = { naming: PROTO };

/** May forget, but must not confuse two messages. */
type Known = Pick<CheckCache, 'get' | 'put'>;

/** A handler for each unary method, by its name on the wire. */
export function createHandles(engine: PermissionEngine, known: Known): ReadonlyMap<string, Handle> {
  const answers = answersOf(engine);
  const byHand: Record<string, Handle> = {
    Check: checkByHand(engine, known),
    BulkCheck: bulkCheckByHand(engine),
    BatchCheck: batchCheckByHand(engine, known),
    Effective: effectiveByHand(engine),
  };
  return new Map(
    UNARY.map((method) => [
      method.name,
      byHand[method.name] ?? generated(method, answers[method.localName as keyof typeof answers]),
    ]),
  );
}

/** Watch. Streams of all applications get the same messages: each is encoded once. */
export function watchHandle(watch: Watch): OpenStream {
  const known = new WeakMap<WatchBatch, Buffer>();
  const encode = (batch: WatchBatch): Buffer => {
    const bytes = known.get(batch) ?? encoded(WatchResponseSchema, toWatchResponse(batch));
    known.set(batch, bytes);
    return bytes;
  };
  return (request, admission) => {
    const stream = openWatch(watch, decodeStrictly(WatchRequestSchema, request), PROTO, admission);
    return {
      ended: stream.ended,
      end: () => stream.end(),
      async *[Symbol.asyncIterator]() {
        for await (const batch of stream) yield encode(batch);
      },
    };
  };
}

function checkByHand(engine: PermissionEngine, known: Known): Handle {
  const answers = new CheckAnswers();
  const { decisionLog } = engine;
  const write = ({ allowed, decision, revision }: CheckAnswer) => answers.get(allowed, decision, revision);
  return (request) => {
    const text = requestText(request);
    const check = known.get(text);
    if (check !== undefined) {
      const decision = engine.peekKept(check.kept);
      if (decision !== null) {
        const allowed = isAllowed(decision, check.level);
        if (decisionLog?.wants(decision.source, allowed)) {
          tellOfKept(decisionLog, check, { decision, allowed, revision: engine.revision });
        }
        return answers.get(allowed, decision, engine.revision);
      }
    }
    const fields: CheckFields = readCheck(request, text);
    const answer = RPCS.check.ask(engine, fields, CALL);
    if (answer instanceof Promise) return answer.then(write);
    // The next request with the same bytes finds the question by them.
    if (answer.question !== null)
      known.put(text, { kept: keepQuestion(answer.question), level: fields.accessLevel as Level, used: true });
    return write(answer);
  };
}

function tellOfKept(
  log: DecisionLog,
  { kept, level }: ParsedCheck,
  answer: { decision: Decision; allowed: boolean; revision: string },
): void {
  log.decided('Check', kept.question, { ...answer, permission: kept.question.permission, level });
}

function bulkCheckByHand(engine: PermissionEngine): Handle {
  const write = ({ permissions, decisions, level, revision }: BulkCheckAnswer) =>
    writeBulk(permissions, decisions, level, revision);
  return (request) => {
    const answer = RPCS.bulkCheck.ask(engine, readBulk(request), CALL);
    return answer instanceof Promise ? answer.then(write) : write(answer);
  };
}

function batchCheckByHand(engine: PermissionEngine, known: Known): Handle {
  const write = ({ decisions, levels, revision }: BatchCheckAnswer) => writeBatch(decisions, levels, revision);
  return (request) => {
    const read = readKeptBatch(known, request);
    const answer = read === null ? RPCS.batchCheck.ask(engine, readBatch(request), CALL) : askKept(engine, read);
    return answer instanceof Promise ? answer.then(write) : write(answer);
  };
}

function askKept(engine: PermissionEngine, read: KeptBatch): MaybePromise<BatchCheckAnswer> {
  const answered = answerBatch(engine, read, CALL);
  const { decisionLog } = engine;
  if (decisionLog === undefined) return answered;
  const told = (answer: BatchCheckAnswer): BatchCheckAnswer => {
    tellOfBatch(decisionLog, (index) => (read.questions[index] as KeptQuestion).question, answer);
    return answer;
  };
  return answered instanceof Promise ? answered.then(told) : told(answered);
}

function effectiveByHand(engine: PermissionEngine): Handle {
  const write = ({ items, revision }: EffectiveAnswer) => {
    const answer = writeEffective(items, revision);
    checkSize(answer, MAX_MESSAGE);
    return answer;
  };
  return (request) => {
    const answer = RPCS.effective.ask(engine, readEffective(request), CALL);
    return answer instanceof Promise ? answer.then(write) : write(answer);
  };
}

/** Any other method, by generated code. */
function generated({ input, output }: DescMethod, answer: ReturnType<typeof answersOf>['check']): Handle {
  const write = (message: Record<string, unknown>) => encoded(output, message);
  return (request) => {
    const answered = answer(decodeStrictly(input, request) as never, CALL);
    return answered instanceof Promise ? answered.then(write) : write(answered);
  };
}

function encoded<D extends DescMessage>(schema: D, message: MessageInitShape<D>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, message)));
}
