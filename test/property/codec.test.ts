import { isDeepStrictEqual } from 'node:util';
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { pathToString } from '@bufbuild/protobuf/reflect';
import { createValidator } from '@bufbuild/protovalidate';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EffectiveItem } from '../../src/engine/engine.ts';
import { readBulk, readCheck, readEffective } from '../../src/engine/grpc/codec.ts';
import { CheckAnswers, writeBulk, writeEffective } from '../../src/engine/grpc/codec-answers.ts';
import { isAllowed } from '../../src/engine/question.ts';
import { type Decision, Level, Source } from '../../src/engine/types.ts';
import { type Issue, UsherError } from '../../src/errors.ts';
import {
  type AccessLevel,
  BulkCheckRequestSchema,
  BulkCheckResponseSchema,
  CheckRequestSchema,
  CheckResponseSchema,
  EffectiveRequestSchema,
  EffectiveResponseSchema,
  PermissionType,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';

/**
 * The codec by hand against protobuf-es and protovalidate (docs/adr/0003): the same questions out of the same bytes, the
 * same refusals, the same answers. Two things are refused beyond what they refuse: fields unknown to the schema
 * (contract 3), and known ones of another wire type, which protobuf-es misreads instead of taking them for unknown.
 */

const INPUTS = process.env.USHER_LONG ? 1_000_000 : 20_000;
const validator = createValidator();

/** What reading came to: a question, or a refusal with what it names. */
type Outcome = { question: unknown } | { refused: string[] | 'wire' | 'unknown' | 'too many' };

/** Wire type by field number: what permission.proto says, written down a second time. */
const TYPES: Record<string, Record<number, number>> = {
  CheckRequest: { 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 0, 7: 2 },
  BulkCheckRequest: { 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 0, 7: 2 },
  EffectiveRequest: { 1: 2, 2: 2, 4: 2, 5: 2, 7: 2 },
};

/** (field number, wire type) of each record; null where the bytes are no sequence of records. Knows no library. */
function records(bytes: Uint8Array): [number, number][] | null {
  let at = 0;
  const varint = (): bigint | null => {
    let value = 0n;
    for (let i = 0; i < 10; i++) {
      const byte = bytes[at++];
      if (byte === undefined) return null;
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return value;
    }
    return null;
  };
  /** protobuf-es refuses tags of more than five bytes, and of more than 32 bits. */
  const tagOf = (): bigint | null => {
    const start = at;
    const value = varint();
    return value === null || value > 0xffff_ffffn || value < 8n || at - start > 5 ? null : value;
  };
  const skip = (wireType: number, number: number, depth: number): boolean => {
    if (depth > 90) return false;
    if (wireType === 0) {
      while ((bytes[at] ?? 0) >= 0x80) at++;
      at++;
    } else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType === 2) {
      const length = varint();
      if (length === null) return false;
      at += Number(BigInt.asUintN(32, length));
    } else if (wireType === 3) {
      for (;;) {
        const tag = tagOf();
        if (tag === null) return false;
        const [inner, type] = [Number(tag >> 3n), Number(tag & 7n)];
        if (type === 4) return inner === number;
        if (!skip(type, inner, depth + 1)) return false;
      }
    } else return false;
    return at <= bytes.length;
  };
  const found: [number, number][] = [];
  while (at < bytes.length) {
    const tag = tagOf();
    if (tag === null) return null;
    const [number, wireType] = [Number(tag >> 3n), Number(tag & 7n)];
    found.push([number, wireType]);
    if (!skip(wireType, number, 0)) return null;
  }
  return found;
}

function expected<D extends DescMessage>(schema: D, bytes: Uint8Array): Outcome {
  const found = records(bytes);
  if (found === null) return { refused: 'wire' };
  const types = TYPES[schema.name] as Record<number, number>;
  if (found.some(([number, wireType]) => types[number] !== wireType)) return { refused: 'unknown' };
  if (schema.name === 'BulkCheckRequest' && found.filter(([number]) => number === 3).length > 1000) {
    return { refused: 'too many' };
  }
  let message: MessageShape<D>;
  try {
    message = fromBinary(schema, bytes);
  } catch {
    return { refused: 'wire' };
  }
  if (message.$unknown !== undefined) throw new Error('the walk above has missed an unknown field');
  const result = validator.validate(schema, message);
  if (result.kind === 'error') throw result.error;
  if (result.kind === 'invalid') {
    return { refused: result.violations.map((v) => `${pathToString(v.field)} ${RULES[v.ruleId] ?? v.ruleId}`).sort() };
  }
  const { $typeName: _, accessLevel, permissions, ...rest } = message as unknown as Record<string, unknown>;
  return {
    question: {
      ...rest,
      ...(accessLevel === undefined ? {} : { level: accessLevel }),
      ...(permissions === undefined ? {} : { permissions: [...new Set(permissions as string[])] }),
    },
  };
}

