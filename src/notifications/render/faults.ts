/** Finds all syntax errors of a part: the library stops at the first, so that one is mended and the part parsed again. */

import type { Liquid } from 'liquidjs';

/** A syntax error, at an offset of the source. */
export interface SyntaxFault {
  readonly at: number;
  readonly message: string;
}

interface LiquidFault {
  message?: string;
  token?: { begin?: number };
}

/** More are of no use to an author. */
const MAX_FAULTS = 20;
/** Milliseconds of processor time for all parses of a part. */
const CPU_MS = 40;

/** What may stand in place of a faulty tag, so that its end tag finds a beginning. */
const OPENERS: Readonly<Record<string, string>> = {
  if: '{%if 1%}',
  unless: '{%unless 1%}',
  case: '{%case 1%}',
  for: '{%for i in x%}',
  tablerow: '{%tablerow i in x%}',
  capture: '{%capture x%}',
};

/** Text that was put in place of other text. */
interface Mend {
  readonly at: number;
  /** Characters before and after. */
  readonly was: number;
  readonly is: number;
}

/** The syntax errors of a part, in the order of the text. */
export function syntaxFaults(liquid: Liquid, source: string): SyntaxFault[] {
  const before = process.threadCpuUsage();
  const faults = new Map<string, SyntaxFault>();
  const mends: Mend[] = [];
  let text = source;
  while (faults.size < MAX_FAULTS) {
    const error = errorOf(liquid, text);
    if (error === null) break;
    const fault = { at: originOf(error.at, mends), message: error.message };
    const key = `${fault.at} ${fault.message}`;
    const { at, was, by } = mendOf(text, error, faults.has(key));
    // The author mends a faulty tag anyway: that it lacks its end tag, too, may be due to that.
    const isMended = mends.some(
      (mend) => mend.is > 0 && mend.was > 0 && error.at >= mend.at && error.at < mend.at + mend.is,
    );
    if (!isMended || faults.size === 0) faults.set(key, fault);
    text = text.slice(0, at) + by + text.slice(at + was);
    mends.push({ at, was, is: by.length });
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1000 > CPU_MS) break;
  }
  return [...faults.values()].toSorted((a, b) => a.at - b.at);
}

function errorOf(liquid: Liquid, text: string): SyntaxFault | null {
  try {
    liquid.parse(text);
    return null;
  } catch (error) {
    const { message, token } = error as LiquidFault;
    return { at: token?.begin ?? 0, message: sentence(message) };
  }
}

/** The library's message without its position and its context lines. */
export function sentence(message: string | undefined): string {
  const [first = ''] = (message ?? '').split('\n');
  return first.replace(/(, file:[^,]*)?, line:\d+, col:\d+$/, '').slice(0, 200) || 'it does not parse';
}

/** The tag that lacks its end, in a message that says so. */
function unclosedIn(message: string): string | null {
  if (!message.endsWith('not closed')) return null;
  return message.startsWith('raw ') ? 'raw' : (/^tag \{%-?\s*(\w+)/.exec(message)?.[1] ?? null);
}

/** The text to replace and its replacement, so that a parse comes further. `again`: the last mend has changed nothing. */
function mendOf(text: string, { at, message }: SyntaxFault, again: boolean): { at: number; was: number; by: string } {
  const unclosed = unclosedIn(message);
  const begin = Math.max(text.lastIndexOf('{{', at + 1), text.lastIndexOf('{%', at + 1), 0);
  const closer = text.startsWith('{{', begin) ? '}}' : '%}';
  const close = text.indexOf(closer, begin);
  if (unclosed !== null && close >= 0 && !again) return { at: text.length, was: 0, by: `{%end${unclosed}%}` };
  // A beginning without an end: it becomes text.
  if (close < 0 || (/^(?:tag|output) "/.test(message) && message.endsWith('not closed')))
    return { at: begin, was: 2, by: '' };
  const whole = text.slice(begin, close + 2);
  const filter = /^undefined filter: (\S+)$/.exec(message)?.[1];
  const named = filter === undefined || again ? -1 : filterIn(whole, filter);
  if (filter !== undefined && named >= 0) return { at: begin + named, was: filter.length, by: 'size' };
  const tag = /^\{%-?\s*(\w+)/.exec(whole)?.[1] ?? '';
  return { at: begin, was: whole.length, by: again ? '' : (OPENERS[tag] ?? '') };
}

/** Where an output or tag names the filter; -1 where it does not. */
function filterIn(whole: string, filter: string): number {
  for (let at = whole.indexOf(filter); at >= 0; at = whole.indexOf(filter, at + 1)) {
    if (whole.slice(0, at).trimEnd().endsWith('|') && !/^\w/.test(whole.slice(at + filter.length))) return at;
  }
  return -1;
}

/** The offset in the source of an offset in the mended text. */
function originOf(at: number, mends: readonly Mend[]): number {
  let origin = at;
  for (const { at: from, was, is } of mends.toReversed()) {
    if (origin >= from + is) origin += was - is;
    else if (origin > from) origin = from;
  }
  return origin;
}

/** Line and column of an offset, from 1. */
export function positionOf(source: string, at: number): { line: number; column: number } {
  const before = source.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}
