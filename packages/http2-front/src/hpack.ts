/** HPACK (RFC 7541): reading a client's header blocks with its dynamic table, and writing blocks that need none. */

import { ConnectionFault, ErrorCode } from './frames.ts';
import { decodeHuffman } from './huffman.ts';
import { readLatin1, writeLatin1 } from './latin1.ts';

/** Fields in the order sent: the name of the third is `names[2]`. Each character is one byte. */
export interface HeaderList {
  readonly names: string[];
  readonly values: string[];
  /** Whether it was longer than the limits: then the rest was read and not kept. */
  tooLong: boolean;
  /** Whether later blocks are found to mean this very list. */
  repeated: boolean;
}

/** In bytes, as RFC 9113 counts: name, value and 32 for each field. */
export function sizeOfList({ names, values }: HeaderList): number {
  let size = 0;
  for (let i = 0; i < names.length; i++) {
    size += (names[i] as string).length + (values[i] as string).length + FIELD_OVERHEAD;
  }
  return size;
}

/** Of a header list, as node:http2 has them. */
export const MAX_HEADER_LIST = 65_535;
const MAX_FIELDS = 128;
/** What a field costs in a table or a list, beside its characters. */
export const FIELD_OVERHEAD = 32;
/** SETTINGS_HEADER_TABLE_SIZE of both sides, unless the client sets its own. */
export const USUAL_TABLE = 4096;
/** The last place of the ring that holds a table: it has room for the most fields, whose names and values are empty. */
const LAST_PLACE = USUAL_TABLE / FIELD_OVERHEAD - 1;

/** The static table: places 1 to 61. */
export const STATIC_NAMES: readonly string[] = (
  ',:authority,:method,:method,:path,:path,:scheme,:scheme,:status,:status,:status,:status,:status,:status,:status,' +
  'accept-charset,accept-encoding,accept-language,accept-ranges,accept,access-control-allow-origin,age,allow,' +
  'authorization,cache-control,content-disposition,content-encoding,content-language,content-length,' +
  'content-location,content-range,content-type,cookie,date,etag,expect,expires,from,host,if-match,' +
  'if-modified-since,if-none-match,if-range,if-unmodified-since,last-modified,link,location,max-forwards,' +
  'proxy-authenticate,proxy-authorization,range,referer,refresh,retry-after,server,set-cookie,' +
  'strict-transport-security,transfer-encoding,user-agent,vary,via,www-authenticate'
).split(',');
export const STATIC_VALUES: readonly string[] = STATIC_NAMES.map((_, index) => {
  const first = ['', '', 'GET', 'POST', '/', '/index.html', 'http', 'https', '200', '204', '206', '304', '400', '404'];
  return index === 14 ? '500' : index === 16 ? 'gzip, deflate' : (first[index] ?? '');
});
export const STATIC_LENGTH = STATIC_NAMES.length - 1;

export class HpackDecoder {
  /** The dynamic table, a ring: one more field costs the same however many there are, and a block may hold thousands. */
  readonly #names: string[] = [];
  readonly #values: string[] = [];
  /** The place of the next field, and how many there are. */
  #next = 0;
  #count = 0;
  #tableSize = 0;
  #tableLimit = USUAL_TABLE;
  /** Rises with each change of the dynamic table: as long as it stays, the same block means the same fields. */
  generation = 0;
  #bytes: Buffer = EMPTY;
  #at = 0;
  #end = 0;

  /** Throws ConnectionFault COMPRESSION_ERROR: the tables of both sides differ from then on. */
  decode(bytes: Buffer, start: number, end: number): HeaderList {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    const list: HeaderList = { names: [], values: [], tooLong: false, repeated: false };
    let size = 0;
    while (this.#at < end) {
      const byte = bytes[this.#at] as number;
      if ((byte & 0xe0) === 0x20) {
        if (list.names.length > 0) throw malformed('a table size after a field');
        this.#resize(this.#integer(5));
        continue;
      }
      let name: string;
      let value: string;
      if (byte >= 0x80) {
        const index = this.#integer(7);
        name = this.#nameAt(index);
        value = this.#valueAt(index);
      } else {
        const indexed = byte >= 0x40;
        const index = this.#integer(indexed ? 6 : 4);
        name = index === 0 ? this.#string() : this.#nameAt(index);
        value = this.#string();
        if (indexed) this.#insert(name, value);
      }
      size += name.length + value.length + FIELD_OVERHEAD;
      if (size > MAX_HEADER_LIST || list.names.length === MAX_FIELDS) list.tooLong = true;
      else {
        list.names.push(name);
        list.values.push(value);
      }
    }
    this.#bytes = EMPTY;
    return list;
  }

  #nameAt(index: number): string {
    if (index <= STATIC_LENGTH && index > 0) return STATIC_NAMES[index] as string;
    return this.#names[this.#placeOf(index)] as string;
  }

