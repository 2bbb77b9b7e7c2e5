/** Messages for the three readers of requests, right and wrong in every way that the wire format allows. */
import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import {
  type AccessLevel,
  BulkCheckRequestSchema,
  CheckRequestSchema,
  EffectiveRequestSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';

/** How many inputs a property is tried with. */
export const INPUTS = process.env.USHER_LONG ? 1_000_000 : 20_000;
/** For a property that hangs, not for a busy machine. */
export const LIMIT_MS = process.env.USHER_LONG ? 3_600_000 : 600_000;

const character = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...'abcXYZ019.-_@: '.split('')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\u0000', '\u007f', '\u0080', 'é', 'Ω', '\ufeff', 'ʼ', '漢', '😀', '\u{10ffff}'),
  },
);
export const textOf = (maxLength: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.array(character, { minLength: 1, maxLength: 20 }).map((all) => all.join('')) },
    { weight: 1, arbitrary: fc.constant('') },
    // Around the limit, in characters of one, two, three and four bytes.
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('a', 'é', '漢', '😀'), fc.constantFrom(maxLength - 1, maxLength, maxLength + 1))
        .map(([one, times]) => one.repeat(times)),
    },
    { weight: 1, arbitrary: fc.constantFrom(126, 127, 128, 129).map((times) => 'b'.repeat(times)) },
  );

const level = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom<AccessLevel>(0, 2, 3) },
  // An open enum: any number can be sent.
  { weight: 1, arbitrary: fc.constantFrom(1, 4, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)) as fc.Arbitrary<AccessLevel> },
);
const resource = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ resourceType: '', resourceId: '' }) },
  { weight: 6, arbitrary: fc.record({ resourceType: textOf(64), resourceId: textOf(256) }) },
);
const subject = fc
  .tuple(
    fc.record({ email: textOf(254), app: textOf(64), minRevision: fc.oneof(fc.constant(''), textOf(64)) }),
    resource,
  )
  .map(([a, b]) => ({ ...a, ...b }));

export const wellFormed = fc.oneof(
  fc
    .tuple(subject, textOf(128), level)
    .map(([s, permission, accessLevel]) =>
      toBinary(CheckRequestSchema, create(CheckRequestSchema, { ...s, permission, accessLevel })),
    ),
  fc
    .tuple(
      subject,
      fc.oneof(
        { weight: 9, arbitrary: fc.array(textOf(128), { maxLength: 6 }) },
        { weight: 1, arbitrary: fc.array(textOf(128), { maxLength: 60 }) },
      ),
      level,
    )
    .map(([s, permissions, accessLevel]) =>
      toBinary(BulkCheckRequestSchema, create(BulkCheckRequestSchema, { ...s, permissions, accessLevel })),
    ),
  subject.map((s) => toBinary(EffectiveRequestSchema, create(EffectiveRequestSchema, s))),
);

/** A varint of the value in `width` bytes: longer than it needs to be where `width` says so. */
export function varint(value: bigint, width: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  } while (rest > 0n || bytes.length < width);
  bytes.push((bytes.pop() as number) & 0x7f);
  return bytes;
}

const width = fc.oneof(
  { weight: 6, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }) },
);
const content = fc.oneof(
  { weight: 8, arbitrary: textOf(64).map((text) => [...Buffer.from(text)]) },
  // Text that is not UTF-8: bare continuations, overlong forms, surrogates, beyond the last code point, cut off.
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      [0x80],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0x61, 0xe6, 0xbc],
      [0xff],
    ),
  },
);

/** One record, right or wrong: number, wire type, payload and the widths of varints vary on their own. */
const record: fc.Arbitrary<number[]> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.constantFrom(1, 2, 3, 4, 5, 7), content, width, width)
      .map(([number, bytes, w1, w2]) => [
        ...varint(BigInt(number * 8 + 2), w1),
        ...varint(BigInt(bytes.length), w2),
        ...bytes,
      ]),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.oneof(level.map(BigInt), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })), width, width)
      .map(([value, w1, w2]) => [...varint(0x30n, w1), ...varint(value, w2)]),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(128, 2047, 2 ** 28, 2 ** 29 - 1)),
        fc.integer({ min: 0, max: 7 }),
        fc.uint8Array({ maxLength: 12 }),
      )
      .map(([number, wireType, bytes]) => [...varint(BigInt(number) * 8n + BigInt(wireType), 1), ...bytes]),
  },
  // Groups, closed rightly, wrongly or not at all.
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }), content, fc.boolean())
      .map(([open, close, bytes, closed]) => [
        ...varint(BigInt(open * 8 + 3), 1),
        0x0a,
        bytes.length & 0x7f,
        ...bytes,
        ...(closed ? varint(BigInt(close * 8 + 4), 1) : []),
      ]),
  },
);
export const fromRecords = fc.array(record, { maxLength: 9 }).map((all) => Uint8Array.from(all.flat()));

/** Records of a whole question first, so that what comes after decides. */
export const completed = fc
  .tuple(wellFormed, fc.array(record, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([bytes, all, before]) => Uint8Array.from(before ? [...all.flat(), ...bytes] : [...bytes, ...all.flat()]));

const edit = fc.record({
  kind: fc.constantFrom('set', 'flip', 'insert', 'delete', 'cut', 'repeat'),
  at: fc.nat(600),
  byte: fc.integer({ min: 0, max: 255 }),
});
export const mutated = fc.tuple(wellFormed, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([bytes, edits]) => {
  const result = [...bytes];
  for (const { kind, at, byte } of edits) {
    const place = result.length === 0 ? 0 : at % result.length;
    if (kind === 'set') result[place] = byte;
    else if (kind === 'flip') result[place] = (result[place] ?? 0) ^ (1 << (byte & 7));
    else if (kind === 'insert') result.splice(place, 0, byte);
    else if (kind === 'delete') result.splice(place, 1);
    else if (kind === 'cut') result.length = place;
    else result.push(...result.slice(place, place + byte));
  }
  return Uint8Array.from(result);
});

/** Byte sequences of every kind: whole requests, records right and wrong, requests with something added or changed. */
export const messages = fc.oneof(
  { weight: 3, arbitrary: wellFormed },
  { weight: 3, arbitrary: fromRecords },
  { weight: 2, arbitrary: completed },
  { weight: 3, arbitrary: mutated },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }) },
);
