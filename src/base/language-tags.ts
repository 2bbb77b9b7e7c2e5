/** What the locales of browsers, tokens and mobile systems mean in codes of the language registry (docs/reference/names.md#languages). */

import { LRUCache } from 'lru-cache';
import { isLanguageCode } from './grammar.ts';

/** Longer texts name nothing. */
const MAX_LENGTH = 64;

/** The macrolanguage and what is written under its code: neither Unicode nor BCP 47 makes one of the other. */
const SAME: ReadonlyMap<string, string> = new Map([
  ['no', 'nb'],
  ['nb', 'no'],
]);

/** Those written from right to left, of languages in use. */
const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(['Adlm', 'Arab', 'Hebr', 'Nkoo', 'Rohg', 'Syrc', 'Thaa']);

/**
 * The codes that a BCP 47 tag can mean, the nearest first: as written, then by its likely subtags language with script (`zh-TW` is
 * `zh-hant`), with region, and alone. Empty for any other text.
 */
export function languageCodes(locale: string): string[] {
  if (locale.length > MAX_LENGTH) return [];
  const tag = locale.trim().replaceAll('_', '-');
  const known = localeOf(tag);
  if (known === null) return [];
  const { language, script, region } = known.maximize();
  const codes = [tag, tagOf(known.language, known.script, known.region)];
  for (const one of [language, SAME.get(language)]) {
    if (one === undefined) continue;
    codes.push(tagOf(one, script, region), tagOf(one, script), tagOf(one, undefined, region), one);
  }
  return [...new Set(codes.map((code) => code.toLowerCase()))].filter(isLanguageCode);
}

type Direction = 'rtl' | 'ltr';

/** Each mail asks, and an Intl.Locale takes as long as all else of a layout. */
const DIRECTIONS = new LRUCache<string, Direction>({ max: 500, memoMethod: readDirection });

/** `rtl` or `ltr`, by the script that the language is written in. */
export function directionOf(locale: string): Direction {
  return DIRECTIONS.memo(locale);
}

function readDirection(locale: string): Direction {
  const script = localeOf(locale)?.maximize().script;
  return script !== undefined && RIGHT_TO_LEFT.has(script) ? 'rtl' : 'ltr';
}

function localeOf(tag: string): Intl.Locale | null {
  try {
    return new Intl.Locale(tag);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function tagOf(...subtags: (string | undefined)[]): string {
  return subtags.filter((subtag) => subtag !== undefined).join('-');
}
