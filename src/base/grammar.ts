/**
 * The one place that says what an e-mail address, a code, a language or an identifier looks like (docs/reference/names.md).
 * Every transport calls these, so that no two of them disagree about whom or what a request means.
 * Lengths are counted in code points, as protovalidate and PostgreSQL count them (zod and `.length` count UTF-16 units).
 */

import { trimBoth } from './trim.ts';

export const LIMITS = {
  email: 254,
  emailLocal: 64,
  slug: 64,
  permission: 128,
  role: 64,
  resourceId: 256,
  url: 2048,
  revision: 64,
  bulkPermissions: 1000,
  batchChecks: 1000,
  recipients: 1000,
  jsonNesting: 32,
} as const;

/** The same rules in words, for errors: each completes "must be …". */
export const RULES = {
  email: `an e-mail address such as ada@example.com: ASCII, one @ with a host name after it, at most ${LIMITS.email} characters`,
  slug: `lower-case letters and digits, with single . _ - between them, at most ${LIMITS.slug} characters`,
  applicationCode: `lower-case letters and digits, with single . _ - between them, at most ${LIMITS.slug} characters, and not inbox, stream or preferences`,
  permissionCode: `letters and digits, with single . _ : / - between them, at most ${LIMITS.permission} characters`,
  roleCode: `letters and digits, with single . _ : - between them, at most ${LIMITS.role} characters`,
  noWildcard: 'there are no wildcards: name each code, without *',
  resourceId: `1 to ${LIMITS.resourceId} characters, without control characters or lone surrogates`,
  language: 'a lower-case language code with an optional script and region, such as cs, pt-br, zh-hant or es-419',
  timeZone: 'a time zone of IANA such as Europe/Prague or UTC, not an abbreviation such as BST',
  hostName: 'a host name of letters, digits, hyphens and dots, or an IP address',
  httpsUrl: `an absolute https URL without credentials, at most ${LIMITS.url} characters`,
  url: `an absolute http or https URL without credentials, at most ${LIMITS.url} characters`,
} as const;

// Atoms of docs/reference/names.md#e-mail-addresses. Quoted local parts, domain literals and comments are refused: each has sent mail to strangers.
const LOCAL = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/;
const HOST =
  /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
const SLUG = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/;
const PERMISSION = /^[A-Za-z0-9]+(?:[._:/-][A-Za-z0-9]+)*$/;
const ROLE = /^[A-Za-z0-9]+(?:[._:-][A-Za-z0-9]+)*$/;
const LANGUAGE = /^[a-z]{2,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?$/;
const CONTROL = /\p{Cc}/u;

/** Forms without their lengths and reserved words, for JSON Schema. */
export const PATTERNS = {
  slug: SLUG.source,
  permissionCode: PERMISSION.source,
  roleCode: ROLE.source,
  language: LANGUAGE.source,
} as const;
const ASCII_SPACE = '\t\n\v\f\r ';
const UPPER = /[A-Z]/g;

/** The meaning of null wherever a person's language is read (docs/reference/people.md#profiles), and the last fallback. */
export const SYSTEM_LANGUAGE = 'en';

/** Application codes that would be read as something else in a path (docs/reference/names.md#codes). */
const RESERVED_APPLICATION_CODES = new Set(['inbox', 'stream', 'preferences']);

/**
 * The normal form of an e-mail address, or null when it is not a valid address.
 * Drops surrounding ASCII white space and lower-cases A-Z, nothing else: Unicode folding merges different people.
 */
export function normalizeEmail(input: string): string | null {
  // 254 for the address and some for white space; the bound keeps long inputs away from the regular expressions.
  if (input.length > LIMITS.email + 64) return null;
  const trimmed = trimBoth(input, ASCII_SPACE);
  if (trimmed.length === 0 || trimmed.length > LIMITS.email) return null;
  const at = trimmed.indexOf('@');
  if (at < 1 || at !== trimmed.lastIndexOf('@')) return null;
  if (!LOCAL.test(trimmed.slice(0, at)) || !HOST.test(trimmed.slice(at + 1))) return null;
  return lowerAscii(trimmed);
}

/** Lower-cases A-Z only. `toLowerCase` also folds characters such as KELVIN SIGN. */
export function lowerAscii(text: string): string {
  return text.replace(UPPER, (c) => String.fromCharCode(c.charCodeAt(0) + 32));
}

/** A host name of letters, digits, hyphens and dots, or an IP address (IPv6 without brackets). */
export function isHostName(text: string): boolean {
  if (HOST.test(text)) return true;
  return text.includes(':') && text.length <= 45 && URL.canParse(`http://[${text}]`);
}

/** Application, entity and notification type codes, brand slugs, template keys. */
export function isSlug(text: string): boolean {
  return text.length <= LIMITS.slug && SLUG.test(text);
}

/** A slug that may name an application. */
export function isApplicationCode(text: string): boolean {
  return isSlug(text) && !RESERVED_APPLICATION_CODES.has(text);
}

/** Codes as other systems write them, such as `read:orders`, `files/write` and `s3:GetObject`. */
export function isPermissionCode(text: string): boolean {
  return text.length <= LIMITS.permission && PERMISSION.test(text);
}

/** Like a permission code without `/`: role codes stand in paths. */
export function isRoleCode(text: string): boolean {
  return text.length <= LIMITS.role && ROLE.test(text);
}

/** 1 to 256 characters, no control characters, no lone surrogates (PostgreSQL cannot store those, and replacing them makes ids collide). */
export function isResourceId(text: string): boolean {
  return text.length >= 1 && !isLongerThan(text, LIMITS.resourceId) && !hasForbiddenCharacters(text);
}

/** Whether `text` has more than `max` code points. Counts them only where the number of UTF-16 units does not decide. */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _ of text) if (++count > max) return true;
  return false;
}

/** Control characters (U+0000 to U+001F, U+007F to U+009F) or lone surrogates. */
export function hasForbiddenCharacters(text: string): boolean {
  return CONTROL.test(text) || !text.isWellFormed();
}

/** Lower-case BCP 47 language with an optional script and region: `cs`, `pt-br`, `zh-hant`, `es-419`. */
export function isLanguageCode(text: string): boolean {
  return LANGUAGE.test(text);
}

/** A URL that may be stored: https (http too where `allowHttp`), no credentials, at most 2,048 characters. */
export function isStorableUrl(text: string, allowHttp: boolean): boolean {
  if (text.length > LIMITS.url || hasForbiddenCharacters(text) || /\s/.test(text)) return false;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.hostname === '') return false;
  return url.protocol === 'https:' || (allowHttp && url.protocol === 'http:');
}
