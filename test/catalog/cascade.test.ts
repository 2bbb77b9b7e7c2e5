import { beforeAll, describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';

const KEY = 'the-internal-key-for-all-of-it';
const SHOP = `
application: { code: shop, name: Shop }
roles: [{ code: clerk }]
assignments: [{ email: ada@example.com, roles: [clerk] }]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: eve@example.com, roles: [application_manager] }]
overrides:
  - { email: eve@example.com, resourceType: application, resourceId: shop, permission: applications.manage, granted: true }
`;

for (const kind of KINDS) {
  describe(`an application that is deleted and created again (${kind})`, () => {
    const registry = useRegistry(kind, [SHOP, PANEL], { INTERNAL_API_KEY: KEY });
    const { root } = registry;
    const [ada, eve] = [registry.as('ada'), registry.as('eve')];
    const keyed = { 'x-internal-api-key': KEY };
    const MINE = '/api/profile/me/apps/shop';
    const SWITCHES = '/api/profile/me/notifications';
    const order = { recipients: ['ada@example.com'], subject: 'Hello', body: 'x', idempotencyKey: 'once' };
    const send = () => root.post('/api/internal/notifications', { appCode: 'shop', ...order }, keyed);
    const sendAsAdministrator = () => root.post('/api/applications/shop/notifications', order);
    const tellLogin = async () => {
      const event = { email: 'ada@example.com', appCode: 'shop', event: 'login', eventId: 'once' };
      return (await root.post('/api/internal/auth/application-events', event, keyed)).body.data.recorded;
    };
    const switches = async () => (await ada.get(`${SWITCHES}/shop`)).body.response;
    const inbox = async () => (await ada.get('/api/profile/me/notifications/inbox')).body;
    let first: { id: number };
    let firstOfAdministrator: { id: number };
    let type: { notificationTypeId: number };

    beforeAll(async () => {
      await ada.get('/api/profile/me');
      await ada.get(MINE);
      await ada.put(MINE, { showHelp: false, notificationsEnabled: true });
      await ada.post(`${MINE}/logout`);
      [type] = await switches();
      const updates = [{ notificationTypeId: type.notificationTypeId, email: false }];
      expect((await ada.put(`${SWITCHES}/preferences/bulk`, { updates })).status).toBe(200);
      expect(await switches()).toMatchObject([{ code: 'generic', email: false }]);
      expect([await tellLogin(), await tellLogin()]).toEqual([true, false]);
      const sent = await send();
      expect(sent.status).toBe(202);
      first = sent.body.data.notifications[0];
      expect((await send()).body.data.notifications[0].id).toBe(first.id);
      firstOfAdministrator = (await sendAsAdministrator()).body.data.notifications[0];
      expect((await sendAsAdministrator()).body.data.notifications[0].id).toBe(firstOfAdministrator.id);
      expect(JSON.stringify(await inbox())).toContain('Hello');
      expect((await eve.get('/api/applications/shop')).status).toBe(200);
      expect((await root.get('/api/users/ada@example.com/apps/shop/events')).body.data.length).toBeGreaterThan(0);
      expect((await root.delete('/api/applications/shop')).status).toBe(204);
    });

    test('a deleted application leaves nothing with people', async () => {
      expect(JSON.stringify(await inbox())).not.toContain('Hello');
      expect((await ada.get(MINE)).status).toBe(404);
      expect((await ada.get(`${SWITCHES}/shop`)).status).toBe(404);
      const lost = await ada.put(`${SWITCHES}/preferences/${type.notificationTypeId}`, { email: true });
      expect(lost.status).toBe(404);
      expect((await ada.get('/api/profile/me/apps')).body.data).toEqual([]);
      const { applications } = (await root.get('/api/users/ada@example.com')).body.data;
      expect(applications).toEqual([]);
      expect((await eve.get('/api/applications/shop')).status).toBe(403);
      expect((await eve.get('/api/profile/me/admin-status')).body.response.applications).toEqual([]);
    });

    test('an application created again under a code begins empty, including preferences, logins, levels and keys', async () => {
      expect((await root.post('/api/applications', { code: 'shop', name: 'Shop' })).status).toBe(201);
      expect((await eve.get('/api/applications/shop')).status).toBe(403);
      expect((await root.get('/api/users/ada@example.com/apps/shop/roles')).body.data).toEqual([]);
      expect((await root.get('/api/users/ada@example.com/apps/shop/events')).body.data).toEqual([]);
      const { body } = await root.get('/api/users/ada@example.com/apps/shop/preferences');
      expect(body.data).toMatchObject({ showHelp: true, notificationsEnabled: true });
      expect(JSON.stringify(await inbox())).not.toContain('Hello');
      const again = await send();
      expect(again.status).toBe(202);
      expect(again.body.data.notifications[0].id).not.toBe(first.id);
      const byAdministrator = (await sendAsAdministrator()).body.data.notifications[0];
      expect(byAdministrator.id).not.toBe(firstOfAdministrator.id);
      expect(await switches()).toMatchObject([{ code: 'generic', email: true, push: true }]);
      const { applications } = (await root.get('/api/users/ada@example.com')).body.data;
      expect(applications.map(({ loginCount }: { loginCount: number }) => loginCount)).toEqual(
        applications.length === 0 ? [] : [0],
      );
      expect([await tellLogin(), await tellLogin()]).toEqual([true, false]);
    });
  });
}
