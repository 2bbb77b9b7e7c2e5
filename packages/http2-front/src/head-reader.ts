/** Reads the header blocks of a connection, each repeated one by its bytes. */

import { type Caller, type Head, type KnownHead, knownHead, type MethodOf, readHead, repeatedHead } from './head.ts';
import type { HeaderBlock } from './header-blocks.ts';
import { type HeaderList, HpackDecoder } from './hpack.ts';
import { readLatin1 } from './latin1.ts';
import { callerOf, entranceOf, judge, Verdict } from './other-calls.ts';
import type { Entrance, Entrances } from './service.ts';

export interface ReadBlock {
  /** Null for a call that the front does not answer. */
  readonly head: Head | null;
  /** What becomes of it then. */
  readonly verdict: Verdict;
  /** Of a call that passes; else null. */
  readonly passed: { readonly entrance: Entrance; readonly caller: Caller } | null;
  readonly list: HeaderList;
}

export interface Paths {
  readonly methodOf: MethodOf;
  readonly served: Entrances;
}

/** A client repeats few blocks: one for each method, deadline and key. */
const MAX_KNOWN = 64;
const MAX_KNOWN_BYTES = 512;
/** Callers and methods whose deadlines differ; a proxy may have more of them, and then reads some anew. */
const MAX_REPEATED = 4;

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
  /** Heads with a deadline: in a block that has another one, the rest need not be read again. */
  readonly #repeated: KnownHead[] = [];
  #oldest = 0;
  /** Whether blocks are kept: not before a right key was shown, since sixty of them are a hundred kilobytes. */
  remembers = false;

  constructor(paths: Paths) {
    this.#paths = paths;
  }

  /** Throws ConnectionFault COMPRESSION_ERROR. */
  read({ bytes, start, end }: HeaderBlock): ReadBlock {
    const text = end - start > MAX_KNOWN_BYTES || !this.remembers ? '' : readLatin1(bytes, start, end);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const list = this.#decoder.decode(bytes, start, end);
    const head = this.#headOf(list, text !== '');
    const block = head === null ? this.#blockOf(list) : { head, verdict: Verdict.PASS, passed: null, list };
    if (this.#decoder.generation !== this.#generation) {
      this.#generation = this.#decoder.generation;
      this.#known.clear();
    } else if (text !== '' && this.#known.size < MAX_KNOWN) {
      list.repeated = true;
      this.#known.set(text, block);
    }
    return block;
  }

  #blockOf(list: HeaderList): ReadBlock {
    const { served } = this.#paths;
    const verdict = list.tooLong ? Verdict.MALFORMED : judge(list, served);
    const passed = verdict === Verdict.PASS ? { entrance: entranceOf(list, served), caller: callerOf(list) } : null;
    return { head: null, verdict, passed, list };
  }

  /** @param isShort whether its bytes are few enough to be kept */
  #headOf(list: HeaderList, isShort: boolean): Head | null {
    for (const known of this.#repeated) {
      const head = repeatedHead(known, list);
      if (head !== null) return head;
    }
    const head = readHead(list, this.#paths.methodOf);
    const known = head === null || !isShort ? null : knownHead(head, list);
    if (known !== null) {
      this.#repeated[this.#oldest] = known;
      this.#oldest = (this.#oldest + 1) % MAX_REPEATED;
    }
    return head;
  }
}