  #valueAt(index: number): string {
    if (index <= STATIC_LENGTH) return STATIC_VALUES[index] as string;
    return this.#values[this.#placeOf(index)] as string;
  }

  /** The newest field has the lowest index. */
  #placeOf(index: number): number {
    const age = index - STATIC_LENGTH;
    if (age < 1 || age > this.#count) throw malformed('an index outside the tables');
    return (this.#next - age) & LAST_PLACE;
  }

  #insert(name: string, value: string): void {
    this.generation++;
    const size = name.length + value.length + FIELD_OVERHEAD;
    this.#evict(this.#tableLimit - size);
    if (size > this.#tableLimit) return;
    this.#names[this.#next] = name;
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) & LAST_PLACE;
    this.#count++;
    this.#tableSize += size;
  }

  #resize(limit: number): void {
    if (limit > USUAL_TABLE) throw malformed('a table larger than our settings allow');
    this.generation++;
    this.#tableLimit = limit;
    this.#evict(limit);
  }

  /** Forgets the oldest fields until the table has at most that size. */
  #evict(size: number): void {
    while (this.#tableSize > size && this.#count > 0) {
      const oldest = (this.#next - this.#count) & LAST_PLACE;
      this.#tableSize -=
        (this.#names[oldest] as string).length + (this.#values[oldest] as string).length + FIELD_OVERHEAD;
      // Not kept until the ring comes round again: a text may be as large as the table.
      this.#names[oldest] = '';
      this.#values[oldest] = '';
      this.#count--;
    }
  }

  /** RFC 7541 section 5.1; at most four bytes after the prefix, far above every length and index that is allowed here. */
  #integer(prefix: number): number {
    const mask = (1 << prefix) - 1;
    let value = (this.#bytes[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.#at >= this.#end) throw malformed('a number that is cut off');
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw malformed('a number that is too large');
  }

  #string(): string {
    if (this.#at >= this.#end) throw malformed('a field that is cut off');
    const huffman = (this.#bytes[this.#at] as number) >= 0x80;
    const length = this.#integer(7);
    // Each text that is read out of the bytes is a call into native code, also an empty one.
    if (length === 0) return '';
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw malformed('a text that is cut off');
    this.#at = end;
    if (!huffman) return readLatin1(this.#bytes, start, end);
    if (length * 2 > decoded.length) decoded = Buffer.allocUnsafe(length * 2);
    const characters = decodeHuffman(this.#bytes, start, end, decoded);
    if (characters < 0) throw malformed('a text with a wrong Huffman code');
    return readLatin1(decoded, 0, characters);
  }
}

const EMPTY = Buffer.alloc(0);
/** Where texts are decoded, one at a time. */
let decoded: Buffer = Buffer.allocUnsafe(4096);

function malformed(what: string): ConnectionFault {
  return new ConnectionFault(ErrorCode.COMPRESSION_ERROR, `a header block with ${what}`);
}

/** The announcement that the table is, and stays, empty (RFC 7541 section 6.3). */
export const EMPTY_TABLE: Buffer = Buffer.from([0x20]);

/** A block of fields by their places in the tables, each below 127. */
export function encodeIndexed(...places: readonly number[]): Buffer {
  return Buffer.from(places.map((place) => 0x80 | place));
}

/**
 * A block of literal fields. Names must be in lower case; characters are bytes.
 *
 * @param remembered whether the client's table is to remember them
 */
export function encodeHeaders(names: readonly string[], values: readonly string[], remembered = false): Buffer {
  let size = 0;
  for (let i = 0; i < names.length; i++) size += (names[i] as string).length + (values[i] as string).length + 11;
  const block = Buffer.allocUnsafe(size);
  let at = 0;
  for (let i = 0; i < names.length; i++) {
    block[at++] = remembered ? 0x40 : 0;
    at = putText(block, at, names[i] as string);
    at = putText(block, at, values[i] as string);
  }
  return block.subarray(0, at);
}

function putText(block: Buffer, start: number, text: string): number {
  let at = start;
  let rest = text.length;
  if (rest < 0x7f) block[at++] = rest;
  else {
    block[at++] = 0x7f;
    for (rest -= 0x7f; rest >= 0x80; rest >>>= 7) block[at++] = (rest & 0x7f) | 0x80;
    block[at++] = rest;
  }
  return at + writeLatin1(block, text, at);
}
