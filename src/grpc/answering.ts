/** The three methods: a request's bytes in, an answer's bytes out. Every rule about questions is the engine's. */

import { fromBinary } from '@bufbuild/protobuf';
import { answerBulk, type BulkAnswer, peekBulk, reached, readPermissions } from '../engine/bulk.ts';
import { questionKey } from '../engine/decisions.ts';
import type { Engine } from '../engine/engine.ts';
import { DENIED } from '../engine/evaluate.ts';
import { isAllowed, PROTO_FIELDS, parseRevision, readQuestion, readSubject } from '../engine/question.ts';
import { ANY_REVISION, type Decision, type Mark, type Question } from '../engine/types.ts';
import { atDoor, type CodePaths } from '../engine/unknown-codes.ts';
import { BulkCheckRequestSchema } from '../gen/usher/permission/v1/permission_pb.ts';
import type { AskedCheck } from './asked.ts';
import type { Handle, Work } from './bridge.ts';
import { readBulk, readCheck, readEffective } from './codec/read.ts';
import { CheckAnswers, writeBulk, writeEffective } from './codec/write.ts';
import type { MethodName } from './metrics.ts';
import { memoText, type RequestMemo } from './request-cache.ts';

/** What the door asks of the engine. */
export type Asked = Pick<
  Engine,
  'revision' | 'isReached' | 'recall' | 'peekFacts' | 'check' | 'peekBulk' | 'bulk' | 'effective' | 'reach'
>;

/** `memo` may forget, but must not mistake one request for another. */
export function createMethods(engine: Asked, memo: Pick<RequestMemo, 'get' | 'put'>): Record<MethodName, Handle> {
  const answers = new CheckAnswers();

  /** What can be answered in this turn. A cached answer is found by the request's bytes the next time. */
  function peek(question: Question, asked: AskedCheck, text: string): Decision | null {
    const key = questionKey(question);
    const cached = engine.recall(key);
    if (cached === null) return engine.peekFacts(question, key);
    // With a `minRevision` the answer depends on more than the cached decision.
    if (asked.minRevision === '') memo.put(text, { key, level: asked.level });
    return cached;
  }

  function check(asked: AskedCheck, text: string): Buffer | Work {
    const question = readQuestion(asked, PROTO_FIELDS);
    const minRevision = readMinRevision(asked.minRevision);
    if (engine.isReached(minRevision)) {
      const decision = question === null ? DENIED : peek(question, asked, text);
      if (decision !== null) return answers.get(isAllowed(decision, asked.level), decision, engine.revision);
    }
    return async () => {
      const { decision, revision } =
        question === null
          ? { decision: DENIED, revision: await reached(engine, minRevision) }
          : await engine.check(question, { minRevision });
      return answers.get(isAllowed(decision, asked.level), decision, revision);
    };
  }

  return {
    Check: (request) => {
      const text = memoText(request);
      const remembered = memo.get(text);
      if (remembered !== undefined) {
        const decision = engine.recall(remembered.key);
        if (decision !== null) return answers.get(isAllowed(decision, remembered.level), decision, engine.revision);
      }
      try {
        return later(check(readCheck(request, text), text), PATHS);
      } catch (error) {
        throw atDoor(error, PATHS);
      }
    },

    BulkCheck: (request) => {
      const asked = readBulk(request);
      const subject = readSubject(asked, PROTO_FIELDS);
      const codes = readPermissions(asked.permissions, (index) => `permissions[${index}]`);
      const minRevision = readMinRevision(asked.minRevision);
      const write = ({ decisions, revision }: BulkAnswer): Buffer =>
        writeBulk(codes.all, decisions, asked.level, revision);
      const paths: CodePaths = { ...PATHS, permission: (code: string) => `permissions[${indexOf(request, code)}]` };
      try {
        const answer = peekBulk(engine, subject, codes, minRevision);
        if (answer !== null) return write(answer);
      } catch (error) {
        throw atDoor(error, paths);
      }
      return later(async () => write(await answerBulk(engine, subject, codes, { minRevision })), paths);
    },

    Effective: (request) => {
      const asked = readEffective(request);
      const subject = readSubject(asked, PROTO_FIELDS);
      const minRevision = readMinRevision(asked.minRevision);
      return later(async () => {
        if (subject === null) return writeEffective([], await reached(engine, minRevision));
        const { items, revision } = await engine.effective(subject, { minRevision });
        return writeEffective(items, revision);
      }, PATHS);
    },
  };
}

const PATHS: CodePaths = { resourceType: PROTO_FIELDS.resourceType, permission: () => PROTO_FIELDS.permission };

/** An answer whose failure, if it comes later, names an unknown code as the protocol calls its field. */
function later(answer: Buffer | Work, paths: CodePaths): Buffer | Work {
  if (typeof answer !== 'function') return answer;
  return () =>
    answer().catch((error: unknown) => {
      throw atDoor(error, paths);
    });
}

/** Where the code stands in the list as it was sent, repetitions counted. */
function indexOf(request: Buffer, code: string): number {
  return fromBinary(BulkCheckRequestSchema, request).permissions.indexOf(code);
}

function readMinRevision(text: string): Mark {
  return text === '' ? ANY_REVISION : parseRevision(text);
}
