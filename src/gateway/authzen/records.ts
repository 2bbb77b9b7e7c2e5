/**
 * The record that a resource of AuthZEN names (docs/reference/authzen.md#without-a-record). The type `application` is a sign where the
 * application has no entity of that name, and a type as any other where it has one: what it means is decided at the revision of the
 * answer, or a record with an override that denies would be answered without it.
 */

import { unavailable } from '../../base/errors.ts';
import { isSlug } from '../../base/grammar.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Policy } from '../../engine/policy.ts';
import { parseRevision } from '../../engine/question.ts';
import type { MaybePromise } from '../../rpc/call.ts';
import type { Asking } from '../questions/ask.ts';

/** Names no record. No catalog can hold it: it is not a code. */
export const NO_RECORD = 'usher:application';
/** Means the same where the application has no entity of that name. */
const APPLICATION = 'application';

/** Policies that may replace one another while a question is asked. */
const ATTEMPTS = 5;

type Catalogs = Pick<Engine, 'policy' | 'peekPolicy'>;

interface Resource {
  readonly type: string;
  readonly id: string;
}

/** The fields of a question about a resource. `hasEntity` says whether the application has an entity `application`. */
export function recordOf(
  { type, id }: Resource,
  app: string,
  hasEntity: boolean,
): { resourceType: string; resourceId: string } {
  const isNone = id === app && (type === NO_RECORD || (type === APPLICATION && !hasEntity));
  return isNone ? { resourceType: '', resourceId: '' } : { resourceType: type, resourceId: id };
}

/**
 * Asks about resources. Where the catalog of the application decides what one of them means, the answer is of a revision at which it
 * has, or has not, the entity that `ask` was told of. Synchronous when the policy is cached and `ask` is.
 */
export function askAbout<A extends { readonly revision: string }>(
  engine: Catalogs,
  app: string,
  resources: readonly Resource[],
  asking: Asking,
  ask: (hasEntity: boolean) => MaybePromise<A>,
): MaybePromise<A> {
  const isAmbiguous = resources.some(({ type, id }) => type === APPLICATION && id === app);
  // A code that no application can have is denied, without a look at the database.
  if (!isAmbiguous || !isSlug(app)) return ask(false);
  const policy = engine.peekPolicy(app);
  if (policy === null) return settle(engine, app, asking, ask);
  const answered = ask(hasEntity(policy));
  // In one turn of the event loop: of one revision.
  if (!(answered instanceof Promise)) return answered;
  return answered.then((answer) => settle(engine, app, asking, ask, { answer, policy }));
}

/** Asks until the policy is the same before and after, or the answer is of the revision at which the policy was looked at. */
async function settle<A extends { readonly revision: string }>(
  engine: Catalogs,
  app: string,
  { signal }: Asking,
  ask: (hasEntity: boolean) => MaybePromise<A>,
  asked?: { answer: A; policy: Policy },
): Promise<A> {
  let last = asked;
  let before = await engine.policy(app, { signal });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (last === undefined || last.policy !== before.policy) {
      last = { answer: await ask(hasEntity(before.policy)), policy: before.policy };
    }
    const { answer } = last;
    if (answer.revision === before.revision) return answer;
    const after = await engine.policy(app, { signal, minRevision: parseRevision(answer.revision) });
    if (after.policy === last.policy) return answer;
    before = after;
  }
  throw unavailable('The data changes faster than it can be read; try again shortly.');
}

function hasEntity({ resourceTypes }: Policy): boolean {
  return resourceTypes?.has(APPLICATION) === true;
}
