/**
 * Reading Check, BulkCheck, BatchCheck and Effective requests, by hand (docs/adr/0003). Two ways that must not disagree:
 *
 * - The fast way takes what nearly every client sends: ASCII text, one-byte tags and lengths, known fields in any order,
 *   everything within its limits. It only accepts; at the first byte outside these rules it gives up.
 * - The slow way (read-strict.ts) uses generated code and decides everything else, refusals included.
 *
 * test/property/codec.test.ts compares both, as one function, with protobuf-es and protovalidate.
 */

import { isAscii } from 'node:buffer';
import { readLatin1 } from '#http2-front/latin1';
import { LIMITS } from '../../base/grammar.ts';
import { Level } from '../../engine/types.ts';
import { BatchCheckRequestSchema, EffectiveRequestSchema } from '../../gen/usher/permission/v1/permission_pb.ts';
import type { BatchCheckFields } from '../../rpc/batch-check.ts';
import type { CheckFields, SubjectFields } from '../../rpc/call.ts';
import type { BulkCheckFields } from '../../rpc/methods.ts';
import { decodeStrictly } from '../../rpc/strict.ts';
import { readBulkStrictly, readCheckStrictly } from './read-strict.ts';

/**
 * Throws UsherError VALIDATION_FAILED or INCOMPLETE_RESOURCE, with every issue found.
 *
 * @param text the bytes as Latin-1, where the caller has them already
 */
export function readCheck(bytes: Buffer, text = ''): CheckFields {
  const asked = readWhole(bytes, text);
  return asked !== null && asked.permission !== '' ? asked : readCheckStrictly(bytes);
}

/** Throws as `readCheck`. */
export function readBulk(bytes: Buffer): BulkCheckFields {
  return readBulkShort(bytes) ?? readBulkStrictly(bytes);
}

/** Throws VALIDATION_FAILED for malformed messages. BatchCheck validates each check. */
export function readBatch(bytes: Buffer): BatchCheckFields {
  return readBatchShort(bytes) ?? decodeStrictly(BatchCheckRequestSchema, bytes);
}

/** Throws VALIDATION_FAILED for malformed messages. What a subject must be, its reader knows (engine/question.ts). */
export function readEffective(bytes: Buffer): SubjectFields {
  return readEffectiveShort(bytes) ?? decodeStrictly(EffectiveRequestSchema, bytes);
}

// The tags of the requests, which share their numbers: field number × 8 + wire type.
const EMAIL = 0x0a;
const APP = 0x12;
const PERMISSION = 0x1a;
const RESOURCE_TYPE = 0x22;
const RESOURCE_ID = 0x2a;
const ACCESS_LEVEL = 0x30;
const MIN_REVISION = 0x3a;
/** Of a batch. */
const CHECK = 0x0a;

/**
 * Strings are substrings of one that holds up to this many bytes of the message. V8 keeps that parent alive as long as a
 * substring lives, in a cache for example, so it must stay small for every request.
 */
const WINDOW = 1024;

function readWhole(bytes: Buffer, latin1: string): CheckFields | null {
  const end = bytes.length;
  if (end > WINDOW || !isAscii(bytes)) return null;
  const text = latin1.length === end ? latin1 : readLatin1(bytes, 0, end);
  return readShort(bytes, 0, end, text, 0);
}

/** The CheckRequest between two places of ASCII bytes; `text` holds at least that piece of them, and begins at `base`. */
function readShort(bytes: Buffer, start: number, end: number, text: string, base: number): CheckFields | null {
  let email = '';
  let app = '';
  let permission = '';
  let resourceType = '';
  let resourceId = '';
  let minRevision = '';
  let level = 0;
  let at = start;
  while (at < end) {
    const tag = bytes[at] as number;
    // Past the end this is undefined, and every comparison below refuses that.
    const value = bytes[at + 1] as number;
    at += 2;
    if (tag === ACCESS_LEVEL) {
      if (!(value <= Level.EDIT)) return null;
      level = value;
      continue;
    }
    const stop = at + value;
    if (!(stop <= end)) return null;
    const piece = text.substring(at - base, stop - base);
    at = stop;
    if (tag === EMAIL) email = piece;
    else if (tag === APP) app = piece;
    else if (tag === PERMISSION) permission = piece;
    else if (tag === RESOURCE_TYPE) resourceType = piece;
    else if (tag === RESOURCE_ID) resourceId = piece;
    else if (tag === MIN_REVISION) minRevision = piece;
    else return null;
  }
  // One byte of length: nothing exceeds 127, so `permission`, `resourceId` and `email` are within their limits.
  if (!isWithinLimits(email, app, resourceType, resourceId, minRevision, level)) return null;
  return {
    email,
    app,
    permission,
    resourceType,
    resourceId,
    accessLevel: level,
    minRevision,
  };
}

/** Where the checks of a batch lie in its bytes. */
export interface SplitBatch {
  /** The start and the end of the first, of the second, … */
  readonly bounds: readonly number[];
  readonly minRevision: string;
}

