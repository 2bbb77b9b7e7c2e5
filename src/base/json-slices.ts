/** JSON of long answers, made in slices: JSON.stringify of a hundred thousand records takes half a second, in which nobody is answered. */

import type { Sliced } from './slices.ts';

/** Items of a list that are written without a yield. */
const ITEMS = 20;
/** Characters that are turned to bytes at once. */
const PIECE = 64 * 1024;
/** Lists in objects nested up to this depth are written item by item. */
const DEPTH = 4;

/** The text that JSON.stringify writes, in UTF-8. */
export function* jsonInSlices(value: unknown): Sliced<Buffer> {
  const bytes: Buffer[] = [];
  let text = '';
  const write = (part: string): void => {
    text += part;
    if (text.length < PIECE) return;
    bytes.push(Buffer.from(text));
    text = '';
  };
  yield* writeValue(value, write, 0);
  bytes.push(Buffer.from(text));
  return Buffer.concat(bytes);
}

function* writeValue(value: unknown, write: (part: string) => void, depth: number): Sliced {
  if (Array.isArray(value) && value.length > ITEMS) {
    for (const [at, item] of value.entries()) {
      write(`${at === 0 ? '[' : ','}${JSON.stringify(item) ?? 'null'}`);
      if (at % ITEMS === 0) yield;
    }
    write(']');
  } else if (depth < DEPTH && isPlain(value)) {
    let next = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      write(`${next}${JSON.stringify(name)}:`);
      yield* writeValue(member, write, depth + 1);
      next = ',';
    }
    write(next === '{' ? '{}' : '}');
  } else write(JSON.stringify(value) ?? 'null');
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
