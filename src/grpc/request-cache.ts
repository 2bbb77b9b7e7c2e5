/**
 * Parsed questions by the bytes of their requests: callers repeat themselves byte by byte, and reading, validating and making the
 * key cost more than the rest of a hot answer.
 */

import type { QuestionKey } from '../engine/decisions.ts';
import type { KeptQuestion } from '../engine/grounds.ts';
import type { Level } from '../engine/types.ts';
import { readLatin1 } from './latin1.ts';

/** Everything that a cached answer needs of a CheckRequest. A function of the bytes alone: no change of data invalidates it. */
export interface Remembered {
  readonly key: QuestionKey;
  /** The requested level; NONE stands for any. */
  readonly level: Level;
}

/** A check of a batch. Like `Remembered`, a function of its bytes alone, but for the facts that the question holds. */
export interface ParsedCheck {
  readonly kept: KeptQuestion;
  readonly level: Level;
}

/** Longer requests are parsed each time. */
const MAX_BYTES = 1024;

/** The cache key of a request: its bytes as Latin-1. '' for a request that is too long to be kept. */
export function requestText(request: Buffer): string {
  return textBetween(request, 0, request.length);
}

/** The same of a request that is a part of the bytes. */
export function textBetween(bytes: Buffer, start: number, end: number): string {
  return end - start > MAX_BYTES ? '' : readLatin1(bytes, start, end);
}

/**
 * Keyed by the request itself, never by a hash alone: in Latin-1 each byte is one character, so two requests have the same
 * text only when they have the same bytes. Bounded by two generations: a full younger one replaces the older, whose entries
 * are forgotten unless they were used since. A hit moves nothing.
 */
class ByBytes<Value> {
  readonly #maxEntries: number;
  readonly #maxCharacters: number;
  readonly #charactersOf: (value: Value) => number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #characters = 0;
  #oldCharacters = 0;

  /**
   * The bounds are those of one generation. Characters take one byte each.
   *
   * @param charactersOf those that a value holds beside the request
   */
  constructor(maxEntries: number, maxCharacters: number, charactersOf: (value: Value) => number) {
    this.#maxEntries = maxEntries;
    this.#maxCharacters = maxCharacters;
    this.#charactersOf = charactersOf;
  }

  get(text: string): Value | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.put(text, old);
    return old;
  }

  put(text: string, value: Value): void {
    if (text === '' || this.#young.has(text)) return;
    if (this.#young.size >= this.#maxEntries || this.#characters >= this.#maxCharacters) {
      this.#old = this.#young;
      this.#oldCharacters = this.#characters;
      this.#young = new Map();
      this.#characters = 0;
    }
    this.#young.set(text, value);
    this.#characters += text.length + this.#charactersOf(value);
  }

  /** A request may be counted in both generations. */
  get size(): { entries: number; characters: number } {
    return {
      entries: this.#young.size + this.#old.size,
      characters: this.#characters + this.#oldCharacters,
    };
  }
}

/** Of Check: valid requests without `minRevision` whose decision came from the cache. */
export class RequestCache extends ByBytes<Remembered> {
  constructor() {
    super(4096, 1024 * 1024, ({ key }) => key.length);
  }
}

/** Of BatchCheck: valid checks. More of them, because a page of rows is hundreds; the fields are parts of the text itself. */
export class CheckCache extends ByBytes<ParsedCheck> {
  constructor() {
    super(16_384, 2 * 1024 * 1024, () => 0);
  }
}

/** The caches of one listener. */
export interface Memo {
  readonly requests: RequestCache;
  readonly checks: CheckCache;
}

export function createMemo(): Memo {
  return { requests: new RequestCache(), checks: new CheckCache() };
}
