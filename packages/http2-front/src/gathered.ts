/** Bytes that are sent together: frames are put behind each other, and taken as one buffer. */

import { NOTHING } from './frames.ts';

/** The smallest buffer, and the largest: what is more than that is sent in several. */
const LEAST = 1024;
const MOST = 32_768;

export class Gathered {
  readonly #send: (bytes: Buffer) => void;
  /** Made anew for each time, since its receiver may keep it. */
  bytes: Buffer = NOTHING;
  #length = 0;
  /** What the next turn will probably send: what the last one did. */
  #expected = LEAST;

  constructor(send: (bytes: Buffer) => void) {
    this.#send = send;
  }

  /** The place in `bytes` for that many. It has to be filled before the next call. */
  reserve(count: number): number {
    if (this.#length + count > this.bytes.length) this.#makeRoom(count);
    const at = this.#length;
    this.#length += count;
    return at;
  }

  #makeRoom(count: number): void {
    if (this.#length + count > MOST) this.send();
    const before = this.bytes;
    this.bytes = Buffer.allocUnsafe(Math.max(this.#length + count, 2 * this.#length, this.#expected));
    before.copy(this.bytes, 0, 0, this.#length);
  }

  /** Sends what there is. */
  send(): void {
    if (this.#length === 0) return;
    const bytes = this.bytes.subarray(0, this.#length);
    this.#expected = Math.min(MOST, Math.max(LEAST, this.#length + (this.#length >>> 2)));
    this.bytes = NOTHING;
    this.#length = 0;
    this.#send(bytes);
  }
}
