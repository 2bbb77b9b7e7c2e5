/** The Huffman code of HPACK (RFC 7541 appendix B), read four bits at a time. */

/**
 * Bits of each symbol's code, 0 to 255, then the end of the string. The code is canonical: in the order of lengths, then of
 * symbols, each is the number after the one before.
 */
export const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];
const END_OF_STRING = 256;
const MAX_LENGTH = 30;

/** No symbol ends within these four bits. */
const NOTHING = -1;
/** No string may contain the code of its own end (RFC 7541 section 5.2). */
const FORBIDDEN = -2;

const NODES = CODE_LENGTHS.length - 1;
/** By node × 16 + four bits: the node to go on from, and the symbol that ended, if any. The root is node 0. */
const NEXT = new Int16Array(NODES * 16);
const SYMBOL = new Int16Array(NODES * 16);
/** Whether a string may end here: after a symbol, or within less than a byte of ones. */
const MAY_END = new Uint8Array(NODES);
build();

/**
 * Decodes bytes into `out`, which must be long enough: at most 8 symbols for 5 bytes. Returns their number, or -1 for a
 * malformed string.
 */
export function decodeHuffman(bytes: Buffer, start: number, end: number, out: Buffer): number {
  let node = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    let index = node * 16 + (byte >>> 4);
    let symbol = SYMBOL[index] as number;
    if (symbol >= 0) out[length++] = symbol;
    else if (symbol === FORBIDDEN) return -1;
    index = (NEXT[index] as number) * 16 + (byte & 15);
    symbol = SYMBOL[index] as number;
    if (symbol >= 0) out[length++] = symbol;
    else if (symbol === FORBIDDEN) return -1;
    node = NEXT[index] as number;
  }
  return MAY_END[node] === 1 ? length : -1;
}

function build(): void {
  // A node has two children: another node, or a symbol as its complement (~symbol, which is negative).
  const children: [number, number][] = [[0, 0]];
  let code = 0;
  for (let bits = 1; bits <= MAX_LENGTH; bits++) {
    code <<= 1;
    for (const [symbol, length] of CODE_LENGTHS.entries()) {
      if (length === bits) place(children, code++, bits, symbol);
    }
  }
  for (const node of children.keys()) for (let four = 0; four < 16; four++) step(children, node, four);
  let node = 0;
  for (let ones = 0; ones < 8; ones++) {
    MAY_END[node] = 1;
    node = (children[node] as [number, number])[1];
  }
}

function place(children: [number, number][], code: number, bits: number, symbol: number): void {
  let node = 0;
  for (let bit = bits - 1; bit > 0; bit--) {
    const pair = children[node] as [number, number];
    const side = (code >>> bit) & 1;
    if (pair[side] === 0) pair[side] = children.push([0, 0]) - 1;
    node = pair[side] as number;
  }
  (children[node] as [number, number])[code & 1] = ~symbol;
}

function step(children: readonly [number, number][], from: number, four: number): void {
  let node = from;
  let found = NOTHING;
  for (let bit = 3; bit >= 0; bit--) {
    const child = (children[node] as [number, number])[(four >>> bit) & 1] as number;
    if (child >= 0) {
      node = child;
      continue;
    }
    node = 0;
    found = ~child === END_OF_STRING ? FORBIDDEN : ~child;
    if (found === FORBIDDEN) break;
  }
  NEXT[from * 16 + four] = node;
  SYMBOL[from * 16 + four] = found;
}
