/**
 * Reading Check and BulkCheck requests, by hand (docs/adr/0003). Two ways that must not disagree:
 *
 * - The short way takes what nearly every client sends: ASCII text, one-byte tags and lengths, known fields in any order,
 *   everything within its limits. It only ever accepts; at the first byte that is not of this kind it gives up.
 * - The long way (read-strict.ts) is generated code and decides everything else, refusals among it.
 *
 * test/property/codec.test.ts compares both, as one function, with protobuf-es and protovalidate.
 */

import { isAscii } from 'node:buffer';
import { LIMITS } from '../../base/grammar.ts';
import { Level } from '../../engine/types.ts';
import type { BulkCheckFields, CheckFields } from '../../rpc/methods.ts';
import { readBulkStrictly, readCheckStrictly } from './read-strict.ts';

/**
 * Throws UsherError VALIDATION_FAILED or INCOMPLETE_RESOURCE, with every issue found.
 *
 * @param text the bytes as Latin-1, where the caller has them already
 */
export function readCheck(bytes: Buffer, text = ''): CheckFields {
  const asked = readShort(bytes, text);
  return asked !== null && asked.permission !== '' ? asked : readCheckStrictly(bytes);
}

/** Throws as `readCheck`. */
export function readBulk(bytes: Buffer): BulkCheckFields {
  return readBulkShort(bytes) ?? readBulkStrictly(bytes);
}

// The tags of the requests, which share their numbers: field number × 8 + wire type.
const EMAIL = 0x0a;
const APP = 0x12;
const PERMISSION = 0x1a;
const RESOURCE_TYPE = 0x22;
const RESOURCE_ID = 0x2a;
const ACCESS_LEVEL = 0x30;
const MIN_REVISION = 0x3a;

/**
 * Strings are cut out of one that holds up to so many bytes of the message. V8 keeps that one alive as long as a piece of
 * it lives, in a cache for example, so it must stay small whatever is sent.
 */
const WINDOW = 1024;

/** `latin1Slice` is what `toString('latin1')` calls after reading its argument; on ASCII both are exact. */
type Sliceable = Buffer & { latin1Slice(start: number, end: number): string };

function readShort(bytes: Buffer, latin1: string): CheckFields | null {
  const end = bytes.length;
  if (end > WINDOW || !isAscii(bytes)) return null;
  const text = latin1.length === end ? latin1 : (bytes as Sliceable).latin1Slice(0, end);
  let email = '';
  let app = '';
  let permission = '';
  let resourceType = '';
  let resourceId = '';
  let minRevision = '';
  let level = 0;
  let at = 0;
  while (at < end) {
    const tag = bytes[at] as number;
    // Past the end this is undefined, which the comparisons below all refuse.
    const value = bytes[at + 1] as number;
    at += 2;
    if (tag === ACCESS_LEVEL) {
      if (!(value <= Level.EDIT)) return null;
      level = value;
      continue;
    }
    const stop = at + value;
    if (!(stop <= end)) return null;
    const piece = text.substring(at, stop);
    at = stop;
    if (tag === EMAIL) email = piece;
    else if (tag === APP) app = piece;
    else if (tag === PERMISSION) permission = piece;
    else if (tag === RESOURCE_TYPE) resourceType = piece;
    else if (tag === RESOURCE_ID) resourceId = piece;
    else if (tag === MIN_REVISION) minRevision = piece;
    else return null;
  }
  // One byte of length: nothing here is longer than 127, so `permission`, `resourceId` and `email` are short enough.
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
      text = (bytes as Sliceable).latin1Slice(at, Math.min(at + WINDOW, end));
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

/** The rules of permission.proto for ASCII text of at most 127 characters. Only a yes or no: the long way says why. */
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
