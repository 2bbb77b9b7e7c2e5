/**
 * Reads what manifests usually are some fifty times faster than the YAML library: JSON, and block YAML of one-line scalars,
 * which is how `export` writes. Answers undefined for everything else, and for everything doubtful: then the library reads
 * it. What it does answer is what the library would (a property in the tests); it never finds a fault.
 */

import { LIMITS } from '../grammar.ts';
import type { Plain, PlainMap } from './manifest-format.ts';

export function readQuickly(text: string): Plain | undefined {
  const value = /^\s*\{/.test(text) ? readJson(text) : new Block(text).read();
  return value === DOUBT ? undefined : value;
}

const DOUBT = Symbol('doubt');
type Doubtful = Plain | typeof DOUBT;

/** JSON.parse keeps the last of a key given twice; as many keys in the value as in the text means that there was none. */
function readJson(text: string): Doubtful {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return DOUBT;
  }
  const counted = { keys: 0 };
  const copied = copy(value, 0, counted);
  return counted.keys === countKeys(text) ? copied : DOUBT;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Outside strings JSON has a colon after each key and nowhere else. */
function countKeys(json: string): number {
  let keys = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === COLON) keys++;
    if (code !== QUOTE) continue;
    at++;
    while (at < json.length && json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return keys;
}

function copy(value: unknown, depth: number, counted: { keys: number }): Doubtful {
  if (depth > LIMITS.jsonNesting) return DOUBT;
  if (typeof value === 'number')
    return Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : DOUBT;
  if (typeof value !== 'object' || value === null) return value as Plain;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => copy(item, depth + 1, counted));
    return items.includes(DOUBT) ? DOUBT : (items as Plain[]);
  }
  const map: Record<string, Plain> = Object.create(null);
  for (const [key, item] of Object.entries(value)) {
    const copied = copy(item, depth + 1, counted);
    if (copied === DOUBT) return DOUBT;
    counted.keys++;
    map[key] = copied;
  }
  return map;
}

/** A line's content: an optional dash, an optional key, an optional value; a comment at most after white space. */
const LINE =
  /^( *)(- )?(?:([A-Za-z0-9][A-Za-z0-9._-]*):(?= |$))?(?: *("[^"\\]*"|'[^']*'|\[[^[\]{}"'#:]*\]|[A-Za-z0-9](?:[^\s:#]|:(?=[^\s:#])| (?=[^\s:#]))*))?(?: +#.*)?$/;
const BLANK = /^ *(?:#[\x20-\x7e]*)?$/;
/** What may stand in a scalar here: printable, and no character that YAML gives a meaning in the middle of one. */
const PRINTABLE = /^[\x20-\x7e\u00a1-\u2027\u2030-\ud7ff]*$/;
const NUMBER =
  /^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const WORDS = new Map<string, Plain>([
  ...['null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);

interface Line {
  indent: number;
  dash: boolean;
  key: string | undefined;
  value: string | undefined;
}

class Block {
  readonly #text: string;
  #at = 0;
  /** The line that is being read; null at the end. */
  #line: Line | null = null;
  #doubt = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Doubtful {
    this.#next();
    const value = this.#line?.indent === 0 && !this.#line.dash ? this.#map(0, 0) : null;
    return this.#doubt || this.#line !== null || value === null ? DOUBT : value;
  }

  /** Moves to the next line that says something. */
  #next(): void {
    this.#line = null;
    while (!this.#doubt && this.#at < this.#text.length) {
      const end = this.#text.indexOf('\n', this.#at);
      const line = this.#text.slice(this.#at, end < 0 ? this.#text.length : end);
      this.#at = end < 0 ? this.#text.length : end + 1;
      if (BLANK.test(line)) continue;
      const match = PRINTABLE.test(line) ? LINE.exec(line) : null;
      const [, indent = '', dash, key, value] = match ?? [];
      if (key === undefined && value === undefined) {
        this.#doubt = true;
        return;
      }
      this.#line = { indent: indent.length, dash: dash !== undefined, key, value };
      return;
    }
  }

  #map(indent: number, depth: number): PlainMap {
    const map: Record<string, Plain> = Object.create(null);
    for (let line = this.#line; line !== null && line.indent === indent && !line.dash; line = this.#line) {
      if (line.key === undefined || line.key in map) return this.#giveUp(map);
      map[line.key] = this.#value(line, indent, depth);
    }
    return map;
  }

  /** What stands after a key: on its line, or below it. */
  #value({ value }: Line, indent: number, depth: number): Plain {
    this.#next();
    if (value !== undefined) return this.#scalar(value);
    const below = this.#line;
    if (below === null || below.indent < indent || (below.indent === indent && !below.dash)) return null;
    if (depth >= LIMITS.jsonNesting) return this.#giveUp(null);
    return below.dash ? this.#list(below.indent, depth + 1) : this.#map(below.indent, depth + 1);
  }

  #list(indent: number, depth: number): readonly Plain[] {
    const items: Plain[] = [];
    for (let line = this.#line; line !== null && line.indent === indent && line.dash; line = this.#line) {
      if (line.key === undefined) {
        this.#next();
        items.push(this.#scalar(line.value ?? ''));
      } else {
        // The map in an item begins behind the dash.
        this.#line = { ...line, indent: indent + 2, dash: false };
        items.push(this.#map(indent + 2, depth + 1));
      }
    }
    return items;
  }

  #scalar(text: string): Plain {
    const first = text[0];
    if (first === '"' || first === "'") return text.slice(1, -1);
    if (first === '[') {
      const inside = text.slice(1, -1).trim();
      return inside === '' ? [] : inside.split(',').map((item) => this.#word(item.trim()));
    }
    return this.#plain(text);
  }

  /** An item of a list in one line. */
  #word(text: string): Plain {
    return /^[A-Za-z0-9][A-Za-z0-9@._+-]*$/.test(text) ? this.#plain(text) : this.#giveUp(null);
  }

  #plain(text: string): Plain {
    if (NUMBER.test(text)) return this.#giveUp(null);
    const word = WORDS.get(text);
    return word === undefined ? text : word;
  }

  #giveUp<T>(value: T): T {
    this.#doubt = true;
    this.#line = null;
    return value;
  }
}
