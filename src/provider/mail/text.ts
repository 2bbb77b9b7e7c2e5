/**
 * The provider's texts: escaped for HTML on arrival, plain afterwards. People choose some of them (their names), so the
 * expressions here run in linear time for every text: test/regular-expressions.test.ts.
 */

import { trimEnd } from '../../base/trim.ts';

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Undoes one escaping, in one pass: `&amp;lt;` becomes `&lt;` and stays so. */
export function unescapeHtml(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[String(name).toLowerCase()] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const usable = point >= 0x20 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
    return usable ? String.fromCodePoint(point) : '';
  });
}

/** Matches what mail programs turn into a link, or what is a link in an attribute: with a scheme, without one (`//host`), or `www.`. */
const LINK =
  /(?:(?<![a-z0-9+.-])[a-z0-9+.-]+:[\\/]{2}|\b(?:https?|ftp|wss?|file|javascript|vbscript|data|blob|mailto):(?=\S)|(?<![\w:])[\\/]{2}(?=[\w[])|\bwww\.)[^\s<>"'`]*/gi;

/** `See.https://…`: the end of a sentence without a space before the link. */
const WORDS_BEFORE = /^[a-z0-9+.-]*[+.-](?=https?:)/i;

/** Schemes that make a link of a whole text, however it is broken up: URL parsers drop tabs and line breaks. */
const SCHEMES = new Set([
  'http:',
  'https:',
  'ftp:',
  'ws:',
  'wss:',
  'file:',
  'javascript:',
  'vbscript:',
  'blob:',
  'mailto:',
]);

/** Characters that end a sentence rather than the link before them. */
const AFTER_LINK = ').,;:!?';

/** The text without the links that `keep` refuses. */
export function scrub(text: string, keep: (link: string) => boolean): string {
  const whole = URL.parse(text);
  if (whole !== null && SCHEMES.has(whole.protocol) && !keep(text)) return '';
  return text.replace(LINK, (found) => {
    const words = WORDS_BEFORE.exec(found)?.[0] ?? '';
    const link = found.slice(words.length);
    return keep(trimEnd(link, AFTER_LINK)) ? found : words;
  });
}
