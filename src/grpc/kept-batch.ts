/** Checks of a BatchCheck that were asked before are found by their bytes, as requests of Check are (request-cache.ts). */

import { type KeptQuestion, keepQuestion } from '../engine/grounds.ts';
import { readQuestion } from '../engine/question.ts';
import type { Level, Question, RevisionToken } from '../engine/types.ts';
import type { BatchQuestions } from '../rpc/batch-check.ts';
import { readRevision } from '../rpc/call.ts';
import { readPart, splitBatch } from './codec/read.ts';
import { type CheckCache, type ParsedCheck, textBetween } from './request-cache.ts';

/** A batch whose questions were all found, or are kept from now on. */
export interface KeptBatch extends BatchQuestions {
  readonly questions: readonly KeptQuestion[];
}

/** Null for every unusual request: then RPCS.batchCheck reads all of it, and names what is wrong. */
export function readKeptBatch(cache: Pick<CheckCache, 'get' | 'put'>, request: Buffer): KeptBatch | null {
  const split = splitBatch(request);
  if (split === null || split.bounds.length === 0) return null;
  const { bounds } = split;
  const minRevision = revisionOf(split.minRevision);
  if (minRevision === null) return null;
  const whole = request.toString('latin1');
  const questions: KeptQuestion[] = [];
  const levels: Level[] = [];
  for (let i = 0; i < bounds.length; i += 2) {
    const start = bounds[i] as number;
    const end = bounds[i + 1] as number;
    const check = cache.get(whole.substring(start, end)) ?? parsed(cache, request, start, end);
    if (check === null) return null;
    questions.push(check.kept);
    levels.push(check.level);
  }
  return { questions, levels, minRevision };
}

/** Reads a check and keeps it. Null for one that RPCS.batchCheck must refuse, or deny without a question. */
function parsed(cache: Pick<CheckCache, 'put'>, request: Buffer, start: number, end: number): ParsedCheck | null {
  // Not a substring of the whole request, which it would keep in memory.
  const text = textBetween(request, start, end);
  const fields = readPart(request, start, end, text);
  if (fields === null || fields.minRevision !== '') return null;
  let question: Question | null;
  try {
    question = readQuestion(fields);
  } catch {
    return null;
  }
  if (question === null) return null;
  const check = { kept: keepQuestion(question), level: fields.accessLevel as Level, used: true };
  cache.put(text, check);
  return check;
}

/** Null for a malformed one. */
function revisionOf(text: string): RevisionToken | null {
  try {
    return readRevision(text);
  } catch {
    return null;
  }
}
