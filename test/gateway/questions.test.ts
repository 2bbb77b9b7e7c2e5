import { describe, expect, jest, test } from '@jest/globals';
import { numberOf } from '../support/revisions.ts';
import { ask, CHECK_KEY, errorShape, NOTIFY_KEY, type Reply, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const world = useWorld({ fill: fillShop });
const keyed = { 'x-internal-api-key': CHECK_KEY };
const JANA = { email: 'jana@example.com', app: 'shop', permission: 'pages' };
const { email: _, ...MINE } = JANA;

const post = (path: string, body: unknown, headers: Record<string, string> = keyed): Promise<Reply> =>
  ask(`${world.url}${path}`, { body, headers });
const batch = (checks: unknown, headers?: Record<string, string>) => post('/api/check/batch', { checks }, headers);
const explain = (question: unknown, headers?: Record<string, string>) => post('/api/check/explain', question, headers);
const as = async (email: string) => ({ authorization: await world.bearer(email) });
const row = (resourceId: string) => ({ ...JANA, resourceType: 'page', resourceId });

const DENIED = { allowed: false, accessLevel: null, source: null };

describe('POST /api/check/batch', () => {
  test.each(['cold', 'warm'])(
    'a batch is answered in order for any users, applications and resources, %s',
    async () => {
      const reply = await batch([
        JANA,
        { ...JANA, accessLevel: 'edit' },
        row('7'),
        row('8'),
        { ...JANA, email: 'boss@example.com', permission: 'nothing' },
        { ...JANA, email: 'root@example.com', app: 'nowhere' },
        { ...JANA, email: 'gone@example.com' },
        { ...JANA, permission: 'reports.read', accessLevel: 'edit' },
        JANA,
        { ...JANA, email: 'jana' },
      ]);
      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({
        success: true,
        data: {
          results: [
            { allowed: true, accessLevel: 'view', source: 'role' },
            { allowed: false, accessLevel: 'view', source: 'role' },
            { allowed: false, accessLevel: null, source: 'override' },
            { allowed: true, accessLevel: 'edit', source: 'override' },
            { allowed: true, accessLevel: 'allowed', source: 'app_admin' },
            { allowed: true, accessLevel: 'edit', source: 'superadmin' },
            DENIED,
            { allowed: true, accessLevel: 'allowed', source: 'role' },
            { allowed: true, accessLevel: 'view', source: 'role' },
            DENIED,
          ],
        },
      });
      expect(reply.headers.get('usher-revision')).toBe(String(world.engine.revision));
    },
  );

  test.each<[string, unknown, string[] | string]>([
    ['no checks', undefined, ['checks']],
    ['an empty list', [], ['checks']],
    ['an object', { 0: JANA }, ['checks']],
    ['a missing permission', [JANA, { ...JANA, permission: undefined }], ['checks.1.permission']],
    ['null for a check', [JANA, null], ['checks.1']],
    ['an unknown field', [JANA, JANA, { ...JANA, resource_type: 'page' }], ['checks.2.resource_type']],
    ['a revision of its own', [{ ...JANA, minRevision: '1' }], ['checks.0.minRevision']],
    ['a level of nobody', [JANA, JANA, JANA, { ...JANA, accessLevel: 'allowed' }], ['checks.3.accessLevel']],
    ['a control character', [JANA, row('a\nb')], ['checks.1.resourceId']],
    ['a long code', [{ ...JANA, permission: 'p'.repeat(129) }], ['checks.0.permission']],
    ['half a resource', [JANA, JANA, JANA, { ...JANA, resourceType: 'page' }], 'checks.3.resourceId'],
    ['the other half', [{ ...JANA, resourceId: '7' }], 'checks.0.resourceType'],
  ])('a batch is refused as a whole, with the place of %s', async (_what, checks, expected) => {
    const reply = await batch(checks);
    const reason = typeof expected === 'string' ? 'INCOMPLETE_RESOURCE' : 'VALIDATION_FAILED';
    expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', reason));
    const paths = reply.json.details.issues.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(typeof expected === 'string' ? [expected] : expected);
    expect(reply.json.data).toBeUndefined();
  });

  test('a batch accepts up to 1,000 checks', async () => {
    const all = Array.from({ length: 1000 }, (_, index) => row(String(index)));
    const reply = await batch(all);
    expect(reply.json.data.results).toHaveLength(1000);
    expect(reply.json.data.results[7]).toMatchObject({ allowed: false, source: 'override' });
    expect(await batch([...all, JANA])).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
    const large = Array.from({ length: 1000 }, () => row('x'.repeat(1100)));
    expect(await batch(large)).toMatchObject(errorShape(413, 'PAYLOAD_TOO_LARGE'));
  });

  test('a batch requires a key with the scope check', async () => {
    for (const path of ['/api/check/batch', '/api/check/explain']) {
      expect(await post(path, {}, {})).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
      expect(await post(path, {}, { 'x-internal-api-key': NOTIFY_KEY })).toMatchObject(
        errorShape(403, 'FORBIDDEN', 'KEY_SCOPE'),
      );
      expect(await post(path, {}, await as('root@example.com'))).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
    }
  });

  test('a batch is 503 while the database is unavailable, never a denial', async () => {
    world.facts.away = true;
    try {
      expect(await batch([JANA, { ...JANA, email: 'unseen@example.com' }])).toMatchObject(
        errorShape(503, 'UNAVAILABLE'),
      );
      expect(await explain(JANA)).toMatchObject(errorShape(503, 'UNAVAILABLE'));
    } finally {
      world.facts.away = false;
    }
  });

  test('a batch reads missing facts once for each person, application and resource', async () => {
    const email = 'needs@example.com';
    const { memberLoads: loads, memberNeeds: needs } = world.engine.counters;
    const rows = ['1', '2'].map((resourceId) => ({ ...row(resourceId), email }));
    const all = ['pages', 'unheld'].flatMap((permission) =>
      [{ ...JANA, email }, ...rows].map((one) => ({ ...one, permission })),
    );
    expect((await batch(all)).status).toBe(200);
    const { memberLoads, memberNeeds } = world.engine.counters;
    expect([memberLoads - loads, memberNeeds - needs]).toEqual([1, 2]);
  });
});

describe('POST /api/profile/me/check/batch', () => {
  test("a user's batch is about the caller, bare, with `none` for everything not granted", async () => {
    const resource = { resourceType: 'page', resourceId: '7' };
    const checks = [MINE, { ...MINE, ...resource }, { ...MINE, permission: 'unheld' }];
    const reply = await post('/api/profile/me/check/batch', { checks }, await as('jana@example.com'));
    expect(reply.json).toEqual({
      results: [
        { allowed: true, accessLevel: 'view', source: 'role' },
        { allowed: false, accessLevel: null, source: 'none' },
        { allowed: false, accessLevel: null, source: 'none' },
      ],
    });
    const gone = await post('/api/profile/me/check/batch', { checks: [MINE] }, await as('gone@example.com'));
    expect(gone.json).toEqual({ results: [{ allowed: false, accessLevel: null, source: 'none' }] });
  });

  test("a user's batch refuses an e-mail address in the body, and a key", async () => {
    const reply = await post('/api/profile/me/check/batch', { checks: [MINE, JANA] }, await as('jana@example.com'));
    expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
    expect(reply.json.details.issues[0].path).toBe('checks.1.email');
    expect(await post('/api/profile/me/check/batch', { checks: [MINE] })).toMatchObject(
      errorShape(401, 'UNAUTHENTICATED'),
    );
  });
});

const rule = (number: number, name: string, applies: boolean, decides: boolean, accessLevel: string | null) => {
  return { rule: number, name, applies, decides, accessLevel };
};
const KNOWN = { user: true, application: true, permission: true };

describe('POST /api/check/explain', () => {
  test('an explanation has the result of each of the six rules, also after the deciding one', async () => {
    const reply = await explain({ ...row('7'), accessLevel: 'view' });
    expect(reply.json.data).toEqual({
      allowed: false,
      accessLevel: null,
      source: 'override',
      rule: 4,
      rules: [
        rule(1, 'inactive', false, false, null),
        rule(2, 'superadmin', false, false, null),
        rule(3, 'app_admin', false, false, null),
        { ...rule(4, 'override', true, true, null), override: { granted: false, accessLevel: null } },
        { ...rule(5, 'roles', true, false, 'view'), roles: [{ code: expect.any(String), accessLevel: 'view' }] },
        rule(6, 'default', true, false, null),
      ],
      known: KNOWN,
    });
    expect(reply.headers.get('usher-revision')).toBe(String(world.engine.revision));
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['a role', {}, { allowed: true, accessLevel: 'view', source: 'role', rule: 5 }],
    ['a level that is not enough', { accessLevel: 'edit' }, { allowed: false, accessLevel: 'view', rule: 5 }],
    ['no rule', { permission: 'unheld' }, { ...DENIED, rule: 6, known: KNOWN }],
    ['an unknown permission', { permission: 'nothing' }, { rule: 6, known: { ...KNOWN, permission: false } }],
    [
      'an unknown application',
      { app: 'nowhere' },
      { rule: 6, known: { user: true, application: false, permission: false } },
    ],
    ['an inactive SuperAdmin', { email: 'gone@example.com' }, { ...DENIED, rule: 1 }],
    [
      'a SuperAdmin',
      { email: 'root@example.com', permission: 'nothing' },
      { allowed: true, accessLevel: 'edit', rule: 2 },
    ],
    [
      'an app admin',
      { email: 'boss@example.com' },
      { allowed: true, accessLevel: 'edit', source: 'app_admin', rule: 3 },
    ],
    ['a malformed address', { email: 'jana' }, { ...DENIED, rule: 6, known: { ...KNOWN, user: expect.any(Boolean) } }],
    ['a malformed code', { permission: 'pages:' }, { ...DENIED, rule: 6, known: { ...KNOWN, permission: false } }],
  ])('an explanation has the decision and its rule: %s', async (_what, more, expected) => {
    const { data } = (await explain({ ...JANA, ...more })).json;
    expect(data).toMatchObject(expected);
    const decisive = data.rules.filter(({ decides }: { decides: boolean }) => decides);
    expect(decisive).toMatchObject([{ rule: data.rule, accessLevel: data.accessLevel, applies: true }]);
    expect(data.rules.at(-1).applies).toBe(true);
  });

  test('an explanation denies a malformed code even to a SuperAdmin, like Check', async () => {
    const { data } = (await explain({ ...JANA, email: 'root@example.com', permission: 'pages:' })).json;
    expect(data).toMatchObject({ allowed: false, rule: 6 });
    expect(data.rules.filter(({ applies }: { applies: boolean }) => applies)).toHaveLength(1);
  });

  test('an explanation reads the database once, every time', async () => {
    await explain(JANA);
    // The engine also reads the log in between.
    const read = (['grounds', 'members', 'policy'] as const).map((kind) => jest.spyOn(world.facts, kind));
    await explain(JANA);
    expect(read.map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0]);
    jest.restoreAllMocks();
  });

  test('an explanation waits for a revision, and refuses an unknown one', async () => {
    const made = world.facts.announce('p:shop');
    const asked = async (revision: string) => explain(JANA, { ...keyed, 'usher-min-revision': revision });
    const reply = await asked(`${made}.n${made}`);
    expect(numberOf(reply.headers.get('usher-revision'))).toBeGreaterThanOrEqual(made);
    expect(await asked(`${made}.other`)).toMatchObject(errorShape(400, 'BAD_REQUEST', 'UNKNOWN_REVISION'));
    expect(await asked(`${made + 1000}`)).toMatchObject(errorShape(400, 'BAD_REQUEST', 'UNKNOWN_REVISION'));
    expect(await asked('')).toMatchObject(errorShape(400, 'BAD_REQUEST', 'UNKNOWN_REVISION'));
  });

  test('an explanation refuses half a resource and unknown fields', async () => {
    expect(await explain({ ...JANA, resourceType: 'page' })).toMatchObject(
      errorShape(400, 'BAD_REQUEST', 'INCOMPLETE_RESOURCE'),
    );
    const reply = await explain({ ...JANA, check: JANA });
    expect(reply.json.details.issues[0].path).toBe('check');
  });
});