const RULES: Record<string, string> = {
  'string.min_len': 'is required',
  'string.max_len': 'must be at most',
  'repeated.min_items': 'must hold at least one code',
  'enum.in': 'must be ACCESS_LEVEL_VIEW',
  INCOMPLETE_RESOURCE: 'resource_type and resource_id go together',
};

function actual(read: (bytes: Buffer) => object, bytes: Uint8Array, fields: readonly string[]): Outcome {
  try {
    const asked = read(Buffer.from(bytes)) as Record<string, unknown>;
    return { question: Object.fromEntries(fields.map((field) => [field, asked[field]])) };
  } catch (error) {
    // Anything else is a defect: let it fail the test as it is.
    if (!(error instanceof UsherError)) throw error;
    const issues = error.details?.issues as Issue[];
    if (error.httpStatus !== 400 || issues.length === 0) throw error;
    if (issues[0]?.path === '') return { refused: 'wire' };
    if (issues.every(({ message }) => /^field number \d+ of \w+ is unknown here/.test(message))) {
      return { refused: 'unknown' };
    }
    if (issues[0]?.message === 'must hold at most 1000 codes') return { refused: 'too many' };
    const incomplete = issues.some(({ message }) => message.startsWith(RULES.INCOMPLETE_RESOURCE as string));
    if (error.reason !== (incomplete && issues.length === 1 ? 'INCOMPLETE_RESOURCE' : 'VALIDATION_FAILED')) throw error;
    return {
      refused: issues
        .map(({ path, message }) => {
          const rule = Object.values(RULES).find((text) => message.startsWith(text));
          return `${rule === RULES.INCOMPLETE_RESOURCE ? '' : path} ${rule ?? message}`;
        })
        .sort(),
    };
  }
}

const SUBJECT = ['email', 'app', 'resourceType', 'resourceId', 'minRevision'];

/** Compares all three readers; answers whether the bytes are a CheckRequest that is a question. */
function compare(bytes: Uint8Array): boolean {
  const check = expected(CheckRequestSchema, bytes);
  same(actual(readCheck, bytes, [...SUBJECT, 'permission', 'level']), check);
  same(actual(readBulk, bytes, [...SUBJECT, 'permissions', 'level']), expected(BulkCheckRequestSchema, bytes));
  same(actual(readEffective, bytes, SUBJECT), expected(EffectiveRequestSchema, bytes));
  return 'question' in check;
}

/** `expect` only where it will fail: it costs more than all the rest. */
function same(received: Outcome, wanted: Outcome): void {
  if (!isDeepStrictEqual(received, wanted)) expect(received).toEqual(wanted);
}

const character = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...'abcXYZ019.-_@: '.split('')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\u0000', '\u007f', '\u0080', 'é', 'Ω', '\ufeff', 'ʼ', '漢', '😀', '\u{10ffff}'),
  },
);
const textOf = (maxLength: number) =>
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

