import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Level, Source } from '../../src/engine/types.ts';
import {
  AccessLevel,
  CheckResponseSchema,
  DecisionSource,
  PermissionType,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { HELD } from './scripted-engine.ts';
import { call, closeDoors, encodeCheck, openClient, openDoor, openRaw, QUESTION, SUBJECT } from './support.ts';

afterEach(closeDoors);

describe('Check', () => {
  // What is held, what is asked for, whether that is allowed (docs/reference/decisions.md#levels).
  test.each([
    ['edit', AccessLevel.UNSPECIFIED, true, AccessLevel.EDIT, DecisionSource.ROLE],
    ['edit', AccessLevel.VIEW, true, AccessLevel.EDIT, DecisionSource.ROLE],
    ['edit', AccessLevel.EDIT, true, AccessLevel.EDIT, DecisionSource.ROLE],
    ['view', AccessLevel.UNSPECIFIED, true, AccessLevel.VIEW, DecisionSource.ROLE],
    ['view', AccessLevel.VIEW, true, AccessLevel.VIEW, DecisionSource.ROLE],
    ['view', AccessLevel.EDIT, false, AccessLevel.VIEW, DecisionSource.ROLE],
    ['allowed', AccessLevel.EDIT, true, AccessLevel.ALLOWED, DecisionSource.APP_ADMIN],
    ['overridden', AccessLevel.UNSPECIFIED, false, AccessLevel.UNSPECIFIED, DecisionSource.OVERRIDE],
    ['denied', AccessLevel.VIEW, false, AccessLevel.UNSPECIFIED, DecisionSource.UNSPECIFIED],
  ])(
    'Check of a person who holds %s with the required level %s: allowed is %s',
    async (permission, asked, allowed, accessLevel, source) => {
      const door = await openDoor();
      const client = openClient(door.port);
      for (const warm of [true, false]) {
        door.engine.warm = warm;
        const { message } = await call(client, 'Check', { ...QUESTION, permission, accessLevel: asked });
        expect(message).toMatchObject({ allowed, accessLevel, source, revision: '7' });
      }
    },
  );

  test('the engine gets a normalized question, including the resource', async () => {
    const door = await openDoor();
    await call(openClient(door.port), 'Check', {
      email: ' Kim@Example.COM\t',
      app: 'billing',
      permission: 'edit',
      resourceType: 'invoice',
      resourceId: 'Faktura č. 1 漢😀',
    });
    expect(door.engine.asked.at(-1)?.what).toEqual({
      email: 'kim@example.com',
      app: 'billing',
      permission: 'edit',
      resourceType: 'invoice',
      resourceId: 'Faktura č. 1 漢😀',
    });
  });

  test('a cached Check is answered at once, and any other one waits for the engine', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    await call(client, 'Check', QUESTION);
    expect(door.engine.asked.map(({ method }) => method)).toEqual(['peek']);
    door.engine.warm = false;
    await call(client, 'Check', QUESTION);
    expect(door.engine.asked.map(({ method }) => method)).toEqual(['peek', 'peek kept', 'peek', 'check']);
  });

  test('a Check answer has its revision, also after revisions move', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    for (const revision of [7, 8, 123_456_789_012, 8]) {
      door.engine.cursor = revision;
      const { message } = await call(client, 'Check', QUESTION);
      expect(message.revision).toBe(String(revision));
    }
  });

  test('a Check with a reached min_revision is answered at once, and waits for a later one', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    await call(client, 'Check', { ...QUESTION, minRevision: '7' });
    expect(door.engine.asked.map(({ method }) => method)).toEqual(['peek']);
    const { message } = await call(client, 'Check', { ...QUESTION, minRevision: '9' });
    expect(message.revision).toBe('9');
    expect(door.engine.asked.at(-1)).toMatchObject({ method: 'check', options: { minRevision: { number: 9 } } });
  });

  // docs/reference/decisions.md#strict-questions: malformed, as distinct from missing or too long: denied, before cache and database.
  test.each([
    ['an invalid address', { email: 'kim' }],
    ['an address that is not ASCII', { email: '\u212Aim@example.com' }],
    ['a quoted local part', { email: '"kim"@example.com' }],
    ['an application code with a colon', { app: 'bill:ing' }],
    ['an application code in upper case', { app: 'Billing' }],
    ['a permission code with a space', { permission: 'edit it' }],
    ['a prototype name that no grammar admits', { permission: '__proto__' }],
    ['a resource type that is not a slug', { resourceType: 'Invoice', resourceId: '1' }],
  ])('%s is denied without a question to the engine', async (_, change) => {
    const door = await openDoor();
    door.engine.decisions.set('edit', { granted: true, level: Level.EDIT, source: Source.SUPERADMIN, tiered: true });
    const client = openClient(door.port);
    const { message } = await call(client, 'Check', { ...QUESTION, ...change });
    expect(message).toMatchObject({ allowed: false, accessLevel: 0, source: 0, revision: '7' });
    expect(door.engine.asked).toEqual([]);
    // Freshness is promised for these too.
    const later = await call(client, 'Check', { ...QUESTION, ...change, minRevision: '8' });
    expect(later.message).toMatchObject({ allowed: false, revision: '8' });
  });

  test('`constructor` is an ordinary code', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    const { message } = await call(client, 'Check', { ...QUESTION, app: 'constructor', permission: 'constructor' });
    expect(message.allowed).toBe(false);
    expect(door.engine.asked.at(-1)?.what).toMatchObject({ app: 'constructor', permission: 'constructor' });
  });

  test("the bytes of a Check answer equal protobuf's", async () => {
    const door = await openDoor();
    const { body, status } = await openRaw(door.port).check(encodeCheck());
    const wanted = { allowed: true, accessLevel: AccessLevel.EDIT, source: DecisionSource.ROLE, revision: '7' };
    expect(status).toBe('0');
    expect(body.subarray(5)).toEqual(Buffer.from(toBinary(CheckResponseSchema, create(CheckResponseSchema, wanted))));
  });
});

