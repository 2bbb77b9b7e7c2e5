/**
 * Limits the rendered text in memory over all sends and previews. A template of a few hundred bytes can render to a megabyte for each
 * of a thousand recipients; without a limit one send could fill the heap, and V8 would end the process.
 */

import { getHeapStatistics } from 'node:v8';
import { UsherError, unavailable } from '../base/errors.ts';
import type { RenderWatch } from './render.ts';

const MIB = 1024 * 1024;

/** The most bytes stored for one send, over all recipients. */
export const MAX_SEND_BYTES = 64 * MIB;
/** The most bytes that all callers hold together. */
const MAX_HELD_BYTES = 256 * MIB;
/** The budget is this fraction of the heap: in memory a text can take twice its stored size, and garbage comes on top. */
const SHARE_OF_HEAP = 8;
/** A caller who holds at most this much may use the whole budget, so that large sends never block small ones. */
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

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /** Runs the work of one caller; releases what it charged when it ends. */
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

  /** PAYLOAD_TOO_LARGE when one caller exceeds its limit, UNAVAILABLE when all callers together exceed theirs. */
  #refuse(own: number, more: number): void {
    if (own > Math.min(MAX_SEND_BYTES, this.#limit / 2)) throw tooLarge();
    const limit = own > SMALL_BYTES ? this.#limit * SHARE_OF_LARGE : this.#limit;
    if (this.#held + more > limit) throw unavailable('Too much is being rendered at the moment; try again later.');
  }
}

/** 413: a send renders to more than one send may store. */
export function tooLarge(): UsherError {
  return new UsherError(
    'PAYLOAD_TOO_LARGE',
    'The notifications of this send are too large in total: send it to fewer recipients at once, or shorten it.',
  );
}
