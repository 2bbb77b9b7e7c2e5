import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isAllowed } from '../../src/engine/question.ts';
import { type Decision, type EffectiveItem, Level, Source } from '../../src/engine/types.ts';
import {
  BulkCheckResponseSchema,
  CheckResponseSchema,
  EffectiveResponseSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { CheckAnswers, writeBulk, writeEffective } from '../../src/grpc/codec/write.ts';
import { RPCS } from '../../src/rpc/methods.ts';
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

  const item: fc.Arbitrary<EffectiveItem> = fc.record({
    code: textOf(128),
    tiered: fc.boolean(),
    groupName: fc.oneof(fc.constant(null), textOf(128)),
    global: fc.boolean(),
    level: fc.constantFrom(...Object.values(Level)),
    granted: fc.boolean(),
    source: fc.constantFrom(...Object.values(Source)),
  });
  const generated = (items: readonly EffectiveItem[], at: string) =>
    toBinary(
      EffectiveResponseSchema,
      create(EffectiveResponseSchema, RPCS.effective.toMessage({ items, revision: at })),
    );

  test("an EffectiveResponse equals protobuf-es's", () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 60 }), fc.oneof(revision, fc.constant('')), (items, at) => {
        expect(writeEffective(items, at).equals(generated(items, at))).toBe(true);
      }),
      { numRuns: ANSWERS },
    );
  });

  test('an EffectiveResponse that is larger than the buffer is correct, and a small one after it', () => {
    for (const count of [1, 3000, 0, 700, 2]) {
      const items = Array.from({ length: count }, (_, i): EffectiveItem => {
        const text = '漢'.repeat(128 + (i % 5000 === 1 ? 6000 : 0));
        return {
          code: `${text}${i}`,
          tiered: i % 2 === 0,
          groupName: i % 3 === 0 ? null : text,
          global: i % 5 === 0,
          level: Level.VIEW,
          granted: true,
          source: Source.ROLE,
        };
      });
      expect(writeEffective(items, '7.31').equals(generated(items, '7.31'))).toBe(true);
    }
    expect(writeEffective([], '').length).toBe(0);
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
