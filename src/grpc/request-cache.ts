/**
 * Parsed checks by the bytes of their messages, single ones and those of batches: callers repeat themselves byte by byte, and
 * reading, validating and finding the facts cost more than the rest of a repeated answer.
 */

import { readLatin1 } from '#http2-front/latin1';
import type { KeptQuestion } from '../engine/grounds.ts';
import type { Level } from '../engine/types.ts';

/** A valid check without `minRevision`. A function of its bytes alone, but for the facts that the question holds. */
export interface ParsedCheck {
  readonly kept: KeptQuestion;
  /** The requested level; NONE stands for any. */
  readonly level: Level;
  /** Whether it was asked for since the cache last looked for room. */
  used: boolean;
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

/** Heap of an entry without its text: its place in the map, the question with its fields, the facts that it holds. Measured. */
const ENTRY_BYTES = 540;

/**
 * Keyed by the message itself, never by a hash alone: in Latin-1 each byte is one character, so two messages have the same
 * text only when they have the same bytes. A hit marks an entry and moves nothing. For room a hand goes round the entries: it
 * takes the mark off a marked one, and takes out one without.
 */
export class CheckCache {
  readonly #maxBytes: number;
  readonly #checks = new Map<string, ParsedCheck>();
  #hand = this.#checks.entries();
  #bytes = 0;

  /** @param maxBytes of heap, as far as they can be told from the messages */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(text: string): ParsedCheck | undefined {
    const check = this.#checks.get(text);
    if (check !== undefined) check.used = true;
    return check;
  }

  put(text: string, check: ParsedCheck): void {
    if (text === '' || this.#checks.has(text)) return;
    const bytes = ENTRY_BYTES + text.length;
    while (this.#bytes > this.#maxBytes - bytes && this.#checks.size > 0) this.#moveHand();
    this.#checks.set(text, check);
    this.#bytes += bytes;
  }

  get size(): { entries: number; bytes: number } {
    return { entries: this.#checks.size, bytes: this.#bytes };
  }

  #moveHand(): void {
    const { value } = this.#hand.next();
    if (value === undefined) {
      this.#hand = this.#checks.entries();
      return;
    }
    const [text, check] = value;
    if (!check.used) {
      this.#checks.delete(text);
      this.#bytes -= ENTRY_BYTES + text.length;
    }
    check.used = false;
  }
}
