import { describe, expect, test } from '@jest/globals';
import { emails, type StartedRegistry } from './registry.ts';

/** Who administers: the part of users.test.ts that is about them, on the service that it has started. */
export function administratorCases(registry: StartedRegistry): void {
  const who = (name: string) => registry.who(name);
  const audits = (action: string) => registry.audits(action);
  const allowed = (email: string, permission: string) => registry.allowed(email, permission);

  describe('administrators of an application', () => {
    const path = '/api/users/admins/apps/billing';

    test('application admins are added, listed and removed by administrators of the application', async () => {
      const made = await who('nora').post(path, { email: ' New@example.com' });
      expect([made.status, made.body.data, made.headers.get('location')]).toEqual([
        201,
        { email: 'new@example.com', createdAt: expect.stringMatching(/Z$/), startsAt: null, endsAt: null },
        `${path}/new%40example.com`,
      ]);
      expect(await allowed('new@example.com', 'invoice.read')).toBe(true);
      const twice = await who('nora').post(path, { email: 'new@example.com' });
      expect([twice.status, twice.body.data, twice.headers.get('location')]).toEqual([200, made.body.data, null]);
      expect(twice.headers.get('usher-revision')).toBe(made.headers.get('usher-revision'));
      expect(emails((await who('nora').get(path)).body)).toEqual(['new', 'nora']);
      expect((await who('nora').delete(`${path}/new@example.com`)).status).toBe(204);
      expect(await allowed('new@example.com', 'invoice.read')).toBe(false);
      expect((await who('nora').delete(`${path}/new@example.com`)).status).toBe(404);
      expect((await who('nora').delete(`${path}/unmentioned@example.com`)).status).toBe(404);
      for (const action of ['app_admin.added', 'app_admin.removed']) {
        expect(await audits(action)).toMatchObject([{ subject: 'new@example.com', appCode: 'billing' }]);
      }
      for (const body of [{}, { email: 'x' }, { email: null }, { email: 'a@example.com', role: 'x' }]) {
        expect((await who('nora').post(path, body)).status).toBe(400);
      }
    });

    test('only administrators of the application manage its admins, and in `auth` only SuperAdmins', async () => {
      for (const [name, app] of [
        ['olga', 'billing'],
        ['pat', 'billing'],
        ['viv', 'shop'],
        ['ben', 'shop'],
        ['pat', 'auth'],
        ['nora', 'unknown'],
      ]) {
        const answer = await who(name as string).post(`/api/users/admins/apps/${app}`, { email: 'x@example.com' });
        expect([name, app, answer.status, answer.body.details?.code]).toEqual([name, app, 403, 'NO_APPLICATION_LEVEL']);
      }
      expect((await who('viv').get('/api/users/admins/apps/shop')).status).toBe(200);
      expect((await who('viv').delete('/api/users/admins/apps/shop/olga@example.com')).status).toBe(403);
      expect((await who('admin').post('/api/users/admins/apps/unknown', { email: 'x@example.com' })).status).toBe(404);
    });

    test('when two application admins remove each other, the second fails or both are gone', async () => {
      await who('admin').post(path, { email: 'olga@example.com' });
      const answers = await Promise.all([
        who('nora').delete(`${path}/olga@example.com`),
        who('olga').delete(`${path}/nora@example.com`),
      ]);
      const left = emails((await who('admin').get(path)).body);
      expect(left).toHaveLength(2 - answers.filter(({ status }) => status === 204).length);
      expect((await who('olga').post(path, { email: 'x@example.com' })).status).toBe(left.includes('olga') ? 201 : 403);
      await who('admin').delete(`${path}/olga@example.com`);
      await who('admin').post(path, { email: 'nora@example.com' });
    });
  });

  describe('SuperAdmins', () => {
    const path = '/api/users/admins/super';

    test('SuperAdmins add, list and remove each other, and the last active one stays', async () => {
      const last = await who('admin').delete(`${path}/admin@example.com`);
      expect([last.status, last.body.details.code]).toEqual([409, 'LAST_SUPERADMIN']);
      const blocked = await who('admin').put('/api/users/admin@example.com/active', { active: false });
      expect([blocked.status, blocked.body.details.code]).toEqual([409, 'LAST_SUPERADMIN']);

      const made = await who('admin').post(path, { email: 'sam@example.com' });
      expect([made.status, made.body.data, made.headers.get('location')]).toMatchObject([
        201,
        { email: 'sam@example.com', active: true },
        `${path}/sam%40example.com`,
      ]);
      expect((await who('admin').post(path, { email: 'sam@example.com' })).status).toBe(200);
      expect(emails((await who('sam').get(path)).body)).toEqual(['admin', 'sam']);

      // From both sides at once: one of them stays.
      const both = await Promise.all([
        who('admin').delete(`${path}/sam@example.com`),
        who('sam').put('/api/users/admin@example.com/active', { active: false }),
      ]);
      const done = both.filter(({ status }) => status < 300);
      expect(done).toHaveLength(1);
      const survivor = both[0].status === 204 ? 'admin' : 'sam';
      const active = (await who(survivor).get(path)).body.data.filter((row: { active: boolean }) => row.active);
      expect(emails({ data: active })).toEqual([survivor]);
      await who(survivor).put('/api/users/admin@example.com/active', { active: true });
      await who('admin').delete(`${path}/sam@example.com`);
      expect((await who('admin').delete(`${path}/sam@example.com`)).status).toBe(404);
      expect((await who('sam').get(path)).status).toBe(403);
      expect(await audits('superadmin.added')).toMatchObject([{ subject: 'sam@example.com' }]);
    });

    test('only SuperAdmins manage SuperAdmins', async () => {
      for (const name of ['nora', 'pat', 'ben']) {
        for (const answer of [
          await who(name).get(path),
          await who(name).post(path, { email: `${name}@example.com` }),
          await who(name).delete(`${path}/admin@example.com`),
        ]) {
          expect([name, answer.status, answer.body.code]).toEqual([name, 403, 'FORBIDDEN']);
        }
      }
      expect(emails((await who('admin').get(path)).body)).toEqual(['admin']);
      expect((await audits('superadmin.added.refused')).map(({ actor }) => actor)).toContain('user:pat@example.com');
    });
  });

  describe('admin-status', () => {
    const status = async (name: string) => (await who(name).get('/api/profile/me/admin-status')).body;

    test('admin-status lists what a person may administer', async () => {
      expect(await status('nora')).toEqual({
        code: 'OK',
        response: {
          email: 'nora@example.com',
          isSuperAdmin: false,
          appAdminFor: ['billing'],
          panelPermissions: [],
          roles: [],
          applications: [{ appCode: 'billing', level: 'edit' }],
        },
      });
      expect((await status('ben')).response).toMatchObject({
        appAdminFor: [],
        roles: [
          { appCode: 'billing', roleCodes: ['reader'] },
          { appCode: 'shop', roleCodes: ['clerk'] },
        ],
        applications: [],
      });
      expect((await status('viv')).response).toMatchObject({
        panelPermissions: ['panel.access'],
        roles: [{ appCode: 'auth', roleCodes: ['application_manager'] }],
        applications: [{ appCode: 'shop', level: 'view' }],
      });
      // A denying override on one application beats the role of a panel_admin.
      expect((await status('pat')).response).toMatchObject({
        panelPermissions: ['applications.manage', 'panel.access'],
        applications: [
          { appCode: 'auth', level: 'edit' },
          { appCode: 'shop', level: 'edit' },
        ],
      });
      expect((await status('admin')).response).toMatchObject({
        isSuperAdmin: true,
        panelPermissions: ['applications.manage', 'panel.access'],
        applications: ['auth', 'billing', 'shop'].map((appCode) => ({ appCode, level: 'edit' })),
      });
    });

    test('admin-status agrees with the guards', async () => {
      for (const name of ['nora', 'olga', 'viv', 'pat', 'eva', 'admin']) {
        const levels = new Map<string, string>(
          (await status(name)).response.applications.map((row: { appCode: string; level: string }) => [
            row.appCode,
            row.level,
          ]),
        );
        for (const app of ['billing', 'shop']) {
          const view = await who(name).get(`/api/applications/${app}/roles`);
          const edit = await who(name).post(`/api/users/admins/apps/${app}`, {});
          expect([name, app, view.status, edit.status]).toEqual([
            name,
            app,
            levels.has(app) ? 200 : 403,
            levels.get(app) === 'edit' ? 400 : 403,
          ]);
        }
      }
    });
  });
}
