/** Bulk questions, the same for every transport: malformed codes are denied beside the engine's decisions on the others. */

import type { AskOptions, Engine } from './engine.ts';
import { DENIED } from './evaluate.ts';
import { readPermission } from './question.ts';
import { ANY_REVISION, type Decision, type RevisionToken, type Subject } from './types.ts';

/** Each code once, in the order of first mention. */
export interface BulkCodes {
  readonly all: readonly string[];
  /** Those of `all` that are well-formed, in the same order; the others are denied without a look at the data. */
  readonly known: readonly string[];
}

/** A decision for each of `BulkCodes.all`, in their order; all of one revision. */
export interface BulkAnswer {
  readonly decisions: readonly Decision[];
  readonly revision: string;
}

/**
 * The codes of one question; a repeated code counts once. Throws 400 as `readPermission` does.
 *
 * @param pathOf the transport's path for the code at that index of `codes`
 */
export function readPermissions(codes: Iterable<string>, pathOf: (index: number) => string): BulkCodes {
  const all = new Set<string>();
  const known: string[] = [];
  let index = 0;
  for (const code of codes) {
    if (!all.has(code)) {
      all.add(code);
      if (readPermission(code, pathOf(index)) !== null) known.push(code);
    }
    index++;
  }
  return { all: [...all], known };
}

/** The answer if it can be given without waiting; else null. A null subject was malformed. */
export function peekBulk(
  engine: Pick<Engine, 'revision' | 'isReached' | 'peekBulk'>,
  subject: Subject | null,
  codes: BulkCodes,
  minRevision: RevisionToken = ANY_REVISION,
): BulkAnswer | null {
  if (!engine.isReached(minRevision)) return null;
  const decisions = subject === null || codes.known.length === 0 ? [] : engine.peekBulk(subject, codes.known);
  return decisions === null ? null : { decisions: withDenied(subject, codes, decisions), revision: engine.revision };
}

/** The same, waiting for missing facts. */
export async function answerBulk(
  engine: Pick<Engine, 'revision' | 'isReached' | 'peekBulk' | 'bulk' | 'reach'>,
  subject: Subject | null,
  codes: BulkCodes,
  options: AskOptions,
): Promise<BulkAnswer> {
  const answer = peekBulk(engine, subject, codes, options.minRevision);
  if (answer !== null) return answer;
  if (subject === null || codes.known.length === 0) {
    const revision = await reached(engine, options.minRevision);
    return { decisions: withDenied(subject, codes, []), revision };
  }
  const { decisions, revision } = await engine.bulk(subject, codes.known, options);
  return { decisions: withDenied(subject, codes, decisions), revision };
}

/** The revision of a denial that needed no data: never older than requested. */
export async function reached(
  engine: Pick<Engine, 'revision' | 'isReached' | 'reach'>,
  minRevision: RevisionToken = ANY_REVISION,
): Promise<string> {
  if (!engine.isReached(minRevision)) await engine.reach(minRevision);
  return engine.revision;
}

function withDenied(
  subject: Subject | null,
  { all, known }: BulkCodes,
  decisions: readonly Decision[],
): readonly Decision[] {
  if (subject === null) return all.map(() => DENIED);
  // A missing decision would be a defect of the engine; throwing keeps one permission's answer from passing as another's.
  if (decisions.length !== known.length) throw new Error('decisions do not match the permissions');
  if (known.length === all.length) return decisions;
  let next = 0;
  return all.map((code) => (code === known[next] ? (decisions[next++] as Decision) : DENIED));
}
