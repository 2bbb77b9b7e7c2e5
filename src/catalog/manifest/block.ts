/** The quick reader of block YAML (quick.ts): lines of `key: value` and `- item`, nothing that spans lines. */

import { LIMITS } from '../../base/grammar.ts';
import type { Plain, PlainMap } from './format.ts';

/** What is answered instead of a value when only the library can tell. */
export const DOUBT = Symbol('doubt');
export type Doubtful = Plain | typeof DOUBT;

/** Told where each key and each item begins, as an offset in the text. */
export interface Watch {
  enter(step: string | number, offset: number): void;
  leave(): void;
}

/** A line's content: an optional dash, an optional key, an optional value; a comment at most after white space. */
const LINE =
  /^( *)(?! )(- )?(?:([A-Za-z0-9][A-Za-z0-9._-]*):(?= |$))?(?: *("[^"\\]*"|'[^']*'|\[[^[\]{}"'#:]*\]|[A-Za-z0-9](?:[^\s:#]|:(?=[^\s:#])| (?=[^\s:#]))*))?(?: +#.*)?$/;
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
  /** Where the line starts in the text. */
  start: number;
  indent: number;
  dash: boolean;
  key: string | undefined;
  value: string | undefined;
}

/** Block YAML of one-line scalars. Reads once. */
export class Block {
  readonly #text: string;
  readonly #watch: Watch | undefined;
  #at = 0;
  /** The line that is being read; null at the end. */
  #line: Line | null = null;
  #doubt = false;

  constructor(text: string, watch?: Watch) {
    this.#text = text;
    this.#watch = watch;
  }

  /** The value, or DOUBT when this is not the YAML that it reads. */
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
      const start = this.#at;
      const line = this.#text.slice(start, end < 0 ? this.#text.length : end);
      this.#at = end < 0 ? this.#text.length : end + 1;
      if (BLANK.test(line)) continue;
      const match = PRINTABLE.test(line) ? LINE.exec(line) : null;
      const [, indent = '', dash, key, value] = match ?? [];
      if (key === undefined && value === undefined) {
        this.#doubt = true;
        return;
      }
      this.#line = { start, indent: indent.length, dash: dash !== undefined, key, value };
      return;
    }
  }

  #map(indent: number, depth: number): PlainMap {
    const map: Record<string, Plain> = Object.create(null);
    for (let line = this.#line; line !== null && line.indent === indent && !line.dash; line = this.#line) {
      if (line.key === undefined || line.key in map) return this.#giveUp(map);
      this.#watch?.enter(line.key, line.start + indent);
      map[line.key] = this.#value(line, indent, depth);
      this.#watch?.leave();
    }
    return map;
  }

  /** What stands after a key: on its line, or below it. */
  #value(line: Line, indent: number, depth: number): Plain {
    this.#next();
    if (line.value !== undefined) return this.#scalar(line.value, line.start + indent + (line.key?.length ?? 0) + 1);
    const below = this.#line;
    if (below === null || below.indent < indent || (below.indent === indent && !below.dash)) return null;
    if (depth >= LIMITS.jsonNesting) return this.#giveUp(null);
    return below.dash ? this.#list(below.indent, depth + 1) : this.#map(below.indent, depth + 1);
  }

  #list(indent: number, depth: number): readonly Plain[] {
    const items: Plain[] = [];
    for (let line = this.#line; line !== null && line.indent === indent && line.dash; line = this.#line) {
      this.#watch?.enter(items.length, this.#contentAt(line.start + indent + 2));
      if (line.key === undefined) {
        this.#next();
        items.push(this.#scalar(line.value ?? '', line.start + indent + 2));
      } else {
        // The map in an item begins behind the dash.
        this.#line = { ...line, indent: indent + 2, dash: false };
        items.push(this.#map(indent + 2, depth + 1));
      }
      this.#watch?.leave();
    }
    return items;
  }

  /** `from`: where in the text to look for it, at most white space before it. */
  #scalar(text: string, from: number): Plain {
    const first = text[0];
    if (first === '"' || first === "'") return text.slice(1, -1);
    return first === '[' ? this.#flow(text, from) : this.#plain(text);
  }

  /** A list in one line. */
  #flow(text: string, from: number): readonly Plain[] {
    const inside = text.slice(1, -1);
    if (inside.trim() === '') return [];
    let at = this.#contentAt(from) + 1;
    return inside.split(',').map((item, index) => {
      this.#watch?.enter(index, this.#contentAt(at));
      at += item.length + 1;
      this.#watch?.leave();
      return this.#word(item.trim());
    });
  }

  #contentAt(from: number): number {
    let at = from;
    while (this.#text[at] === ' ') at++;
    return at;
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
