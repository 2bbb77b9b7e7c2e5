/** Bounds the memory of messages that have not arrived whole, of callers who have shown a right (docs/reference/http.md#limits). */

import { RefusedCall } from './refused-call.ts';

const MIB = 1024 * 1024;

/** Bytes for a connection, for an address (of IPv6 a /64), and in all. */
export const UNFINISHED_BYTES = { connection: 16 * MIB, address: 32 * MIB, all: 64 * MIB } as const;
type UnfinishedLimits = { readonly [Limit in keyof typeof UNFINISHED_BYTES]: number };

/** Of every connection of the gRPC port. */
export class UnfinishedMessages {
  readonly #limits: UnfinishedLimits;
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  constructor(limits: UnfinishedLimits = UNFINISHED_BYTES) {
    this.#limits = limits;
  }

  /** Bytes that are kept now. */
  get held(): number {
    return this.#all;
  }

  /** The share of a connection. */
  open(address: string): UnfinishedShare {
    return new UnfinishedShare((own, bytes) => this.#take(address, own, bytes));
  }

  #take(address: string, own: number, bytes: number): void {
    const { connection, address: ofAddress, all } = this.#limits;
    const together = (this.#byAddress.get(address) ?? 0) + bytes;
    if (bytes > 0 && (own + bytes > connection || together > ofAddress || this.#all + bytes > all)) {
      throw new RefusedCall('unfinished bytes');
    }
    this.#all += bytes;
    if (together === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, together);
  }
}

/** What a connection has of it. */
export class UnfinishedShare {
  readonly #count: (own: number, bytes: number) => void;
  held = 0;

  constructor(count: (own: number, bytes: number) => void) {
    this.#count = count;
  }

  /** Counts the bytes, negative ones too. Throws RefusedCall, and then counts nothing. */
  take(bytes: number): void {
    this.#count(this.held, bytes);
    this.held += bytes;
  }
}