describe('POST /api/applications/:appCode/explain', () => {
  const question = { email: 'jana@example.com', permission: 'pages' };
  const PATH = '/api/applications/shop/explain';

  test('an explanation for administrators requires `view` on the application, and has no `app` in the body', async () => {
    for (const who of ['boss@example.com', 'root@example.com']) {
      const reply = await post(PATH, question, await as(who));
      expect(reply.json).toMatchObject({ success: true, data: { allowed: true, rule: 5, known: KNOWN } });
    }
    const reply = await post(PATH, { ...question, app: 'shop' }, await as('boss@example.com'));
    expect(reply.json.details.issues[0].path).toBe('app');
  });

  test('an explanation for administrators is refused to everybody else', async () => {
    expect(await post(PATH, question, await as('jana@example.com'))).toMatchObject(
      errorShape(403, 'FORBIDDEN', 'NO_APPLICATION_LEVEL'),
    );
    expect(await post(PATH, question)).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
  });

  test('an unknown or malformed application is 404 for a SuperAdmin', async () => {
    for (const app of ['nowhere', 'No:Code', 'x'.repeat(100)]) {
      const reply = await post(`/api/applications/${app}/explain`, question, await as('root@example.com'));
      expect(reply).toMatchObject(errorShape(404, 'NOT_FOUND'));
    }
  });
});

