/** Blocks of headers for grpc-js, whose dynamic table (RFC 7541) remembers the fields of the lists that a client repeats. */

import { encodeHeaders, encodeIndexed, type HeaderList, sizeOfList, USUAL_TABLE } from './hpack.ts';

/** Of the first field that is no longer in the static table: the newest one. */
const NEWEST = 62;
/** Each then has a place that takes one byte. */
const MAX_FIELDS = 60;

interface Remembered {
  /** How many fields were remembered before its own. */
  readonly before: number;
  /** The whole list by the places of its fields, and for how many fields in the table. */
  block: Buffer;
  fields: number;
}

/**
 * Fields are only added, as long as there is room, so each stays where it is. Reading a field by its place costs grpc-js no
 * allocation, and a literal one four.
 */
export class RepeatedHeaders {
  readonly #lists = new Map<HeaderList, Remembered>();
  #fields = 0;
  #size = 0;

  /** The next block of the connection. */
  encode(list: HeaderList): Buffer {
    const { names, values } = list;
    const known = this.#lists.get(list);
    if (known !== undefined) return this.#block(known, names.length);
    const size = list.repeated ? sizeOfList(list) : Number.POSITIVE_INFINITY;
    if (this.#size + size > USUAL_TABLE || this.#fields + names.length > MAX_FIELDS)
      return encodeHeaders(names, values);
    this.#lists.set(list, { before: this.#fields, block: Buffer.alloc(0), fields: 0 });
    this.#fields += names.length;
    this.#size += size;
    return encodeHeaders(names, values, true);
  }

  #block(known: Remembered, count: number): Buffer {
    if (known.fields !== this.#fields) {
      const first = NEWEST + this.#fields - 1 - known.before;
      known.block = encodeIndexed(...Array.from({ length: count }, (_, index) => first - index));
      known.fields = this.#fields;
    }
    return known.block;
  }
}
