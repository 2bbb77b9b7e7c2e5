/** Why an administrator writes what they write, in their own words (docs/reference/administration.md#reasons). */

import { type Issue, UsherError } from './errors.ts';

/** The header of administrative writes that carries the reason. */
export const REASON_HEADER = 'usher-reason';

/** The longest reason, in characters as people count them: code points of the decoded text. */
export const MAX_REASON = 500;

export const REASON_RULE = `1 to ${MAX_REASON} characters, without control characters`;
const RULE = `must be percent-encoded UTF-8: ${REASON_RULE}`;
/** Cc and the separators of lines and paragraphs, which would break a line of a list in two. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
/** What a percent-encoded text is made of. Anything else arrived as bytes of an encoding that nobody named. */
const ENCODED = /^[\x21-\x7e ]*$/;

/** The reason of a header's value; undefined for no header. Throws VALIDATION_FAILED, naming header and rule. */
export function readReason(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const reason = ENCODED.test(header) ? decoded(header) : null;
  if (reason === null || !isReason(reason)) {
    const issues: Issue[] = [{ path: REASON_HEADER, message: RULE }];
    throw new UsherError('VALIDATION_FAILED', `The header ${REASON_HEADER} ${RULE}.`, { details: { issues } });
  }
  return reason;
}

/** The same for records of refusals, which say why they were refused and not what else was wrong: a malformed one counts as absent. */
export function readReasonLeniently(header: string | undefined): string | undefined {
  try {
    return readReason(header);
  } catch {
    return undefined;
  }
}

/** Whether a decoded text may be a reason. */
export function isReason(text: string): boolean {
  const characters = Array.from(text).length;
  return text.trim() !== '' && characters <= MAX_REASON && !CONTROL.test(text) && text.isWellFormed();
}

/** The text as the header carries it. */
export function encodeReason(reason: string): string {
  return encodeURIComponent(reason);
}

function decoded(header: string): string | null {
  try {
    return decodeURIComponent(header);
  } catch {
    return null;
  }
}
