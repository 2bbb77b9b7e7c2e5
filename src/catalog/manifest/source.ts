/**
 * A manifest's text as plain values, and back from a path to its line and column. YAML 1.2 without custom tags, with merge keys and
 * limits for nesting and for the expansion of aliases. JSON is read the same way, so that both have positions and refuse duplicate
 * keys.
 */

import {
  boolCoreTag,
  EVENT_ID,
  type Event,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  NOT_RESOLVED,
  nullCoreTag,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  strTag,
  YAMLException,
} from 'js-yaml';
import { LIMITS } from '../../base/grammar.ts';
import { type Fault, isMap, type Path, type Plain } from './faults.ts';
import { type Places, PlacesBuilder } from './places.ts';

/** A fault of the text itself, without a path. */
export type SourceFault = Fault & { offset: number };

export interface Source {
  /** Undefined when the text could not be read or must not be trusted. */
  value: Plain | undefined;
  faults: readonly SourceFault[];
  /** The positions of all values. */
  places: Places;
}

/** The key of YAML 1.1 that merges other maps into one's own. */
const MERGE = '<<';

/** Values that aliases may add in total. An honest manifest shares a few lists; a hostile one multiplies them. */
const ALIASED_VALUES = 100_000;
const TOO_DEEP = `is nested deeper than ${LIMITS.jsonNesting} levels`;

/** Reads a text. Never throws for its content. */
export function readSource(text: string): Source {
  const failed = (message: string, offset: number): Source => ({
    value: undefined,
    faults: [{ path: [], message, offset }],
    places: new PlacesBuilder().build(),
  });
  try {
    return new Reader(text, parseEvents(text, { maxDepth: LIMITS.jsonNesting })).source();
  } catch (error) {
    if (error instanceof Refused) return failed(error.message, error.offset);
    if (!(error instanceof YAMLException)) throw error;
    const tooDeep = error.reason.startsWith('nesting exceeded');
    return failed(tooDeep ? TOO_DEEP : `is not YAML: ${error.reason}`, error.mark?.position ?? 0);
  }
}

/** A fault that ends the reading: none of the text can be trusted. */
class Refused extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** Tags that agree with the plain value. Every other tag is refused. */
const TAGS = new Map(
  [strTag, nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag].map((tag) => [
    tag.tagName.replace('tag:yaml.org,2002:', '!!'),
    tag,
  ]),
);
/** The types of a plain scalar other than text. */
const IMPLICIT = [nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag].map((tag) => ({
  tag,
  first: tag.implicitFirstChars ?? [],
}));

/** The text that may precede the dash of an item on its line. */
const BEFORE_DASH = /^[ -]*$/;

/** Builds values and places from the events of a text. */
class Reader {
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #faults: SourceFault[] = [];
  readonly #places = new PlacesBuilder();
  /** The first event of the node of each anchor. */
  readonly #anchors = new Map<string, number>();
  #at = 0;
  /** The offset of the last node: the approximate place of values without one of their own. */
  #near = 0;
  /** The offset of the next dash of an item, from the last search; the length of the text without a further dash. */
  #dash = -1;
  #aliasDepth = 0;
  #aliased = 0;

  constructor(text: string, events: readonly Event[]) {
    this.#text = text;
    this.#events = events;
  }

  source(): Source {
    const value = this.#document();
    return { value, faults: this.#faults, places: this.#places.build() };
  }

  #document(): Plain {
    const first = this.#events[this.#at++];
    if (first?.type !== EVENT_ID.DOCUMENT) return null;
    if (first.directives.some((directive) => directive.kind === 'yaml' && directive.version !== '1.2')) {
      throw new Refused('is read as YAML 1.2; remove the %YAML directive', 0);
    }
    this.#places.root(this.#startOf(this.#at));
    const value = this.#read([], 0);
    const end = this.#near;
    if (this.#events.length > this.#at + 1) {
      throw new Refused('source contains multiple documents: a manifest is one', this.#text.indexOf('\n---', end) + 1);
    }
    return value;
  }

  #read(path: Path, depth: number): Plain {
    const event = this.#events[this.#at];
    const start = this.#startOf(this.#at);
    this.#near = start;
    if (event === undefined) return null;
    if (this.#aliasDepth > 0 && ++this.#aliased > ALIASED_VALUES) throw new Refused('has too many aliases', start);
    if (depth > LIMITS.jsonNesting) throw new Refused(TOO_DEEP, start);
    if (event.type === EVENT_ID.ALIAS) return this.#readAlias(event, path, depth);
    if (event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) return null;
    if (event.anchorStart >= 0 && this.#aliasDepth === 0) {
      this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), this.#at);
    }
    this.#at++;
    if (event.type === EVENT_ID.SCALAR) {
      this.#near = Math.max(start, event.valueEnd);
      return this.#readScalar(event, path, start);
    }
    const tag = this.#tagOf(event);
    if (event.type === EVENT_ID.SEQUENCE) {
      if (tag !== null && tag !== '!!seq') throw this.#unresolved(event.tagStart, tag);
      return this.#readList(path, depth);
    }
    if (tag !== null && tag !== '!!map') throw this.#unresolved(event.tagStart, tag);
    return this.#readMap(path, depth);
  }

