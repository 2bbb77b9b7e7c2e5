import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';
import { Rest } from '../support/rest.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions:
  - { code: invoice.read, type: tiered }
  - { code: invoice.approve, type: binary }
roles:
  - { code: reader, permissions: { invoice.read: view } }
admins: [nora@example.com]
assignments:
  - { email: ben@example.com, roles: [reader] }
`;
const OTHER = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
admins: [olga@example.com]
`;
const ROLES = '/api/applications/billing/roles';

for (const kind of KINDS) {
  describe(`roles of an application (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, OTHER]);
    const { root } = registry;
    const nora = registry.as('nora');

    const roleId = async (code: string, rest = root, path = ROLES): Promise<number> => {
      const { body } = await rest.get(path);
      return body.data.find((role: { code: string }) => role.code === code).id;
    };
    const permissionIds = async (app: string): Promise<Map<string, number>> => {
      const rows = await registry.usher.app.database.read(
        async (tx) =>
          await tx.kysely
            .selectFrom('permission as p')
            .innerJoin('application as a', 'a.id', 'p.applicationId')
            .select(['p.id', 'p.code'])
            .where('a.code', '=', app)
            .execute(),
      );
      return new Map(rows.map(({ code, id }) => [code, id]));
    };
    const { audits } = registry;
    const allowed = (permission: string) => registry.allowed('ben@example.com', 'billing', permission);

    test('a role is created, listed by code, changed and deleted with audit records', async () => {
      const made = await nora.post(ROLES, { code: 'constructor', description: 'Builds.' });
      expect(made.status).toBe(201);
      expect(made.body.data).toMatchObject({ code: 'constructor', description: 'Builds.' });
      expect(made.headers.get('location')).toBe(`${ROLES}/${made.body.data.id}`);
      expect(made.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
      expect((await nora.get(ROLES)).body.data.map((role: { code: string }) => role.code)).toEqual([
        'constructor',
        'reader',
      ]);

      // Get, change, put.
      expect(made.body.data.name).toBeNull();
      const named = await nora.put(`${ROLES}/${made.body.data.id}`, { name: 'Builders' });
      expect([named.status, named.body.data]).toMatchObject([200, { name: 'Builders', description: 'Builds.' }]);
      const inMatrix = (await nora.get('/api/applications/billing/matrix')).body.data.roles;
      expect(inMatrix.map(({ name }: { name: string | null }) => name)).toEqual(['Builders', null]);
      const put = await nora.put(`${ROLES}/${made.body.data.id}`, { ...named.body.data, description: null });
      expect(put.body.data.name).toBe('Builders');
      expect([put.status, put.body]).toMatchObject([200, { data: { description: null } }]);
      const other = await nora.put(`${ROLES}/${made.body.data.id}`, { code: 'builder' });
      expect([other.status, other.body.details.code]).toEqual([400, 'IMMUTABLE_FIELD']);

      expect((await nora.delete(`${ROLES}/${made.body.data.id}`)).status).toBe(204);
      expect((await nora.delete(`${ROLES}/${made.body.data.id}`)).status).toBe(404);
      for (const action of ['role.created', 'role.changed', 'role.deleted']) {
        const records = (await audits(action)).filter(({ subject }) => subject === 'constructor');
        expect(records[0]).toMatchObject({ actor: 'user:nora@example.com', appCode: 'billing' });
      }
    });

    test('a taken role code is 409, even for two concurrent requests', async () => {
      const answers = await Promise.all([1, 2, 3, 4].map(() => root.post(ROLES, { code: 'twice' })));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409, 409]);
      expect(answers.find(({ status }) => status === 409)?.body.details.code).toBe('ALREADY_EXISTS');
    });

    test.each([
      [{ code: 'Not A Slug' }, 'code'],
      [{ code: 'x', description: 7 }, 'description'],
      [{ code: 'x', name: '' }, 'name'],
      [{ code: 'x', name: 'y'.repeat(201) }, 'name'],
      [{ code: 'x', name: 'two\nlines' }, 'name'],
      [{ code: 'x', descripton: '' }, 'descripton'],
      [{}, 'code'],
      [{ code: null }, 'code'],
      [{ code: 'x', description: 'a\u0000b' }, 'description'],
      [{ code: 'x', description: 'y'.repeat(2001) }, 'description'],
    ])('invalid role input %# is refused with its field, and changes nothing', async (body, field) => {
      const before = (await root.get(ROLES)).body.data;
      const answer = await root.post(ROLES, body);
      expect([answer.status, answer.body.details.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map(({ path }: { path: string }) => path)).toContain(field);
      expect((await root.get(ROLES)).body.data).toEqual(before);
    });

    test("SuperAdmins and the application's administrators write roles, and others learn nothing", async () => {
      const [nobody, plain, foreign] = [
        await Rest.as(registry.usher),
        await Rest.as(registry.usher, 'ben@example.com'),
        await Rest.as(registry.usher, 'olga@example.com'),
      ];
      const id = await roleId('reader');
      const calls = (rest: Rest, app: string) => [
        rest.get(`/api/applications/${app}/roles`),
        rest.post(`/api/applications/${app}/roles`, { code: 'sneaked' }),
        rest.put(`/api/applications/${app}/roles/${id}`, { description: 'sneaked' }),
        rest.delete(`/api/applications/${app}/roles/${id}`),
        rest.get(`/api/applications/${app}/roles/${id}/permissions`),
        rest.put(`/api/applications/${app}/roles/${id}/permissions`, { permissions: [] }),
      ];
      for (const answer of await Promise.all(calls(nobody, 'billing'))) expect(answer.status).toBe(401);
      for (const rest of [plain, foreign]) {
        for (const app of ['billing', 'unknown']) {
          for (const answer of await Promise.all(calls(rest, app))) {
            expect([answer.status, answer.body.details.code]).toEqual([403, 'NO_APPLICATION_LEVEL']);
          }
        }
      }
      // An id of another application is unknown in one's own.
      for (const answer of await Promise.all(calls(foreign, 'shop').slice(2))) expect(answer.status).toBe(404);
      expect((await root.get('/api/applications/unknown/roles')).status).toBe(404);
      expect((await root.post('/api/applications/unknown/roles', { code: 'x' })).status).toBe(404);
      expect((await root.get(`${ROLES}/abc/permissions`)).status).toBe(400);
      expect((await root.get(ROLES)).body.data.find((role: { id: number }) => role.id === id).description).toBeNull();
      expect((await audits('role.deleted.refused')).map(({ actor }) => actor)).toEqual(
        expect.arrayContaining(['user:ben@example.com', 'user:olga@example.com']),
      );
    });

    test("only SuperAdmins write roles of `auth`, and the panel's own roles stay unchanged", async () => {
      const roles = '/api/applications/auth/roles';
      await registry.usher.app.manifests.apply(
        'application: { code: auth, name: Administration }\nadmins: [nora@example.com]',
        {
          actor: 'cli',
        },
      );
      expect((await nora.get(roles)).status).toBe(200);
      expect((await nora.post(roles, { code: 'mine' })).body.details.code).toBe('NO_APPLICATION_LEVEL');
      const answer = await root.delete(`${roles}/${await roleId('panel_admin', root, roles)}`);
      expect([answer.status, answer.body.details.code]).toEqual([409, 'SYSTEM_RECORD']);
    });

    test("a role's permissions are replaced as a set, and decide the next check", async () => {
      const [id, ids] = [await roleId('reader'), await permissionIds('billing')];
      const path = `${ROLES}/${id}/permissions`;
      expect((await nora.get(path)).body.data.permissions).toMatchObject([
        { code: 'invoice.read', accessLevel: 'view' },
      ]);
      const wanted = { permissions: [{ permissionId: ids.get('invoice.approve'), accessLevel: 'allowed' }] };
      expect([await allowed('invoice.read'), await allowed('invoice.approve')]).toEqual([true, false]);
      const put = await nora.put(path, wanted);
      expect([put.status, put.body.data.permissions]).toMatchObject([
        200,
        [{ code: 'invoice.approve', accessLevel: 'allowed' }],
      ]);
      expect([await allowed('invoice.read'), await allowed('invoice.approve')]).toEqual([false, true]);

      // The same again makes no revision, but names one.
      const again = await nora.put(path, wanted);
      expect(again.headers.get('usher-revision')).toBe(put.headers.get('usher-revision'));
      expect(again.headers.get('etag')).toBe(put.headers.get('etag'));
    });

    test('If-Match of older role permissions is 412, and one of two concurrent writers wins', async () => {
      const [id, ids] = [await roleId('twice'), await permissionIds('billing')];
      const path = `${ROLES}/${id}/permissions`;
      const etag = (await root.get(path)).headers.get('etag') as string;
      const wanted = (level: string) => ({
        permissions: [{ permissionId: ids.get('invoice.read'), accessLevel: level }],
      });
      const both = await Promise.all(
        ['view', 'edit'].map((level) => root.put(path, wanted(level), { 'if-match': etag })),
      );
      expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412]);
      expect(both.find(({ status }) => status === 412)?.body.details.code).toBe('STALE');
      const fresh = (await root.get(path)).headers.get('etag') as string;
      expect((await root.put(path, { permissions: [] }, { 'if-match': fresh })).status).toBe(200);
    });

    test('foreign permissions and wrong levels are refused, with the whole set', async () => {
      const [id, own, foreign] = [await roleId('reader'), await permissionIds('billing'), await permissionIds('shop')];
      const path = `${ROLES}/${id}/permissions`;
      const before = (await root.get(path)).body.data;
      const read = own.get('invoice.read');
      for (const [permissions, code] of [
        [[{ permissionId: foreign.get('order.read'), accessLevel: 'allowed' }], 'UNKNOWN_REFERENCE'],
        [[{ permissionId: 999_999, accessLevel: 'view' }], 'UNKNOWN_REFERENCE'],
        [[{ permissionId: read, accessLevel: 'allowed' }], 'INVALID_ACCESS_LEVEL'],
        [[{ permissionId: own.get('invoice.approve'), accessLevel: 'edit' }], 'INVALID_ACCESS_LEVEL'],
        [
          [
            { permissionId: read, accessLevel: 'view' },
            { permissionId: read, accessLevel: 'edit' },
          ],
          'VALIDATION_FAILED',
        ],
        [[{ permissionId: read, accessLevel: 'own' }], 'VALIDATION_FAILED'],
        // An id and the code of another permission: neither is what was meant for certain.
        [[{ permissionId: read, code: 'invoice.approve', accessLevel: 'view' }], 'IMMUTABLE_FIELD'],
        [[{ permission: 'invoice.read', code: 'invoice.approve', accessLevel: 'view' }], 'IMMUTABLE_FIELD'],
        [[{ code: 'invoice.read', accessLevel: 'view' }], 'VALIDATION_FAILED'],
        [[{ permissionId: `${read}`, accessLevel: 'view' }], 'VALIDATION_FAILED'],
      ] as const) {
        const answer = await root.put(path, { permissions });
        expect([answer.status, answer.body.details.code]).toEqual([400, code]);
      }
      expect((await root.get(path)).body.data).toEqual(before);
    });

    test("a revoked administrator's next write fails, whatever is cached", async () => {
      await registry.usher.app.manifests.apply(
        'application: { code: billing, name: Billing }\nadmins: [vera@example.com]',
        {
          actor: 'cli',
        },
      );
      const vera = await Rest.as(registry.usher, 'vera@example.com');
      expect((await vera.post(ROLES, { code: 'one' })).status).toBe(201);
      await registry.usher.app.manifests.apply(
        'application: { code: billing, name: Billing }\nadmins: [nora@example.com]',
        {
          actor: 'cli',
          prune: true,
        },
      );
      expect((await vera.post(ROLES, { code: 'two' })).body.details.code).toBe('NO_APPLICATION_LEVEL');
    });
  });
}
