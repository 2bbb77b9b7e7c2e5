/**
 * How much rendered text this process holds, over all sends and previews together. A template of a few hundred bytes can make a
 * megabyte for each of a thousand recipients; without a bound one send fills the heap, and V8 ends the process.
 */

import { getHeapStatistics } from 'node:v8';
import { UsherError, unavailable } from '../base/errors.ts';
import type { RenderWatch } from './render.ts';

const MIB = 1024 * 1024;

/** Bytes of one send, all recipients together: what is stored for it. */
export const MAX_SEND_BYTES = 64 * MIB;
/** Bytes that all callers may hold together. */
const MAX_HELD_BYTES = 256 * MIB;
/** The budget is this fraction of the heap: in memory a text can take twice its stored size, and garbage comes on top. */
const SHARE_OF_HEAP = 8;
/** A caller who holds at most this much may use the whole budget: large sends never shut small ones out. */
const SMALL_BYTES = MIB;
/** The share of the budget that callers who hold more may use. */
const SHARE_OF_LARGE = 0.75;

export class RenderBudget {
  readonly #limit: number;
  #held = 0;

  /** `limit`: bytes of rendered text that may be held at once. */
  constructor(limit: number = Math.min(MAX_HELD_BYTES, getHeapStatistics().heap_size_limit / SHARE_OF_HEAP)) {
    this.#limit = limit;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Does the work of one caller; what it charged is given back when it is done, however it ends. */
  async within<T>(signal: AbortSignal | undefined, work: (watch: RenderWatch) => Promise<T>): Promise<T> {
    let own = 0;
    const charge = (bytes: number): void => {
      this.#refuse(own + bytes, bytes);
      own += bytes;
      this.#held += bytes;
    };
    try {
      return await work({ signal, charge });
    } finally {
      this.#held -= own;
    }
  }

  /** PAYLOAD_TOO_LARGE when one caller asks for too much, UNAVAILABLE when all of them together do. */
  #refuse(own: number, more: number): void {
    if (own > Math.min(MAX_SEND_BYTES, this.#limit / 2)) throw tooLarge();
    const limit = own > SMALL_BYTES ? this.#limit * SHARE_OF_LARGE : this.#limit;
    if (this.#held + more > limit) throw unavailable('Too much is being rendered at the moment; try again later.');
  }
}

/** 413: what is rendered for a send comes to more than one send may store. */
export function tooLarge(): UsherError {
  return new UsherError(
    'PAYLOAD_TOO_LARGE',
    'The notifications of this send are too large in total: send it to fewer recipients at once, or shorten it.',
  );
}
