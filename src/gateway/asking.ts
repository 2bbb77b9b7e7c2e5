/** The three questions as the REST surfaces ask them: internal and user-scoped differ only in who names the user. */

import type { EffectiveItem } from '../engine/engine.ts';
import { isAllowed, type RawQuestion, readPermission, readQuestion, readSubject } from '../engine/question.ts';
import type { Level, Revision } from '../engine/types.ts';
import { type Answer, answer } from './route.ts';
import type { Services } from './services.ts';

type Engine = Services['engine'];
type RawSubject = Omit<RawQuestion, 'permission'>;

/** How fresh the answer must be, and until when the caller waits. `signal` is a getter: most checks never make one. */
export interface Terms {
  readonly minRevision: Revision | undefined;
  readonly signal: AbortSignal;
}

/** One decision. Answered in the same turn when the engine holds all it needs. */
export function askCheck(
  engine: Engine,
  raw: RawQuestion,
  asked: Level,
  terms: Terms,
): Answer<{ allowed: boolean }> | Promise<Answer<{ allowed: boolean }>> {
  const question = readQuestion(raw);
  if (question === null) return answer({ allowed: false }, { revision: engine.revision });
  if (terms.minRevision === undefined || terms.minRevision <= engine.revision) {
    const decision = engine.peek(question);
    if (decision !== null) return answer({ allowed: isAllowed(decision, asked) }, { revision: engine.revision });
  }
  return engine
    .check(question, options(terms))
    .then(({ decision, revision }) => answer({ allowed: isAllowed(decision, asked) }, { revision }));
}

/** A decision for each distinct code, of one revision, on an object without a prototype: codes may be `constructor`. */
export async function askBulk(
  engine: Engine,
  raw: RawSubject,
  permissions: readonly string[],
  asked: Level,
  terms: Terms,
): Promise<Answer<Record<string, boolean>>> {
  const subject = readSubject(raw);
  const allowed: Record<string, boolean> = Object.create(null);
  const asking: string[] = [];
  permissions.forEach((permission, index) => {
    if (Object.hasOwn(allowed, permission)) return;
    allowed[permission] = false;
    if (readPermission(permission, `permissions.${index}`) !== null) asking.push(permission);
  });
  if (subject === null || asking.length === 0) return answer(allowed, { revision: engine.revision });
  const { decisions, revision } = await engine.bulk(subject, asking, options(terms));
  asking.forEach((permission, index) => {
    const decision = decisions[index];
    if (decision !== undefined) allowed[permission] = isAllowed(decision, asked);
  });
  return answer(allowed, { revision });
}

/** Everything that the application defines and what the user holds of it; nothing for an unknown application. */
export async function askEffective<T>(
  engine: Engine,
  raw: RawSubject,
  view: (item: EffectiveItem) => T,
  terms: Terms,
): Promise<Answer<T[]>> {
  const subject = readSubject(raw);
  if (subject === null) return answer([], { revision: engine.revision });
  const { items, revision } = await engine.effective(subject, options(terms));
  return answer(items.map(view), { revision });
}

function options(terms: Terms): { signal: AbortSignal; minRevision?: Revision } {
  const { minRevision, signal } = terms;
  return minRevision === undefined ? { signal } : { signal, minRevision };
}
