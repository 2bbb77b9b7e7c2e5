/** Validates header values of mails: a line break in a value would begin another header. */

import { hasForbiddenCharacters } from '../base/grammar.ts';

/** No control characters (CR, LF and NUL among them), no lone surrogates, at most 998 characters (RFC 5322 2.1.1). */
export function isSafeHeader(value: string): boolean {
  return !hasForbiddenCharacters(value) && value.length <= 998;
}

/** A display text as one line: runs of white space and control characters become a space; at most 300 characters. */
export function fold(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\s\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, 300)
    .toWellFormed();
}
