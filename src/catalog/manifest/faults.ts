/** The faults of a manifest: what is wrong, where, and what would be right. Faults are collected, not thrown. */

import type { Reason } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';

/** A value of a manifest's text. Maps are objects without a prototype: `constructor` is a key like any other. */
export type Plain = string | number | boolean | null | readonly Plain[] | PlainMap;
export interface PlainMap {
  readonly [key: string]: Plain;
}

/** Where in the manifest: keys and indexes from the root. */
export type Path = readonly (string | number)[];

/** One thing wrong with a manifest. `code` is the precise reason, where there is one (docs/reference/errors.md#reasons). */
export interface Fault {
  path: Path;
  message: string;
  code?: Reason;
  /** Further data for programs, such as `languages` of UNKNOWN_LANGUAGES. */
  details?: Record<string, unknown>;
}

/** Thrown inside a transaction with every fault; becomes a UsherError once line and column are known. */
export class ManifestFaults extends Error {
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super('the manifest is invalid');
    this.name = 'ManifestFaults';
    this.faults = faults;
  }
}

/** At most this many faults get a suggestion. */
export const SUGGESTIONS = 50;

/** The faults of one manifest: all of them, so that a person can fix them at once; beyond the bound they are only counted. */
export class Faults {
  static readonly BOUND = 1000;
  readonly list: Fault[] = [];
  #dropped = 0;

  add(path: Path, message: string, more: Omit<Fault, 'path' | 'message'> = {}): void {
    if (this.list.length < Faults.BOUND) this.list.push({ path, message, ...more });
    else this.#dropped++;
  }

  /** A fault for a name outside `known`, with the nearest of them. `thing` is its kind. */
  addUnknown(path: Path, thing: string, known: readonly string[]): void {
    // Suggestions help with a few misspellings; with hundreds of faults they only cost time.
    const near = this.list.length < SUGGESTIONS ? nearest(String(path.at(-1)), known) : null;
    const hint = near === null ? '' : `; did you mean ${near}?`;
    this.add(path, `is an unknown ${thing}${hint} (known: ${known.join(', ')})`);
  }

  /** How many were found beyond the bound. */
  get dropped(): number {
    return this.#dropped;
  }
}

export function isMap(value: unknown): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as a message shows it; long ones are cut. */
export function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  const shown = JSON.stringify(value);
  return shown.length > 80 ? `${shown.slice(0, 77)}…"` : shown;
}