const wellFormed = fc.oneof(
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
function varint(value: bigint, width: number): number[] {
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
const fromRecords = fc.array(record, { maxLength: 9 }).map((all) => Uint8Array.from(all.flat()));

/** Records of a whole question first, so that what comes after decides. */
const completed = fc
  .tuple(wellFormed, fc.array(record, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([bytes, all, before]) => Uint8Array.from(before ? [...all.flat(), ...bytes] : [...bytes, ...all.flat()]));

const edit = fc.record({
  kind: fc.constantFrom('set', 'flip', 'insert', 'delete', 'cut', 'repeat'),
  at: fc.nat(600),
  byte: fc.integer({ min: 0, max: 255 }),
});
const mutated = fc.tuple(wellFormed, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([bytes, edits]) => {
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

const input = fc.oneof(
  { weight: 3, arbitrary: wellFormed },
  { weight: 3, arbitrary: fromRecords },
  { weight: 2, arbitrary: completed },
  { weight: 3, arbitrary: mutated },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }) },
);

describe('requests', () => {
  test(
    'each byte sequence is the question, or the refusal, that protobuf-es and protovalidate make of it',
    () => {
      let answered = 0;
      let asked = 0;
      // Most inputs end in two errors, whose stacks would take a quarter of the time.
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 0;
      try {
        fc.assert(
          fc.property(input, (bytes) => {
            asked++;
            if (compare(bytes)) answered++;
          }),
          { numRuns: INPUTS },
        );
      } finally {
        Error.stackTraceLimit = stackTraceLimit;
      }
      // The generator must not drift into testing refusals alone.
      expect(answered / asked).toBeGreaterThan(0.05);
    },
    INPUTS > 100_000 ? 3_600_000 : 180_000,
  );

  test('cases that once misled a reader of this kind', () => {
    const ascii = [0x0a, 1, 0x61, 0x12, 1, 0x62, 0x1a, 1, 0x63];
    const cases: number[][] = [
      [],
      ascii,
      // Doubled: the last one counts. An empty one erases.
      [...ascii, 0x0a, 1, 0x7a],
      [...ascii, 0x0a, 0],
      // Half a resource, made whole and half again by later fields.
      [...ascii, 0x22, 1, 0x64],
      [...ascii, 0x22, 1, 0x64, 0x2a, 1, 0x65],
      [...ascii, 0x22, 1, 0x64, 0x2a, 1, 0x65, 0x2a, 0],
      // Cut off after the tag, after the length, inside the text.
      [...ascii, 0x22],
      [...ascii, 0x22, 5],
      [...ascii, 0x30],
      [...ascii, 0x22, 5, 0x61],
      // Levels: valid, never valid in a request, unknown, negative in ten bytes, beyond 32 bits, in two bytes.
      ...[0, 1, 2, 3, 4].map((value) => [...ascii, 0x30, value]),
      [...ascii, 0x30, ...varint(-1n, 10)],
      [...ascii, 0x30, ...varint(2n ** 32n + 2n, 5)],
      [...ascii, 0x30, 0x82, 0x00],
      [...ascii, 0x30, ...varint(2n, 11)],
      // Tags above 127, in the range of known numbers and beyond it.
      [...ascii, 0x8a, 0x00, 1, 0x7a],
      [...ascii, 0x80, 0x01, 1],
      [...ascii, 0xfa, 0xff, 0xff, 0xff, 0x0f, 0],
      [...ascii, 0x8a, 0x80, 0x80, 0x80, 0x10, 1, 0x7a],
      // UTF-8 that latin1 would make another address of.
      [0x0a, 2, 0xc3, 0xa9, ...ascii.slice(3)],
      [0x0a, 3, 0xef, 0xbb, 0xbf, ...ascii.slice(3)],
      // Wire types: varint, 64 bit, group, 32 bit for text; text for a level.
      [...ascii, 0x08, 1],
      [...ascii, 0x09, 1, 2, 3, 4, 5, 6, 7, 8],
      [...ascii, 0x0b, 0x0c],
      [...ascii, 0x0d, 1, 2, 3, 4],
      [...ascii, 0x32, 1, 2],
      // Field number 0, wire types 6 and 7, an end without a beginning.
      [...ascii, 0x02, 0],
      [...ascii, 0x0e],
      [...ascii, 0x0f],
      [...ascii, 0x0c],
    ];
    for (const bytes of cases) compare(Uint8Array.from(bytes));
  });

  test('text at each limit and one over, in characters of one to four bytes', () => {
    const limits = { email: 254, app: 64, permission: 128, resourceType: 64, resourceId: 256, minRevision: 64 };
    for (const [field, limit] of Object.entries(limits)) {
      for (const one of ['a', 'é', '漢', '😀']) {
        for (const length of [limit - 1, limit, limit + 1]) {
          const whole = { email: 'a', app: 'b', permission: 'c', resourceType: 'd', resourceId: 'e' };
          const message = create(CheckRequestSchema, { ...whole, [field]: one.repeat(length) });
          compare(toBinary(CheckRequestSchema, message));
        }
      }
    }
  });

  test('1,000 permissions and 1,001; repeated ones count for the limit and are answered once', () => {
    const bulk = (permissions: string[]) =>
      toBinary(BulkCheckRequestSchema, create(BulkCheckRequestSchema, { email: 'a', app: 'b', permissions }));
    const distinct = Array.from({ length: 1000 }, (_, i) => `p${i}`);
    for (const permissions of [
      distinct,
      [...distinct, 'p0'],
      distinct.map(() => 'same'),
      [...distinct.map(() => 'same'), 'same'],
      distinct.map((code) => `é${code}`),
      distinct.map((code) => code.padEnd(127, '.')),
      ['b', 'a', 'b', 'c', 'a'],
      ['constructor', '__proto__', 'constructor'],
    ]) {
      compare(bulk(permissions));
    }
    expect(readBulk(Buffer.from(bulk(['b', 'a', 'b', 'c', 'a']))).permissions).toEqual(['b', 'a', 'c']);
  });

  test('codes are cut out whole, wherever the pieces begin that the message is read in', () => {
    for (let length = 4; length < 128; length++) {
      const permissions = Array.from({ length: 300 }, (_, i) => `${1000 + i}`.padStart(length, 'x'));
      const bytes = toBinary(
        BulkCheckRequestSchema,
        create(BulkCheckRequestSchema, { email: 'kim@example.com', app: 'billing', permissions }),
      );
      expect(readBulk(Buffer.from(bytes)).permissions).toEqual(permissions);
    }
  });
});

const decision: fc.Arbitrary<Decision> = fc.record({
  granted: fc.boolean(),
  level: fc.constantFrom(Level.NONE, Level.ALLOWED, Level.VIEW, Level.EDIT),
  source: fc.constantFrom(Source.NONE, Source.ROLE, Source.OVERRIDE, Source.SUPERADMIN, Source.APP_ADMIN),
  tiered: fc.boolean(),
});
const revision = fc.nat(2 ** 31).map(String);
const ANSWERS = Math.ceil(INPUTS / 40);

describe('answers', () => {
  test('a CheckResponse is what protobuf-es writes, for every answer there is, also after the revision moves', () => {
    const answers = new CheckAnswers(String);
    for (const at of [0, 7, 8, 7, 2 ** 53 - 1]) {
      for (const allowed of [false, true]) {
        for (const level of Object.values(Level)) {
          for (const source of Object.values(Source)) {
            const one = { granted: allowed, level, source, tiered: false };
            const message = create(CheckResponseSchema, { allowed, accessLevel: level, source, revision: String(at) });
            expect([...answers.get(allowed, one, at)]).toEqual([...toBinary(CheckResponseSchema, message)]);
            expect(answers.get(allowed, one, at)).toBe(answers.get(allowed, one, at));
          }
        }
      }
    }
  });

  test('a BulkCheckResponse is what protobuf-es writes', () => {
    const lines = fc.array(fc.tuple(textOf(128), decision), { maxLength: 80 });
    fc.assert(
      fc.property(lines, fc.constantFrom(...Object.values(Level)), revision, (all, asked, at) => {
        const named = all.filter(([permission]) => permission !== '');
        const results = named.map(([permission, one]) => ({
          permission,
          allowed: isAllowed(one, asked),
          accessLevel: one.level,
          source: one.source,
        }));
        const message = create(BulkCheckResponseSchema, { results, revision: at });
        const permissions = named.map(([permission]) => permission);
        const decisions = named.map(([, one]) => one);
        const written = writeBulk(permissions, decisions, asked, at);
        expect(written.equals(toBinary(BulkCheckResponseSchema, message))).toBe(true);
      }),
      { numRuns: ANSWERS },
    );
  });

  test('an EffectiveResponse is what protobuf-es writes', () => {
    const line: fc.Arbitrary<EffectiveItem> = fc.record({
      code: textOf(128),
      tiered: fc.boolean(),
      groupName: fc.option(fc.oneof(textOf(128), textOf(4000))),
      global: fc.boolean(),
      level: fc.constantFrom(...Object.values(Level)),
      granted: fc.boolean(),
      source: fc.constantFrom(...Object.values(Source)),
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), revision, (lines, at) => {
        const permissions = lines.map(({ tiered, groupName, level: accessLevel, ...rest }) => ({
          ...rest,
          type: tiered ? PermissionType.TIERED : PermissionType.BINARY,
          accessLevel,
          ...(groupName === null ? {} : { groupName }),
        }));
        const message = create(EffectiveResponseSchema, { permissions, revision: at });
        expect(writeEffective(lines, at).equals(toBinary(EffectiveResponseSchema, message))).toBe(true);
      }),
      { numRuns: ANSWERS },
    );
  });

  test('answers larger than the room kept for them, and small ones after', () => {
    const held: Decision = { granted: true, level: Level.EDIT, source: Source.ROLE, tiered: true };
    for (const count of [1, 1000, 1, 5000, 2]) {
      const permissions = Array.from({ length: count }, (_, i) => `${'漢'.repeat(128)}${i}`);
      const results = permissions.map((permission) => ({
        permission,
        allowed: true,
        accessLevel: held.level,
        source: held.source,
      }));
      const message = create(BulkCheckResponseSchema, { results, revision: '9' });
      const decisions = permissions.map(() => held);
      const written = writeBulk(permissions, decisions, Level.VIEW, '9');
      expect(written.equals(toBinary(BulkCheckResponseSchema, message))).toBe(true);
    }
    expect(writeBulk([], [], Level.NONE, '').length).toBe(0);
  });

  test('a decision too few is an error, never another permission answered', () => {
    expect(() => writeBulk(['a', 'b'], [], Level.NONE, '1')).toThrow();
  });
});
