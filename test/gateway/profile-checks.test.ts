import { describe, expect, test } from '@jest/globals';
import { Level } from '../../src/engine/types.ts';
import { ask, errorShape, type Reply, useWorld } from './fixture.ts';

const world = useWorld({
  fill: (facts) => {
    facts.application('shop');
    facts.permission('shop', 'pages', { tiered: true });
    facts.permission('shop', 'unheld');
    const viewer = facts.role('shop', { pages: Level.VIEW });
    facts.assign('shop', 'jana@example.com', viewer);
    facts.override('shop', 'jana@example.com', ['page', '7'], 'pages', Level.NONE);
    facts.superadmin('gone@example.com');
    facts.deactivate('gone@example.com');
  },
});

async function mine(path: string, body: unknown, email = 'jana@example.com'): Promise<Reply> {
  const authorization = await world.bearer(email);
  return ask(`${world.url}/api/profile/me/check${path}`, { body, headers: { authorization } });
}

describe('user-scoped checks', () => {
  test("a user's check returns the bare {allowed}", async () => {
    const reply = await mine('', { app: 'shop', permission: 'pages', accessLevel: 'view' });
    expect(reply).toMatchObject({ status: 200 });
    expect(reply.json).toEqual({ allowed: true });
    expect(reply.headers.get('usher-revision')).toBe(String(world.engine.revision));
    expect((await mine('', { app: 'shop', permission: 'pages', accessLevel: 'edit' })).json).toEqual({
      allowed: false,
    });
  });

  test("a user's bulk check returns the bare map", async () => {
    const reply = await mine('/bulk', { app: 'shop', permissions: ['pages', 'unheld', '__proto__'] });
    expect(Object.entries(reply.json)).toEqual([
      ['pages', true],
      ['unheld', false],
      ['__proto__', false],
    ]);
  });

  test("a user's effective returns the bare array, with `none` for everything not granted", async () => {
    const pages = { code: 'pages', type: 'tiered', groupName: null, global: false };
    const unheld = {
      code: 'unheld',
      type: 'binary',
      groupName: null,
      global: false,
      accessLevel: null,
      granted: false,
    };
    expect((await mine('/effective', { app: 'shop' })).json).toEqual([
      { ...pages, accessLevel: 'view', granted: true, source: 'role' },
      { ...unheld, source: 'none' },
    ]);
    // A denying override too, where the internal variant says `override`.
    const denied = await mine('/effective', { app: 'shop', resourceType: 'page', resourceId: '7' });
    expect(denied.json[0]).toEqual({ ...pages, accessLevel: null, granted: false, source: 'none' });
    expect((await mine('/effective', { app: 'nowhere' })).json).toEqual([]);
  });

  test('an inactive caller is denied, even a SuperAdmin', async () => {
    const email = 'gone@example.com';
    expect((await mine('', { app: 'shop', permission: 'pages' }, email)).json).toEqual({ allowed: false });
    expect((await mine('/bulk', { app: 'shop', permissions: ['pages'] }, email)).json).toEqual({ pages: false });
    const effective = await mine('/effective', { app: 'shop' }, email);
    expect(effective.json).toHaveLength(2);
    for (const item of effective.json)
      expect(item).toMatchObject({ granted: false, source: 'none', accessLevel: null });
  });

  test.each([
    ['', { app: 'shop', permission: 'pages', email: 'root@example.com' }, ['email']],
    ['', { permission: 'pages' }, ['app']],
    ['', { app: 'shop' }, ['permission']],
    ['', { app: '', permission: 'pages' }, ['app']],
    ['/bulk', { app: 'shop' }, ['permissions']],
    ['/bulk', { permissions: ['pages'] }, ['app']],
    ['/bulk', { app: 'shop', permissions: ['pages'], email: 'x@y.z' }, ['email']],
    ['/effective', {}, ['app']],
    ['/effective', { app: 'shop', email: 'x@y.z' }, ['email']],
  ])('POST …/check%s with %j is 400', async (path, body, paths) => {
    const reply = await mine(path, body);
    expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
    expect(reply.json.details.issues.map(({ path: at }: { path: string }) => at)).toEqual(paths);
  });

  test.each(['', '/bulk', '/effective'])(
    '…/check%s refuses half a resource, a missing token and other methods',
    async (path) => {
      const half = { app: 'shop', resourceType: 'page' };
      const asked = path === '/bulk' ? { permissions: ['pages'] } : path === '' ? { permission: 'pages' } : {};
      expect(await mine(path, { ...half, ...asked })).toMatchObject(
        errorShape(400, 'BAD_REQUEST', 'INCOMPLETE_RESOURCE'),
      );
      const url = `${world.url}/api/profile/me/check${path}`;
      expect(await ask(url, { body: {} })).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
      expect(await ask(url, { body: {}, headers: { 'x-internal-api-key': 'a-key' } })).toMatchObject(
        errorShape(401, 'UNAUTHENTICATED'),
      );
      expect(await ask(url)).toMatchObject(errorShape(405, 'METHOD_NOT_ALLOWED'));
    },
  );

  test('an expired token is 401', async () => {
    const now = Math.floor(Date.now() / 1000);
    const authorization = await world.bearer('jana@example.com', { iat: now - 7200, exp: now - 3600 });
    const reply = await ask(`${world.url}/api/profile/me/check`, { body: {}, headers: { authorization } });
    expect(reply).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
  });

  test('only a listed origin may read the answer', async () => {
    const authorization = await world.bearer('jana@example.com');
    const from = (origin: string) =>
      ask(`${world.url}/api/profile/me/check`, {
        body: { app: 'shop', permission: 'pages' },
        headers: { authorization, origin },
      });
    const listed = await from('https://app.example.com');
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(listed.headers.get('access-control-expose-headers')).toBe('etag, usher-revision, x-request-id, retry-after');
    expect(listed.headers.get('access-control-allow-credentials')).toBeNull();
    expect(listed.headers.get('vary')).toBe('Origin');
    const other = await from('https://evil.example');
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
    expect(other.headers.get('vary')).toBe('Origin');
  });
});
