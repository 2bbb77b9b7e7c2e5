/**
 * Reads a request the slow way: generated code for the wire format, then the rules of permission.proto with every issue named.
 * Everything that the fast way of read.ts gives up on comes here: text outside ASCII, long text, and invalid requests.
 */

import type { MessageShape } from '@bufbuild/protobuf';
import { type Issue, UsherError, validationFailed } from '../../base/errors.ts';
import { isLongerThan, LIMITS } from '../../base/grammar.ts';
import { Level } from '../../engine/types.ts';
import { BulkCheckRequestSchema, CheckRequestSchema } from '../../gen/usher/permission/v1/permission_pb.ts';
import type { CheckFields, SubjectFields } from '../../rpc/call.ts';
import type { BulkCheckFields } from '../../rpc/methods.ts';
import { decodeStrictly } from '../../rpc/strict.ts';

export function readCheckStrictly(bytes: Uint8Array): CheckFields {
  const { issues, subject, message } = readMessage(CheckRequestSchema, bytes);
  checkText(issues, 'permission', message.permission, 1, LIMITS.permission);
  checkLevel(issues, message.accessLevel);
  refuse(issues, subject);
  return { ...subject, permission: message.permission, accessLevel: message.accessLevel };
}

export function readBulkStrictly(bytes: Uint8Array): BulkCheckFields {
  const { issues, subject, message } = readMessage(BulkCheckRequestSchema, bytes);
  if (message.permissions.length === 0) issues.push({ path: 'permissions', message: 'must hold at least one code' });
  message.permissions.forEach((code, index) => {
    checkText(issues, `permissions[${index}]`, code, 1, LIMITS.permission);
  });
  checkLevel(issues, message.accessLevel);
  refuse(issues, subject);
  return { ...subject, permissions: message.permissions, accessLevel: message.accessLevel };
}

/** The requests that share the fields of a subject. */
type Subjects = typeof CheckRequestSchema | typeof BulkCheckRequestSchema;

function readMessage<D extends Subjects>(
  schema: D,
  bytes: Uint8Array,
): { message: MessageShape<D>; subject: SubjectFields; issues: Issue[] } {
  const message = decodeStrictly(schema, bytes);
  const { email, app, resourceType, resourceId, minRevision } = message as SubjectFields;
  const issues: Issue[] = [];
  checkText(issues, 'email', email, 1, LIMITS.email);
  checkText(issues, 'app', app, 1, LIMITS.slug);
  checkText(issues, 'resource_type', resourceType, 0, LIMITS.slug);
  checkText(issues, 'resource_id', resourceId, 0, LIMITS.resourceId);
  checkText(issues, 'min_revision', minRevision, 0, LIMITS.revision);
  return { message, subject: { email, app, resourceType, resourceId, minRevision }, issues };
}

function checkText(issues: Issue[], path: string, text: string, min: 0 | 1, max: number): void {
  if (min === 1 && text === '') issues.push({ path, message: 'is required' });
  else if (isLongerThan(text, max)) issues.push({ path, message: `must be at most ${max} characters` });
}

function checkLevel(issues: Issue[], level: number): void {
  if (level === Level.NONE || level === Level.VIEW || level === Level.EDIT) return;
  issues.push({
    path: 'access_level',
    message: 'must be ACCESS_LEVEL_VIEW, ACCESS_LEVEL_EDIT or ACCESS_LEVEL_UNSPECIFIED',
  });
}

/** In the order of the other transports: invalid fields first, half a resource where that is the only fault. */
function refuse(issues: Issue[], subject: SubjectFields): void {
  const half = (subject.resourceType === '') !== (subject.resourceId === '');
  const together = 'resource_type and resource_id go together: send both or neither';
  if (half) issues.push({ path: subject.resourceType === '' ? 'resource_type' : 'resource_id', message: together });
  if (half && issues.length === 1) throw new UsherError('INCOMPLETE_RESOURCE', `${together}.`, { details: { issues } });
  if (issues.length > 0) throw validationFailed(issues);
}