describe('BulkCheck', () => {
  test('BulkCheck decides each code once, in the order of first mention', async () => {
    const door = await openDoor();
    const { message } = await call(openClient(door.port), 'BulkCheck', {
      ...SUBJECT,
      permissions: ['view', 'edit', 'view', 'no.such', 'overridden', 'edit', 'not a code', 'allowed', 'constructor'],
      accessLevel: AccessLevel.EDIT,
    });
    expect(message.results.map((one) => [one.permission, one.allowed, one.accessLevel, one.source])).toEqual([
      ['view', false, AccessLevel.VIEW, DecisionSource.ROLE],
      ['edit', true, AccessLevel.EDIT, DecisionSource.ROLE],
      ['no.such', false, 0, 0],
      ['overridden', false, 0, DecisionSource.OVERRIDE],
      ['not a code', false, 0, 0],
      ['allowed', true, AccessLevel.ALLOWED, DecisionSource.APP_ADMIN],
      ['constructor', false, 0, 0],
    ]);
    expect(message.revision).toBe('7');
    expect(door.engine.asked).toHaveLength(1);
    expect(door.engine.asked[0]?.permissions).not.toContain('not a code');
  });

  test('BulkCheck answers 1,000 codes', async () => {
    const door = await openDoor();
    const permissions = Array.from({ length: 1000 }, (_, i) => `module-${i}.read`);
    for (const [i, code] of permissions.entries()) if (i % 3 === 0) door.engine.decisions.set(code, HELD.view);
    const { message } = await call(openClient(door.port), 'BulkCheck', { ...SUBJECT, permissions });
    expect(message.results.map(({ permission }) => permission)).toEqual(permissions);
    expect(message.results.map(({ allowed }) => allowed)).toEqual(permissions.map((_, i) => i % 3 === 0));
  });

  test('BulkCheck returns long codes and codes outside ASCII unchanged', async () => {
    const door = await openDoor();
    const permissions = ['漢'.repeat(128), 'é', 'a'.repeat(128), 'edit'];
    const { message } = await call(openClient(door.port), 'BulkCheck', { ...SUBJECT, permissions });
    expect(message.results.map(({ permission }) => permission)).toEqual(permissions);
    expect(message.results.map(({ allowed }) => allowed)).toEqual([false, false, false, true]);
  });

  test('BulkCheck denies a malformed subject everything, without a question to the engine', async () => {
    const door = await openDoor();
    const { message } = await call(openClient(door.port), 'BulkCheck', {
      email: 'nobody',
      app: 'billing',
      permissions: ['edit', 'view'],
      minRevision: '8',
    });
    expect(message.results.map(({ allowed }) => allowed)).toEqual([false, false]);
    expect(message.revision).toBe('8');
    expect(door.engine.asked).toEqual([]);
  });

  test('BulkCheck passes min_revision to the engine', async () => {
    const door = await openDoor();
    const { message } = await call(openClient(door.port), 'BulkCheck', {
      ...SUBJECT,
      permissions: ['edit'],
      minRevision: '9',
    });
    expect(message.revision).toBe('9');
  });
});

