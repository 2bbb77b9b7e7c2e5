import { describe, expect, test } from '@jest/globals';
import { UsherError } from '../../clients/react/src/errors.ts';
import { eventsOf } from '../../clients/react/src/events.ts';
import { safeUrl } from '../../clients/react/src/links.ts';
import { answersOf, faultyPlace, keyOf, questionOf } from '../../clients/react/src/questions.ts';
import { subjectOf } from '../../clients/react/src/session.ts';
import type { PermissionOptions, PermissionQuestion, Resource } from '../../clients/react/src/types.ts';

const bytesOf = (pieces: readonly string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });

describe('events of a stream', () => {
  test.each([1, 2, 3, 7, 1000])('are the same in pieces of %i characters', async (size) => {
    const text =
      'id: 41.7\n\n: here\n\nevent: permissions\r\nid: 41.8\r\ndata: {"a":\r\ndata: 1}\r\n\r\nevent: half\ndata: ';
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    );
    const events = [];
    let heard = 0;
    for await (const event of eventsOf(bytesOf(pieces), () => void heard++)) events.push(event);
    expect(events).toEqual([
      { name: 'message', id: '41.7', data: '' },
      { name: 'permissions', id: '41.8', data: '{"a":\n1}' },
    ]);
    expect(heard).toBe(pieces.length);
  });
});

describe('a question', () => {
  const about = (resource: unknown): PermissionQuestion => ({ permission: 'read', resource: resource as Resource });

  test('about a record that is not there yet is not the question without one', () => {
    for (const missing of [
      undefined,
      null,
      { type: 'order', id: undefined },
      { type: 'order', id: '' },
      { type: '', id: 1 },
    ])
      expect(keyOf('shop', about(missing))).toBeNull();
    expect(keyOf('shop', { permission: 'read' })).toBe('{"app":"shop","permission":"read"}');
  });

  test('that is wrong is refused, and never asked as a wider one', () => {
    const record = { type: 'order', id: 7 };
    const wrong: readonly [string, object | string | null][] = [
      ['resourceType', { permission: 'read', resourceType: 'order', resourceId: '7' }],
      ['ressource', { permission: 'read', ressource: record }],
      ['accessLevel', { permission: 'read', accessLevel: 'edit' }],
      ['email', { permission: 'read', email: 'ben@example.com' }],
      ['level', { permission: 'read', level: 'write' }],
      ['level', { permission: 'read', level: null }],
      ['level', { permission: 'read', level: 'allowed' }],
      ['permission', { resource: record }],
      ['permission', { permission: '' }],
      ['permission', { permission: ['read'] }],
      ['resource', about('order:7')],
      ['resource', about(7)],
      ['resource', about(['order', '7'])],
      ['resource', about(new Map())],
      ['resource.type', about({})],
      ['resource.id', about({ type: 'order' })],
      ['resource.id', about({ type: 'order', id: {} })],
      ['resource.id', about({ type: 'order', id: Number.NaN })],
      ['resource.id', about({ type: 'order', id: true })],
      ['resource.id', about({ type: 'order', id: '\ud800' })],
      ['resource.type', about({ type: 7, id: 7 })],
      ['resource.tenant', about({ ...record, tenant: 1 })],
      ['question', null],
      ['question', 'read'],
      ['question', ['read']],
    ];
    for (const [path, question] of wrong) {
      const issues = [{ path, message: expect.any(String) }];
      expect(refusedBy(() => keyOf('shop', question as PermissionQuestion))).toEqual({
        code: 'INVALID_ARGUMENT',
        details: { issues },
      });
    }
    for (const options of [null, 'edit', { permission: 'write' }, { resourceId: 7 }]) {
      expect(refusedBy(() => questionOf('read', options as PermissionOptions))).toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
    expect(questionOf('read', { level: undefined, resource: undefined })).toEqual({
      permission: 'read',
      level: undefined,
      resource: undefined,
    });
  });

  test('about a number is that about its text', () => {
    expect(keyOf('shop', about({ type: 'order', id: 0 }))).toBe(keyOf('shop', about({ type: 'order', id: '0' })));
  });
});

describe('an answer', () => {
  test('allows by a plain yes alone', () => {
    const results = [
      { allowed: true, accessLevel: 'edit' },
      { allowed: 'true' },
      { allowed: 1, accessLevel: 'odd' },
      null,
    ];
    expect(answersOf({ results }, 4).map(({ allowed, level }) => [allowed, level])).toEqual([
      [true, 'edit'],
      [false, null],
      [false, null],
      [false, null],
    ]);
  });

  test.each([null, {}, { results: {} }, { results: [{ allowed: true }] }])(
    'that does not fit the questions is none: %j',
    (body) => {
      expect(() => answersOf(body, 2)).toThrow('does not fit');
    },
  );

  test.each([
    [{ path: 'checks.3.permission' }, 3],
    [{ path: 'checks[12]' }, 12],
    [{ issues: [{ path: 'checks.0.resourceId' }] }, 0],
    [{ path: 'app' }, null],
    [{}, null],
  ])('that refuses %j names place %p', (details, place) => {
    expect(faultyPlace(new UsherError('no', { status: 400, details }))).toBe(place);
  });
});

test('the address of a notification is a link where it leads to a page, and to nothing else', () => {
  const good = ['https://example.com/a', 'HTTP://example.com', '/orders/7', '/?q=1#x'];
  expect(good.map(safeUrl)).toEqual(good);
  const bad = [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:1',
    'data:text/html,1',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'page',
    '',
    null,
  ];
  expect(bad.map(safeUrl)).toEqual(bad.map(() => null));
});

test('a token says whose it is by issuer and subject, or not at all', () => {
  const tokenOf = (claims: unknown) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
  const ann = subjectOf(tokenOf({ iss: 'https://id.example', sub: 'änn', jti: 1 }));
  expect(ann).toBe(subjectOf(tokenOf({ iss: 'https://id.example', sub: 'änn', jti: 2 })));
  expect(ann).not.toBe(subjectOf(tokenOf({ iss: 'https://other.example', sub: 'änn' })));
  for (const opaque of ['abc', 'a.b.c', tokenOf(null), tokenOf({ sub: 7 }), '']) expect(subjectOf(opaque)).toBeNull();
});

function refusedBy(ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    expect(error).toBeInstanceOf(UsherError);
    const { code, details } = error as UsherError;
    return { code, details };
  }
}
