import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { encodeHeaders, HpackDecoder, MAX_HEADER_LIST } from '#http2-front/hpack';
import { decodeHuffman } from '#http2-front/huffman';
import { type Field, HpackEncoder, integer } from '../../wire/hpack.ts';

function decode(decoder: HpackDecoder, hex: string): Field[] {
  return fieldsOf(decoder, Buffer.from(hex.replaceAll(' ', ''), 'hex'));
}

function fieldsOf(decoder: HpackDecoder, block: Buffer): Field[] {
  const { names, values } = decoder.decode(block, 0, block.length);
  return names.map((name, index) => [name, values[index] as string]);
}

describe('Huffman code', () => {
  // RFC 7541 appendix B: symbol, code, bits.
  test.each([
    [0, 0x1ff8, 13],
    [1, 0x7fffd8, 23],
    [2, 0xfffffe2, 28],
    [10, 0x3ffffffc, 30],
    [22, 0x3ffffffe, 30],
    [32, 0x14, 6],
    [92, 0x7fff0, 19],
    [126, 0x1ffd, 13],
    [128, 0xfffe6, 20],
    [192, 0x3ffffe0, 26],
    [249, 0xffffffe, 28],
    [255, 0x3ffffee, 26],
  ])('symbol %i is read', (symbol, code, bits) => {
    const whole = Math.ceil(bits / 8) * 8;
    const padded = (BigInt(code) << BigInt(whole - bits)) | ((1n << BigInt(whole - bits)) - 1n);
    const bytes = Buffer.from(padded.toString(16).padStart(whole / 4, '0'), 'hex');
    const out = Buffer.alloc(16);
    expect(decodeHuffman(bytes, 0, bytes.length, out)).toBe(1);
    expect(out[0]).toBe(symbol);
  });

  test.each([
    ['the end of a string within it', 'ffffffff'],
    ['a whole byte of padding', '1fff'],
    ['padding that is not ones', '18'],
  ])('%s is refused', (_, hex) => {
    const bytes = Buffer.from(hex, 'hex');
    expect(decodeHuffman(bytes, 0, bytes.length, Buffer.alloc(16))).toBe(-1);
  });
});

