/** The answers of this package, of the messages of usher.permission.v1. */

import {
  type CheckResponse,
  type EffectiveResponse,
  type ExplainResponse,
  ResourceScope,
  type WatchResponse,
  type Change as WireChange,
} from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import type { Change, Changes, Decision, Explanation, Held, Level, Source } from './types.ts';

const LEVELS: readonly (Level | null)[] = [null, 'allowed', 'view', 'edit'];
const SOURCES: readonly (Source | null)[] = [null, 'role', 'override', 'superadmin', 'app_admin'];
export const levelOf = (level: number): Level | null => LEVELS[level] ?? null;
export const sourceOf = (source: number): Source | null => SOURCES[source] ?? null;
export const isAll = (scope: ResourceScope): boolean => scope === ResourceScope.ALL_EXCEPT;

/** What a message says; `revision` where it stands beside several answers. */
export function decisionOf(
  { allowed, accessLevel, source }: Pick<CheckResponse, 'allowed' | 'accessLevel' | 'source'>,
  revision: string,
): Decision {
  return { allowed, level: levelOf(accessLevel), source: sourceOf(source), revision };
}

export function heldOf(item: EffectiveResponse['permissions'][number]): Held {
  return {
    permission: item.code,
    allowed: item.granted,
    level: levelOf(item.accessLevel),
    source: sourceOf(item.source),
    // PERMISSION_TYPE_TIERED
    tiered: item.type === 2,
    global: item.global,
    group: item.groupName ?? null,
  };
}

export function explanationOf(response: ExplainResponse): Explanation {
  return {
    ...decisionOf(response, response.revision),
    rules: response.rules.map(({ rule, applies, decides, accessLevel }) => {
      return { rule, applies, decides, level: levelOf(accessLevel) };
    }),
    known: {
      user: response.userKnown,
      application: response.applicationKnown,
      permission: response.permissionKnown,
    },
  };
}

export function changesOf({ revision, changes, reset }: WatchResponse): Changes {
  return { revision, changes: changes.map(changeOf), reset };
}

/** A kind of change that this version does not know may be about anything. */
function changeOf({ what }: WireChange): Change {
  switch (what.case) {
    case 'application':
      return { kind: 'application', app: what.value };
    case 'everythingInApplication':
      return { kind: 'everything_in_application', app: what.value };
    case 'member':
      return { kind: 'member', app: what.value.app, email: what.value.email };
    case 'user':
      return { kind: 'user', email: what.value };
    default:
      return { kind: 'everything' };
  }
}
