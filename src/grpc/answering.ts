/**
 * The methods of the service as this listener serves them: a request's bytes in, an answer's bytes out. Check and BulkCheck
 * are read and written by hand (docs/adr/0003), everything else by generated code; what is answered, rpc/methods.ts says.
 */

import { create, type DescMethod, toBinary } from '@bufbuild/protobuf';
import { isAllowed } from '../engine/question.ts';
import type { Level } from '../engine/types.ts';
import {
  type Asked,
  answersOf,
  type BulkCheckAnswer,
  type Call,
  type CheckAnswer,
  type CheckFields,
  RPCS,
  UNARY,
} from '../rpc/methods.ts';
import { PROTO } from '../rpc/naming.ts';
import { decodeStrictly } from '../rpc/strict.ts';
import type { Handle } from './bridge.ts';
import { readBulk, readCheck } from './codec/read.ts';
import { CheckAnswers, writeBulk } from './codec/write.ts';
import { memoText, type RequestMemo } from './request-cache.ts';

/** No signal: one for each call would cost more than the statement that it waits for, and what it loads serves others. */
const CALL: Call = { naming: PROTO };

/** A handle for each unary method, by its name on the wire. `memo` may forget, but must not mistake one request for another. */
export function createHandles(engine: Asked, memo: Pick<RequestMemo, 'get' | 'put'>): ReadonlyMap<string, Handle> {
  const answers = answersOf(engine);
  const byHand: Record<string, Handle> = { Check: checkByHand(engine, memo), BulkCheck: bulkCheckByHand(engine) };
  return new Map(
    UNARY.map((method) => [
      method.name,
      byHand[method.name] ?? generated(method, answers[method.localName as keyof typeof answers]),
    ]),
  );
}

function checkByHand(engine: Asked, memo: Pick<RequestMemo, 'get' | 'put'>): Handle {
  const answers = new CheckAnswers();
  const write = ({ allowed, decision, revision }: CheckAnswer) => answers.get(allowed, decision, revision);
  return (request) => {
    const text = memoText(request);
    const remembered = memo.get(text);
    if (remembered !== undefined) {
      const decision = engine.recall(remembered.key);
      if (decision !== null) return answers.get(isAllowed(decision, remembered.level), decision, engine.revision);
    }
    const asked: CheckFields = readCheck(request, text);
    const answer = RPCS.check.ask(engine, asked, CALL);
    if (answer instanceof Promise) return answer.then(write);
    // A cached answer is found by the request's bytes the next time.
    if (answer.cachedKey !== null) memo.put(text, { key: answer.cachedKey, level: asked.accessLevel as Level });
    return write(answer);
  };
}

function bulkCheckByHand(engine: Asked): Handle {
  const write = ({ permissions, decisions, level, revision }: BulkCheckAnswer) =>
    writeBulk(permissions, decisions, level, revision);
  return (request) => {
    const answer = RPCS.bulkCheck.ask(engine, readBulk(request), CALL);
    return answer instanceof Promise ? answer.then(write) : write(answer);
  };
}

/** Any other method, by generated code. */
function generated({ input, output }: DescMethod, answer: ReturnType<typeof answersOf>['check']): Handle {
  const write = (message: Record<string, unknown>) => Buffer.from(toBinary(output, create(output, message)));
  return (request) => {
    const answered = answer(decodeStrictly(input, request) as never, CALL);
    return answered instanceof Promise ? answered.then(write) : write(answered);
  };
}
