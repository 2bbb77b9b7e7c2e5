import type { ChannelName } from '../../base/channels.ts';

/** Limits of one statement, except for a single larger delivery: PGlite's statements run on the event loop. */
const ROWS = 500;
const BYTES = 512 * 1024;
/** Enough for a notification to one person. */
const FEW_BYTES = 16 * 1024;

/** PostgreSQL's object identifier of the type `json`. */
const JSON_OID = 114;
/** The header of a one-dimensional array: dimensions, flags, element type, length, lower bound. */
const HEADER_BYTES = 5 * 4;
/** Precedes each element. */
const LENGTH_BYTES = 4;

/** A delivery, ready to be stored. */
export interface WrittenDelivery {
  /** The position of its notification, whose id is assigned later. */
  readonly of: number;
  readonly channel: ChannelName;
  /** Null for pushes: their lane is the push service of the person's newest subscription. */
  readonly lane: string | null;
  readonly brandId: number | null;
  /** As JSON that PostgreSQL stores: see `writtenContent`. */
  readonly content: string;
}

/** Buffers of finished statements, for reuse: buffers that wait for the database outlive the young generation. */
const SPARE: Buffer[] = [];
const MOST_SPARE = 4;

/**
 * The deliveries of one statement. Their contents are written as a `json[]` in PostgreSQL's binary format (`array_recv` in
 * src/backend/utils/adt/arrayfuncs.c): the server reads them once, not three times like a JSON text of rows, and they stay outside
 * the heap. Strings as long as statements go to the old generation, and checks would wait for its long collections.
 */
export class Batch {
  readonly of: number[] = [];
  readonly channels: WrittenDelivery['channel'][] = [];
  readonly lanes: (string | null)[] = [];
  readonly brandIds: (number | null)[] = [];
  #bytes = SPARE.pop() ?? Buffer.allocUnsafe(FEW_BYTES);
  #end = HEADER_BYTES;

  /** Whether the delivery fitted. The first one always does. */
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

  /** The array of the contents. */
  contents(): Buffer {
    const header = [1, 0, JSON_OID, this.of.length, 1];
    for (const [at, value] of header.entries()) this.#bytes.writeInt32BE(value, at * 4);
    return this.#bytes.subarray(0, this.#end);
  }

  /** Doubles the buffer, up to `BYTES` for many deliveries. */
  #grow(needed: number): void {
    let { length } = this.#bytes;
    while (length < needed) length *= 2;
    const larger = Buffer.allocUnsafe(length);
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }

  /** Call it once the statement has been answered: its contents may then be overwritten. */
  release(): void {
    if (this.#bytes.length === BYTES && SPARE.length < MOST_SPARE) SPARE.push(this.#bytes);
  }
}
