/** BatchCheck without waiting: checks that were asked before are found by their bytes, as requests of Check are (request-cache.ts). */

import { type KeptQuestion, keepQuestion } from '../engine/grounds.ts';
import { parseRevision, readQuestion } from '../engine/question.ts';
import type { Level, Question } from '../engine/types.ts';
import { atItem, type BatchCheckAnswer } from '../rpc/batch-check.ts';
import type { Call, PermissionEngine } from '../rpc/call.ts';
import { readPart, splitBatch } from './codec/read.ts';
import { type CheckCache, type ParsedCheck, textBetween } from './request-cache.ts';

/**
 * The answer; null where facts must be loaded, and for every unusual request: then RPCS.batchCheck reads all of it and names what
 * is wrong. Throws UNKNOWN_CODE.
 */
export function recallBatch(
  engine: PermissionEngine,
  cache: Pick<CheckCache, 'get' | 'put'>,
  request: Buffer,
  call: Call,
): BatchCheckAnswer | null {
  const split = splitBatch(request);
  if (split === null || split.bounds.length === 0 || !isReached(engine, split.minRevision)) return null;
  const { bounds } = split;
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
  try {
    const decisions = engine.peekBatch(questions);
    return decisions === null ? null : { decisions, levels, revision: engine.revision };
  } catch (error) {
    throw atItem(
      error,
      questions.map(({ question }) => question),
      call,
    );
  }
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
  const check = { kept: keepQuestion(question), level: fields.accessLevel as Level };
  cache.put(text, check);
  return check;
}

/** False also for a malformed revision, which RPCS.batchCheck refuses. */
function isReached(engine: PermissionEngine, minRevision: string): boolean {
  if (minRevision === '') return true;
  try {
    return engine.isReached(parseRevision(minRevision));
  } catch {
    return false;
  }
}
