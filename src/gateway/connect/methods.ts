/** The service's three methods on the engine (permission.proto). Strict questions, as on every other door. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { validationFailed } from '../../base/errors.ts';
import { LIMITS } from '../../base/grammar.ts';
import { answerBulk, reached, readPermissions } from '../../engine/bulk.ts';
import { isAllowed, PROTO_FIELDS, parseRevision, readQuestion, readSubject } from '../../engine/question.ts';
import { type Decision, Level, type Mark } from '../../engine/types.ts';
import { atDoor } from '../../engine/unknown-codes.ts';
import {
  AccessLevel,
  type BulkCheckRequest,
  type BulkCheckResponseSchema,
  type CheckRequest,
  type CheckResponseSchema,
  type EffectiveRequest,
  type EffectiveResponseSchema,
  PermissionType,
} from '../../gen/usher/permission/v1/permission_pb.ts';
import type { Services } from '../services.ts';

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
      if (question === null) {
        return { allowed: false, revision: await reached(engine, terms.minRevision) };
      }
      const { decision, revision } = await named(engine.check(question, terms));
      return { ...shown(decision, asked), revision };
    },

    async bulkCheck(request, signal) {
      const asked = askedLevel(request.accessLevel);
      const terms = termsOf(request, signal);
      const subject = readSubject(request, PROTO_FIELDS);
      const codes = readPermissions(bounded(request.permissions), (index) => `permissions[${index}]`);
      const { decisions, revision } = await named(
        answerBulk(engine, subject, codes, terms),
        (code) => `permissions[${request.permissions.indexOf(code)}]`,
      );
      const results = codes.all.map((permission, index) => {
        return { permission, ...shown(decisions[index] as Decision, asked) };
      });
      return { results, revision };
    },

    async effective(request, signal) {
      const terms = termsOf(request, signal);
      const subject = readSubject(request, PROTO_FIELDS);
      if (subject === null) {
        return { permissions: [], revision: await reached(engine, terms.minRevision) };
      }
      const { items, revision } = await named(engine.effective(subject, terms));
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
      return { permissions, revision };
    },
  };
}

/** The same, with the fields of an unknown code called as in the protocol. */
function named<T>(answer: Promise<T>, permission = (_code: string): string => PROTO_FIELDS.permission): Promise<T> {
  return answer.catch((error: unknown) => {
    throw atDoor(error, { resourceType: PROTO_FIELDS.resourceType, permission });
  });
}

function shown(decision: Decision, asked: Level) {
  return { allowed: isAllowed(decision, asked), accessLevel: decision.level, source: decision.source };
}

function bounded(permissions: readonly string[]): readonly string[] {
  if (permissions.length < 1 || permissions.length > LIMITS.bulkPermissions) {
    throw validationFailed([{ path: 'permissions', message: `must hold 1 to ${LIMITS.bulkPermissions} codes` }]);
  }
  return permissions;
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
  minRevision?: Mark;
}

function termsOf(request: { minRevision: string }, signal: AbortSignal): Terms {
  return request.minRevision === '' ? { signal } : { signal, minRevision: parseRevision(request.minRevision) };
}
