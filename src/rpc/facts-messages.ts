/** Facts and the log as messages of usher.facts.v1, and back. What does not fit is refused: a fact read wrongly could grant. */

import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { certain } from '../base/certain.ts';
import {
  type Change,
  Level,
  type LogNews,
  type LogWindow,
  type MemberAnswer,
  type MemberNeed,
  type MembersReply,
  type PolicyReply,
  type PolicyRows,
  type Revision,
} from '../engine/types.ts';
import type { WatchBatch } from '../engine/watch.ts';
import {
  type FollowResponse,
  type FollowResponseSchema,
  type Log,
  type LogSchema,
  type Member,
  type MembersResponse,
  type MembersResponseSchema,
  type Overrides,
  type PolicyResponse,
  PolicyResponseSchema,
} from '../gen/usher/facts/v1/facts_pb.ts';

/**
 * The version of the rules by which facts decide. Another number as soon as an engine that does not know of a new fact could decide
 * otherwise than one that does.
 */
export const RULES_VERSION = 2;

export function toLog({ head, headNonce, sinceNonce, changes, tooMany, ageMs = 0, standby = false }: LogWindow) {
  return {
    head: BigInt(head),
    headNonce: headNonce ?? '',
    sinceNonce: sinceNonce ?? '',
    changes: changes.map(({ revision, nonce, scopes }) => ({ revision: BigInt(revision), nonce, scopes: [...scopes] })),
    tooMany,
    ageMs,
    standby,
  } satisfies MessageInitShape<typeof LogSchema>;
}

export function fromLog(log: Log | undefined): LogWindow {
  if (log === undefined) throw new Error('an answer without a log');
  return {
    head: exact(log.head),
    headNonce: log.headNonce === '' ? null : log.headNonce,
    sinceNonce: log.sinceNonce === '' ? null : log.sinceNonce,
    changes: log.changes.map(({ revision, nonce, scopes }): Change => ({ revision: exact(revision), nonce, scopes })),
    tooMany: log.tooMany,
    ageMs: log.ageMs,
    ...(log.standby ? { standby: true } : {}),
  };
}

export function toMembers({
  window,
  answers,
  ageMs = 0,
}: MembersReply): MessageInitShape<typeof MembersResponseSchema> {
  return {
    log: toLog(window),
    ageMs,
    members: answers.map(({ person, member, overrides, boundaries }) => ({
      active: person.active,
      superadmin: person.superadmin,
      ...(member.appId === null ? {} : { appId: BigInt(member.appId) }),
      admin: member.admin,
      roleIds: member.roleIds.map(BigInt),
      ...(boundaries.person === null ? {} : { personBoundaryMs: BigInt(boundaries.person) }),
      ...(boundaries.member === null ? {} : { memberBoundaryMs: BigInt(boundaries.member) }),
      ...(overrides === null
        ? {}
        : {
            overrides: {
              permissionIds: overrides.levels.map(({ permissionId }) => BigInt(permissionId)),
              levels: overrides.levels.map(({ level }) => level),
              ...(boundaries.overrides === null ? {} : { boundaryMs: BigInt(boundaries.overrides) }),
            },
          }),
    })),
  };
}

export function fromMembers({ log, ageMs, members }: MembersResponse, needs: readonly MemberNeed[]): MembersReply {
  if (members.length !== needs.length) throw new Error('the facts do not match the needs');
  const answers = needs.map((need, index) => fromMember(certain(members[index]), need));
  return { window: fromLog(log), answers, ageMs };
}

function fromMember(member: Member, { email, app, resourceType, resourceId }: MemberNeed): MemberAnswer {
  const hasResource = resourceType !== '';
  if (hasResource !== (member.overrides !== undefined)) throw new Error('overrides do not match the need');
  return {
    person: { email, active: member.active, superadmin: member.superadmin },
    member: { app, email, appId: idOrNull(member.appId), admin: member.admin, roleIds: member.roleIds.map(exact) },
    overrides:
      member.overrides === undefined
        ? null
        : { app, email, resourceType, resourceId, levels: fromOverrides(member.overrides) },
    boundaries: {
      person: boundaryOf(member.personBoundaryMs),
      member: boundaryOf(member.memberBoundaryMs),
      overrides: boundaryOf(member.overrides?.boundaryMs),
    },
  };
}

