/** HPACK (RFC 7541), the sending side of a client that uses every form a field may have; on the front's own tables. */
import { STATIC_LENGTH, STATIC_NAMES, STATIC_VALUES } from '#http2-front/hpack';
import { CODE_LENGTHS } from '#http2-front/huffman';

export type Field = readonly [name: string, value: string];

/** How a field is written. `indexed` becomes `incremental` where no table has the field. */
export type Form = 'indexed' | 'incremental' | 'plain' | 'never';

export interface Shape {
  readonly form: Form;
  readonly huffman: boolean;
}

const CODES = new Map<string, { code: number; bits: number }>();
{
  let code = 0;
  for (let bits = 1; bits <= Math.max(...CODE_LENGTHS); bits++) {
    code *= 2;
    for (const [symbol, length] of CODE_LENGTHS.entries()) {
      if (length === bits) CODES.set(String.fromCharCode(symbol), { code: code++, bits });
    }
  }
}

function huffmanOf(text: string): Buffer {
  let bits = '';
  for (const character of text) {
    const symbol = CODES.get(character);
    if (symbol === undefined) throw new RangeError('header text is Latin-1');
    bits += symbol.code.toString(2).padStart(symbol.bits, '0');
  }
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}

export function integer(prefix: number, first: number, value: number): Buffer {
  const most = 2 ** prefix - 1;
  if (value < most) return Buffer.from([first | value]);
  const bytes = [first | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

function text(value: string, huffman: boolean): Buffer {
  const bytes = huffman ? huffmanOf(value) : Buffer.from(value, 'latin1');
  return Buffer.concat([integer(7, huffman ? 0x80 : 0, bytes.length), bytes]);
}

const FIRST_BITS = { incremental: [6, 0x40], plain: [4, 0], never: [4, 0x10] } as const;
const OVERHEAD = 32;
const TABLE = 4096;

export class HpackEncoder {
  /** Newest first, as the other side has them. */
  readonly #dynamic: Field[] = [];
  #size = 0;

  encode(fields: readonly Field[], shapeOf: (field: Field) => Shape): Buffer {
    return Buffer.concat(fields.map((field) => this.#field(field, shapeOf(field))));
  }

  #field(field: Field, { form, huffman }: Shape): Buffer {
    const index = this.#index((name, value) => name === field[0] && value === field[1]);
    if (form === 'indexed' && index > 0) return integer(7, 0x80, index);
    const [prefix, first] = FIRST_BITS[form === 'indexed' ? 'incremental' : form];
    const named = this.#index((name) => name === field[0]);
    const name =
      named > 0 ? integer(prefix, first, named) : Buffer.concat([Buffer.from([first]), text(field[0], huffman)]);
    if (first === 0x40) this.#insert(field);
    return Buffer.concat([name, text(field[1], huffman)]);
  }

  /** 0 for none. */
  #index(fits: (name: string, value: string) => boolean): number {
    for (let place = 1; place <= STATIC_LENGTH; place++) {
      if (fits(STATIC_NAMES[place] as string, STATIC_VALUES[place] as string)) return place;
    }
    const age = this.#dynamic.findIndex(([name, value]) => fits(name, value));
    return age < 0 ? 0 : STATIC_LENGTH + 1 + age;
  }

  #insert(field: Field): void {
    this.#dynamic.unshift(field);
    this.#size += costOf(field);
    while (this.#size > TABLE) this.#size -= costOf(this.#dynamic.pop() as Field);
  }
}

function costOf([name, value]: Field): number {
  return name.length + value.length + OVERHEAD;
}
