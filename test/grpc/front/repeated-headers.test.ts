import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { HpackDecoder as OtherDecoder } from '../../../bench/hpack.ts';
import { type HeaderList, HpackDecoder } from '../../../src/grpc/front/hpack.ts';
import { RepeatedHeaders } from '../../../src/grpc/front/repeated-headers.ts';

type Fields = readonly (readonly [string, string])[];

const listOf = (fields: Fields, repeated = true): HeaderList => ({
  names: fields.map(([name]) => name),
  values: fields.map(([, value]) => value),
  tooLong: false,
  repeated,
});

/** Decodes each block as it comes, by two decoders. */
class Reader {
  readonly #ours = new HpackDecoder();
  readonly #other = new OtherDecoder();

  read(block: Buffer): Fields {
    const { names, values } = this.#ours.decode(block, 0, block.length);
    const fields = names.map((name, index) => [name, values[index] as string] as const);
    const again: [string, string][] = [];
    this.#other.decode(block, 0, block.length, (name, value) => again.push([name, value]));
    expect(again).toEqual(fields);
    return fields;
  }
}

const USUAL: Fields = [
  [':method', 'POST'],
  [':path', '/grpc.health.v1.Health/Check'],
  ['x-internal-api-key', 'one'],
];

describe('headers for grpc-js', () => {
  test('repeated ones take a byte each, whatever was added since', () => {
    const [headers, reader] = [new RepeatedHeaders(), new Reader()];
    const one = listOf(USUAL);
    const two = listOf([...USUAL.slice(0, 2), ['x-internal-api-key', 'two']]);
    expect(reader.read(headers.encode(one))).toEqual(USUAL);
    const first = headers.encode(one);
    expect(first).toHaveLength(3);
    expect(reader.read(first)).toEqual(USUAL);
    expect(headers.encode(one)).toBe(first);
    reader.read(headers.encode(two));
    expect(reader.read(headers.encode(one))).toEqual(USUAL);
    expect(reader.read(headers.encode(two))[2]).toEqual(['x-internal-api-key', 'two']);
    expect(headers.encode(one)).toHaveLength(3);
  });

  test('what is not repeated, or has no room, is written out and remembered by nobody', () => {
    const [headers, reader] = [new RepeatedHeaders(), new Reader()];
    const once = listOf(USUAL, false);
    for (let i = 0; i < 3; i++) expect(headers.encode(once).length).toBeGreaterThan(30);
    const large = listOf([['x-large', 'l'.repeat(4096)]]);
    for (let i = 0; i < 3; i++) expect(headers.encode(large).length).toBeGreaterThan(4096);
    // Within the size of a table, but of more fields than have a short place.
    const many = listOf(Array.from({ length: 61 }, (_, i) => [`x-${i}`, ''] as const));
    for (let i = 0; i < 3; i++) expect(reader.read(headers.encode(many))).toHaveLength(61);
  });

  test('any lists in any order are read as what they are', () => {
    const text = fc.string({ unit: fc.constantFrom(...'abc-0'.split('')), maxLength: 12 });
    const value = fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: fc.constant('v'.repeat(900)) });
    const fields = fc.array(
      fc.tuple(
        text.map((name) => `x${name}`),
        value,
      ),
      { minLength: 1, maxLength: 14 },
    );
    const lists = fc.array(fc.tuple(fields, fc.boolean()), { minLength: 1, maxLength: 8 });
    let short = 0;
    fc.assert(
      fc.property(lists, fc.array(fc.nat(7), { maxLength: 30 }), (some, order) => {
        const [headers, reader] = [new RepeatedHeaders(), new Reader()];
        const all = some.map(([of, repeated]) => listOf(of, repeated));
        for (const at of order) {
          const list = all[at % all.length] as HeaderList;
          const block = headers.encode(list);
          if (block.length === list.names.length) short++;
          expect(reader.read(block)).toEqual(some[at % all.length]?.[0]);
        }
      }),
      { numRuns: 1000 },
    );
    expect(short).toBeGreaterThan(1000);
  });
});
