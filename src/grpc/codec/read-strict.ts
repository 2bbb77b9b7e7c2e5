/**
 * The long way of reading a request: generated code for the wire format, and the rules of permission.proto with every issue
 * named. What the short way of codec.ts does not take comes here: text that is not ASCII, long text, and all that is refused.
 */

import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Issue, UsherError, validationFailed } from '../../base/errors.ts';
import { isLongerThan, LIMITS } from '../../base/grammar.ts';
import { Level } from '../../engine/types.ts';
import {
  BulkCheckRequestSchema,
  CheckRequestSchema,
  EffectiveRequestSchema,
} from '../../gen/usher/permission/v1/permission_pb.ts';
import type { AskedBulk, AskedCheck, AskedSubject } from '../asked.ts';

export function readCheckStrictly(bytes: Uint8Array): AskedCheck {
  const { issues, subject, message } = readMessage(CheckRequestSchema, bytes);
  checkText(issues, 'permission', message.permission, 1, LIMITS.permission);
  const level = readLevel(issues, message.accessLevel);
  refuse(issues, subject);
  return { ...subject, permission: message.permission, level };
}

export function readEffectiveStrictly(bytes: Uint8Array): AskedSubject {
  const { issues, subject } = readMessage(EffectiveRequestSchema, bytes);
  refuse(issues, subject);
  return subject;
}

export function readBulkStrictly(bytes: Uint8Array): AskedBulk {
  const { issues, subject, message } = readMessage(BulkCheckRequestSchema, bytes);
  if (message.permissions.length === 0) issues.push({ path: 'permissions', message: 'must hold at least one code' });
  message.permissions.forEach((code, index) => {
    checkText(issues, `permissions[${index}]`, code, 1, LIMITS.permission);
  });
  const level = readLevel(issues, message.accessLevel);
  refuse(issues, subject);
  return { ...subject, permissions: [...new Set(message.permissions)], level };
}

/** What the three requests have in common. */
type Subjects = typeof CheckRequestSchema | typeof BulkCheckRequestSchema | typeof EffectiveRequestSchema;

function readMessage<D extends Subjects>(
  schema: D,
  bytes: Uint8Array,
): { message: MessageShape<D>; subject: AskedSubject; issues: Issue[] } {
  let message: MessageShape<D>;
  try {
    // Before the generated reader, which takes a known field of a wrong wire type for one of the right type.
    checkWire(schema, bytes);
    message = fromBinary<D>(schema, bytes);
  } catch (error) {
    if (error instanceof UsherError) throw error;
    const problem = `is not a ${schema.name}: cut off, malformed, or text that is not UTF-8`;
    throw new UsherError('VALIDATION_FAILED', `The request ${problem}.`, {
      details: { issues: [{ path: '', message: problem }] },
      cause: error,
    });
  }
  const { email, app, resourceType, resourceId, minRevision } = message as AskedSubject;
  const issues: Issue[] = [];
  checkText(issues, 'email', email, 1, LIMITS.email);
  checkText(issues, 'app', app, 1, LIMITS.slug);
  checkText(issues, 'resource_type', resourceType, 0, LIMITS.slug);
  checkText(issues, 'resource_id', resourceId, 0, LIMITS.resourceId);
  checkText(issues, 'min_revision', minRevision, 0, LIMITS.revision);
  return { message, subject: { email, app, resourceType, resourceId, minRevision }, issues };
}

const MAX_UNKNOWN_NAMED = 8;
/** After so many nothing more is read: a megabyte of them would hold up everybody else. */
const MAX_UNKNOWN_READ = 4096;

/**
 * Refuses fields that the schema does not know, or knows with another wire type: a question must never be answered as a
 * wider one (contract 3). Also more permissions than a call may hold, before anything is made of them.
 * Throws what is no UsherError where the bytes are malformed.
 */
function checkWire(schema: DescMessage, bytes: Uint8Array): void {
  const reader = new BinaryReader(bytes);
  const unknown = new Set<number>();
  let listed = 0;
  let strange = 0;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = schema.fields.find((candidate) => candidate.number === number);
    const expected = field?.fieldKind === 'enum' ? WireType.Varint : WireType.LengthDelimited;
    if (field === undefined || wireType !== expected) {
      if (unknown.size < MAX_UNKNOWN_NAMED) unknown.add(number);
      if (++strange > MAX_UNKNOWN_READ) break;
    } else if (field.fieldKind === 'list' && ++listed > LIMITS.bulkPermissions) {
      throw validationFailed([{ path: field.name, message: `must hold at most ${LIMITS.bulkPermissions} codes` }]);
    }
    reader.skip(wireType, number);
  }
  if (unknown.size === 0) return;
  throw validationFailed(
    [...unknown].map((number) => ({
      path: String(number),
      message: `field number ${number} of ${schema.name} is unknown here, or of another type`,
    })),
  );
}

function checkText(issues: Issue[], path: string, text: string, min: 0 | 1, max: number): void {
  if (min === 1 && text === '') issues.push({ path, message: 'is required' });
  else if (isLongerThan(text, max)) issues.push({ path, message: `must be at most ${max} characters` });
}

function readLevel(issues: Issue[], level: number): Level {
  if (level === Level.NONE || level === Level.VIEW || level === Level.EDIT) return level;
  issues.push({
    path: 'access_level',
    message: 'must be ACCESS_LEVEL_VIEW, ACCESS_LEVEL_EDIT or ACCESS_LEVEL_UNSPECIFIED',
  });
  return Level.NONE;
}

/** As question.ts of every door has it: fields that do not fit first, half a resource where that is all there is. */
function refuse(issues: Issue[], subject: AskedSubject): void {
  const half = (subject.resourceType === '') !== (subject.resourceId === '');
  const together = 'resource_type and resource_id go together: send both or neither';
  if (half) issues.push({ path: subject.resourceType === '' ? 'resource_type' : 'resource_id', message: together });
  if (half && issues.length === 1) throw new UsherError('INCOMPLETE_RESOURCE', `${together}.`, { details: { issues } });
  if (issues.length > 0) throw validationFailed(issues);
}
