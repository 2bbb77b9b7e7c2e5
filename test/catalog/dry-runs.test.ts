import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { parse as load } from 'yaml';
import { PANEL_MANAGE as MANAGE } from '../../src/administration/panel.ts';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
permissions:
  - { code: invoice.read, type: tiered }
  - { code: invoice.approve, type: binary }
roles:
  - { code: reader, permissions: { invoice.read: view } }
  - { code: writer, permissions: { invoice.read: edit } }
admins: [nora@example.com]
assignments:
  - { email: ben@example.com, roles: [reader] }
  - { email: cleo@example.com, roles: [reader, writer] }
overrides:
  - { email: ben@example.com, resourceType: invoice, resourceId: a:1, permission: invoice.read, granted: false }
`;
const OTHER = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
assignments: [{ email: ben@example.com, roles: [clerk] }]
`;
const ROLES = '/api/applications/billing/roles';

for (const kind of KINDS) {
  describe(`dry runs (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST]);
    const { root } = registry;
    const nora = registry.as('nora');

    const roleId = async (code: string): Promise<number> => {
      const { body } = await root.get(ROLES);
      return body.data.find((role: { code: string }) => role.code === code).id;
    };

    test("a dry run of a role's permissions lists who gains and who loses, and changes nothing", async () => {
      const path = `${ROLES}/${await roleId('reader')}/permissions`;
      const before = (await root.get(path)).body;
      const wanted = { permissions: [{ permission: 'invoice.approve', accessLevel: 'allowed' }] };
      const dry = await nora.put(`${path}?dryRun=true`, wanted);
      expect([dry.status, dry.body.data.impact]).toMatchObject([
        200,
        {
          people: 2,
          gained: 2,
          lost: 1,
          truncated: false,
          changes: [
            { email: 'ben@example.com', permission: 'invoice.approve', resourceType: null, from: null, to: 'allowed' },
            { email: 'ben@example.com', permission: 'invoice.read', resourceType: null, from: 'view', to: null },
            { email: 'cleo@example.com', permission: 'invoice.approve', from: null, to: 'allowed' },
          ],
        },
      ]);
      expect((await root.get(path)).body).toEqual(before);
      expect(dry.body.data.result).toMatchObject({ permissions: [{ code: 'invoice.approve' }] });
      expect(dry.headers.get('usher-revision')).toBe(dry.body.data.impact.revision);
      const done = await nora.put(path, wanted, { 'usher-if-revision': dry.body.data.impact.revision });
      expect(done.status).toBe(200);
      expect(done.body.data).toEqual(dry.body.data.result);
      const again = await nora.put(path, before.data, { 'usher-if-revision': dry.body.data.impact.revision });
      expect([again.status, again.body.details.code]).toEqual([412, 'STALE']);
    });

    test('neither a dry run nor a refused one makes a revision or an audit record', async () => {
      const path = `${ROLES}/${await roleId('writer')}/permissions`;
      const count = async (): Promise<unknown> =>
        registry.usher.app.database.read(async (tx) => {
          const { rows } =
            await sql`select (select count(*) from audit) as records, (select max(revision) from policy_change) as head`.execute(
              tx.kysely,
            );
          return rows[0];
        });
      const before = await count();
      const body = { permissions: [] };
      const ben = registry.as('ben');
      expect((await nora.put(`${path}?dryRun=true`, body)).status).toBe(200);
      expect((await ben.put(`${path}?dryRun=true`, body)).status).toBe(403);
      expect((await nora.post(`${ROLES}?dryRun=true`, { code: 'reader' })).status).toBe(409);
      expect((await nora.post(`${ROLES}?dryRun=true`, { code: 'NOT A CODE' })).status).toBe(400);
      expect(await count()).toEqual(before);
      expect((await ben.put(path, body)).status).toBe(403);
      expect(await count()).not.toEqual(before);
    });

    test('dryRun is refused with 400 for calls that make no revision, and for other values', async () => {
      for (const [method, path, body] of [
        ['GET', ROLES, undefined],
        ['POST', '/api/languages', { code: 'xx', name: 'X', nativeName: 'X' }],
        ['POST', '/api/check', { email: 'ben@example.com', app: 'billing', permission: 'invoice.read' }],
      ] as const) {
        expect([path, (await root.send(method, `${path}?dryRun=true`, body)).status]).toEqual([path, 400]);
      }
      for (const value of ['', 'TRUE', '1', 'yes', 'true&dryRun=true']) {
        const { status } = await nora.post(`${ROLES}?dryRun=${value}`, { code: 'made' });
        expect([value, status]).toEqual([value, 400]);
      }
      expect((await nora.post(`${ROLES}?dryRun=false`, { code: 'made' })).status).toBe(201);
      expect((await nora.post(`${ROLES}?dryRun=true`, { code: 'other' })).body.data).toMatchObject({
        result: { code: 'other' },
        impact: { people: 0, gained: 0, lost: 0, changes: [], truncated: false },
      });
      expect((await nora.post(`${ROLES}?dr%79Run=tr%75e`, { code: 'encoded' })).body.data.impact).toBeDefined();
      expect((await nora.post(`${ROLES}?dryRun=true`, { code: 'encoded' })).status).toBe(200);
      expect((await nora.delete(`${ROLES}/${await roleId('made')}?dryRun=true`)).body.data.result).toBeNull();
      expect(await roleId('made')).toEqual(expect.any(Number));
    });

    test('a dry run of a deleted permission counts only roles and overrides', async () => {
      const { body } = await root.get('/api/applications/billing/permissions');
      const { id } = body.data.find(({ code }: { code: string }) => code === 'invoice.read');
      const dry = await nora.delete(`/api/applications/billing/permissions/${id}?dryRun=true`);
      const lost = dry.body.data.impact.changes.map(({ email }: { email: string }) => email);
      expect(lost).toContain('cleo@example.com');
      // Nora administers the application and the first SuperAdmin rules it: both keep everything that is defined.
      expect(lost).not.toContain('nora@example.com');
      expect(lost).not.toContain('admin@example.com');
    });

    test('a dry run about a person in all applications lists the changes in each', async () => {
      const admins = '/api/users/admins/super';
      const added = await root.post(`${admins}?dryRun=true`, { email: 'cleo@example.com' });
      expect(added.body.data.impact).toMatchObject({ everywhere: 'gains', lost: 0, people: 1 });
      expect(added.body.data.impact.gained).toBeGreaterThan(0);
      const blocked = await root.put('/api/users/cleo@example.com/active?dryRun=true', { active: false });
      expect(blocked.body.data.impact).toMatchObject({ everywhere: null, gained: 0, people: 1 });
      expect((await root.post(admins, { email: 'cleo@example.com' })).status).toBe(201);
      const both = await root.put('/api/users/cleo@example.com/active?dryRun=true', { active: false });
      expect(both.body.data.impact).toMatchObject({ everywhere: 'loses', people: 1 });
      const removed = await root.delete(`${admins}/cleo@example.com?dryRun=true`);
      expect(removed.body.data.impact).toMatchObject({ everywhere: 'loses', people: 1 });
      expect((await root.delete(`${admins}/cleo@example.com`)).status).toBe(204);
    });

    test('usher-if-revision admits a write only while its dry run is current, whatever happens in other applications', async () => {
      const path = '/api/users/ben@example.com/apps/billing/roles';
      const dry = await nora.put(`${path}?dryRun=true`, { roles: [] });
      const { revision } = dry.body.data.impact;
      const insisting = { 'usher-if-revision': revision };
      await registry.usher.app.manifests.apply(OTHER, { actor: 'cli' });
      expect((await root.put('/api/users/dora@example.com/apps/billing/roles', { roles: ['reader'] })).status).toBe(
        200,
      );
      expect((await nora.put(path, { roles: [] }, insisting)).status).toBe(200);
      const stale = await nora.put(path, { roles: ['reader'] }, insisting);
      expect([stale.status, stale.body.details.code]).toEqual([412, 'STALE']);
      for (const unknown of ['', 'abc', '-1', '999999', '999999.1', `${revision}1`]) {
        const { status, body } = await nora.put(path, { roles: ['reader'] }, { 'usher-if-revision': unknown });
        expect([unknown, status, body.details.code]).toEqual([unknown, 400, 'UNKNOWN_REVISION']);
      }
      expect((await root.get(path)).body.data).toEqual([]);
    });

    test('only one of two concurrent writes with the revision of the same dry run succeeds', async () => {
      const path = `${ROLES}/${await roleId('writer')}/permissions`;
      const { body } = await nora.put(`${path}?dryRun=true`, { permissions: [] });
      const insisting = { 'usher-if-revision': body.data.impact.revision };
      const answers = await Promise.all([
        nora.put(path, { permissions: [] }, insisting),
        root.put('/api/users/cleo@example.com/apps/billing/roles', { roles: [] }, insisting),
        root.put('/api/users/nora@example.com/active', { active: true }, insisting),
      ]);
      const [first, second] = answers.map(({ status }) => status);
      // Cleo's roles do not depend on what others hold, but they do on the policy; and the policy's holders count for the role.
      expect(new Set([first, second])).toEqual(new Set([200, 412]));
    });

    test('concurrent dry runs and writes all end, and no dry run leaves a trace', async () => {
      const path = `${ROLES}/${await roleId('reader')}/permissions`;
      const one = { permissions: [{ permission: 'invoice.read', accessLevel: 'view' }] };
      const two = { permissions: [{ permission: 'invoice.read', accessLevel: 'edit' }] };
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          index % 3 === 0
            ? nora.put(path, index % 2 === 0 ? one : two)
            : nora.put(`${path}?dryRun=true`, { permissions: [] }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect((await root.get(path)).body.data.permissions).toHaveLength(1);
    });

    test('a dry run of a manifest returns the plan and its impact', async () => {
      const text = MANIFEST.replace('roles: [reader, writer]', 'roles: [writer]').replace(
        'granted: false',
        'granted: true',
      );
      const { revision } = (await apply(text, '?dryRun=true')).body.data.impact;
      const dry = (await apply(text.replace('roles: [reader]', 'roles: []'), '?dryRun=true&prune=true')).body.data;
      expect(dry.result.summary).toEqual(dry.summary);
      expect(dry.impact).toMatchObject({ revision, truncated: false });
      expect(dry.impact.lost).toBeGreaterThan(0);
      const stale = await apply(text, '?prune=true', { 'usher-if-revision': '1' });
      expect([stale.status, stale.body.details.code]).toEqual([412, 'STALE']);
      const done = await apply(text, '?prune=true', { 'usher-if-revision': revision });
      expect([done.status, done.body.data.impact]).toEqual([200, undefined]);
      // Also where nothing is left to do: what was previewed is not what there is.
      const again = await apply(text, '?prune=true', { 'usher-if-revision': revision });
      expect([again.status, again.body.details.code]).toEqual([412, 'STALE']);
    });

    test('a dry run of the deletion of an application lists those who lose their panel level on it', async () => {
      const managed = '/api/users/otto@example.com/apps/auth/resources/application/shop/permissions';
      const given = await root.put(managed, {
        permissions: [{ permission: MANAGE, granted: true, accessLevel: 'edit' }],
      });
      expect([given.status, given.body]).toMatchObject([200, {}]);
      const { impact, result } = (await root.delete('/api/applications/shop?dryRun=true')).body.data;
      expect(result).toBeNull();
      expect(impact.changes).toContainEqual({
        email: 'otto@example.com',
        app: 'auth',
        permission: MANAGE,
        resourceType: 'application',
        resourceId: 'shop',
        from: 'edit',
        to: null,
      });
      expect((await root.get('/api/applications/shop')).status).toBe(200);
    });

    const apply = (text: string, query: string, headers: Record<string, string> = {}) =>
      root.send('POST', `/api/manifests/apply${query}`, load(text), headers);
  });
}
