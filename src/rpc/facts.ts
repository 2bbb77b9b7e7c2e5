/** The questions for facts, and their answers (docs/reference/facts.md). */

import { create, type DescMessage, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { type Issue, UsherError, validationFailed } from '../base/errors.ts';
import { isResourceId, isSlug, LIMITS, normalizeEmail } from '../base/grammar.ts';
import type { FactServer } from '../engine/fact-server.ts';
import { MAX_NEEDS, type MemberAnswer, type MemberNeed } from '../engine/types.ts';
import type { Watch, WatchStream } from '../engine/watch.ts';
import {
  ChangesResponseSchema,
  FactsService,
  type FollowRequestSchema,
  MembersResponseSchema,
  type Need,
} from '../gen/usher/facts/v1/facts_pb.ts';
import type { Fields } from './call.ts';
import { exact, policyBytes, RULES_VERSION, toLog, toMembers } from './facts-messages.ts';

/** Bytes of an answer: the policy of an application with tens of thousands of permissions fits. */
export const MAX_FACTS = 64 * 1024 * 1024;
/** The most streams of an instance. */
const MAX_FOLLOWERS = 1000;

type Methods = typeof FactsService.method;
type UnaryName = { [K in keyof Methods]: Methods[K]['methodKind'] extends 'unary' ? K : never }[keyof Methods];
type RequestOf<K extends UnaryName> = Fields<MessageShape<Methods[K]['input']>>;

/** Every unary method, by its name in generated code, with its answer as bytes. Each throws, or rejects with, UsherError. */
export const FACTS: {
  readonly [K in UnaryName]: (server: FactServer, request: RequestOf<K>) => Promise<Uint8Array>;
} = {
  members: async (server, { rulesVersion, since, maxAgeMs, needs }) => {
    count(server, rulesVersion);
    const reply = await server.members(revision(since), readNeeds(needs), maxAgeMs);
    if (rulesVersion === WITHOUT_TIME && reply.answers.some(isTimed)) throw otherRules(rulesVersion);
    return bytesOf(MembersResponseSchema, toMembers(reply));
  },
  policy: async (server, { rulesVersion, since, maxAgeMs, app }) => {
    count(server, rulesVersion);
    if (!isSlug(app)) throw validationFailed([{ path: 'app', message: APP }]);
    return policyBytes(await server.policy(revision(since), app, maxAgeMs));
  },
  changes: async (server, { rulesVersion, since, fresh }) => {
    count(server, rulesVersion);
    return bytesOf(ChangesResponseSchema, { log: toLog(await server.changes(revision(since), fresh)) });
  },
};

function bytesOf<T extends DescMessage>(schema: T, answer: MessageInitShape<T>): Uint8Array {
  return toBinary(schema, create(schema, answer));
}

/** The methods with a single answer. */
export const FACTS_METHODS = FactsService.methods.filter(({ methodKind }) => methodKind === 'unary');

/** The answer to a request of a method, for transports that do not know which. */
export function answerFacts(server: FactServer, method: string, request: unknown): Promise<Uint8Array> {
  const answer = FACTS[method as UnaryName] as (server: FactServer, request: unknown) => Promise<Uint8Array>;
  return answer(server, request);
}

/**
 * Opens a stream of changes. Throws VALIDATION_FAILED, RULES_VERSION, and RATE_LIMITED beyond the most streams of an instance.
 *
 * @param admitted whether the caller's key still counts
 */
export function openFollow(
  watch: Watch,
  { rulesVersion, since, sinceNonce }: Fields<MessageShape<typeof FollowRequestSchema>>,
  admitted?: () => boolean,
): WatchStream {
  checkVersion(rulesVersion);
  if (watch.count('facts') >= MAX_FOLLOWERS) {
    throw new UsherError('RATE_LIMITED', `This instance has ${MAX_FOLLOWERS} followers already; try another one.`);
  }
  const mark = { number: revision(since), nonce: sinceNonce === '' ? null : sinceNonce };
  return watch.open({ kind: 'facts', apps: null, since: mark, admitted });
}

/** The rules that know of no grants which begin or end. They decide alike by facts without a boundary. */
const WITHOUT_TIME = 1;

/** An edge must never decide by other rules than those that its facts were made for. */
function checkVersion(version: number): asserts version is keyof FactServer['askers'] {
  if (version !== RULES_VERSION && version !== WITHOUT_TIME) throw otherRules(version);
}

function count({ askers }: FactServer, version: number): void {
  checkVersion(version);
  askers[version]++;
}

/** Whether the rules before would pass over something: they would go on deciding by a grant that has ended. */
function isTimed({ boundaries: { person, member, overrides } }: MemberAnswer): boolean {
  return person !== null || member !== null || overrides !== null;
}

function otherRules(version: number): UsherError {
  const advice = version > RULES_VERSION ? 'upgrade this service first' : 'upgrade the edge or client that asks';
  return new UsherError(
    'RULES_VERSION',
    `Facts are asked for by version ${version} of the rules; this service decides by version ${RULES_VERSION}: ${advice}.`,
    { details: { version: RULES_VERSION } },
  );
}

function revision(since: bigint): number {
  try {
    return exact(since);
  } catch {
    throw validationFailed([{ path: 'since', message: 'is not a revision' }]);
  }
}

const APP = `must be the code of an application, at most ${LIMITS.slug} characters`;

function readNeeds(needs: readonly Need[]): MemberNeed[] {
  if (needs.length < 1 || needs.length > MAX_NEEDS) {
    throw validationFailed([{ path: 'needs', message: `must hold 1 to ${MAX_NEEDS} needs` }]);
  }
  const issues = needs.flatMap((need, index) => needIssues(need, `needs[${index}]`));
  if (issues.length > 0) throw validationFailed(issues);
  return needs.map(({ email, app, resourceType, resourceId }) => ({ email, app, resourceType, resourceId }));
}

function needIssues({ email, app, resourceType, resourceId }: Need, path: string): Issue[] {
  const issues: Issue[] = [];
  if (normalizeEmail(email) !== email)
    issues.push({ path: `${path}.email`, message: 'must be an e-mail address in lower case' });
  if (app !== '' && !isSlug(app)) issues.push({ path: `${path}.app`, message: APP });
  if (resourceType === '' && resourceId === '') return issues;
  if (!isSlug(resourceType)) issues.push({ path: `${path}.resource_type`, message: 'must be the code of an entity' });
  if (!isResourceId(resourceId)) issues.push({ path: `${path}.resource_id`, message: 'must identify a record' });
  return issues;
}
