/** HPACK (RFC 7541), the receiving side: a load generator must follow the server's dynamic table to read a grpc-status. */

export type Header = readonly [name: string, value: string];

/** The entries of index 1 to 61. */
export const STATIC: readonly Header[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ...(
    'accept-charset,accept-encoding,accept-language,accept-ranges,accept,access-control-allow-origin,age,allow,' +
    'authorization,cache-control,content-disposition,content-encoding,content-language,content-length,' +
    'content-location,content-range,content-type,cookie,date,etag,expect,expires,from,host,if-match,' +
    'if-modified-since,if-none-match,if-range,if-unmodified-since,last-modified,link,location,max-forwards,' +
    'proxy-authenticate,proxy-authorization,range,referer,refresh,retry-after,server,set-cookie,' +
    'strict-transport-security,transfer-encoding,user-agent,vary,via,www-authenticate'
  )
    .split(',')
    .map((name): Header => [name, name === 'accept-encoding' ? 'gzip, deflate' : '']),
];

const bytes = (...codes: number[]): string => String.fromCharCode(...codes);

/** The Huffman code is canonical: symbols by length, then by value. Without the end of the string, which is never sent. */
export const SYMBOLS_BY_LENGTH: readonly (readonly [bits: number, symbols: string])[] = [
  [5, '012aceiost'],
  [6, ' %-./3456789=A_bdfghlmnpru'],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz'],
  [8, '&*,;XZ'],
  [10, '!"()?'],
  [11, "'+|"],
  [12, '#>'],
  [13, '\0$@[]~'],
  [14, '^}'],
  [15, '<`{'],
  [19, bytes(92, 195, 208)],
  [20, bytes(128, 130, 131, 162, 184, 194, 224, 226)],
  [21, bytes(153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230)],
  [
    22,
    bytes(
      129,
      132,
      133,
      134,
      136,
      146,
      154,
      156,
      160,
      163,
      164,
      169,
      170,
      173,
      178,
      181,
      185,
      186,
      187,
      189,
      190,
      196,
      198,
      228,
      232,
      233,
    ),
  ],
  [
    23,
    bytes(
      1,
      135,
      137,
      138,
      139,
      140,
      141,
      143,
      147,
      149,
      150,
      151,
      152,
      155,
      157,
      158,
      165,
      166,
      168,
      174,
      175,
      180,
      182,
      183,
      188,
      191,
      197,
      231,
      239,
    ),
  ],
  [24, bytes(9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237)],
  [25, bytes(199, 207, 234, 235)],
  [26, bytes(192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255)],
  [27, bytes(203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254)],
  [
    28,
    bytes(
      2,
      3,
      4,
      5,
      6,
      7,
      8,
      11,
      12,
      14,
      15,
      16,
      17,
      18,
      19,
      20,
      21,
      23,
      24,
      25,
      26,
      27,
      28,
      29,
      30,
      31,
      127,
      220,
      249,
    ),
  ],
  [30, bytes(10, 13, 22)],
];

const LONGEST = 30;
/** A code by its length and bits. */
const codeKey = (bits: number, code: number): number => bits * 2 ** LONGEST + code;

const CODES = new Map<number, string>();
{
  let code = 0;
  let previous = 0;
  for (const [bits, symbols] of SYMBOLS_BY_LENGTH) {
    code <<= bits - previous;
    previous = bits;
    for (const symbol of symbols) CODES.set(codeKey(bits, code++), symbol);
  }
}

function decodeHuffman(block: Buffer, start: number, end: number): string {
  let out = '';
  let code = 0;
  let bits = 0;
  for (let at = start; at < end; at++) {
    const byte = block[at] as number;
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      if (++bits > LONGEST) throw new Error('a header with a Huffman code that there is not');
      const symbol = CODES.get(codeKey(bits, code));
      if (symbol === undefined) continue;
      out += symbol;
      code = 0;
      bits = 0;
    }
  }
  return out;
}

export class HpackDecoder {
  /** Newest first. */
  readonly #dynamic: Header[] = [];
  #size = 0;
  #limit = 4096;
  #at = 0;

