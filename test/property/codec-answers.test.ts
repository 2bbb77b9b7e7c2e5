import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isAllowed } from '../../src/engine/question.ts';
import { type Decision, Level, Source } from '../../src/engine/types.ts';
import { BulkCheckResponseSchema, CheckResponseSchema } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { CheckAnswers, writeBulk } from '../../src/grpc/codec/write.ts';
import { INPUTS, textOf } from './messages.ts';

/** Answers written by hand against protobuf-es (docs/adr/0003): the same bytes. */

const decision: fc.Arbitrary<Decision> = fc.record({
  granted: fc.boolean(),
  level: fc.constantFrom(Level.NONE, Level.ALLOWED, Level.VIEW, Level.EDIT),
  source: fc.constantFrom(Source.NONE, Source.ROLE, Source.OVERRIDE, Source.SUPERADMIN, Source.APP_ADMIN),
  tiered: fc.boolean(),
});
const revision = fc.nat(2 ** 31).map(String);
const ANSWERS = Math.ceil(INPUTS / 40);

describe('answers of the codec', () => {
  test("a CheckResponse equals protobuf-es's for every answer, also after the revision moves", () => {
    const answers = new CheckAnswers();
    for (const at of ['0', '7.31', '8.32', '7.33', '9007199254740991.281474976710655']) {
      for (const allowed of [false, true]) {
        for (const level of Object.values(Level)) {
          for (const source of Object.values(Source)) {
            const one = { granted: allowed, level, source, tiered: false };
            const message = create(CheckResponseSchema, { allowed, accessLevel: level, source, revision: at });
            expect([...answers.get(allowed, one, at)]).toEqual([...toBinary(CheckResponseSchema, message)]);
            expect(answers.get(allowed, one, at)).toBe(answers.get(allowed, one, at));
          }
        }
      }
    }
  });

  test("a BulkCheckResponse equals protobuf-es's", () => {
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

  test('answers larger than the buffer are correct, and small ones after them', () => {
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

  test("a missing decision is an error, never another permission's answer", () => {
    expect(() => writeBulk(['a', 'b'], [], Level.NONE, '1')).toThrow();
  });
});