  #readAlias({ anchorStart, anchorEnd }: { anchorStart: number; anchorEnd: number }, path: Path, depth: number): Plain {
    const name = this.#text.slice(anchorStart, anchorEnd);
    const target = this.#anchors.get(name);
    if (target === undefined) {
      throw new Refused(`the anchor *${name} is not defined before this line`, anchorStart - 1);
    }
    const after = this.#at + 1;
    this.#at = target;
    this.#aliasDepth++;
    const value = this.#read(path, depth + 1);
    this.#aliasDepth--;
    this.#at = after;
    return value;
  }

  #readList(path: Path, depth: number): Plain[] {
    const items: Plain[] = [];
    while (!this.#isEnd()) {
      const entry = this.#places.enter(this.#startOf(this.#at));
      items.push(this.#read([...path, items.length], depth + 1));
      this.#places.leave(entry);
    }
    this.#at++;
    return items;
  }

  #readMap(path: Path, depth: number): Plain {
    const map: Record<string, Plain> = Object.create(null);
    let merged: { value: Plain; offset: number } | null = null;
    while (!this.#isEnd()) {
      const offset = this.#startOf(this.#at);
      const key = this.#events[this.#at++];
      if (key?.type !== EVENT_ID.SCALAR) throw new Refused('has a key that is not text', offset);
      const name = getScalarValue(this.#text, key);
      const merges = name === MERGE && key.style === SCALAR_STYLE.PLAIN;
      if (merges ? merged !== null : name in map) {
        this.#faults.push({ path: [...path, name], message: 'is given twice', offset });
      }
      const entry = this.#places.enter(offset, name);
      const value = this.#read([...path, name], depth + 1);
      this.#places.leave(entry);
      if (merges) merged = { value, offset };
      else map[name] = value;
    }
    this.#at++;
    if (merged !== null) this.#merge(map, merged.value, [...path, MERGE], merged.offset);
    return map;
  }

  /** Adds what the maps have and `map` lacks; of several the first counts (https://yaml.org/type/merge.html). */
  #merge(map: Record<string, Plain>, value: Plain, path: Path, offset: number): void {
    for (const from of Array.isArray(value) ? value : [value]) {
      if (!isMap(from)) {
        this.#faults.push({ path, message: 'takes a map, or a list of maps, such as <<: *common', offset });
        continue;
      }
      for (const [name, one] of Object.entries(from)) {
        if (name in map) continue;
        this.#places.leave(this.#places.enter(offset, name));
        map[name] = one;
      }
    }
  }

  #readScalar(event: ScalarEvent, path: Path, offset: number): Plain {
    const source = getScalarValue(this.#text, event);
    const value = this.#valueOf(event, source);
    if (typeof value !== 'number' || (Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER))
      return value;
    this.#faults.push({ path, message: 'is a number that cannot be kept exactly; put it in quotes', offset });
    return null;
  }

  #valueOf(event: ScalarEvent, source: string): string | number | boolean | null {
    const name = this.#tagOf(event);
    if (name !== null) {
      const tag = TAGS.get(name);
      const value = tag?.resolve(source, true, tag.tagName) ?? NOT_RESOLVED;
      if (tag === nullCoreTag && source === '') return null;
      if (value === NOT_RESOLVED) throw this.#unresolved(event.tagStart, name);
      return value;
    }
    if (event.style !== SCALAR_STYLE.PLAIN) return source;
    for (const { tag, first } of IMPLICIT) {
      const value = first.includes(source.charAt(0)) ? tag.resolve(source, false, tag.tagName) : NOT_RESOLVED;
      if (value !== NOT_RESOLVED) return value;
    }
    return source;
  }

  #tagOf({ tagStart, tagEnd }: { tagStart: number; tagEnd: number }): string | null {
    return tagStart < 0 ? null : this.#text.slice(tagStart, tagEnd);
  }

  #unresolved(offset: number, tag: string): Refused {
    return new Refused(`unresolved tag: ${tag}`, offset);
  }

  #isEnd(): boolean {
    const event = this.#events[this.#at];
    return event === undefined || event.type === EVENT_ID.POP;
  }

  /** The place of an empty item is that of its dash, the first dash after the last node. */
  #nextDash(): number {
    // The result of the search is kept: a text may have as many empty values as lines.
    if (this.#dash < this.#near) this.#dash = findDash(this.#text, this.#near);
    return this.#dash < this.#text.length ? this.#dash : this.#near;
  }

  #startOf(at: number): number {
    const event = this.#events[at];
    switch (event?.type) {
      case EVENT_ID.ALIAS:
        return event.anchorStart - 1;
      case EVENT_ID.SCALAR: {
        const quoted = event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
        return event.valueStart < 0 ? this.#nextDash() : event.valueStart - (quoted ? 1 : 0);
      }
      case EVENT_ID.SEQUENCE:
      case EVENT_ID.MAPPING:
        return event.start;
      default:
        return this.#near;
    }
  }
}

/** The first dash of an item at or after `from`, or the length of the text. Examines each line once. */
function findDash(text: string, from: number): number {
  for (let at = text.indexOf('-', from); at >= 0; ) {
    if (BEFORE_DASH.test(text.slice(text.lastIndexOf('\n', at - 1) + 1, at))) return at;
    const end = text.indexOf('\n', at);
    at = end < 0 ? -1 : text.indexOf('-', end);
  }
  return text.length;
}