  /** Decodes one whole header block and hands over its headers in order. */
  decode(block: Buffer, start: number, end: number, header: (name: string, value: string) => void): void {
    this.#at = start;
    while (this.#at < end) {
      const byte = block[this.#at] as number;
      if (byte & 0x80) {
        const entry = this.#entry(this.#integer(block, 7));
        header(entry[0], entry[1]);
      } else if (byte & 0x40) {
        const entry = this.#literal(block, 6);
        this.#insert(entry);
        header(entry[0], entry[1]);
      } else if (byte & 0x20) {
        this.#limit = this.#integer(block, 5);
        this.#evict();
      } else {
        const entry = this.#literal(block, 4);
        header(entry[0], entry[1]);
      }
    }
  }

  #integer(block: Buffer, prefix: number): number {
    const mask = (1 << prefix) - 1;
    let value = (block[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = block[this.#at++] as number;
      value += (byte & 0x7f) << shift;
      if (byte < 128) return value;
    }
  }

  #string(block: Buffer): string {
    const huffman = ((block[this.#at] as number) & 0x80) !== 0;
    const length = this.#integer(block, 7);
    const start = this.#at;
    this.#at += length;
    return huffman ? decodeHuffman(block, start, this.#at) : block.toString('latin1', start, this.#at);
  }

  #literal(block: Buffer, prefix: number): Header {
    const index = this.#integer(block, prefix);
    const name = index === 0 ? this.#string(block) : this.#entry(index)[0];
    return [name, this.#string(block)];
  }

  #entry(index: number): Header {
    const entry = index <= STATIC.length ? STATIC[index - 1] : this.#dynamic[index - STATIC.length - 1];
    if (!entry) throw new Error(`HPACK index ${index} is not in the table`);
    return entry;
  }

  #insert(entry: Header): void {
    this.#dynamic.unshift(entry);
    this.#size += entry[0].length + entry[1].length + 32;
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.#limit) {
      const gone = this.#dynamic.pop() as Header;
      this.#size -= gone[0].length + gone[1].length + 32;
    }
  }
}

function literal(prefix: number, index: number, name: string, value: string): Buffer {
  const bytes = [Buffer.from([prefix | index])];
  for (const text of index === 0 ? [name, value] : [value]) {
    if (text.length > 126) throw new RangeError('the generator sends short headers only');
    bytes.push(Buffer.from([text.length]), Buffer.from(text, 'latin1'));
  }
  return Buffer.concat(bytes);
}

/** The value of grpc-timeout where each call has another one: eight digits, which the sender writes over. */
export const TIMEOUT = '10000000u';
/** The same of traceparent: the sender writes over the last digits of its trace, and over the flag. */
export const TRACEPARENT = `00-${'7'.repeat(32)}-${'7'.repeat(16)}-00`;

/** A field that is another one in each call. */
export type Varied = readonly [name: 'grpc-timeout' | 'traceparent', value: string];

/**
 * The request headers of one call: `first` fills the server's table, `next` are all later ones, an index each. With `varied` each
 * ends in the value of that field, which is in no table.
 */
export function requestHeaders(
  path: string,
  authority: string,
  key: string | undefined,
  varied: Varied | null = null,
): { first: Buffer; next: Buffer } {
  const literals: [index: number, name: string, value: string][] = [
    [4, ':path', path],
    [1, ':authority', authority],
    [0, 'te', 'trailers'],
    [31, 'content-type', 'application/grpc'],
    [58, 'user-agent', 'usher-bench'],
  ];
  if (key !== undefined) literals.push([0, 'x-internal-api-key', key]);
  if (varied !== null) literals.push([0, ...varied]);
  const fixed = Buffer.from([0x83, 0x86]);
  const first = Buffer.concat([fixed, ...literals.map((l) => literal(0x40, ...l))]);
  // The newest entry has the lowest index.
  const indexed = literals.map((_, i) => 0x80 | (STATIC.length + literals.length - i));
  if (varied === null) return { first, next: Buffer.from([...fixed, ...indexed]) };
  const named = (indexed.pop() as number) & 0x7f;
  // A literal without indexing, of a known name: a prefix of four bits.
  const [, value] = varied;
  const last = Buffer.from([0x0f, named - 0x0f, value.length, ...Buffer.from(value)]);
  return { first, next: Buffer.concat([fixed, Buffer.from(indexed), last]) };
}
