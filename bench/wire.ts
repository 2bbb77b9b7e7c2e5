/** The protobuf of the calls, as far as a load generator needs it: requests out, expected answers as bytes. */
import type { BenchAnswer, BenchQuestion, BenchSubject } from './oracle.ts';
import type { BulkQuestion } from './questions.ts';

/** Bytes before a message of gRPC: whether it is compressed, and its length. */
export const PREFIX = 5;

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return bytes;
}

/** Length-delimited field of text; nothing at all when empty, as proto3 wants it. */
function text(field: number, value: string): Buffer {
  return value === '' ? Buffer.alloc(0) : bytes(field, Buffer.from(value));
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(value.length)]), value]);
}

function number(field: number, value: number | boolean): Buffer {
  return Number(value) === 0 ? Buffer.alloc(0) : Buffer.from([...varint(field * 8), ...varint(Number(value))]);
}

/** A message as gRPC sends it: uncompressed, after its length. */
export function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export function encodeCheck(q: BenchQuestion): Buffer {
  return Buffer.concat([
    text(1, q.email),
    text(2, q.app),
    text(3, q.permission),
    text(4, q.resourceType),
    text(5, q.resourceId),
    number(6, q.asked),
  ]);
}

export function encodeBulk(q: BulkQuestion): Buffer {
  const permissions = q.permissions.map((code) => text(3, code));
  return Buffer.concat([
    text(1, q.email),
    text(2, q.app),
    ...permissions,
    text(4, q.resourceType),
    text(5, q.resourceId),
  ]);
}

export function encodeBatch(checks: readonly BenchQuestion[]): Buffer {
  return Buffer.concat(checks.map((check) => bytes(1, encodeCheck(check))));
}

export function encodeExplain(q: BenchQuestion): Buffer {
  return bytes(1, encodeCheck(q));
}

export function batchAnswer(answers: readonly BenchAnswer[]): Buffer {
  return Buffer.concat(answers.map((answer) => bytes(1, checkAnswer(answer))));
}

export function encodeEffective(s: BenchSubject): Buffer {
  return Buffer.concat([text(1, s.email), text(2, s.app), text(4, s.resourceType), text(5, s.resourceId)]);
}

/** CheckResponse, BulkCheckResponse and EffectiveResponse without their revision, which the generator cuts off. */
export function checkAnswer(a: BenchAnswer): Buffer {
  return Buffer.concat([number(1, a.allowed), number(2, a.level), number(3, a.source)]);
}

export function bulkAnswer(items: readonly { permission: string; answer: BenchAnswer }[]): Buffer {
  return Buffer.concat(
    items.map(({ permission, answer: a }) =>
      bytes(1, Buffer.concat([text(1, permission), number(2, a.allowed), number(3, a.level), number(4, a.source)])),
    ),
  );
}

export interface EffectiveLine {
  code: string;
  tiered: boolean;
  groupName: string | null;
  global: boolean;
  answer: BenchAnswer;
}

export function effectiveAnswer(lines: readonly EffectiveLine[]): Buffer {
  return Buffer.concat(
    lines.map((line) =>
      bytes(
        1,
        Buffer.concat([
          text(1, line.code),
          number(2, line.tiered ? 2 : 1),
          line.groupName === null ? Buffer.alloc(0) : bytes(3, Buffer.from(line.groupName)),
          number(4, line.global),
          number(5, line.answer.level),
          number(6, line.answer.allowed),
          number(7, line.answer.source),
        ]),
      ),
    ),
  );
}

/**
 * Whether `message[start, end)` is `expected` followed by a revision, field `revisionField`, and nothing else: an answer without one is wrong. Fields are
 * compared in ascending order and with defaults left out, which is what every proto3 encoder in use writes.
 */
export function isAnswer(
  message: Buffer,
  start: number,
  end: number,
  expected: Buffer,
  revisionField: number,
): boolean {
  const length = expected.length;
  if (end - start < length) return false;
  for (let i = 0; i < length; i++) if (message[start + i] !== expected[i]) return false;
  const at = start + length;
  // A revision is at most 64 bytes long, so its length is one byte.
  return message[at] === revisionField * 8 + 2 && end - at === 2 + (message[at + 1] as number);
}

/** Whether an ExplainResponse decides as expected; its rules, which come after the revision, are left to the tests. */
export function isExplained(message: Buffer, start: number, end: number, expected: Buffer): boolean {
  const at = start + expected.length;
  return at < end && isAnswer(message, start, at + 2 + (message[at + 1] as number), expected, 4);
}

/** What the bare gRPC server answers to everything: allowed, level ALLOWED, by a role, at revision 1. */
export const CONSTANT_ANSWER = Buffer.concat([
  checkAnswer({ allowed: true, level: 1, source: 1 }),
  Buffer.from([0x22, 1, 0x31]),
]);
