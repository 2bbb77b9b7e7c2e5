/**
 * Reads what manifests usually are some fifty times faster than the YAML library: JSON, and block YAML of one-line scalars,
 * which is how `export` writes. Answers undefined for everything else, and for everything doubtful: then the library reads
 * it. What it does answer is what the library would (a property in the tests); it never finds a fault.
 */

import { LIMITS } from '../../base/grammar.ts';
import { Block, DOUBT, type Doubtful, type Watch } from './block.ts';
import type { Path, Plain } from './format.ts';

export function readQuickly(text: string): Plain | undefined {
  const value = isJson(text) ? readJson(text) : new Block(text).read();
  return value === DOUBT ? undefined : value;
}

/**
 * The offsets of `paths` in a text that `readQuickly` could read; of a path that is not there, the nearest above it.
 * Reads the text once more, whatever the number of paths.
 */
export function locateQuickly(text: string, paths: readonly Path[]): number[] {
  const watch = new PathWatch(paths, text);
  if (isJson(text)) new JsonScanner(text, watch).scan();
  else new Block(text, watch).read();
  return paths.map((path) => watch.offsetOf(path));
}

function isJson(text: string): boolean {
  return /^\s*\{/.test(text);
}

/** Steps joined by what no key holds. */
const JOINT = '\u0000';

class PathWatch implements Watch {
  readonly #wanted = new Set<string>();
  readonly #found = new Map<string, number>();
  readonly #open = [''];
  /** Where the whole begins: in YAML with its first key. */
  #first: number | undefined;

  constructor(paths: readonly Path[], text: string) {
    if (isJson(text)) this.#first = text.indexOf('{');
    for (const path of paths) {
      let key = '';
      for (const step of path) {
        key += `${JOINT}${step}`;
        this.#wanted.add(key);
      }
    }
  }

  enter(step: string | number, offset: number): void {
    this.#first ??= offset;
    const key = `${this.#open.at(-1)}${JOINT}${step}`;
    this.#open.push(key);
    if (this.#wanted.has(key)) this.#found.set(key, offset);
  }

  leave(): void {
    this.#open.pop();
  }

  offsetOf(path: Path): number {
    let key = '';
    let offset = this.#first ?? 0;
    for (const step of path) {
      key += `${JOINT}${step}`;
      const found = this.#found.get(key);
      if (found === undefined) break;
      offset = found;
    }
    return offset;
  }
}

/** Walks a JSON text that is known to be well-formed and not deep. */
class JsonScanner {
  readonly #text: string;
  readonly #watch: Watch;
  #at = 0;

  constructor(text: string, watch: Watch) {
    this.#text = text;
    this.#watch = watch;
  }

  scan(): void {
    this.#space();
    const start = this.#text[this.#at];
    if (start === '{' || start === '[') this.#collection(start === '{');
    else if (start === '"') this.#string();
    else while (this.#at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #collection(isMap: boolean): void {
    this.#at++;
    for (let index = 0; ; index++) {
      this.#space();
      const next = this.#text[this.#at];
      if (next === '}' || next === ']' || next === undefined) break;
      const offset = this.#at;
      this.#watch.enter(isMap ? this.#key() : index, offset);
      this.scan();
      this.#watch.leave();
      this.#space();
      if (this.#text[this.#at] === ',') this.#at++;
    }
    this.#at++;
  }

  #key(): string {
    const start = this.#at;
    this.#string();
    const key = JSON.parse(this.#text.slice(start, this.#at)) as string;
    this.#space();
    this.#at++;
    return key;
  }

  #string(): void {
    this.#at++;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"')
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    this.#at++;
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }
}

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
