/** In one statement at most so many deliveries and bytes, but for one that is larger: PGlite's statements run on the event loop. */
const ROWS = 500;
const BYTES = 512 * 1024;

/** A delivery, ready to be stored. */
export interface WrittenDelivery {
  /** Whose: of its notification's number it is told when there is one. */
  readonly of: number;
  /** As JSON. */
  readonly written: string;
}

/** Buffers of statements that are done, for the next ones: those that wait for the database are not collected with the young. */
const SPARE: Buffer[] = [];
const MOST_SPARE = 4;

/**
 * The deliveries of one statement, as the bytes of a JSON array. Outside the heap: strings as long as statements are never collected
 * with the young, and whoever asks for permissions would wait for long collections.
 */
export class Batch {
  readonly of: number[] = [];
  #bytes = SPARE.pop() ?? Buffer.allocUnsafe(BYTES);
  #end = this.#bytes.write('[');

  /** Whether it had room for it. The first one always has. */
  add({ of, written }: WrittenDelivery): boolean {
    const after = this.#end + Buffer.byteLength(written) + 1;
    if (after > this.#bytes.length || this.of.length === ROWS) {
      if (this.of.length > 0) return false;
      this.#bytes = Buffer.concat([this.#bytes.subarray(0, this.#end)], after);
    }
    this.#end += this.#bytes.write(written, this.#end);
    // Closed with the last one.
    this.#end += this.#bytes.write(',', this.#end);
    this.of.push(of);
    return true;
  }

  /** The array. Nothing is added afterwards. */
  json(): Buffer {
    this.#bytes.write(']', this.#end - 1);
    return this.#bytes.subarray(0, this.#end);
  }

  /** To be called once its statement has been answered: nobody looks at its array any more. */
  release(): void {
    if (this.#bytes.length === BYTES && SPARE.length < MOST_SPARE) SPARE.push(this.#bytes);
  }
}
