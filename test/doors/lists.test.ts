import { describe, expect, test } from '@jest/globals';
import { Rest } from '../support/rest.ts';
import {
  ADA,
  BOSS,
  type Door,
  KEY,
  ODD,
  OTHER_KEY,
  PLAIN,
  type ResourcesAsked,
  ROOT,
  refusal,
  type SubjectsAsked,
  subject,
  useListDoors,
  WHAT,
  WHO,
  withSubjects,
} from './list-doors.ts';

/** Who can, and what somebody can reach: the same at every door, and the same refusals. */

describe('lists at every door', () => {
  const world = useListDoors();

  test.each<[string, SubjectsAsked, unknown[]]>([
    [
      'by role, administrators and SuperAdmins included, inactive people not',
      WHO,
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject(ADA, 'view', 'role'),
        subject('ben@example.com', 'view', 'role'),
        subject('cyd@example.com', 'edit', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
      ],
    ],
    [
      'for one record: an override that denies takes somebody out, one that grants puts a stranger in',
      { ...WHO, resourceType: 'page', resourceId: '100%' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject('ben@example.com', 'view', 'role'),
        subject('cyd@example.com', 'edit', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
        subject('only@example.com', 'view', 'override'),
      ],
    ],
    [
      'for one record and a level: a higher level by override counts, a lower one by role does not',
      { ...WHO, resourceType: 'page', resourceId: '7', accessLevel: 'edit' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject(ADA, 'edit', 'override'),
        subject('cyd@example.com', 'edit', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
      ],
    ],
    [
      'a global permission ignores overrides',
      { ...WHO, permission: 'settings', resourceType: 'page', resourceId: '7' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject(ADA, 'view', 'role'),
        subject('ben@example.com', 'view', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
      ],
    ],
    [
      'a binary permission ignores the level',
      { ...WHO, permission: 'pay', accessLevel: 'edit' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject('cyd@example.com', 'allowed', 'role'),
        subject(BOSS, 'allowed', 'app_admin'),
      ],
    ],
    [
      'of a permission that is not defined, administrators',
      { ...WHO, permission: 'undefined', accessLevel: 'edit' },
      [subject(ROOT, 'edit', 'superadmin'), subject(BOSS, 'allowed', 'app_admin')],
    ],
    ['of a permission whose code is malformed, nobody', { ...WHO, permission: 'no code' }, []],
  ])('every transport lists who can: %s', async (_, asked, subjects) => {
    const answers = await Promise.all(withSubjects(world.doors).map((door) => door.subjects(asked)));
    const { revision } = world.usher.app.engine;
    expect(answers).toEqual(answers.map(() => ({ said: { subjects }, next: '', revision })));
  });

  test.each<[string, ResourcesAsked, unknown]>([
    ['all but what overrides deny', WHAT, { scope: 'all', resourceIds: ODD.toSorted(byBytes) }],
    [
      'only what an override raises to the level',
      { ...WHAT, accessLevel: 'edit' },
      { scope: 'only', resourceIds: ['7'] },
    ],
    [
      'of a global permission all, whatever overrides say',
      { ...WHAT, permission: 'settings' },
      { scope: 'all', resourceIds: [] },
    ],
    ['of a type without overrides', { ...WHAT, resourceType: 'invoice' }, { scope: 'all', resourceIds: [] }],
    ['of a permission that is not held', { ...WHAT, permission: 'pay' }, { scope: 'only', resourceIds: [] }],
    ['in an application that does not exist', { ...WHAT, app: 'nowhere' }, { scope: 'only', resourceIds: [] }],
    ['of a malformed type', { ...WHAT, resourceType: 'a b' }, { scope: 'only', resourceIds: [] }],
  ])('every transport lists the resources that a user can reach: %s', async (_, asked, said) => {
    const asking = asked.app === 'shop' ? world.doors : world.doors.filter(({ namesApp }) => namesApp);
    const answers = await Promise.all(asking.map((door) => door.resources(asked)));
    const { revision } = world.usher.app.engine;
    expect(answers).toEqual(answers.map(() => ({ said, next: '', revision })));
  });

  test('only SuperAdmins have access in an unknown application, and administrators get an error', async () => {
    for (const door of withSubjects(world.doors)) {
      const asking = door.subjects({ ...WHO, app: 'nowhere' });
      if (door.namesApp) expect((await asking).said).toEqual({ subjects: [subject(ROOT, 'edit', 'superadmin')] });
      else expect((await refusal(asking)).status).toBe(door.name.includes('SuperAdmin') ? 404 : 403);
    }
  });

  test('a cursor of one transport and instance continues the same question at all others', async () => {
    for (const [asks, what] of [
      [withSubjects(world.doors).map((door) => door.subjects), WHO],
      [world.doors.map((door) => door.resources), WHAT],
    ] as const) {
      const whole = Object.values((await asks[0]?.(what as never))?.said as object).at(-1) as unknown[];
      const others = withSubjects(world.doorsOfSecond).map((door) =>
        asks.length === world.doors.length ? door.resources : door.subjects,
      );
      const pages: unknown[] = [];
      let cursor: string | undefined;
      for (let turn = 0; cursor !== '' && turn < 50; turn++) {
        const ask = [...asks, ...others][turn % (asks.length + others.length)];
        const page = await ask?.({ ...what, limit: 1, ...(cursor === undefined ? {} : { cursor }) } as never);
        const listed = Object.values(page?.said as object).at(-1) as unknown[];
        expect(listed.length).toBeLessThanOrEqual(1);
        pages.push(...listed);
        cursor = page?.next ?? '';
        expect(cursor.length).toBeLessThanOrEqual(512);
      }
      expect(pages).toEqual(whole);
    }
  });

  test.each<[string, Partial<ResourcesAsked>, string, string]>([
    ['a limit beyond the largest', { limit: 10_001 }, 'VALIDATION_FAILED', 'limit'],
    ['a negative limit', { limit: -1 }, 'VALIDATION_FAILED', 'limit'],
    ['a malformed cursor', { cursor: 'AAAA' }, 'VALIDATION_FAILED', 'cursor'],
    ['a cursor beyond 512 characters', { cursor: 'A'.repeat(513) }, 'VALIDATION_FAILED', 'cursor'],
    ['control characters', { permission: 'a\u0000b' }, 'VALIDATION_FAILED', 'permission'],
    ['a code that is too long', { resourceType: 'a'.repeat(65) }, 'VALIDATION_FAILED', 'resourceType'],
    [
      'a cursor beside a question that names nothing',
      { permission: 'a b', cursor: 'AAAA' },
      'VALIDATION_FAILED',
      'cursor',
    ],
    ['a malformed revision', { minRevision: 'x' }, 'UNKNOWN_REVISION', ''],
    ['a revision of the future', { minRevision: '999999.1' }, 'UNKNOWN_REVISION', ''],
  ])('%s is refused', async (_, wrong, reason, field) => {
    for (const door of world.doors) {
      const path = field === '' ? undefined : (door.names[field as keyof Door['names']] ?? field);
      const refused = [await refusal(door.resources({ ...WHAT, ...wrong }))];
      if (wrong.resourceType === undefined && door.subjects !== undefined) {
        refused.push(await refusal(door.subjects({ ...WHO, ...wrong } as SubjectsAsked)));
      }
      for (const one of refused) expect([door.name, one.reason, one.path]).toEqual([door.name, reason, path]);
    }
  });

  test('half a resource is refused, and so is a missing type where one is required', async () => {
    for (const door of withSubjects(world.doors)) {
      expect(await refusal(door.subjects({ ...WHO, resourceType: 'page' }))).toMatchObject({
        reason: 'INCOMPLETE_RESOURCE',
      });
      expect(await refusal(door.subjects({ ...WHO, resourceId: '7' }))).toMatchObject({
        reason: 'INCOMPLETE_RESOURCE',
      });
    }
    const { resourceType: _, ...none } = WHAT;
    for (const door of world.doors) {
      expect(await refusal(door.resources(none))).toMatchObject({
        reason: 'VALIDATION_FAILED',
        path: door.names.resourceType,
      });
    }
  });

  test('unknown fields are refused, and so is a question of a user about another', async () => {
    const root = await Rest.as(world.usher, ROOT);
    const ada = await Rest.as(world.usher, ADA);
    const nobody = await Rest.as(world.usher);
    const key = { 'x-internal-api-key': KEY };
    const { app, ...who } = WHO;
    const { app: _, email, ...what } = WHAT;
    const wrong = await Promise.all([
      nobody.post('/api/check/subjects', { ...WHO, email }, key),
      nobody.post('/api/check/resources', { ...WHAT, resourceId: '7' }, key),
      root.post('/api/applications/shop/subjects', { ...who, app }),
      root.post('/api/applications/shop/resources', { ...what, email, app }),
      ada.post('/api/profile/me/check/resources', { ...what, app, email: ROOT }),
    ]);
    for (const { status, body } of wrong) {
      expect([status, (body as { details: { code: string } }).details.code]).toEqual([400, 'VALIDATION_FAILED']);
    }
  });

  test('a strict application refuses a misspelled permission or type with the nearest one', async () => {
    for (const door of world.doors.filter(({ name }) => !name.includes('application admin'))) {
      const misspelled = [
        [() => door.resources({ ...WHAT, app: 'strict', permission: 'page' }), 'permission'],
        [() => door.resources({ ...WHAT, app: 'strict', resourceType: 'pagge' }), door.names.resourceType],
        ...(door.subjects === undefined
          ? []
          : [[() => (door as Required<Door>).subjects({ app: 'strict', permission: 'page' }), 'permission'] as const]),
      ] as const;
      for (const [ask, path] of misspelled) {
        expect(await refusal(ask())).toMatchObject({ reason: 'UNKNOWN_CODE', path });
      }
    }
  });

  test('a list is at least as fresh as the requested revision, also in the other instance', async () => {
    const { revision } = await world.change('new@example.com', `insert into person (email) values ('new@example.com')`);
    for (const door of world.doorsOfSecond) {
      expect((await door.resources({ ...WHAT, minRevision: revision })).revision).toBe(revision);
      if (door.subjects) expect((await door.subjects({ ...WHO, minRevision: revision })).revision).toBe(revision);
    }
  });

  test('callers without permission learn nothing, with or without a cursor', async () => {
    const { next: cursor } = await (world.doors[0] as Required<Door>).subjects({ ...WHO, limit: 1 });
    const plain = await Rest.as(world.usher, PLAIN);
    const nobody = await Rest.as(world.usher);
    const { app: _, ...who } = WHO;
    for (const [answer, status] of [
      [await plain.post('/api/applications/shop/subjects', { ...who, cursor }), 403],
      [await plain.post('/api/applications/nowhere/subjects', { ...who, cursor }), 403],
      [await plain.post('/api/applications/shop/resources', WHAT), 403],
      [await nobody.post('/api/check/subjects', { ...WHO, cursor }), 401],
      [await nobody.post('/api/check/resources', WHAT, { 'x-internal-api-key': OTHER_KEY }), 403],
      [await plain.get(`/api/users/${ADA}/access`), 403],
      [await plain.get('/api/users/never-mentioned@example.com/access'), 403],
    ] as const) {
      expect(answer.status).toBe(status);
    }
    // A user's own question has nothing in it of others: a cursor of theirs does not open.
    const { next } = await (world.doors[0] as Door).resources({ ...WHAT, limit: 1 });
    const { email: __, ...what } = WHAT;
    const tried = await plain.post('/api/profile/me/check/resources', { ...what, cursor: next });
    expect(tried).toMatchObject({ status: 400, body: { details: { code: 'VALIDATION_FAILED' } } });
  });
});

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
