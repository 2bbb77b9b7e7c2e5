/**
 * The positions of all values in a text, as flat typed arrays: a thread transfers them at no cost, and they give the line
 * of a fault that is found later, in the database, without parsing the text again.
 */

import type { Reason } from '../../base/errors.ts';
import { byCodeUnit } from '../../base/order.ts';
import type { Fault, Path } from './faults.ts';

export interface Places {
  /** For each key and item, in the order of the text: its offset, and the number of entries in it, itself included. */
  readonly starts: Uint32Array<ArrayBuffer>;
  readonly sizes: Uint32Array<ArrayBuffer>;
  /** The key's index in `keys`, from 1; 0 for an item of a list. */
  readonly names: Uint32Array<ArrayBuffer>;
  readonly keys: readonly string[];
  readonly root: number;
}

/** A fault as the answer lists it (docs/reference/http.md#error-bodies, `details.issues`), with its place in the text. */
export interface ManifestIssue {
  path: string;
  message: string;
  line: number;
  column: number;
  code?: Reason;
}

/** Collects entries, each entered before its content and left after it. */
export class PlacesBuilder {
  #root = 0;
  readonly #starts: number[] = [];
  readonly #sizes: number[] = [];
  readonly #names: number[] = [];
  readonly #keys = new Map<string, number>();

  root(offset: number): void {
    this.#root = offset;
  }

  enter(offset: number, key?: string): number {
    this.#names.push(key === undefined ? 0 : this.#nameOf(key));
    this.#sizes.push(1);
    return this.#starts.push(offset) - 1;
  }

  leave(entry: number): void {
    this.#sizes[entry] = this.#starts.length - entry;
  }

  build(): Places {
    return {
      root: this.#root,
      starts: Uint32Array.from(this.#starts),
      sizes: Uint32Array.from(this.#sizes),
      names: Uint32Array.from(this.#names),
      keys: [...this.#keys.keys()],
    };
  }

  #nameOf(key: string): number {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    this.#keys.set(key, this.#keys.size + 1);
    return this.#keys.size;
  }
}

/** The buffers that a thread can transfer instead of copying. */
export function buffersOf({ starts, sizes, names }: Places): ArrayBuffer[] {
  return [starts.buffer, sizes.buffer, names.buffer];
}

/**
 * Maps a path to the offset of its value, or of its nearest existing ancestor; for a key, the offset of the key. Each
 * list and map on the way is scanned once, for any number of paths.
 */
function offsetsIn({ starts, sizes, names, keys, root }: Places): (path: Path) => number {
  const seen = new Map<number, Map<string | number, number>>();
  /** The entries of the list or map between two entries. */
  const entriesOf = (from: number, end: number): Map<string | number, number> => {
    const known = seen.get(from);
    if (known !== undefined) return known;
    const entries = new Map<string | number, number>();
    for (let at = from; at < end; at += sizes[at] ?? 1) {
      const name = names[at] ?? 0;
      // Of a key given twice the last one counts.
      entries.set(name === 0 ? entries.size : (keys[name - 1] ?? ''), at);
    }
    seen.set(from, entries);
    return entries;
  };
  return (path) => {
    let offset = root;
    let from = 0;
    let end = starts.length;
    for (const step of path) {
      const found = entriesOf(from, end).get(step);
      if (found === undefined) break;
      offset = starts[found] ?? offset;
      from = found + 1;
      end = found + (sizes[found] ?? 1);
    }
    return offset;
  };
}

/** Maps an offset in `text` to its line and column. */
function positionsIn(text: string): (offset: number) => Pick<ManifestIssue, 'line' | 'column'> {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    for (let high = starts.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

/** Faults as issues, by line and column. */
export function placed(
  text: string,
  places: Places,
  faults: readonly (Fault & { offset?: number })[],
): ManifestIssue[] {
  if (faults.length === 0) return [];
  const positionOf = positionsIn(text);
  const offsetOf = offsetsIn(places);
  return inOrder(
    faults.map(({ path, message, code, offset }) => ({
      path: path.join('.'),
      message,
      ...positionOf(offset ?? offsetOf(path)),
      ...(code === undefined ? {} : { code }),
    })),
  );
}

export function inOrder(issues: ManifestIssue[]): ManifestIssue[] {
  return issues.sort((a, b) => a.line - b.line || a.column - b.column || byCodeUnit(a.path, b.path));
}
