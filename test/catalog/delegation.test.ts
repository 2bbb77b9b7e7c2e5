import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * Who gives and takes in `auth` without being a SuperAdmin (docs/reference/administration.md#guards): holders of the global `applications.manage: edit`, and
 * they nothing beyond it. "Nobody grants what they could not do themselves."
 */
const APPS = ['billing', 'shop'];
const AUTH = `
application: { code: auth, name: Administration }
permissions:
  - { code: reports.see, type: binary }
roles:
  - { code: reporter, permissions: { reports.see: allowed } }
  - { code: manager_only, permissions: { panel.access: allowed, applications.manage: edit } }
admins: [aada@example.com]
assignments:
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: lim@example.com, roles: [panel_admin] }
  - { email: vic@example.com, roles: [panel_admin] }
  - { email: one@example.com, roles: [application_manager] }
  - { email: own@example.com, roles: [manager_only] }
  - { email: shut@example.com, roles: [panel_admin] }
overrides:
  - { email: lim@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
  - { email: vic@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
  - { email: one@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: edit }
`;

describe('delegation in `auth`', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let root: Rest;
  const as = new Map<string, Rest>();
  const roles = new Map<string, number>();
  const permissions = new Map<string, number>();

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage);
    for (const app of APPS) {
      await usher.app.manifests.apply(`application: { code: ${app}, name: ${app} }`, { actor: 'cli' });
    }
    await usher.app.manifests.apply(AUTH, { actor: 'cli' });
    for (const name of ['admin', 'aada', 'pat', 'lim', 'vic', 'one', 'own', 'shut']) {
      as.set(name, await Rest.as(usher, `${name}@example.com`));
    }
    root = as.get('admin') as Rest;
    await usher.app.database.read(async (tx) => {
      for (const row of await tx.kysely.selectFrom('role').select(['id', 'code']).execute())
        roles.set(row.code, row.id);
      for (const row of await tx.kysely.selectFrom('permission').select(['id', 'code']).execute()) {
        permissions.set(row.code, row.id);
      }
    });
    await root.put('/api/users/shut@example.com/active', { active: false });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  let target: string;
  let number = 0;
  beforeEach(() => {
    target = `target${++number}@example.com`;
  });

  const give = async (name: string, codes: readonly string[], email = target) => {
    const rest = as.get(name) as Rest;
    const roleIds = codes.map((code) => roles.get(code));
    return (await rest.put(`/api/users/${email}/apps/auth/roles`, { roleIds })).status;
  };
  type Wanted = readonly [code: string, level: 'view' | 'edit' | 'denied' | 'allowed'];
  const override = async (
    name: string,
    id: string,
    wanted: readonly Wanted[],
    email = target,
    type = 'application',
  ) => {
    const rest = as.get(name) as Rest;
    const set = wanted.map(([code, level]) => ({
      permissionId: permissions.get(code),
      ...(level === 'denied' ? { granted: false } : { granted: true, accessLevel: level }),
    }));
    const path = `/api/users/${email}/apps/auth/resources/${type}/${id}/permissions`;
    return (await rest.put(path, { permissions: set })).status;
  };
  const held = async (email = target): Promise<string[]> =>
    (await root.get(`/api/users/${email}/apps/auth/roles`)).body.data.map((role: { code: string }) => role.code);
  const level = async (email: string, app: string): Promise<string | null> => {
    const rest = await Rest.as(usher, email);
    const { applications } = (await rest.get('/api/profile/me/admin-status')).body.response;
    return applications.find((row: { appCode: string }) => row.appCode === app)?.level ?? null;
  };

  test('a panel_admin assigns and removes the two panel roles', async () => {
    expect(await give('pat', ['application_manager'])).toBe(200);
    expect(await give('pat', ['panel_admin', 'application_manager'])).toBe(200);
    expect(await held()).toEqual(['application_manager', 'panel_admin']);
    expect(await give('pat', [])).toBe(200);
    expect(await held()).toEqual([]);
    expect(await give('aada', ['panel_admin'])).toBe(200);
  });

  test('a delegate neither assigns nor removes nor loses any other role', async () => {
    for (const codes of [['reporter'], ['panel_admin', 'reporter'], ['manager_only']]) {
      expect([codes, await give('pat', codes)]).toEqual([codes, 403]);
    }
    expect(await held()).toEqual([]);
    expect(await give('admin', ['reporter'])).toBe(200);
    expect(await give('pat', [])).toBe(403);
    expect(await give('pat', ['panel_admin'])).toBe(403);
    expect(await held()).toEqual(['reporter']);
    // While kept, it may stand beside the roles they give.
    expect(await give('pat', ['reporter', 'panel_admin'])).toBe(200);
    expect(await give('pat', ['reporter'])).toBe(200);
    // In another application, or an unknown one, they may not give it either.
    expect(
      await (as.get('pat') as Rest).put(`/api/users/${target}/apps/auth/roles`, { roleIds: [999_999] }),
    ).toMatchObject({
      status: 403,
    });
    const refused = await usher.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom('audit')
          .select('actor')
          .where('action', '=', 'user_roles.replaced.refused')
          .execute(),
    );
    expect(refused.length).toBeGreaterThan(4);
  });

  test('a manager who does not manage every application assigns nothing in `auth`', async () => {
    for (const name of ['one', 'shut']) {
      expect([name, await give(name, ['application_manager'])]).toEqual([name, 403]);
      expect([name, await override(name, 'billing', [['applications.manage', 'view']])]).toEqual([name, 403]);
      expect([name, await override(name, 'billing', [], `${name}@example.com`)]).toEqual([name, 403]);
    }
    expect(await give('one', ['panel_admin'], 'one@example.com')).toBe(403);
  });

  test('a role that a SuperAdmin extended is assigned only by holders of all its permissions', async () => {
    const path = `/api/applications/auth/roles/${roles.get('panel_admin')}/permissions`;
    const before = (await root.get(path)).body.data;
    const more = [...before.permissions, { permissionId: permissions.get('reports.see'), accessLevel: 'allowed' }];
    expect((await root.put(path, { permissions: more })).status).toBe(200);
    try {
      // pat holds it by the role itself; own manages everything by another one.
      expect(await give('own', ['panel_admin'])).toBe(403);
      expect(await give('own', ['application_manager'])).toBe(200);
      expect(await give('pat', ['panel_admin'])).toBe(200);
      expect(await give('own', [])).toBe(403);
    } finally {
      await root.put(path, before);
    }
    expect(await give('own', [])).toBe(200);
  });

  test('a delegate writes only overrides of applications.manage for applications', async () => {
    expect(await give('pat', ['application_manager'])).toBe(200);
    expect(await override('pat', 'billing', [['applications.manage', 'view']])).toBe(200);
    expect(await level(target, 'billing')).toBe('view');
    expect(await override('pat', 'billing', [['applications.manage', 'edit']])).toBe(200);
    expect(await level(target, 'billing')).toBe('edit');
    expect(await override('pat', 'billing', [['applications.manage', 'denied']])).toBe(200);
    expect(await override('pat', 'billing', [])).toBe(200);

    expect(await override('pat', 'billing', [['reports.see', 'allowed']])).toBe(403);
    expect(await override('pat', 'billing', [['reports.see', 'denied']])).toBe(403);
    expect(await override('pat', 'billing', [['applications.manage', 'edit']], target, 'report')).toBe(403);
    expect(await override('admin', 'billing', [['reports.see', 'allowed']])).toBe(200);
    expect(await override('pat', 'billing', [])).toBe(403);
    const beside = [
      ['reports.see', 'allowed'],
      ['applications.manage', 'view'],
    ] as const;
    expect(await override('pat', 'billing', beside)).toBe(200);
    expect(await override('pat', 'billing', [['applications.manage', 'view']])).toBe(403);
    // Faults of an override that they may write are reported as to everybody.
    expect(await override('pat', 'shop', [['applications.manage', 'allowed']])).toBe(400);
  });

  describe('a panel_admin who is denied one application', () => {
    const lim = 'lim@example.com';

    test('a panel_admin denied one application cannot lift that, directly or through another account', async () => {
      expect(await override('lim', 'billing', [], lim)).toBe(403);
      expect(await override('lim', 'billing', [['applications.manage', 'edit']], lim)).toBe(403);
      expect(await override('lim', 'billing', [['applications.manage', 'view']])).toBe(403);
      expect(await override('lim', 'billing', [['applications.manage', 'denied']])).toBe(403);
      // A panel_admin manages that application as well.
      expect(await give('lim', ['panel_admin'])).toBe(403);
      // An override that sleeps for want of panel.access would wake.
      expect(await override('admin', 'billing', [['applications.manage', 'edit']])).toBe(200);
      expect(await give('lim', ['application_manager'])).toBe(403);
      expect(await level(target, 'billing')).toBeNull();
      expect(await level(lim, 'billing')).toBeNull();
    });

    test('a panel_admin denied one application cannot take it from others', async () => {
      await give('admin', ['panel_admin']);
      expect(await give('lim', [])).toBe(403);
      expect(await override('lim', 'billing', [], 'one@example.com')).toBe(403);
      expect(await level(target, 'billing')).toBe('edit');
    });

    test('a panel_admin denied one application still assigns what they hold', async () => {
      expect(await give('lim', ['application_manager'])).toBe(200);
      expect(await override('lim', 'shop', [['applications.manage', 'edit']])).toBe(200);
      expect(await level(target, 'shop')).toBe('edit');
      // Where the other is denied the same, nothing changes for that application.
      await override('admin', 'billing', [['applications.manage', 'denied']]);
      expect(await give('lim', ['panel_admin'])).toBe(200);
      expect(await level(target, 'billing')).toBeNull();
      expect(await give('lim', [])).toBe(200);
    });

    test('a panel_admin limited to `view` on one application has the same limits', async () => {
      expect(await override('vic', 'billing', [], 'vic@example.com')).toBe(403);
      expect(await override('vic', 'billing', [['applications.manage', 'view']])).toBe(403);
      expect(await give('vic', ['panel_admin'])).toBe(403);
      expect(await give('vic', ['application_manager'])).toBe(200);
      expect(await level('vic@example.com', 'billing')).toBe('view');
    });
  });

  test('a delegate writes nothing else in `auth`', async () => {
    const pat = as.get('pat') as Rest;
    for (const answer of [
      await pat.post('/api/users/admins/apps/auth', { email: 'pat@example.com' }),
      await pat.post('/api/applications/auth/roles', { code: 'mine' }),
      await pat.put(`/api/applications/auth/roles/${roles.get('panel_admin')}/permissions`, { permissions: [] }),
      await pat.delete('/api/users/admins/apps/auth/aada@example.com'),
    ]) {
      expect([answer.status, answer.body.details.code]).toEqual([403, 'NO_APPLICATION_LEVEL']);
    }
  });

  test('the second of two concurrent delegations is decided on the result of the first', async () => {
    // Each time a SuperAdmin gives a role that pat's set does not name: it is never lost, in either order.
    for (let round = 0; round < 10; round++) {
      target = `race${round}@example.com`;
      const [byRoot] = await Promise.all([give('admin', ['reporter']), give('pat', ['panel_admin'])]);
      expect(byRoot).toBe(200);
      expect(await held()).toEqual(['reporter']);
    }
  });
});
