/** The beginning of a client's connection (RFC 9113 section 3.4), in however many pieces it comes. */

import { ConnectionFault, ErrorCode, PREFACE } from './frames.ts';

export class Preface {
  #length = 0;

  get isRead(): boolean {
    return this.#length === PREFACE.length;
  }

  /** Returns what follows it in the chunk. Throws ConnectionFault for anything else than the preface. */
  read(chunk: Buffer): Buffer {
    const length = Math.min(chunk.length, PREFACE.length - this.#length);
    if (chunk.compare(PREFACE, this.#length, this.#length + length, 0, length) !== 0) {
      throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'not the preface of HTTP/2');
    }
    this.#length += length;
    return chunk.subarray(length);
  }
}
