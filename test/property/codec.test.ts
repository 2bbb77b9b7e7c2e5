import { isDeepStrictEqual } from 'node:util';
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { pathToString } from '@bufbuild/protobuf/reflect';
import { createValidator } from '@bufbuild/protovalidate';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Issue, UsherError } from '../../src/base/errors.ts';
import {
  BulkCheckRequestSchema,
  CheckRequestSchema,
  EffectiveRequestSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { readBulk, readCheck, readEffective } from '../../src/grpc/codec/read.ts';
import { INPUTS, LIMIT_MS, messages, varint } from './messages.ts';

/**
 * The codec by hand against protobuf-es and protovalidate (docs/adr/0003): the same questions out of the same bytes, the
 * same refusals, the same answers. Two things are refused beyond what they refuse: fields unknown to the schema
 * (docs/reference/decisions.md#strict-questions), and known ones of another wire type, which protobuf-es misreads instead of taking them for unknown.
 */

const validator = createValidator();

/** What reading came to: a question, or a refusal with what it names. */
type Outcome = { question: unknown } | { refused: string[] | 'wire' | 'unknown' | 'too many' };

/** Wire type by field number: what permission.proto says, written down a second time. */
const TYPES: Record<string, Record<number, number>> = {
  CheckRequest: { 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 0, 7: 2 },
  BulkCheckRequest: { 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 0, 7: 2 },
  EffectiveRequest: { 1: 2, 2: 2, 4: 2, 5: 2, 7: 2 },
};

/** (field number, wire type) of each record; null where the bytes are not a sequence of records. Uses no library. */
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
  const { $typeName: _, ...question } = message as unknown as Record<string, unknown>;
  return { question };
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
    if (
      issues.every(({ message }) => /^field number \d+ of \w+ is unknown, or has the wrong wire type$/.test(message))
    ) {
      return { refused: 'unknown' };
    }
    if (issues[0]?.message === 'must hold at most 1000 items') return { refused: 'too many' };
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

/** Compares the readers; answers whether the bytes are a CheckRequest that is a question. */
function compare(bytes: Uint8Array): boolean {
  const check = expected(CheckRequestSchema, bytes);
  same(actual(readCheck, bytes, [...SUBJECT, 'permission', 'accessLevel']), check);
  same(actual(readBulk, bytes, [...SUBJECT, 'permissions', 'accessLevel']), expected(BulkCheckRequestSchema, bytes));
  // What the rules of permission.proto refuse is refused with the question itself.
  const effective = expected(EffectiveRequestSchema, bytes);
  if (!('refused' in effective && Array.isArray(effective.refused))) {
    same(actual(readEffective, bytes, SUBJECT), effective);
  }
  return 'question' in check;
}

/** `expect` only where it will fail: it costs more than all the rest. */
function same(received: Outcome, wanted: Outcome): void {
  if (!isDeepStrictEqual(received, wanted)) expect(received).toEqual(wanted);
}

describe('requests of the codec', () => {
  test(
    'each byte sequence gives the question, or the refusal, of protobuf-es and protovalidate',
    () => {
      let answered = 0;
      let asked = 0;
      // Most inputs end in two errors, whose stacks would take a quarter of the time.
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 0;
      try {
        fc.assert(
          fc.property(messages, (bytes) => {
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
    LIMIT_MS,
  );

  test('byte sequences that once misled the reader are read correctly', () => {
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

  test('text at each limit and one over it is read correctly, in characters of one to four bytes', () => {
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

  test('1,000 permissions are accepted and 1,001 refused, counting repeated ones', () => {
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
    expect(readBulk(Buffer.from(bulk(['b', 'a', 'b', 'c', 'a']))).permissions).toEqual(['b', 'a', 'b', 'c', 'a']);
  });

  test('codes are complete across the windows of the message', () => {
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
