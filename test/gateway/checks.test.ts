import { describe, expect, test } from '@jest/globals';
import { Level } from '../../src/engine/types.ts';
import { numberOf } from '../support/revisions.ts';
import { ask, CHECK_KEY, errorShape, NOTIFY_KEY, type Reply, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

const world = useWorld({ fill: fillShop });
const keyed = { 'x-internal-api-key': CHECK_KEY };

const check = (body: unknown, headers: Record<string, string> = keyed): Promise<Reply> =>
  ask(`${world.url}/api/check`, { body, headers });
const question = { email: 'jana@example.com', app: 'shop', permission: 'pages' };

describe('POST /api/check', () => {
  test.each<[string, Record<string, unknown>, boolean]>([
    ['a role', {}, true],
    ['at the level held', { accessLevel: 'view' }, true],
    ['at a higher level', { accessLevel: 'edit' }, false],
    ['a binary permission ignores the level', { permission: 'reports.read', accessLevel: 'edit' }, true],
    ['null is absent', { resourceType: null, resourceId: null, accessLevel: null }, true],
    ['a denying override', { resourceType: 'page', resourceId: '7' }, false],
    ['a granting override', { resourceType: 'page', resourceId: '8', accessLevel: 'edit' }, true],
    ['another record', { resourceType: 'page', resourceId: '9' }, true],
    ['the address in another spelling', { email: ' Jana@EXAMPLE.com\t' }, true],
    ['an unknown user', { email: 'nobody@example.com' }, false],
    ['an unknown application', { app: 'nowhere' }, false],
    ['an unknown permission', { permission: 'nothing' }, false],
    ['a malformed address', { email: 'jana' }, false],
    ['an address that folds to a known one', { email: 'jan\u212a@example.com' }, false],
    ['a malformed application', { app: 'Shop' }, false],
    ['a malformed permission', { permission: 'pages:' }, false],
    ['a malformed type', { resourceType: 'Page', resourceId: '7' }, false],
    ['a code named constructor', { permission: 'constructor' }, true],
    ['a code named __proto__', { permission: '__proto__' }, false],
    ['an app admin, for what is not defined', { email: 'boss@example.com', permission: 'nothing' }, true],
    ['a SuperAdmin, anywhere', { email: 'root@example.com', app: 'nowhere', accessLevel: 'edit' }, true],
    ['an inactive SuperAdmin', { email: 'gone@example.com' }, false],
  ])('POST /api/check decides: %s', async (_what, more, allowed) => {
    const reply = await check({ ...question, ...more });
    expect(reply).toMatchObject({ status: 200, json: { success: true, data: { allowed } } });
    expect(Object.keys(reply.json)).toEqual(['success', 'data']);
    expect(Object.keys(reply.json.data)).toEqual(['allowed']);
    expect(reply.headers.get('usher-revision')).toBe(String(world.engine.revision));
  });

  test.each<[string, unknown, string[] | string]>([
    ['no object', [], ['']],
    ['nothing in it', {}, ['email', 'app', 'permission']],
    ['a missing app', { ...question, app: undefined }, ['app']],
    ['null where something is needed', { ...question, permission: null }, ['permission']],
    ['an empty string', { ...question, resourceType: '', resourceId: '' }, ['resourceType', 'resourceId']],
    ['a misspelled field', { ...question, resource_type: 'page', resourceId: '7' }, ['resource_type']],
    ['a field of another case', { ...question, ResourceType: 'page' }, ['ResourceType']],
    ['an array', { ...question, permission: ['pages'] }, ['permission']],
    ['a number', { ...question, resourceType: 'page', resourceId: 7 }, ['resourceId']],
    ['an object', { ...question, email: { toString: 'jana@example.com' } }, ['email']],
    ['a level of nobody', { ...question, accessLevel: 'allowed' }, ['accessLevel']],
    ['a level in capitals', { ...question, accessLevel: 'EDIT' }, ['accessLevel']],
    [
      'a prototype',
      '{"email":"a@b.c","app":"shop","permission":"pages","__proto__":{"resourceType":"page"}}',
      ['__proto__'],
    ],
    ['a control character', { ...question, resourceType: 'page', resourceId: 'a\nb' }, ['resourceId']],
    ['half a surrogate pair', '{"email":"a@b.c","app":"shop","permission":"p\\ud800"}', ['permission']],
    ['a long permission', { ...question, permission: 'p'.repeat(129) }, ['permission']],
    ['a long id', { ...question, resourceType: 'page', resourceId: '\u{1f511}'.repeat(257) }, ['resourceId']],
    ['only a type', { ...question, resourceType: 'page' }, 'INCOMPLETE_RESOURCE'],
    ['only an id', { ...question, resourceId: '7' }, 'INCOMPLETE_RESOURCE'],
    ['a type beside null', { ...question, resourceType: 'page', resourceId: null }, 'INCOMPLETE_RESOURCE'],
  ])('POST /api/check is 400 for %s', async (_what, body, expected) => {
    const reply = await check(body);
    const reason = typeof expected === 'string' ? expected : 'VALIDATION_FAILED';
    expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', reason));
    if (typeof expected !== 'string') {
      expect(reply.json.details.issues.map(({ path }: { path: string }) => path).sort()).toEqual([...expected].sort());
    }
  });

  test('POST /api/check accepts an id of 256 characters outside the basic plane', async () => {
    expect((await check({ ...question, resourceType: 'page', resourceId: '\u{1f511}'.repeat(256) })).status).toBe(200);
  });

  test('POST /api/check uses the last of repeated members', async () => {
    const body = '{"email":"jana@example.com","app":"shop","permission":"nothing","permission":"pages"}';
    expect((await check(body)).json.data.allowed).toBe(true);
  });

  test.each<[string, number, string, Record<string, string>]>([
    ['no key', 401, 'UNAUTHENTICATED', {}],
    ['a wrong key', 401, 'UNAUTHENTICATED', { 'x-internal-api-key': `${CHECK_KEY}x` }],
    ['a key of another scope', 403, 'FORBIDDEN', { 'x-internal-api-key': NOTIFY_KEY }],
    ['a browser of elsewhere', 403, 'FORBIDDEN', { ...keyed, origin: 'https://evil.example' }],
    ['a browser of a listed origin', 403, 'FORBIDDEN', { ...keyed, origin: 'https://app.example.com' }],
    ['a sandboxed browser', 403, 'FORBIDDEN', { ...keyed, origin: 'null' }],
  ])('POST /api/check with %s is %i', async (_what, status, code, headers) => {
    expect(await check(question, headers)).toMatchObject(errorShape(status, code));
    for (const path of ['/api/check/bulk', '/api/check/effective', '/api/check/cache/clear']) {
      expect((await ask(`${world.url}${path}`, { method: 'POST', headers })).status).toBe(status);
    }
  });

  test("the service's own origin may call POST /api/check", async () => {
    expect((await check(question, { ...keyed, origin: `http://localhost:${world.port}` })).status).toBe(200);
  });

  test('the key of POST /api/check is read from its header only', async () => {
    expect((await ask(`${world.url}/api/check?x-internal-api-key=${CHECK_KEY}`, { body: question })).status).toBe(401);
    expect((await check({ ...question, 'x-internal-api-key': CHECK_KEY }, {})).status).toBe(401);
    expect((await check(question, { authorization: `Bearer ${CHECK_KEY}` })).status).toBe(401);
  });

  test('/api/check accepts only POST', async () => {
    const reply = await ask(`${world.url}/api/check`);
    expect(reply).toMatchObject(errorShape(405, 'METHOD_NOT_ALLOWED'));
    expect(reply.headers.get('allow')).toBe('POST, OPTIONS');
  });

  test('an unavailable database is 503, never a denial', async () => {
    world.facts.away = true;
    try {
      const reply = await check({ ...question, email: 'unseen@example.com' });
      expect(reply).toMatchObject(errorShape(503, 'UNAVAILABLE'));
      expect(reply.headers.get('retry-after')).toMatch(/^\d+$/);
    } finally {
      world.facts.away = false;
    }
  });
});

describe('freshness on the wire', () => {
  test('a caller with a revision sees a write of another instance', async () => {
    const email = 'fresh@example.com';
    const ours = { ...question, email };
    expect((await check(ours)).json.data.allowed).toBe(false);
    const role = world.facts.role('shop', { pages: Level.EDIT });
    const revision = world.facts.assign('shop', email, role);
    const headers = { ...keyed, 'usher-min-revision': String(revision) };
    const reply = await check(ours, headers);
    expect(reply.json.data.allowed).toBe(true);
    expect(numberOf(reply.headers.get('usher-revision'))).toBeGreaterThanOrEqual(revision);
    const removed = world.facts.revoke('shop', email);
    const bulk = await ask(`${world.url}/api/check/bulk`, {
      body: { email, app: 'shop', permissions: ['pages'] },
      headers: { ...keyed, 'usher-min-revision': String(removed) },
    });
    expect(bulk.json.data).toEqual({ pages: false });
    const effective = await ask(`${world.url}/api/check/effective`, {
      body: { email, app: 'shop' },
      headers: { ...keyed, 'usher-min-revision': String(removed) },
    });
    expect(effective.json.data.some(({ granted }: { granted: boolean }) => granted)).toBe(false);
  });

  test.each(['999999999', 'abc', '-1', '1.5', '0x10', '1 2', '9'.repeat(30)])(
    'an unknown revision %s is 400',
    async (revision) => {
      const reply = await check(question, { ...keyed, 'usher-min-revision': revision });
      expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', 'UNKNOWN_REVISION'));
    },
  );

  test('a malformed question is denied at a revision as fresh as requested, never at an unknown one', async () => {
    const bodies = {
      check: { email: 'nobody', app: 'shop', permission: 'pages' },
      'check/bulk': { email: 'nobody', app: 'shop', permissions: ['pages'] },
      'check/effective': { email: 'nobody', app: 'shop' },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const asking = (revision: string) =>
        ask(`${world.url}/api/${path}`, { body, headers: { ...keyed, 'usher-min-revision': revision } });
      const written = world.facts.revoke('shop', 'fresh@example.com');
      const reply = await asking(String(written));
      expect(reply.status).toBe(200);
      expect(numberOf(reply.headers.get('usher-revision'))).toBeGreaterThanOrEqual(written);
      expect(await asking('999999999')).toMatchObject(errorShape(400, 'BAD_REQUEST', 'UNKNOWN_REVISION'));
    }
  });
});

describe('POST /api/check/bulk', () => {
  const bulk = (body: unknown): Promise<Reply> => ask(`${world.url}/api/check/bulk`, { body, headers: keyed });
  const asked = { email: 'jana@example.com', app: 'shop' };

  test('bulk returns a map of code to boolean, with repeated and malformed codes once', async () => {
    const permissions = ['pages', 'reports.read', 'unheld', 'nothing', 'pages', 'PAGES:', '__proto__', 'constructor'];
    const reply = await bulk({ ...asked, permissions });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text).success).toBe(true);
    expect(Object.entries(reply.json.data)).toEqual([
      ['pages', true],
      ['reports.read', true],
      ['unheld', false],
      ['nothing', false],
      ['PAGES:', false],
      ['__proto__', false],
      ['constructor', true],
    ]);
    expect(reply.headers.get('usher-revision')).toBe(String(world.engine.revision));
  });

  test('level and resource of a bulk question apply to all codes', async () => {
    const permissions = ['pages', 'reports.read'];
    expect((await bulk({ ...asked, permissions, accessLevel: 'edit' })).json.data).toEqual({
      pages: false,
      'reports.read': true,
    });
    const record = { resourceType: 'page', resourceId: '7' };
    expect((await bulk({ ...asked, permissions, ...record })).json.data).toEqual({
      pages: false,
      'reports.read': true,
    });
  });

  test('a malformed user is denied every code of a bulk question', async () => {
    expect((await bulk({ ...asked, email: 'x', permissions: ['pages'] })).json.data).toEqual({ pages: false });
  });

  test.each<[string, unknown, string[]]>([
    ['none', [], ['permissions']],
    ['1,001', Array.from({ length: 1001 }, (_, index) => `p${index}`), ['permissions']],
    ['an empty one', ['pages', ''], ['permissions.1']],
    ['a number', ['pages', 1], ['permissions.1']],
    ['null', [null], ['permissions.0']],
    ['a string', 'pages', ['permissions']],
  ])('bulk is 400 for %s', async (_what, permissions, paths) => {
    const reply = await bulk({ ...asked, permissions });
    expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
    expect(reply.json.details.issues.map(({ path }: { path: string }) => path)).toEqual(paths);
  });

  test('one code too long among a thousand is 400', async () => {
    const permissions = [...Array.from({ length: 999 }, (_, index) => `p${index}`), 'p'.repeat(129)];
    expect(await bulk({ ...asked, permissions })).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
  });

  test('a bulk question of 1,000 codes of 128 characters is accepted, up to 1 MiB', async () => {
    const permissions = Array.from({ length: 1000 }, (_, index) => `p${index}`.padEnd(128, 'x'));
    const reply = await bulk({ ...asked, permissions });
    expect(Object.keys(reply.json.data)).toHaveLength(1000);
    const tooLarge = await bulk(JSON.stringify({ ...asked, permissions: ['pages'] }).padEnd(1024 * 1024 + 1));
    expect(tooLarge).toMatchObject(errorShape(413, 'PAYLOAD_TOO_LARGE'));
  });
});