describe('header blocks', () => {
  test('the requests of RFC 7541 C.4 are read, with their dynamic table', () => {
    const decoder = new HpackDecoder();
    expect(decode(decoder, '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')).toEqual([
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ]);
    expect(decode(decoder, '8286 84be 5886 a8eb 1064 9cbf')).toContainEqual(['cache-control', 'no-cache']);
    expect(decode(decoder, '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf')).toEqual([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ]);
  });

  test('what an encoder of every form writes is read back', () => {
    const text = fc.stringMatching(/^[ -~]{0,40}$/);
    const field = fc.tuple(fc.stringMatching(/^[a-z-]{1,20}$/), text);
    const shape = fc.record({
      form: fc.constantFrom('indexed', 'incremental', 'plain', 'never'),
      huffman: fc.boolean(),
    } as const);
    fc.assert(
      fc.property(fc.array(fc.array(fc.tuple(field, shape), { maxLength: 12 }), { maxLength: 12 }), (blocks) => {
        const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()];
        for (const block of blocks) {
          const shapes = new Map(block.map(([one, how]) => [one, how]));
          const fields = block.map(([one]) => one);
          const bytes = encoder.encode(fields, (one) => shapes.get(one as [string, string]) as never);
          expect(fieldsOf(decoder, bytes)).toEqual(fields);
        }
      }),
    );
  });

  test('what the front writes is read back, and changes no table', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'binary-ascii' }), fc.string({ unit: 'binary-ascii', maxLength: 400 }))),
        (fields) => {
          const decoder = new HpackDecoder();
          const block = encodeHeaders(
            fields.map(([name]) => name),
            fields.map(([, value]) => value),
          );
          expect(fieldsOf(decoder, block)).toEqual(fields);
          expect(decoder.generation).toBe(0);
        },
      ),
    );
  });

  test.each([
    ['index 0', '80'],
    ['an index beyond the tables', 'be'],
    ['a number cut off', 'ff'],
    ['a number without an end', 'ffffffffffff7f'],
    ['a text cut off', '0003616263 05 6162'],
    ['a table above our limit', '3fe21f'],
    ['a table size after a field', '8220'],
    ['a wrong Huffman code', '0001 61 84 ffffffff'],
  ])('a block with %s is a fault of compression', (_, hex) => {
    expect(() => decode(new HpackDecoder(), hex)).toThrow(expect.objectContaining({ errorCode: 0x9 }));
  });

  test('a list that is too long is read to its end, and not kept', () => {
    const decoder = new HpackDecoder();
    const large = encodeHeaders(['a'], ['x'.repeat(4000)]);
    large[0] = 0x40;
    fieldsOf(decoder, large);
    const bomb = Buffer.concat([Buffer.alloc(1000, 0xbe), Buffer.from([0x82])]);
    const { names, values, tooLong } = decoder.decode(bomb, 0, bomb.length);
    expect(tooLong).toBe(true);
    expect(names.join('').length + values.join('').length).toBeLessThanOrEqual(MAX_HEADER_LIST);
    expect(decode(decoder, '82')).toEqual([[':method', 'GET']]);
  });

  test('the table forgets its oldest fields when it is full, and all of them when it is made empty', () => {
    const decoder = new HpackDecoder();
    for (let i = 0; i < 200; i++) {
      const one = encodeHeaders([`name-${i}`], ['x'.repeat(100)]);
      one[0] = 0x40;
      fieldsOf(decoder, one);
    }
    expect(decode(decoder, 'be')).toEqual([['name-199', 'x'.repeat(100)]]);
    const oldest = integer(7, 0x80, 61 + 40).toString('hex');
    expect(() => decode(decoder, oldest)).toThrow();
    const emptied = new HpackDecoder();
    fieldsOf(emptied, Buffer.concat([Buffer.from([0x40, 1, 0x61, 1, 0x62])]));
    expect(() => decode(emptied, '20be')).toThrow();
  });

  test('the table is that of the RFC after any fields and sizes, to its last place', () => {
    const text = fc.oneof({ weight: 3, arbitrary: fc.constant('') }, fc.stringMatching(/^[a-z]{0,8}$/), longText);
    const change = fc.oneof(
      { weight: 20, arbitrary: fc.record({ name: text, value: text, times: fc.integer({ min: 1, max: 150 }) }) },
      { weight: 1, arbitrary: fc.record({ limit: fc.integer({ min: 0, max: 4096 }) }) },
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        const [decoder, table] = [new HpackDecoder(), new PlainTable()];
        for (const one of changes) {
          if ('limit' in one) {
            fieldsOf(decoder, integer(5, 0x20, one.limit));
            table.resize(one.limit);
          } else {
            const block = encodeHeaders([one.name], [one.value], true);
            for (let n = 0; n < one.times; n++) {
              fieldsOf(decoder, block);
              table.insert([one.name, one.value]);
            }
          }
          const places = table.fields.map((_, index) => integer(7, 0x80, 62 + index));
          expect(fieldsOf(decoder, Buffer.concat(places))).toEqual(table.fields);
          const beyond = integer(7, 0x80, 62 + table.fields.length);
          expect(() => fieldsOf(decoder, beyond)).toThrow('an index outside the tables');
        }
      }),
    );
  });
});

const longText = fc.integer({ min: 1, max: 5000 }).map((length) => 'x'.repeat(length));

/** RFC 7541 section 4, word for word: the newest field first. */
class PlainTable {
  readonly fields: Field[] = [];
  #limit = 4096;

  insert(field: Field): void {
    this.#evict(this.#limit - sizeOf(field));
    if (sizeOf(field) <= this.#limit) this.fields.unshift(field);
  }

  resize(limit: number): void {
    this.#limit = limit;
    this.#evict(limit);
  }

  #evict(size: number): void {
    let total = this.fields.reduce((sum, field) => sum + sizeOf(field), 0);
    while (total > size && this.fields.length > 0) total -= sizeOf(this.fields.pop() as Field);
  }
}

function sizeOf([name, value]: Field): number {
  return name.length + value.length + 32;
}
