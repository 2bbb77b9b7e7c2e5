/** The service's three methods on the engine (permission.proto). Strict questions, as on every other door. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  formatRevision,
  isAllowed,
  PROTO_FIELDS,
  parseRevision,
  readPermission,
  readQuestion,
  readSubject,
} from '../engine/question.ts';
import { type Decision, Level, type Revision, type Subject } from '../engine/types.ts';
import { validationFailed } from '../errors.ts';
import {
  AccessLevel,
  type BulkCheckRequest,
  type BulkCheckResponseSchema,
  type CheckRequest,
  type CheckResponseSchema,
  type EffectiveRequest,
  type EffectiveResponseSchema,
  PermissionType,
} from '../gen/usher/permission/v1/permission_pb.ts';
import { LIMITS } from '../grammar.ts';
import type { Services } from './services.ts';

type Engine = Services['engine'];

export interface RpcAnswers {
  readonly check: (request: CheckRequest, signal: AbortSignal) => Promise<MessageInitShape<typeof CheckResponseSchema>>;
  readonly bulkCheck: (
    request: BulkCheckRequest,
    signal: AbortSignal,
  ) => Promise<MessageInitShape<typeof BulkCheckResponseSchema>>;
  readonly effective: (
    request: EffectiveRequest,
    signal: AbortSignal,
  ) => Promise<MessageInitShape<typeof EffectiveResponseSchema>>;
}

export function rpcAnswers(engine: Engine): RpcAnswers {
  return {
    async check(request, signal) {
      const asked = askedLevel(request.accessLevel);
      const terms = termsOf(request, signal);
      const question = readQuestion(request, PROTO_FIELDS);
      if (question === null) return { allowed: false, revision: formatRevision(engine.revision) };
      const { decision, revision } = await engine.check(question, terms);
      return { ...shown(decision, asked), revision: formatRevision(revision) };
    },

    async bulkCheck(request, signal) {
      const asked = askedLevel(request.accessLevel);
      const terms = termsOf(request, signal);
      const subject = readSubject(request, PROTO_FIELDS);
      const permissions = distinct(request.permissions);
      const known = permissions.filter((code, index) => readPermission(code, `permissions[${index}]`) !== null);
      const { decisions, revision } = await bulk(engine, subject, known, terms);
      const byCode = new Map(known.map((permission, index) => [permission, decisions[index]]));
      const results = permissions.map((permission) => {
        const decision = byCode.get(permission);
        return { permission, ...(decision === undefined ? { allowed: false } : shown(decision, asked)) };
      });
      return { results, revision: formatRevision(revision) };
    },

    async effective(request, signal) {
      const terms = termsOf(request, signal);
      const subject = readSubject(request, PROTO_FIELDS);
      if (subject === null) return { permissions: [], revision: formatRevision(engine.revision) };
      const { items, revision } = await engine.effective(subject, terms);
      const permissions = items.map((item) => ({
        code: item.code,
        type: item.tiered ? PermissionType.TIERED : PermissionType.BINARY,
        ...(item.groupName === null ? {} : { groupName: item.groupName }),
        global: item.global,
        // Levels and sources have the numbers of the enums.
        accessLevel: item.level,
        granted: item.granted,
        source: item.source,
      }));
      return { permissions, revision: formatRevision(revision) };
    },
  };
}

function shown(decision: Decision, asked: Level) {
  return { allowed: isAllowed(decision, asked), accessLevel: decision.level, source: decision.source };
}

function bulk(
  engine: Engine,
  subject: Subject | null,
  permissions: readonly string[],
  terms: Terms,
): Promise<{ decisions: readonly Decision[]; revision: Revision }> {
  if (subject === null || permissions.length === 0)
    return Promise.resolve({ decisions: [], revision: engine.revision });
  return engine.bulk(subject, permissions, terms);
}

/** In the order of the first mention. */
function distinct(permissions: readonly string[]): string[] {
  if (permissions.length < 1 || permissions.length > LIMITS.bulkPermissions) {
    throw validationFailed([{ path: 'permissions', message: `must hold 1 to ${LIMITS.bulkPermissions} codes` }]);
  }
  return [...new Set(permissions)];
}

function askedLevel(level: AccessLevel): Level {
  if (level === AccessLevel.UNSPECIFIED) return Level.NONE;
  if (level === AccessLevel.VIEW) return Level.VIEW;
  if (level === AccessLevel.EDIT) return Level.EDIT;
  throw validationFailed([
    { path: 'access_level', message: 'must be ACCESS_LEVEL_VIEW or ACCESS_LEVEL_EDIT, or unset' },
  ]);
}

interface Terms {
  signal: AbortSignal;
  minRevision?: Revision;
}

function termsOf(request: { minRevision: string }, signal: AbortSignal): Terms {
  return request.minRevision === '' ? { signal } : { signal, minRevision: parseRevision(request.minRevision) };
}