/** Null for a batch that only the slow way reads. */
export function splitBatch(bytes: Buffer): SplitBatch | null {
  const end = bytes.length;
  const bounds: number[] = [];
  let minRevision = '';
  let at = 0;
  while (at < end) {
    const tag = bytes[at] as number;
    let length = bytes[at + 1] as number;
    at += 2;
    if (length >= 0x80) {
      const more = bytes[at++] as number;
      if (!(more < 0x80)) return null;
      length = (length & 0x7f) | (more << 7);
    }
    const stop = at + length;
    if (!(stop <= end) || length > WINDOW) return null;
    if (tag === CHECK) bounds.push(at, stop);
    else if (tag !== MIN_REVISION || !isAscii(bytes.subarray(at, stop))) return null;
    else minRevision = readLatin1(bytes, at, stop);
    at = stop;
  }
  return bounds.length > 2 * LIMITS.batchChecks ? null : { bounds, minRevision };
}

/** The check between two bounds of a batch; null for one that only the slow way reads. `text` is its bytes as Latin-1. */
export function readPart(bytes: Buffer, start: number, end: number, text: string): CheckFields | null {
  return isAscii(bytes.subarray(start, end)) ? readShort(bytes, start, end, text, start) : null;
}

function readBatchShort(bytes: Buffer): BatchCheckFields | null {
  const split = splitBatch(bytes);
  if (split === null) return null;
  const { bounds, minRevision } = split;
  // In a message of ASCII bytes, each length is one byte. Otherwise a length may be the cause, and each check is examined.
  const ascii = isAscii(bytes);
  const checks: CheckFields[] = [];
  let text = '';
  let base = 0;
  for (let i = 0; i < bounds.length; i += 2) {
    const start = bounds[i] as number;
    const stop = bounds[i + 1] as number;
    if (!ascii && !isAscii(bytes.subarray(start, stop))) return null;
    if (stop > base + text.length) {
      base = start;
      text = readLatin1(bytes, start, Math.min(start + WINDOW, bytes.length));
    }
    const check = readShort(bytes, start, stop, text, base);
    if (check === null) return null;
    checks.push(check);
  }
  return { checks, minRevision };
}

function readBulkShort(bytes: Buffer): BulkCheckFields | null {
  const end = bytes.length;
  if (!isAscii(bytes)) return null;
  const permissions: string[] = [];
  let email = '';
  let app = '';
  let resourceType = '';
  let resourceId = '';
  let minRevision = '';
  let level = 0;
  let text = '';
  let base = 0;
  let at = 0;
  while (at < end) {
    const tag = bytes[at] as number;
    const value = bytes[at + 1] as number;
    at += 2;
    if (tag === ACCESS_LEVEL) {
      if (!(value <= Level.EDIT)) return null;
      level = value;
      continue;
    }
    const stop = at + value;
    if (!(stop <= end)) return null;
    if (stop > base + text.length) {
      base = at;
      text = readLatin1(bytes, at, Math.min(at + WINDOW, end));
    }
    const piece = text.substring(at - base, stop - base);
    at = stop;
    if (tag === PERMISSION) {
      if (piece === '' || permissions.length === LIMITS.bulkPermissions) return null;
      permissions.push(piece);
    } else if (tag === EMAIL) email = piece;
    else if (tag === APP) app = piece;
    else if (tag === RESOURCE_TYPE) resourceType = piece;
    else if (tag === RESOURCE_ID) resourceId = piece;
    else if (tag === MIN_REVISION) minRevision = piece;
    else return null;
  }
  if (permissions.length === 0 || !isWithinLimits(email, app, resourceType, resourceId, minRevision, level))
    return null;
  return { email, app, permissions, resourceType, resourceId, accessLevel: level, minRevision };
}

function readEffectiveShort(bytes: Buffer): SubjectFields | null {
  const end = bytes.length;
  if (end > WINDOW || !isAscii(bytes)) return null;
  const text = readLatin1(bytes, 0, end);
  let email = '';
  let app = '';
  let resourceType = '';
  let resourceId = '';
  let minRevision = '';
  let at = 0;
  while (at < end) {
    const tag = bytes[at] as number;
    const start = at + 2;
    // Past the end the length is undefined, and so is what follows from it.
    at = start + (bytes[at + 1] as number);
    if (!(at <= end)) return null;
    const piece = text.substring(start, at);
    if (tag === EMAIL) email = piece;
    else if (tag === APP) app = piece;
    else if (tag === RESOURCE_TYPE) resourceType = piece;
    else if (tag === RESOURCE_ID) resourceId = piece;
    else if (tag === MIN_REVISION) minRevision = piece;
    else return null;
  }
  return { email, app, resourceType, resourceId, minRevision };
}

/** The rules of permission.proto for ASCII text of at most 127 characters, as yes or no: the slow way names the issues. */
function isWithinLimits(
  email: string,
  app: string,
  resourceType: string,
  resourceId: string,
  minRevision: string,
  level: number,
): boolean {
  return (
    email !== '' &&
    app !== '' &&
    app.length <= LIMITS.slug &&
    resourceType.length <= LIMITS.slug &&
    minRevision.length <= LIMITS.revision &&
    (resourceType === '') === (resourceId === '') &&
    level !== Level.ALLOWED
  );
}
