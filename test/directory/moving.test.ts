import { describe, expect, test } from '@jest/globals';
import { createStorage, KINDS } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const MANIFEST = (email: string) => `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: binary }, { code: invoice.pay, type: binary }]
entities: [{ code: invoice, name: Invoice }]
roles: [{ code: reader, permissions: { invoice.read: allowed } }]
admins: [${email}]
assignments: [{ email: ${email}, roles: [reader] }]
overrides: [{ email: ${email}, resourceType: invoice, resourceId: "7", permission: invoice.pay, granted: true }]
`;

async function withUsher(kind: (typeof KINDS)[number], work: (usher: RunningUsher) => Promise<void>): Promise<void> {
  const storage = await createStorage(kind);
  const usher = await startUsher(storage);
  try {
    await work(usher);
  } finally {
    await usher.close();
    await storage.remove();
  }
}

describe.each(KINDS)('moving a person (%s)', (kind) => {
  test('everything goes to the new address, in one change', async () => {
    await withUsher(kind, async (usher) => {
      const root = await Rest.as(usher, 'admin@example.com');
      const backend = await Rest.as(usher);
      const [old, to] = ['old@example.com', 'new@example.com'];
      await usher.app.manifests.apply(MANIFEST(old), { actor: 'cli' });
      const own = await Rest.as(usher, old);
      await own.put('/api/profile/me', { displayName: 'Olga', locale: 'cs' });
      expect((await root.post('/api/users/admins/super', { email: old })).status).toBeLessThan(300);
      // A bare profile there is replaced.
      const bare = await Rest.as(usher, to);
      await bare.get('/api/profile/me');
      await root.send('DELETE', `/api/users/${to}/subject`);
      const ask = async (email: string) => {
        const question = { email, app: 'billing', permission: 'invoice.read' };
        const pay = { email, app: 'billing', permission: 'invoice.pay', resourceType: 'invoice', resourceId: '7' };
        const answers = await Promise.all([question, pay].map((one) => backend.post('/api/check', one)));
        return answers.map(({ body }) => body.data.allowed as boolean);
      };
      expect([await ask(old), await ask(to)]).toEqual([
        [true, true],
        [false, false],
      ]);
      const rehearsed = await root.post(`/api/users/${old}/move?dryRun=true`, { to });
      expect([rehearsed.status, rehearsed.body.data.result]).toEqual([200, { email: old, movedTo: to }]);
      expect(await ask(old)).toEqual([true, true]);

      const moved = await root.post(`/api/users/${old}/move`, { to });
      expect([moved.status, moved.body.data]).toEqual([200, { email: old, movedTo: to }]);
      // One change: whoever waits for its revision sees both addresses as they are now.
      expect(moved.headers.get('usher-revision')).toEqual(expect.any(String));
      expect([await ask(old), await ask(to)]).toEqual([
        [false, false],
        [true, true],
      ]);
      const detail = (await root.get(`/api/users/${to}`)).body.data;
      expect(detail).toMatchObject({ displayName: 'Olga', locale: 'cs', isSuperAdmin: true, appAdminFor: ['billing'] });
      const left = (await root.get(`/api/users/${old}`)).body.data;
      expect(left).toMatchObject({ active: false, movedTo: to, isSuperAdmin: false, applications: [] });
      expect((await root.get('/api/users?q=new@')).body.data.map((one: { email: string }) => one.email)).toEqual([to]);
      expect((await root.get('/api/users?q=old@')).body.data.map((one: { email: string }) => one.email)).toEqual([old]);
      const { data: audit } = (await root.get('/api/admin/audit?action=user.moved')).body;
      const subjects = (audit as { subject: string }[]).map(({ subject }) => subject).toSorted();
      expect(subjects).toEqual([to, old].toSorted());
      // And back: the address that was left has nothing.
      expect((await root.post(`/api/users/${to}/move`, { to: old })).status).toBe(200);
      expect([await ask(old), await ask(to)]).toEqual([
        [true, true],
        [false, false],
      ]);
    });
  }, 60_000);

  test('a target that has anything of its own is refused, and changes nothing', async () => {
    await withUsher(kind, async (usher) => {
      const root = await Rest.as(usher, 'admin@example.com');
      await usher.app.manifests.apply(MANIFEST('held@example.com'), { actor: 'cli' });
      await (await Rest.as(usher, 'old@example.com')).get('/api/profile/me');
      await (await Rest.as(usher, 'other@example.com')).get('/api/profile/me');
      for (const to of ['held@example.com', 'other@example.com', 'admin@example.com']) {
        const answer = await root.post('/api/users/old@example.com/move', { to });
        expect([to, answer.status, answer.body.details.code]).toEqual([to, 409, 'TARGET_NOT_EMPTY']);
      }
      expect((await root.post('/api/users/old@example.com/move', { to: 'old@example.com' })).status).toBe(400);
      expect((await root.post('/api/users/none@example.com/move', { to: 'x@example.com' })).status).toBe(404);
      const plain = await Rest.as(usher, 'other@example.com');
      expect((await plain.post('/api/users/old@example.com/move', { to: 'x@example.com' })).status).toBe(403);
      expect((await root.get('/api/users/old@example.com')).body.data.movedTo).toBeNull();
    });
  }, 60_000);
});
