/**
 * The provider's texts: escaped for HTML on arrival, plain afterwards. People choose some of them (their names), so the
 * expressions here run in linear time for every text: test/tools/regular-expressions.tools.ts.
 */

import type { TimeSlicer } from '../../base/time-slice.ts';
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

/**
 * The link as a mail may hold it: http(s), at one of the origins, without user information, backslashes and control characters, in its
 * parsed form (WHATWG `href`); null for any other. Mail programs parse by other rules than `URL`: only a normalized link is the same to
 * all (docs/reference/identity-provider.md#links).
 */
export function hrefOf(link: string, origins: ReadonlySet<string>): string | null {
  if (/[\\\p{Cc}]/u.test(link)) return null;
  const url = URL.parse(link);
  // The origin of `blob:https://…` is that of the inner URL.
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  const afterScheme = link.slice(link.indexOf(':') + 1).replace(/^\/+/, '');
  const [authority = ''] = afterScheme.split(/[/?#]/, 1);
  return !authority.includes('@') && origins.has(url.origin) ? url.href : null;
}

/** A link with a scheme, without one (`//host`), or with `www.`: in a mail program, or in an attribute. */
const LINK =
  /(?<![a-z0-9+.-])[a-z0-9+.-]+:[\\/]{2}|\b(?:https?|ftps?|sftp|wss?|file|javascript|vbscript|data|blob|filesystem|mailto|tel|sms|callto|facetime|skype|sips?|xmpp|irc|geo|magnet|intent|webcal|news|nntp|gopher|ldap|view-source|about):(?=\S)|(?<![\w:])[\\/]{2}(?=[\p{L}\p{N}_[])|\bwww\./iu;

/** A name with what makes it a link to most programs where it is a host's: a path, a query, a fragment. They take ideographic full stops for dots. */
const NAME =
  /(?<![\p{L}\p{N}\p{M}\p{Cf}_.\u3002\uff0e\uff61-])([\p{L}\p{N}\p{M}\p{Cf}_.\u3002\uff0e\uff61-]+)(?::\d+)?[/\\?#]/gu;
const DOT = /[.\u3002\uff0e\uff61]/u;
/** Every link has one of these, except for a bare name. */
const SIGN = /[:/\\?#]|www\./i;

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

/** Characters that end a sentence or a quotation rather than the link before them. */
const AFTER_LINK = ')\'".,;:!?`“”‘’»›…。，、）】」』';
/** A removed link can join what stood around it into another one. More often than this nobody's words need it. */
const PASSES = 3;

/** The text with its links in their parsed form, and without those of other origins. */
export function scrub(text: string, origins: ReadonlySet<string>): string {
  const whole = URL.parse(text);
  if (whole !== null && SCHEMES.has(whole.protocol) && !isOurs(whole, origins)) return '';
  let left = text;
  for (let pass = 0; pass < PASSES; pass++) {
    const scrubbed = scrubOnce(left, origins);
    if (scrubbed === left) return left;
    left = scrubbed;
  }
  return scrubOnce(left, origins) === left ? left : '';
}

function isOurs({ protocol, username, password, origin }: URL, origins: ReadonlySet<string>): boolean {
  return /^https?:$/.test(protocol) && username === '' && password === '' && origins.has(origin);
}

function scrubOnce(text: string, origins: ReadonlySet<string>): string {
  const scrubbed = text.replace(/[^\s<>]+/g, (run) => (SIGN.test(run) ? scrubRun(run, origins) : run));
  // Rendering drops NUL, and would join what it separates.
  return scrubbed.replace(/[^\P{Cc}\t\n\r]/gu, '');
}

/** A run of characters that a link can hold. A link in it goes to its end. */
function scrubRun(run: string, origins: ReadonlySet<string>): string {
  const at = Math.min(LINK.exec(run)?.index ?? run.length, hostIn(run));
  if (at === run.length) return run;
  const words = WORDS_BEFORE.exec(run.slice(at))?.[0] ?? '';
  const link = trimEnd(run.slice(at + words.length), AFTER_LINK);
  const before = run.slice(0, at + words.length);
  const href = hrefOf(link, origins);
  if (href === null || !isWholeToAll(before, href)) return before;
  return `${before}${href}${run.slice(before.length + link.length)}`;
}

/** Whether every program sees one link where it stands: some begin none after a letter, and end it at a bracket, a quotation mark or a comma. */
function isWholeToAll(before: string, href: string): boolean {
  const tail = href.slice(href.indexOf('/', 'https://'.length));
  return (before === '' || /[\p{P}\p{S}]$/u.test(before)) && /^[\w.~/?#&=%+@-]*$/.test(tail) && !tail.includes('//');
}

/** Where a host's name with a path begins; the length of the text where none does. */
function hostIn(run: string): number {
  for (const { index, 1: name = '' } of run.matchAll(NAME)) if (isHost(name)) return index;
  return run.length;
}

/** The last label of a host begins with a letter and has at least two characters: `1.2/3` and `a.s./s.r.o.` are words. An IPv4 address is a host. */
function isHost(name: string): boolean {
  const labels = name.split(DOT).filter((label) => label !== '');
  if (labels.length < 2) return false;
  if (labels.length >= 4 && labels.slice(-4).every((label) => /^\d{1,3}$/.test(label))) return true;
  return /^[\p{L}\p{M}\p{Cf}].+$/u.test(labels.at(-1) ?? '');
}

/** Characters that are looked at together, about a slice of time. */
const PIECE = 4 * 1024;
/** The longest run without white space that counts as words. */
const MAX_WORD = 8 * 1024;

/** `scrub` in slices of the event loop: a text may be as long as a body. Links end at white space, so texts are cut there. */
export async function scrubInPieces(text: string, origins: ReadonlySet<string>, pieces: TimeSlicer): Promise<string> {
  if (text.length <= PIECE) return scrub(text, origins);
  const cleaned: string[] = [];
  let piece = '';
  for (const [run] of text.matchAll(/\s+|\S+/g)) {
    // No real link is as long, and the time for one run must be bounded.
    piece += run.length > MAX_WORD && SIGN.test(run) ? '' : run;
    if (piece.length < PIECE) continue;
    cleaned.push(scrub(piece, origins));
    piece = '';
    await pieces.next();
  }
  cleaned.push(scrub(piece, origins));
  return cleaned.join('');
}
