/**
 * Bounds the memory of bodies whose caller is not known yet: a signature over a body can be verified only once all of it is there, and
 * some routes are open to everybody. All such bodies share one bound, and those of one address a part of it.
 */

import { UsherError } from '../../base/errors.ts';
import { UNPROVEN_BYTES } from '../route/limits.ts';

/** `retry-after` in seconds: an upload is over by then. */
const RETRY_S = 5;

export interface UnprovenLimits {
  readonly total: number;
  readonly address: number;
}

/** Bytes of bodies that are being received from callers without credentials, in total and by address. */
export class UnprovenBodies {
  readonly #limits: UnprovenLimits;
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(limits: UnprovenLimits = UNPROVEN_BYTES) {
    this.#limits = limits;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#total;
  }

  /** The share of one body from that address. */
  open(address: string): UnprovenBody {
    return new UnprovenBody((bytes) => this.#take(address, bytes));
  }

  /** Counts the bytes, negative ones too. Throws RATE_LIMITED or UNAVAILABLE, and then counts nothing. */
  #take(address: string, bytes: number): void {
    const total = this.#total + bytes;
    const own = (this.#byAddress.get(address) ?? 0) + bytes;
    if (bytes > 0 && own > this.#limits.address) {
      throw new UsherError(
        'RATE_LIMITED',
        'Too many bytes of unfinished requests without credentials from this address; try again shortly.',
        { retryAfter: RETRY_S },
      );
    }
    if (bytes > 0 && total > this.#limits.total) {
      throw new UsherError('UNAVAILABLE', 'Too many unfinished requests without credentials; try again shortly.', {
        retryAfter: RETRY_S,
      });
    }
    this.#total = total;
    if (own === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, own);
  }
}

/** The share of one body in the bound. */
export class UnprovenBody {
  readonly #count: (bytes: number) => void;
  #bytes = 0;

  constructor(count: (bytes: number) => void) {
    this.#count = count;
  }

  /** Throws RATE_LIMITED when its address holds too much, UNAVAILABLE when all together do. */
  take(bytes: number): void {
    this.#count(bytes);
    this.#bytes += bytes;
  }

  giveBack(): void {
    this.#count(-this.#bytes);
    this.#bytes = 0;
  }
}
