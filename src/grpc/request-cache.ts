/**
 * What a CheckRequest's bytes say, for those that were read and answered before: callers repeat themselves byte by byte, and
 * reading, validating and making the key cost more than all else of a hot answer.
 */

import type { QuestionKey } from '../engine/decisions.ts';
import type { Level } from '../engine/types.ts';

/** All that a cached answer needs of a request. It is a function of the bytes alone: no change of any data makes it wrong. */
export interface Remembered {
  readonly key: QuestionKey;
  /** The least level that will do; NONE asks for any. */
  readonly level: Level;
}

/** Longer requests are read anew each time. */
const MAX_BYTES = 1024;
/** What one generation holds at most; two are kept. Characters of the requests and of their keys are one byte each. */
const MAX_ENTRIES = 4096;
const MAX_CHARACTERS = 1024 * 1024;

/** `latin1Slice` is what `toString('latin1')` calls after reading its argument. */
type Sliceable = Buffer & { latin1Slice(start: number, end: number): string };

/** What a request is found by: its bytes as Latin-1. '' for one that is too long, which is never kept. */
export function memoText(request: Buffer): string {
  const { length } = request;
  return length > MAX_BYTES ? '' : (request as Sliceable).latin1Slice(0, length);
}

/**
 * Found by the request itself, never by a hash alone: as Latin-1 each byte is one character, so that two requests are the
 * same text only when they are the same bytes. Bounded in two generations: when the younger is full it becomes the elder,
 * and what the elder held is forgotten unless it has been asked for since. A hit moves nothing.
 */
export class RequestMemo {
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

  /** Only for a request without `minRevision` that was read without complaint, and whose decision was in the cache. */
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
