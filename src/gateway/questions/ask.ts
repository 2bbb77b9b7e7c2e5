/** Calls of the RPCs from REST: internal and user-scoped routes differ only in where the person comes from. */

import { certain } from '../../base/certain.ts';
import { isAllowed, unknownRevision } from '../../engine/question.ts';
import type { Decision, EffectiveItem } from '../../engine/types.ts';
import type { CheckFields, PermissionEngine } from '../../rpc/call.ts';
import type { ExplainAnswer } from '../../rpc/explain.ts';
import { type BulkCheckFields, type CheckAnswer, RPCS } from '../../rpc/methods.ts';
import { REST } from '../../rpc/naming.ts';
import { type Answer, answer } from '../route/route.ts';

/** An RPC request without the fields that REST takes from headers. */
type Body<Q> = Omit<Q, 'minRevision'>;

/**
 * The part of a request beside its body: how fresh the answer must be, and until when the caller waits.
 * The handler's input is passed as is: a new object with a getter for each check doubled the garbage collection.
 */
export interface Asking {
  header(name: 'usher-min-revision'): string | undefined;
  readonly signal: AbortSignal;
}

/** One decision. Synchronous when the facts are cached. */
export function askCheck(
  engine: PermissionEngine,
  body: Body<CheckFields>,
  asking: Asking,
): Answer<{ allowed: boolean }> | Promise<Answer<{ allowed: boolean }>> {
  const answered = RPCS.check.ask(engine, withRevision(body, asking), callOf(asking));
  return answered instanceof Promise ? answered.then(allowedOf) : allowedOf(answered);
}

/** A decision for each distinct code, at one revision, on an object without a prototype: a code may be `constructor`. */
export async function askBulk(
  engine: PermissionEngine,
  body: Body<BulkCheckFields>,
  asking: Asking,
): Promise<Answer<Record<string, boolean>>> {
  const answered = await RPCS.bulkCheck.ask(engine, withRevision(body, asking), callOf(asking));
  const allowed: Record<string, boolean> = Object.create(null);
  answered.permissions.forEach((code, index) => {
    allowed[code] = isAllowed(certain(answered.decisions[index]), answered.level);
  });
  return answer(allowed, { revision: answered.revision });
}

/** Every permission of the application with the level that the person holds; empty for an unknown application. */
export async function askEffective<T>(
  engine: PermissionEngine,
  body: Omit<CheckFields, 'permission' | 'accessLevel' | 'minRevision'>,
  view: (item: EffectiveItem) => T,
  asking: Asking,
): Promise<Answer<T[]>> {
  const { items, revision } = await RPCS.effective.ask(engine, withRevision(body, asking), callOf(asking));
  return answer(items.map(view), { revision });
}

/** A result for each check, in order, at one revision. */
export async function askBatch<T>(
  engine: PermissionEngine,
  checks: readonly Body<CheckFields>[],
  view: (decision: Decision, allowed: boolean) => T,
  asking: Asking,
): Promise<Answer<{ results: T[] }>> {
  const fields = withRevision({ checks: checks.map((check) => ({ ...check, minRevision: '' })) }, asking);
  const { decisions, levels, revision } = await RPCS.batchCheck.ask(engine, fields, callOf(asking));
  const results = decisions.map((decision, index) => view(decision, isAllowed(decision, certain(levels[index]))));
  return answer({ results }, { revision });
}

/** A decision and its explanation, read from the database. */
export async function askExplain<T>(
  engine: PermissionEngine,
  body: Body<CheckFields>,
  view: (explained: ExplainAnswer) => T,
  asking: Asking,
): Promise<Answer<T>> {
  const explained = await RPCS.explain.ask(engine, { check: withRevision(body, asking) }, callOf(asking));
  return answer(view(explained), { revision: explained.revision });
}

function allowedOf({ allowed, revision }: CheckAnswer): Answer<{ allowed: boolean }> {
  return answer({ allowed }, { revision });
}

/** Throws UNKNOWN_REVISION for an empty header: '' means absent in a message, but a header that is sent must name a revision. */
export function withRevision<Q>(body: Q, asking: Asking): Q & { minRevision: string } {
  const minRevision = asking.header('usher-min-revision');
  if (minRevision === '') throw unknownRevision();
  return { ...body, minRevision: minRevision ?? '' };
}

export function callOf({ signal }: Asking) {
  return { naming: REST, signal };
}
