/** JSON with integers beyond the range of a double: rounding them would name another record. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Far deeper than real records; code that walks over the value may then recurse. */
const MAX_DEPTH = 1000;
/** Numbers of at most this many characters always fit a double. */
const SAFE_LENGTH = 15;

/**
 * The value of a JSON text; integers beyond Number.MAX_SAFE_INTEGER become texts with their digits. Throws SyntaxError, or
 * RangeError for values nested too deep. One pass and JSON.parse: a reviver is called for every value, which takes 1 s a megabyte.
 */
export function parseLargeIntegers(text: string): unknown {
  // Parsed unchanged first: only valid JSON is rewritten.
  const value: unknown = JSON.parse(text);
  const quoted = quoteLargeIntegers(text);
  return quoted === text ? value : JSON.parse(quoted);
}

function quoteLargeIntegers(text: string): string {
  const parts: string[] = [];
  let kept = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, at);
      if (end - at > SAFE_LENGTH && isLargeInteger(text.slice(at, end))) {
        parts.push(text.slice(kept, at), '"', text.slice(at, end), '"');
        kept = end;
      }
      at = end - 1;
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      depth--;
    }
  }
  return kept === 0 ? text : parts.join('') + text.slice(kept);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** The first place after a number of any form: `-1.5e+7`. */
function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && isOfNumber(text.charCodeAt(at))) at++;
  return at;
}

function isOfNumber(code: number): boolean {
  // . e E + -
  return isDigit(code) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === MINUS;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isLargeInteger(number: string): boolean {
  return !Number.isSafeInteger(Number(number)) && /^-?\d+$/.test(number);
}