describe('POST /api/applications/:appCode/effective', () => {
  const question = { email: 'jana@example.com' };
  const record = { ...question, resourceType: 'page', resourceId: '7' };
  const PATH = '/api/applications/shop/effective';

  test.each([question, record])('administrators with `view` read what a backend reads: %j', async (body) => {
    const backend = await post('/api/check/effective', { ...body, app: 'shop' });
    expect(backend.json.data.length).toBeGreaterThan(1);
    for (const who of ['boss@example.com', 'root@example.com']) {
      const reply = await post(PATH, body, await as(who));
      expect([reply.status, reply.json]).toEqual([200, backend.json]);
      expect(reply.headers.get('usher-revision')).toBe(String(world.engine.revision));
    }
  });

  test('the answer about another record differs by its override', async () => {
    const levelOf = async (body: object) => {
      const { data } = (await post(PATH, body, await as('boss@example.com'))).json;
      return data.find(({ code }: { code: string }) => code === 'pages').accessLevel;
    };
    expect([await levelOf(question), await levelOf(record)]).toEqual(['view', null]);
  });

  test.each<[object, string]>([
    [{}, 'VALIDATION_FAILED'],
    [{ ...question, app: 'shop' }, 'VALIDATION_FAILED'],
    [{ ...question, permission: 'pages' }, 'VALIDATION_FAILED'],
    [{ email: '' }, 'VALIDATION_FAILED'],
    [{ ...question, resourceType: 'page' }, 'INCOMPLETE_RESOURCE'],
    [{ ...question, resourceId: '7' }, 'INCOMPLETE_RESOURCE'],
  ])('the body %j is refused with %s', async (body, reason) => {
    expect(await post(PATH, body, await as('boss@example.com'))).toMatchObject(errorShape(400, 'BAD_REQUEST', reason));
  });

  test('a revision that was never made is refused, and so is everybody without a level', async () => {
    const future = { ...(await as('boss@example.com')), 'usher-min-revision': '999999999' };
    expect(await post(PATH, question, future)).toMatchObject(errorShape(400, 'BAD_REQUEST', 'UNKNOWN_REVISION'));
    expect(await post(PATH, question, await as('jana@example.com'))).toMatchObject(
      errorShape(403, 'FORBIDDEN', 'NO_APPLICATION_LEVEL'),
    );
    for (const headers of [{}, keyed, { authorization: 'Bearer wrong' }]) {
      expect(await post(PATH, question, headers)).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
    }
  });

  test('an unknown or malformed application is 404 for a SuperAdmin, and a malformed address holds nothing', async () => {
    for (const app of ['nowhere', 'No:Code', 'x'.repeat(100)]) {
      const reply = await post(`/api/applications/${app}/effective`, question, await as('root@example.com'));
      expect(reply).toMatchObject(errorShape(404, 'NOT_FOUND'));
    }
    const backend = await post('/api/check/effective', { email: 'jana', app: 'shop' });
    const reply = await post(PATH, { email: 'jana' }, await as('root@example.com'));
    expect([reply.status, reply.json]).toEqual([200, backend.json]);
  });
});
