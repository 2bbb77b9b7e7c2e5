/**
 * Parsed CheckRequests by their bytes, for requests that were answered before: callers repeat themselves byte by byte, and
 * reading, validating and making the key cost more than the rest of a hot answer.
 */

import type { QuestionKey } from '../engine/decisions.ts';
import type { Level } from '../engine/types.ts';

/** Everything that a cached answer needs of a request. A function of the bytes alone: no change of data invalidates it. */
export interface Remembered {
  readonly key: QuestionKey;
  /** The requested level; NONE stands for any. */
  readonly level: Level;
}

/** Longer requests are parsed each time. */
const MAX_BYTES = 1024;
/** Bounds of one generation; two are kept. Characters of the requests and of their keys take one byte each. */
const MAX_ENTRIES = 4096;
const MAX_CHARACTERS = 1024 * 1024;

/** `toString('latin1')` calls `latin1Slice` after reading its argument. */
type Sliceable = Buffer & { latin1Slice(start: number, end: number): string };

/** The cache key of a request: its bytes as Latin-1. '' for a request that is too long to be kept. */
export function requestText(request: Buffer): string {
  const { length } = request;
  return length > MAX_BYTES ? '' : (request as Sliceable).latin1Slice(0, length);
}

/**
 * Keyed by the request itself, never by a hash alone: in Latin-1 each byte is one character, so two requests have the same
 * text only when they have the same bytes. Bounded by two generations: a full younger one replaces the older, whose entries
 * are forgotten unless they were used since. A hit moves nothing.
 */
export class RequestCache {
  #young = new Map<string, Remembered>();
  #old = new Map<string, Remembered>();
  #characters = 0;
  #oldCharacters = 0;

  get(text: string): Remembered | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.put(text, old);
    return old;
  }

  /** Only for a valid request without `minRevision` whose decision came from the cache. */
  put(text: string, remembered: Remembered): void {
    if (text === '' || this.#young.has(text)) return;
    if (this.#young.size >= MAX_ENTRIES || this.#characters >= MAX_CHARACTERS) {
      this.#old = this.#young;
      this.#oldCharacters = this.#characters;
      this.#young = new Map();
      this.#characters = 0;
    }
    this.#young.set(text, remembered);
    this.#characters += text.length + remembered.key.length;
  }

  /** A request may be counted in both generations. */
  get size(): { entries: number; characters: number } {
    return {
      entries: this.#young.size + this.#old.size,
      characters: this.#characters + this.#oldCharacters,
    };
  }
}
