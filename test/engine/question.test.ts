import { describe, expect, test } from '@jest/globals';
import type { UsherError } from '../../src/base/errors.ts';
import {
  isAllowed,
  PROTO_FIELDS,
  parseRevision,
  type RawQuestion,
  readPermission,
  readQuestion,
  readSubject,
} from '../../src/engine/question.ts';
import { formatRevision, Level, Source } from '../../src/engine/types.ts';

const GOOD: RawQuestion = {
  email: 'ada@example.com',
  app: 'shop',
  permission: 'orders.read',
  resourceType: '',
  resourceId: '',
};
const raw = (more: Partial<RawQuestion>): RawQuestion => ({ ...GOOD, ...more });

function refusal(read: () => unknown): UsherError {
  try {
    read();
  } catch (error) {
    return error as UsherError;
  }
  throw new Error('it was not refused');
}

function fieldsRefused(read: () => unknown): string[] {
  const { reason, httpStatus, details } = refusal(read);
  expect([reason, httpStatus]).toEqual(['VALIDATION_FAILED', 400]);
  const issues = (details as { issues: { path: string }[] }).issues;
  return issues.map(({ path }) => path);
}

describe('normalisation of a question', () => {
  test.each<[string, Partial<RawQuestion>, Partial<RawQuestion>]>([
    ['as it is', {}, {}],
    ['upper case in the address', { email: 'Ada@EXAMPLE.com' }, { email: 'ada@example.com' }],
    ['white space around the address', { email: ' \t\r\nada@example.com\v\f' }, { email: 'ada@example.com' }],
    ['a resource', { resourceType: 'order', resourceId: '7' }, { resourceType: 'order', resourceId: '7' }],
    [
      'a resource id of any text',
      { resourceType: 'order', resourceId: ' A:b/č😀 ' },
      { resourceType: 'order', resourceId: ' A:b/č😀 ' },
    ],
    [
      'a resource id of 256 characters beyond the BMP',
      { resourceType: 'o', resourceId: '😀'.repeat(256) },
      { resourceType: 'o', resourceId: '😀'.repeat(256) },
    ],
    [
      'names of prototypes',
      { app: 'constructor', permission: 'toString' },
      { app: 'constructor', permission: 'toString' },
    ],
    ['upper case in the permission', { permission: 'Orders.READ' }, { permission: 'Orders.READ' }],
    [
      'codes of full length',
      { app: 'a'.repeat(64), permission: 'A'.repeat(128) },
      { app: 'a'.repeat(64), permission: 'A'.repeat(128) },
    ],
  ])('a question is normalized: %s', (_name, given, expected) => {
    expect(readQuestion(raw(given))).toEqual(raw(expected));
    const { permission: _, ...subject } = raw(given);
    const { permission: __, ...read } = raw(expected);
    expect(readSubject(subject)).toEqual(read);
  });

  test('unknown members of a question are dropped', () => {
    expect(Object.keys(readQuestion({ ...GOOD, more: 1 } as RawQuestion) ?? {})).toEqual(Object.keys(GOOD));
  });
});

