import { isDeepStrictEqual } from 'node:util';
import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { UsherError } from '../../src/base/errors.ts';
import { isAllowed } from '../../src/engine/question.ts';
import { type Decision, Level, Source } from '../../src/engine/types.ts';
import {
  type BatchCheckRequest,
  BatchCheckRequestSchema,
  BatchCheckResponseSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { readBatch, readPart, splitBatch } from '../../src/grpc/codec/read.ts';
import { writeBatch } from '../../src/grpc/codec/write.ts';
import { decodeStrictly } from '../../src/rpc/strict.ts';
import { completed, fromRecords, INPUTS, LIMIT_MS, mutated, varint, wellFormed } from './messages.ts';

/** BatchCheck by hand against generated code (docs/adr/0003): the same checks out of the same bytes, the same refusals. */

const RUNS = Math.ceil(INPUTS / 4);

/** A record of that field: its tag, its length in one byte or more, its content. */
const field = (number: number, content: Uint8Array, width: number) => [
  ...varint(BigInt(number * 8 + 2), 1),
  ...varint(BigInt(content.length), width),
  ...content,
];
const item = fc.oneof(
  { weight: 6, arbitrary: wellFormed },
  { weight: 1, arbitrary: fromRecords },
  { weight: 1, arbitrary: completed },
  { weight: 1, arbitrary: mutated },
);
const width = fc.oneof(
  { weight: 8, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 6 }) },
);
const batches = fc
  .tuple(
    fc.array(fc.tuple(item, width), { maxLength: 6 }),
    fc.oneof(fc.constant(''), fc.constantFrom('7.31', 'é', 'r'.repeat(70), 'r'.repeat(200))),
    fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.tuple(fc.nat(400), fc.nat(255)) }),
  )
  .map(([items, revision, edit]) => {
    const bytes = [
      ...items.flatMap(([content, wide]) => field(1, content, wide)),
      ...(revision === '' ? [] : field(7, Buffer.from(revision), 1)),
    ];
    if (edit !== null && bytes.length > 0) bytes[edit[0] % bytes.length] = edit[1];
    return Uint8Array.from(bytes);
  });

type Outcome = { checks: unknown[]; minRevision: string } | { refused: string };

function outcome(
  read: (bytes: Buffer) => Pick<BatchCheckRequest, 'checks' | 'minRevision'>,
  bytes: Uint8Array,
): Outcome {
  try {
    const { checks, minRevision } = read(Buffer.from(bytes));
    const plain = checks.map(({ email, app, permission, resourceType, resourceId, accessLevel, minRevision }) => {
      return { email, app, permission, resourceType, resourceId, accessLevel, minRevision };
    });
    return { checks: plain, minRevision };
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    return { refused: JSON.stringify(error.details) };
  }
}

function compare(bytes: Uint8Array): boolean {
  const received = outcome((read) => readBatch(read) as BatchCheckRequest, bytes);
  const wanted = outcome((read) => decodeStrictly(BatchCheckRequestSchema, read), bytes);
  if (!isDeepStrictEqual(received, wanted)) expect(received).toEqual(wanted);
  comparePieces(Buffer.from(bytes), wanted);
  return 'checks' in wanted && wanted.checks.length > 0;
}

/** The same piece by piece: each that is read is the check at its place. */
function comparePieces(bytes: Buffer, wanted: Outcome): void {
  const split = splitBatch(bytes);
  if (split === null) return;
  const { bounds, minRevision } = split;
  const checks = Array.from({ length: bounds.length / 2 }, (_, index) => {
    const start = bounds[2 * index] as number;
    const end = bounds[2 * index + 1] as number;
    return readPart(bytes, start, end, bytes.toString('latin1', start, end));
  });
  if (checks.includes(null)) return;
  if (!isDeepStrictEqual({ checks, minRevision }, wanted)) expect({ checks, minRevision }).toEqual(wanted);
}

describe('batches', () => {
  test(
    'each byte sequence is the batch, or the refusal, that generated code makes of it',
    () => {
      let read = 0;
      fc.assert(
        fc.property(batches, (bytes) => {
          if (compare(bytes)) read++;
        }),
        { numRuns: RUNS },
      );
      expect(read / RUNS).toBeGreaterThan(0.05);
    },
    LIMIT_MS,
  );

  test('1,000 checks of any length are accepted, and 1,001 refused', () => {
    for (const resourceId of ['7', 'r'.repeat(60), 'r'.repeat(127), 'r'.repeat(128), 'é'.repeat(60)]) {
      for (const count of [1, 999, 1000, 1001]) {
        const checks = Array.from({ length: count }, (_, index) => {
          return {
            email: `kim${index}@example.com`,
            app: 'billing',
            permission: 'view',
            resourceType: 'invoice',
            resourceId,
          };
        });
        compare(toBinary(BatchCheckRequestSchema, create(BatchCheckRequestSchema, { checks, minRevision: '7.31' })));
      }
    }
  });

  test('checks are complete across the windows of the message', () => {
    for (let length = 1; length < 128; length++) {
      const checks = Array.from({ length: 40 }, (_, index) => {
        const permission = `${1000 + index}`.padStart(length, 'x');
        return create(BatchCheckRequestSchema, { checks: [{ email: 'kim@example.com', app: 'billing', permission }] });
      }).flatMap(({ checks: [check] }) => (check === undefined ? [] : [check]));
      const bytes = toBinary(BatchCheckRequestSchema, create(BatchCheckRequestSchema, { checks }));
      expect(readBatch(Buffer.from(bytes)).checks.map(({ permission }) => permission)).toEqual(
        checks.map(({ permission }) => permission),
      );
    }
  });

  test('a BatchCheckResponse equals that of protobuf-es', () => {
    const decision: fc.Arbitrary<Decision> = fc.record({
      granted: fc.boolean(),
      level: fc.constantFrom(...Object.values(Level)),
      source: fc.constantFrom(...Object.values(Source)),
      tiered: fc.boolean(),
    });
    const lines = fc.array(fc.tuple(decision, fc.constantFrom(...Object.values(Level))), { maxLength: 300 });
    fc.assert(
      fc.property(lines, fc.nat(2 ** 31).map(String), (all, revision) => {
        const results = all.map(([one, asked]) => {
          return { allowed: isAllowed(one, asked), accessLevel: one.level, source: one.source };
        });
        const written = writeBatch(
          all.map(([one]) => one),
          all.map(([, asked]) => asked),
          revision,
        );
        const message = create(BatchCheckResponseSchema, { results, revision });
        expect(written.equals(toBinary(BatchCheckResponseSchema, message))).toBe(true);
      }),
      { numRuns: Math.ceil(INPUTS / 40) },
    );
  });

  test("a missing decision is an error, never another question's answer", () => {
    expect(() => writeBatch([], [Level.NONE], '1')).toThrow('other decisions');
  });
});
