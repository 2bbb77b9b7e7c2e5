/** Reads the fields of one record of a manifest: what is there, what fits, what is unknown. Every fault is noted, none thrown. */

import { hasForbiddenCharacters, isLongerThan } from '../../base/grammar.ts';
import { nearest } from '../../base/nearest.ts';
import type { Fault, Path, Plain, PlainMap } from './format.ts';

/** Whether a text fits; the sentence says what would. */
export interface Rule {
  test(text: string): boolean;
  says: string;
}

/** So many faults may come with a guess at what was meant. */
export const SUGGESTIONS = 50;

/** The faults of one manifest. Noting goes on, so that a person mends all of them at once; beyond the bound it only counts. */
export class Faults {
  static readonly BOUND = 1000;
  readonly list: Fault[] = [];
  #dropped = 0;

  add(path: Path, message: string, more: Omit<Fault, 'path' | 'message'> = {}): void {
    if (this.list.length < Faults.BOUND) this.list.push({ path, message, ...more });
    else this.#dropped++;
  }

  /** A name that is none of `known`, with the nearest of them. `thing` says what it is not. */
  addUnknown(path: Path, thing: string, known: readonly string[]): void {
    // Help for a misspelling or two: with hundreds of faults it would only cost time.
    const near = this.list.length < SUGGESTIONS ? nearest(String(path.at(-1)), known) : null;
    const hint = near === null ? '; known' : `; did you mean ${near}? Known`;
    this.add(path, `is no ${thing}${hint} are ${known.join(', ')}`);
  }

  /** How many were found beyond the bound. */
  get dropped(): number {
    return this.#dropped;
  }
}

export class Fields {
  readonly path: Path;
  readonly #map: PlainMap;
  readonly #faults: Faults;

  private constructor(map: PlainMap, path: Path, faults: Faults) {
    this.#map = map;
    this.path = path;
    this.#faults = faults;
  }

  /** The record at `path`, or null when it is none. Names outside `known` are faults. */
  static of(value: Plain | undefined, path: Path, faults: Faults, known: readonly string[]): Fields | null {
    if (!isMap(value)) {
      faults.add(path, `must be a map with ${known.join(', ')}, not ${describe(value)}`);
      return null;
    }
    for (const name of Object.keys(value)) {
      if (!known.includes(name)) faults.addUnknown([...path, name], 'field here', known);
    }
    return new Fields(value, path, faults);
  }

  has(name: string): boolean {
    return this.#map[name] !== undefined && this.#map[name] !== null;
  }

  raw(name: string): Plain | undefined {
    return this.#map[name];
  }

  /** A required text. Null when it is missing or does not fit, which is noted. */
  text(name: string, rule: Rule): string | null {
    if (!this.has(name)) {
      this.#faults.add(this.#at(name), `${name} is missing`);
      return null;
    }
    return this.optional(name, rule);
  }

  /** An optional text; null and absence are the same. */
  optional(name: string, rule: Rule): string | null {
    const value = this.#map[name];
    if (value === undefined || value === null) return null;
    return readText(value, this.#at(name), rule, this.#faults);
  }

  flag(name: string): boolean | null {
    const value = this.#map[name];
    if (value === undefined || value === null) return null;
    if (typeof value === 'boolean') return value;
    this.#faults.add(this.#at(name), `must be true or false, not ${describe(value)}`);
    return null;
  }

  oneOf<const T extends string>(name: string, options: readonly T[]): T | null {
    const value = this.#map[name];
    if (value === undefined || value === null) return null;
    const found = options.find((option) => option === value);
    if (found === undefined) {
      this.#faults.add(this.#at(name), `must be ${options.join(' or ')}, not ${describe(value)}`);
    }
    return found ?? null;
  }

  /** The items of an optional list; null when it is absent. */
  list(name: string): readonly Plain[] | null {
    const value = this.#map[name];
    if (value === undefined) return null;
    if (Array.isArray(value)) return value;
    this.#faults.add(
      this.#at(name),
      value === null
        ? 'is empty: write [] for an empty list, or leave it out'
        : `must be a list, not ${describe(value)}`,
    );
    return null;
  }

  #at(name: string): Path {
    // What is missing has no place of its own: its record has.
    return name in this.#map ? [...this.path, name] : this.path;
  }
}

/** A text that fits `rule`, or null with the fault noted. */
export function readText(value: Plain, path: Path, rule: Rule, faults: Faults): string | null {
  if (typeof value !== 'string') {
    const hint = typeof value === 'number' || typeof value === 'boolean' ? '; put it in quotes' : '';
    faults.add(path, `must be text, not ${describe(value)}${hint}`);
    return null;
  }
  if (rule.test(value)) return value;
  faults.add(path, `${describe(value)} ${rule.says}`);
  return null;
}

/** Text for people: not empty, without control characters, at most `max` code points. */
export function words(max: number, lines = false): Rule {
  return {
    test: (text) =>
      text.trim() !== '' &&
      !isLongerThan(text, max) &&
      !hasForbiddenCharacters(lines ? text.replace(/[\n\r\t]/g, ' ') : text),
    says: `is empty, longer than ${max} characters, or holds control characters`,
  };
}

/** Text that a machine reads: may be empty; line breaks and tabs, no other control characters, at most `max` code points. */
export function prose(max: number): Rule {
  return {
    test: (text) => !isLongerThan(text, max) && !hasForbiddenCharacters(text.replace(/[\n\r\t]/g, ' ')),
    says: `is longer than ${max} characters, or holds control characters`,
  };
}

export function isMap(value: Plain | undefined): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as a message shows it; long ones are cut. */
export function describe(value: Plain | undefined): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  const shown = JSON.stringify(value);
  return shown.length > 80 ? `${shown.slice(0, 77)}…"` : shown;
}
