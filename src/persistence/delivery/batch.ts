/** In one statement at most so many deliveries and bytes, but for one that is larger: PGlite's statements run on the event loop. */
const ROWS = 500;
const BYTES = 512 * 1024;
/** Enough for a notification to somebody. */
const FEW_BYTES = 16 * 1024;

/** PostgreSQL's object identifier of the type `json`. */
const JSON_OID = 114;
/** Of an array of one dimension: dimensions, flags, type of elements, their number, where they begin to be counted. */
const HEADER_BYTES = 5 * 4;
/** Before each element. */
const LENGTH_BYTES = 4;

/** A delivery, ready to be stored. */
export interface WrittenDelivery {
  /** Whose: of its notification's number it is told when there is one. */
  readonly of: number;
  readonly channel: 'email' | 'push';
  /** Null for pushes: they queue by the push service of the person's newest subscription. */
  readonly lane: string | null;
  readonly brandId: number | null;
  /** As JSON that PostgreSQL stores: see `writtenContent`. */
  readonly content: string;
}

/** Buffers of statements that are done, for the next ones: those that wait for the database are not collected with the young. */
const SPARE: Buffer[] = [];
const MOST_SPARE = 4;

/**
 * The deliveries of one statement. Their contents are written as a `json[]` in PostgreSQL's binary format (`array_recv` in
 * src/backend/utils/adt/arrayfuncs.c): read there once and not three times, as a JSON text of rows would be, and outside the heap.
 * Strings as long as statements are never collected with the young, and whoever asks for permissions would wait for long collections.
 */
export class Batch {
  readonly of: number[] = [];
  readonly channels: WrittenDelivery['channel'][] = [];
  readonly lanes: (string | null)[] = [];
  readonly brandIds: (number | null)[] = [];
  #bytes = SPARE.pop() ?? Buffer.allocUnsafe(FEW_BYTES);
  #end = HEADER_BYTES;

  /** Whether it had room for it. The first one always has. */
  add({ of, channel, lane, brandId, content }: WrittenDelivery): boolean {
    const length = Buffer.byteLength(content);
    const end = this.#end + LENGTH_BYTES + length;
    if (this.of.length > 0 && (end > BYTES || this.of.length === ROWS)) return false;
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.writeInt32BE(length, this.#end);
    this.#bytes.write(content, this.#end + LENGTH_BYTES);
    this.#end = end;
    this.of.push(of);
    this.channels.push(channel);
    this.lanes.push(lane);
    this.brandIds.push(brandId);
    return true;
  }

  /** The array of their contents. */
  contents(): Buffer {
    const header = [1, 0, JSON_OID, this.of.length, 1];
    for (const [at, value] of header.entries()) this.#bytes.writeInt32BE(value, at * 4);
    return this.#bytes.subarray(0, this.#end);
  }

  /** By doubling: to `BYTES` in the end, where there are many. */
  #grow(needed: number): void {
    let { length } = this.#bytes;
    while (length < needed) length *= 2;
    const larger = Buffer.allocUnsafe(length);
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }

  /** To be called once its statement has been answered: nobody looks at its contents any more. */
  release(): void {
    if (this.#bytes.length === BYTES && SPARE.length < MOST_SPARE) SPARE.push(this.#bytes);
  }
}