function fromOverrides({ permissionIds, levels }: Overrides) {
  return pairs(permissionIds, levels, (permissionId, level) => ({ permissionId, level }));
}

/** One that is too large to be told from its neighbors is as far off as any. */
function boundaryOf(ms: bigint | undefined): number | null {
  return ms === undefined ? null : Number(ms);
}

/** Policies as bytes, for as long as they are held. */
const written = new WeakMap<PolicyRows, Uint8Array>();

/**
 * The bytes of a PolicyResponse. After a change every follower asks for the same policy, which is written once: messages of
 * protobuf that stand one behind the other are one message.
 */
export function policyBytes({ window, policy, ageMs = 0 }: PolicyReply): Uint8Array {
  const known = written.get(policy) ?? toBinary(PolicyResponseSchema, create(PolicyResponseSchema, toPolicy(policy)));
  written.set(policy, known);
  const log = toBinary(PolicyResponseSchema, create(PolicyResponseSchema, { log: toLog(window), ageMs }));
  return Buffer.concat([log, known]);
}

/** All but the log, and its age. */
function toPolicy(policy: PolicyRows): MessageInitShape<typeof PolicyResponseSchema> {
  const { appId, strictCodes, resourceTypes, permissions, rolePermissions } = policy;
  const grants = new Map<number, { roleId: number; level: Level }[]>();
  for (const { permissionId, ...grant } of rolePermissions) {
    const known = grants.get(permissionId);
    if (known === undefined) grants.set(permissionId, [grant]);
    else known.push(grant);
  }
  return {
    ...(appId === null ? {} : { appId: BigInt(appId) }),
    strictCodes,
    resourceTypes: [...resourceTypes],
    permissions: permissions.map(({ id, code, tiered, global, groupName }) => ({
      id: BigInt(id),
      code,
      tiered,
      global,
      ...(groupName === null ? {} : { groupName }),
      roleIds: (grants.get(id) ?? []).map(({ roleId }) => BigInt(roleId)),
      levels: (grants.get(id) ?? []).map(({ level }) => level),
    })),
  };
}

export function fromPolicy(message: PolicyResponse, app: string): PolicyReply {
  const { log, ageMs, appId, strictCodes, resourceTypes, permissions } = message;
  const policy: PolicyRows = {
    app,
    appId: idOrNull(appId),
    strictCodes,
    resourceTypes,
    permissions: permissions.map(({ id, code, tiered, global, groupName }) => {
      return { id: exact(id), code, tiered, global, groupName: groupName ?? null };
    }),
    rolePermissions: permissions.flatMap(({ id, roleIds, levels }) => {
      const permissionId = exact(id);
      return pairs(roleIds, levels, (roleId, level) => ({ roleId, permissionId, level }));
    }),
  };
  return { window: fromLog(log), policy, ageMs };
}

/** A message of a stream of changes, which ends where the next one begins. */
export function toFollowResponse({
  from,
  end,
  rows,
  reset,
}: WatchBatch): MessageInitShape<typeof FollowResponseSchema> {
  const log = { head: end.number, headNonce: end.nonce, sinceNonce: from.nonce, changes: rows, tooMany: false };
  return { since: BigInt(from.number), log: toLog(log), reset };
}

/** Undefined where the changes are not told. */
export function fromFollowResponse({ since, log, reset }: FollowResponse): LogNews | undefined {
  return reset ? undefined : { since: exact(since), ...fromLog(log) };
}

function pairs<T>(ids: readonly bigint[], levels: readonly number[], pair: (id: number, level: Level) => T): T[] {
  if (ids.length !== levels.length) throw new Error('levels do not match');
  return ids.map((id, index) => pair(exact(id), levelOf(certain(levels[index]))));
}

function levelOf(value: number): Level {
  const level = Object.values(Level).find((known) => known === value);
  if (level === undefined) throw new Error(`no level ${value}`);
  return level;
}

function idOrNull(id: bigint | undefined): number | null {
  return id === undefined ? null : exact(id);
}

/** A number that JavaScript can tell from its neighbors. */
export function exact(value: bigint): Revision {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error(`${value} is too large`);
  return number;
}
