/** The three questions as the REST surfaces ask them: internal and user-scoped differ only in who names the user. */

import { answerBulk, reached, readPermissions } from '../../engine/bulk.ts';
import {
  isAllowed,
  parseRevision,
  type RawQuestion,
  REST_FIELDS,
  readQuestion,
  readSubject,
} from '../../engine/question.ts';
import type { Decision, EffectiveItem, Level, Mark } from '../../engine/types.ts';
import { atDoor } from '../../engine/unknown-codes.ts';
import { type Answer, answer } from '../route/route.ts';
import type { Services } from '../services.ts';

type Engine = Services['engine'];
type RawSubject = Omit<RawQuestion, 'permission'>;

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
  engine: Engine,
  raw: RawQuestion,
  asked: Level,
  asking: Asking,
): Answer<{ allowed: boolean }> | Promise<Answer<{ allowed: boolean }>> {
  const minRevision = askedRevision(asking);
  const question = readQuestion(raw);
  if (question === null)
    return reached(engine, minRevision).then((revision) => answer({ allowed: false }, { revision }));
  if (minRevision === undefined || engine.isReached(minRevision)) {
    const decision = engine.peek(question);
    if (decision !== null) return answer({ allowed: isAllowed(decision, asked) }, { revision: engine.revision });
  }
  return engine
    .check(question, options(minRevision, asking))
    .then(({ decision, revision }) => answer({ allowed: isAllowed(decision, asked) }, { revision }));
}

/** A decision for each distinct code, of one revision, on an object without a prototype: codes may be `constructor`. */
export async function askBulk(
  engine: Engine,
  raw: RawSubject,
  permissions: readonly string[],
  asked: Level,
  asking: Asking,
): Promise<Answer<Record<string, boolean>>> {
  const minRevision = askedRevision(asking);
  const subject = readSubject(raw);
  const codes = readPermissions(permissions, (index) => `permissions.${index}`);
  const { decisions, revision } = await answerBulk(engine, subject, codes, options(minRevision, asking)).catch(
    (error: unknown) => {
      const permission = (code: string) => `permissions.${permissions.indexOf(code)}`;
      throw atDoor(error, { resourceType: REST_FIELDS.resourceType, permission });
    },
  );
  const allowed: Record<string, boolean> = Object.create(null);
  codes.all.forEach((code, index) => {
    allowed[code] = isAllowed(decisions[index] as Decision, asked);
  });
  return answer(allowed, { revision });
}

/** Everything that the application defines and what the user holds of it; nothing for an unknown application. */
export async function askEffective<T>(
  engine: Engine,
  raw: RawSubject,
  view: (item: EffectiveItem) => T,
  asking: Asking,
): Promise<Answer<T[]>> {
  const minRevision = askedRevision(asking);
  const subject = readSubject(raw);
  if (subject === null) return answer([], { revision: await reached(engine, minRevision) });
  const { items, revision } = await engine.effective(subject, options(minRevision, asking));
  return answer(items.map(view), { revision });
}

/** What `usher-min-revision` asks for. Throws UNKNOWN_REVISION for what is no revision of ours. */
function askedRevision(asking: Asking): Mark | undefined {
  const header = asking.header('usher-min-revision');
  return header === undefined ? undefined : parseRevision(header);
}

function options(minRevision: Mark | undefined, { signal }: Asking): { signal: AbortSignal; minRevision?: Mark } {
  return minRevision === undefined ? { signal } : { signal, minRevision };
}
