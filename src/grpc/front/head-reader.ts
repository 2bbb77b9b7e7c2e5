/** Reads the header blocks of a connection, each repeated one by its bytes. */

import { readLatin1 } from '../latin1.ts';
import { type Head, readHead } from './head.ts';
import type { HeaderBlock } from './header-blocks.ts';
import { type HeaderList, HpackDecoder } from './hpack.ts';
import { judge, Verdict } from './other-calls.ts';

export interface ReadBlock {
  /** Null for a call that the front does not answer. */
  readonly head: Head | null;
  /** What becomes of it then. */
  readonly verdict: Verdict;
  readonly list: HeaderList;
}

export interface Paths {
  /** Whether the front answers calls of that path. */
  readonly isAnswered: (path: string) => boolean;
  /** Whether grpc-js has a handler of that path. */
  readonly isServed: (path: string) => boolean;
}

/** A client repeats few blocks: one for each method, deadline and key. */
const MAX_KNOWN = 64;
const MAX_KNOWN_BYTES = 512;

/**
 * As long as the dynamic table stays as it is, the same bytes mean the same fields: then a block is found rather than decoded.
 * The bytes themselves are compared, never a hash of them, so that one call is never taken for another, nor one key.
 */
export class HeadReader {
  readonly #decoder = new HpackDecoder();
  readonly #paths: Paths;
  readonly #known = new Map<string, ReadBlock>();
  /** The table for which they are known. */
  #generation = 0;

  constructor(paths: Paths) {
    this.#paths = paths;
  }

  /** Throws ConnectionFault COMPRESSION_ERROR. */
  read({ bytes, start, end }: HeaderBlock): ReadBlock {
    const text = end - start > MAX_KNOWN_BYTES ? '' : readLatin1(bytes, start, end);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const list = this.#decoder.decode(bytes, start, end);
    const { isAnswered, isServed } = this.#paths;
    const head = readHead(list, isAnswered);
    const block = { head, verdict: head === null ? judge(list, isServed) : Verdict.PASS, list };
    if (this.#decoder.generation !== this.#generation) {
      this.#generation = this.#decoder.generation;
      this.#known.clear();
    } else if (text !== '' && this.#known.size < MAX_KNOWN) this.#known.set(text, block);
    return block;
  }
}