describe('Effective', () => {
  test('Effective returns every item with all its fields', async () => {
    const door = await openDoor();
    door.engine.items = [
      {
        code: 'invoices.write',
        tiered: true,
        groupName: 'Invoices č.',
        global: false,
        level: Level.VIEW,
        granted: true,
        source: Source.OVERRIDE,
      },
      {
        code: 'export',
        tiered: false,
        groupName: null,
        global: true,
        level: Level.NONE,
        granted: false,
        source: Source.NONE,
      },
    ];
    const { message } = await call(openClient(door.port), 'Effective', {
      ...SUBJECT,
      resourceType: 'invoice',
      resourceId: '1',
    });
    expect(message.revision).toBe('7');
    expect(message.permissions).toMatchObject([
      {
        code: 'invoices.write',
        type: PermissionType.TIERED,
        groupName: 'Invoices č.',
        global: false,
        accessLevel: AccessLevel.VIEW,
        granted: true,
        source: DecisionSource.OVERRIDE,
      },
      { code: 'export', type: PermissionType.BINARY, global: true, accessLevel: 0, granted: false, source: 0 },
    ]);
    expect(message.permissions[1]?.groupName).toBeUndefined();
    expect(door.engine.asked.at(-1)?.what).toEqual({ ...SUBJECT, resourceType: 'invoice', resourceId: '1' });
  });

  test('Effective returns an empty list for malformed and unknown subjects', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    const nobody = await call(client, 'Effective', { email: 'nobody', app: 'billing', minRevision: '8' });
    expect(nobody.message).toMatchObject({ permissions: [], revision: '8' });
    expect(door.engine.asked).toEqual([]);
    const empty = await call(client, 'Effective', SUBJECT);
    expect(empty.message.permissions).toEqual([]);
  });
});

test('calls are counted by method and status, durations by method', async () => {
  const door = await openDoor();
  const client = openClient(door.port);
  await call(client, 'Check', QUESTION);
  door.engine.warm = false;
  await call(client, 'Check', QUESTION);
  await call(client, 'BulkCheck', { ...SUBJECT, permissions: ['edit'] });
  await call(client, 'Check', { ...QUESTION, email: '' }).catch(() => {});
  expect(door.metrics.calls()).toEqual([
    { method: 'Check', status: 'OK', count: 2 },
    { method: 'Check', status: 'INVALID_ARGUMENT', count: 1 },
    { method: 'BulkCheck', status: 'OK', count: 1 },
  ]);
  const [check, bulk, effective] = door.metrics.durations();
  expect([check?.count, bulk?.count, effective?.count]).toEqual([3, 1, 0]);
  expect(check?.buckets.at(-1)).toEqual({ le: Number.POSITIVE_INFINITY, count: 3 });
  expect(bulk?.sum).toBeGreaterThan(0);
});