describe('invalid fields of a question', () => {
  const BAD = {
    missing: '',
    'a control character': 'a\u0000b',
    'a C1 control character': 'a\u0085',
    'a lone surrogate': 'a\ud800',
  };
  const cases = (['email', 'app', 'permission', 'resourceType', 'resourceId'] as const).flatMap((field) =>
    Object.entries(BAD).map(([name, text]) => [field, name, text] as const),
  );

  test.each(cases)('an invalid field is 400 with its path: %s: %s', (field, name, text) => {
    const isOptional = field.startsWith('resource');
    const about = isOptional ? { resourceType: 'order', resourceId: '7' } : {};
    if (isOptional && name === 'missing') return expect(readQuestion(raw({ [field]: text }))).not.toBeNull();
    expect(fieldsRefused(() => readQuestion(raw({ ...about, [field]: text })))).toEqual([field]);
    if (field !== 'permission')
      expect(fieldsRefused(() => readSubject(raw({ ...about, [field]: text })))).toEqual([field]);
    else expect(fieldsRefused(() => readPermission(text))).toEqual(['permission']);
  });

  test.each([
    ['email', 254],
    ['app', 64],
    ['permission', 128],
    ['resourceType', 64],
    ['resourceId', 256],
  ] as const)('a field over its limit is 400: %s over %d code points', (field, max) => {
    const about = field.startsWith('resource') ? { resourceType: 'order', resourceId: '7' } : {};
    const read = (text: string) => () => readQuestion(raw({ ...about, [field]: text }));
    expect(fieldsRefused(read('a'.repeat(max + 1)))).toEqual([field]);
    expect(fieldsRefused(read('😀'.repeat(max + 1)))).toEqual([field]);
    expect(fieldsRefused(read('a'.repeat(1_000_000)))).toEqual([field]);
    // Code points count, not UTF-16 units: as long as it may be, though nothing that exists but as an id.
    expect(read('😀'.repeat(max))() === null).toBe(field !== 'resourceId');
  });

  test("all invalid fields are reported at once, by the transport's names", () => {
    const bad = { email: ' ', app: 'a'.repeat(65), permission: '\t', resourceType: '\n', resourceId: '\ud800' };
    expect(fieldsRefused(() => readQuestion(bad))).toEqual([
      'email',
      'app',
      'permission',
      'resourceType',
      'resourceId',
    ]);
    expect(fieldsRefused(() => readQuestion(bad, PROTO_FIELDS))).toEqual([
      'email',
      'app',
      'permission',
      'resource_type',
      'resource_id',
    ]);
    expect(fieldsRefused(() => readPermission('', 'permissions.3'))).toEqual(['permissions.3']);
  });

  test('a long run of blanks takes linear time', () => {
    const started = performance.now();
    expect(fieldsRefused(() => readQuestion(raw({ email: ' '.repeat(1_000_000) })))).toEqual(['email']);
    expect(fieldsRefused(() => readQuestion(raw({ email: `a${' '.repeat(1_000_000)}b` })))).toEqual(['email']);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('half a resource', () => {
  test.each([{ resourceType: 'order' }, { resourceId: '7' }, { resourceType: 'No Slug' }])(
    'half a resource is INCOMPLETE_RESOURCE: %j',
    (half) => {
      expect(refusal(() => readQuestion(raw(half)))).toMatchObject({ reason: 'INCOMPLETE_RESOURCE', httpStatus: 400 });
      expect(refusal(() => readSubject(raw(half)))).toMatchObject({ reason: 'INCOMPLETE_RESOURCE' });
    },
  );

  test('half a resource is refused even in a question that would be denied', () => {
    expect(refusal(() => readQuestion(raw({ email: 'nobody', resourceType: 'order' }))).reason).toBe(
      'INCOMPLETE_RESOURCE',
    );
  });

  test('an invalid field precedes half a resource', () => {
    expect(fieldsRefused(() => readQuestion(raw({ app: '', resourceType: 'order' })))).toEqual(['app']);
  });

  test("half a resource is reported by the transport's names", () => {
    const { message } = refusal(() => readQuestion(raw({ resourceType: 'order' }), PROTO_FIELDS));
    expect(message).toContain('resource_type and resource_id');
  });
});

describe('malformed addresses and codes', () => {
  test.each<[Partial<RawQuestion>]>([
    [{ email: 'nobody' }],
    [{ email: '@example.com' }],
    [{ email: 'a@b@example.com' }],
    [{ email: '"a b"@example.com' }],
    [{ email: 'a b@example.com' }],
    [{ email: 'a:b@example.com' }],
    [{ email: '\u212aate@example.com' }],
    [{ email: '\u00a0ada@example.com' }],
    [{ email: 'ada@exämple.com' }],
    [{ email: `${'a'.repeat(65)}@example.com` }],
    [{ app: 'Shop' }],
    [{ app: 'a:b' }],
    [{ app: ' shop' }],
    [{ app: '__proto__' }],
    [{ app: 'a..b' }],
    [{ permission: 'a::b' }],
    [{ permission: '*' }],
    [{ permission: '__proto__' }],
    [{ permission: 'a b' }],
    [{ resourceType: 'Order', resourceId: '7' }],
    [{ resourceType: 'a:b', resourceId: '7' }],
  ])('a malformed address or code is denied: %j', (malformed) => {
    expect(readQuestion(raw(malformed))).toBeNull();
    if (malformed.permission === undefined) expect(readSubject(raw(malformed))).toBeNull();
    else expect(readPermission(malformed.permission)).toBeNull();
  });
});

test('the requested level is compared for tiered permissions only', () => {
  const held = (level: Level, tiered: boolean) => ({
    granted: level !== Level.NONE,
    level,
    source: Source.ROLE,
    tiered,
  });
  const asked = [Level.NONE, Level.VIEW, Level.EDIT];
  const table = (decision: ReturnType<typeof held>) => asked.map((level) => isAllowed(decision, level));
  expect(table(held(Level.NONE, true))).toEqual([false, false, false]);
  expect(table(held(Level.VIEW, true))).toEqual([true, true, false]);
  expect(table(held(Level.EDIT, true))).toEqual([true, true, true]);
  expect(table(held(Level.ALLOWED, false))).toEqual([true, true, true]);
});

describe('revisions', () => {
  test.each([0, 1, 42, 2 ** 53 - 1])('revision %d survives formatting and parsing', (revision) => {
    for (const nonce of [null, '0', '281474976710655', '-Aa_9']) {
      const mark = { number: revision, nonce };
      expect(parseRevision(formatRevision(mark))).toEqual(mark);
    }
  });

  test.each([
    '',
    ' 1',
    '1 ',
    '01',
    '-1',
    '+1',
    '1.',
    '.1',
    '1.0.1',
    '1. 0',
    '1e3',
    '0x10',
    '9007199254740992',
    '9'.repeat(64),
    'abc',
    '１',
    'Infinity',
  ])('%j is not a revision', (text) => {
    expect(refusal(() => parseRevision(text))).toMatchObject({ reason: 'UNKNOWN_REVISION', httpStatus: 400 });
  });
});
