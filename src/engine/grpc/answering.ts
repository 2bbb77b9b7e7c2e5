/** The three methods: a request's bytes in, an answer's bytes out. Every rule about questions is the engine's. */

import { answerBulk, type BulkAnswer, peekBulk, reached, readPermissions } from '../bulk.ts';
import { questionKey } from '../decisions.ts';
import type { Engine } from '../engine.ts';
import { DENIED } from '../evaluate.ts';
import { isAllowed, PROTO_FIELDS, parseRevision, readQuestion, readSubject } from '../question.ts';
import { ANY_REVISION, type Decision, type Mark, type Question } from '../types.ts';
import type { AskedCheck } from './asked.ts';
import type { Handle } from './bridge.ts';
import { readBulk, readCheck, readEffective } from './codec.ts';
import { CheckAnswers, writeBulk, writeEffective } from './codec-answers.ts';
import { memoText, type RequestMemo } from './memo.ts';
import type { MethodName } from './metrics.ts';

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

  return {
    Check: (request) => {
      const text = memoText(request);
      const remembered = memo.get(text);
      if (remembered !== undefined) {
        const decision = engine.recall(remembered.key);
        if (decision !== null) return answers.get(isAllowed(decision, remembered.level), decision, engine.revision);
      }
      const asked = readCheck(request, text);
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
    },

    BulkCheck: (request) => {
      const asked = readBulk(request);
      const subject = readSubject(asked, PROTO_FIELDS);
      const codes = readPermissions(asked.permissions, (index) => `permissions[${index}]`);
      const minRevision = readMinRevision(asked.minRevision);
      const write = ({ decisions, revision }: BulkAnswer): Buffer =>
        writeBulk(codes.all, decisions, asked.level, revision);
      const answer = peekBulk(engine, subject, codes, minRevision);
      if (answer !== null) return write(answer);
      return async () => write(await answerBulk(engine, subject, codes, { minRevision }));
    },

    Effective: (request) => {
      const asked = readEffective(request);
      const subject = readSubject(asked, PROTO_FIELDS);
      const minRevision = readMinRevision(asked.minRevision);
      return async () => {
        if (subject === null) return writeEffective([], await reached(engine, minRevision));
        const { items, revision } = await engine.effective(subject, { minRevision });
        return writeEffective(items, revision);
      };
    },
  };
}

function readMinRevision(text: string): Mark {
  return text === '' ? ANY_REVISION : parseRevision(text);
}