describe('POST /api/check/effective', () => {
  const effective = (body: unknown): Promise<Reply> =>
    ask(`${world.url}/api/check/effective`, { body, headers: keyed });
  const none = { accessLevel: null, granted: false, source: null };
  const shared = [
    {
      code: 'pages',
      type: 'tiered',
      groupName: 'Pages',
      global: false,
      accessLevel: 'view',
      granted: true,
      source: 'role',
    },
    {
      code: 'reports.read',
      type: 'binary',
      groupName: 'Reports',
      global: true,
      accessLevel: 'allowed',
      granted: true,
      source: 'role',
    },
    {
      code: 'constructor',
      type: 'binary',
      groupName: null,
      global: false,
      accessLevel: 'allowed',
      granted: true,
      source: 'role',
    },
    { code: 'unheld', type: 'tiered', groupName: null, global: false, ...none },
  ];

  test('effective lists every defined permission by group and code', async () => {
    const reply = await effective({ email: 'jana@example.com', app: 'shop' });
    expect(reply).toMatchObject({ status: 200, json: { success: true } });
    expect(reply.json.data).toEqual(shared);
  });

  test('effective for one resource includes its overrides', async () => {
    const denied = await effective({ email: 'jana@example.com', app: 'shop', resourceType: 'page', resourceId: '7' });
    expect(denied.json.data[0]).toEqual({ ...shared[0], accessLevel: null, granted: false, source: 'override' });
    const granted = await effective({ email: 'jana@example.com', app: 'shop', resourceType: 'page', resourceId: '8' });
    expect(granted.json.data[0]).toEqual({ ...shared[0], accessLevel: 'edit', source: 'override' });
  });

  test.each([
    ['boss@example.com', 'app_admin', 'edit', 'allowed'],
    ['root@example.com', 'superadmin', 'edit', 'edit'],
  ])('%s holds every effective permission as %s', async (email, source, tiered, binary) => {
    const { data } = (await effective({ email, app: 'shop' })).json;
    for (const item of data) {
      expect(item).toMatchObject({ granted: true, source, accessLevel: item.type === 'tiered' ? tiered : binary });
    }
    expect(data).toHaveLength(4);
  });

  test('effective of an unknown or malformed application is an empty list', async () => {
    expect((await effective({ email: 'jana@example.com', app: 'nowhere' })).json.data).toEqual([]);
    expect((await effective({ email: 'jana@example.com', app: 'No Where' })).json.data).toEqual([]);
  });

  test.each([
    [{ app: 'shop' }, ['email']],
    [{ email: 'a@b.c' }, ['app']],
    [{ email: 'a@b.c', app: 'shop', permission: 'pages' }, ['permission']],
    [{ email: 'a@b.c', app: 'shop', accessLevel: 'view' }, ['accessLevel']],
  ])('effective is 400 for %j', async (body, paths) => {
    const reply = await effective(body);
    expect(reply.json.details.issues.map(({ path }: { path: string }) => path)).toEqual(paths);
  });
});

