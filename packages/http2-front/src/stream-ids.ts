/** The numbers of a client's streams: odd, rising, each used once (RFC 9113 section 5.1.1). */

import { ConnectionFault, ErrorCode } from './frames.ts';

/** Skipped numbers that are remembered; clients of gRPC skip none. */
const MAX_SKIPPED = 64;

export class StreamIds {
  /** The highest one so far. */
  last = 0;
  /** Lower ones that were never used. Using one later is PROTOCOL_ERROR; using a closed stream again is STREAM_CLOSED. */
  readonly #skipped = new Set<number>();

  /** Throws ConnectionFault for a number that is used, or can no longer be used. */
  open(id: number): void {
    if (id <= this.last) {
      const code = this.#skipped.has(id) ? ErrorCode.PROTOCOL_ERROR : ErrorCode.STREAM_CLOSED;
      throw new ConnectionFault(code, 'HEADERS on a stream that is closed');
    }
    const next = this.last === 0 ? 1 : this.last + 2;
    for (let skipped = next; skipped < id && this.#skipped.size < MAX_SKIPPED; skipped += 2) this.#skipped.add(skipped);
    this.last = id;
  }
}
