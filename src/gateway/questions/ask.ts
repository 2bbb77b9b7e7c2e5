/** The RPCs as the REST surfaces call them: internal and user-scoped differ only in who names the person. */

import { isAllowed, unknownRevision } from '../../engine/question.ts';
import type { Decision, EffectiveItem } from '../../engine/types.ts';
import { type Asked, type BulkCheckFields, type CheckAnswer, type CheckFields, RPCS } from '../../rpc/methods.ts';
import { REST } from '../../rpc/naming.ts';
import { type Answer, answer } from '../route/route.ts';

/** A request of an RPC but for what stands in a header. */
type Body<Q> = Omit<Q, 'minRevision'>;

/**
 * What a question needs of its request beside the body: how fresh the answer must be, and until when the caller waits.
 * A handler's input as it is; an object with a getter made for each check costs half of the whole in garbage collection.
 */
export interface Asking {
  header(name: 'usher-min-revision'): string | undefined;
  readonly signal: AbortSignal;
}

/** One decision. Answered in the same turn when the engine holds all it needs. */
export function askCheck(
  engine: Asked,
  body: Body<CheckFields>,
  asking: Asking,
): Answer<{ allowed: boolean }> | Promise<Answer<{ allowed: boolean }>> {
  const answered = RPCS.check.ask(engine, withRevision(body, asking), callOf(asking));
  return answered instanceof Promise ? answered.then(allowedOf) : allowedOf(answered);
}

/** A decision for each distinct code, of one revision, on an object without a prototype: codes may be `constructor`. */
export async function askBulk(
  engine: Asked,
  body: Body<BulkCheckFields>,
  asking: Asking,
): Promise<Answer<Record<string, boolean>>> {
  const answered = await RPCS.bulkCheck.ask(engine, withRevision(body, asking), callOf(asking));
  const allowed: Record<string, boolean> = Object.create(null);
  answered.permissions.forEach((code, index) => {
    allowed[code] = isAllowed(answered.decisions[index] as Decision, answered.level);
  });
  return answer(allowed, { revision: answered.revision });
}

/** Everything that the application defines and what the person holds of it; nothing for an unknown application. */
export async function askEffective<T>(
  engine: Asked,
  body: Omit<CheckFields, 'permission' | 'accessLevel' | 'minRevision'>,
  view: (item: EffectiveItem) => T,
  asking: Asking,
): Promise<Answer<T[]>> {
  const { items, revision } = await RPCS.effective.ask(engine, withRevision(body, asking), callOf(asking));
  return answer(items.map(view), { revision });
}

function allowedOf({ allowed, revision }: CheckAnswer): Answer<{ allowed: boolean }> {
  return answer({ allowed }, { revision });
}

/** Throws UNKNOWN_REVISION for an empty header: in a message '' is absent, a header that is sent asks for something. */
function withRevision<Q>(body: Q, asking: Asking): Q & { minRevision: string } {
  const minRevision = asking.header('usher-min-revision');
  if (minRevision === '') throw unknownRevision();
  return { ...body, minRevision: minRevision ?? '' };
}

function callOf({ signal }: Asking) {
  return { naming: REST, signal };
}