describe('POST /api/check/cache/clear', () => {
  const clear = (query = ''): Promise<Reply> =>
    ask(`${world.url}/api/check/cache/clear${query}`, { method: 'POST', headers: keyed });

  test('clear empties the instance and returns the number of decisions', async () => {
    await check(question);
    const reply = await clear();
    expect(reply).toMatchObject({
      status: 200,
      json: { success: true, data: { cleared: true, message: expect.any(String), entries: expect.any(Number) } },
    });
    expect(reply.json.data.entries).toBeGreaterThan(0);
    expect((await clear()).json.data.entries).toBe(0);
    const reads = world.facts.reads;
    expect((await check(question)).json.data.allowed).toBe(true);
    expect(world.facts.reads).toBeGreaterThan(reads);
  });

  test('clear everywhere tells the other instances by a row of the log', async () => {
    const head = world.facts.head;
    const reply = await clear('?everywhere=true');
    expect(reply.json.data.cleared).toBe(true);
    expect(world.facts.head).toBe(head + 1);
    expect(reply.headers.get('usher-revision')).toBe(`${head + 1}.n${head + 1}`);
    expect((await clear('?everywhere=false')).status).toBe(200);
    expect(world.facts.head).toBe(head + 1);
  });

  test.each(['?everywhere=yes', '?everywhere=', '?everywhere=true&everywhere=true', '?all=true'])(
    'clear is 400 for %s',
    async (query) => {
      expect(await clear(query)).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
    },
  );
});

describe('without configured keys (development on loopback)', () => {
  const open = useWorld({ fill: fillShop, keys: [] });

  test('checks are open without keys, but a wrong key is 401 and a foreign browser 403', async () => {
    const url = `${open.url}/api/check`;
    expect((await ask(url, { body: question })).json.data.allowed).toBe(true);
    expect((await ask(url, { body: question, headers: keyed })).status).toBe(401);
    expect(await ask(url, { body: question, headers: { origin: 'http://evil.example' } })).toMatchObject(
      errorShape(403, 'FORBIDDEN', 'BROWSER_NOT_ALLOWED'),
    );
  });
});
