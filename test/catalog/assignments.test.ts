import { beforeAll, describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';
import { Rest } from '../support/rest.ts';

const ALWAYS = { startsAt: null, endsAt: null };
const MANIFEST = `
application: { code: billing, name: Billing }
entities:
  - { code: invoice, name: Invoice }
permissions:
  - { code: invoice.read, type: tiered }
  - { code: invoice.approve, type: binary }
  - { code: reports.see, type: binary, global: true }
roles:
  - { code: reader, name: Reader, description: Reads., permissions: { invoice.read: view } }
  - { code: approver, permissions: { invoice.approve: allowed } }
  - { code: constructor, permissions: { invoice.read: edit } }
admins: [nora@example.com]
`;
const OTHER = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
admins: [olga@example.com]
`;

for (const kind of KINDS) {
  describe(`roles and overrides of people (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, OTHER]);
    const { root } = registry;
    const nora = registry.as('nora');
    const roles = new Map<string, number>();
    const permissions = new Map<string, number>();

    beforeAll(async () => {
      await registry.usher.app.database.read(async (tx) => {
        for (const row of await tx.kysely.selectFrom('role').select(['id', 'code']).execute())
          roles.set(row.code, row.id);
        for (const row of await tx.kysely.selectFrom('permission').select(['id', 'code']).execute()) {
          permissions.set(row.code, row.id);
        }
      });
    });

    const rolesOf = (email: string, app = 'billing') => `/api/users/${encodeURIComponent(email)}/apps/${app}/roles`;
    const overridesOf = (email: string, id = '1', type = 'invoice', app = 'billing') =>
      `/api/users/${encodeURIComponent(email)}/apps/${app}/resources/${type}/${encodeURIComponent(id)}/permissions`;
    const ids = (...codes: string[]) => codes.map((code) => roles.get(code));
    const override = (code: string, granted: boolean, accessLevel?: string | null) => ({
      permissionId: permissions.get(code),
      granted,
      ...(accessLevel === undefined ? {} : { accessLevel }),
    });
    const allowed = (email: string, permission: string, more: object = {}) =>
      registry.allowed(email, 'billing', permission, more);
    const { audits } = registry;
    const isKnown = (email: string) =>
      registry.usher.app.database.read(
        async (tx) =>
          (await tx.kysely.selectFrom('person').select('id').where('email', '=', email).execute()).length > 0,
      );
    /** A change of the catalog that no route of this suite makes. */
    const write = async (
      statement: (
        kysely: Parameters<Parameters<typeof registry.usher.app.database.change>[0]>[0]['kysely'],
      ) => Promise<unknown>,
    ) => {
      await registry.usher.app.database.change(async (tx) => {
        await statement(tx.kysely);
        return { result: null, scopes: ['a:billing'] };
      });
    };

    describe('roles', () => {
      test('roles are replaced as a set, even before there is a record, and decide the next check', async () => {
        const email = 'new@example.com';
        expect((await nora.get(rolesOf(email))).body.data).toEqual([]);
        expect(await allowed(email, 'invoice.read')).toBe(false);
        const put = await nora.put(rolesOf(' NEW@Example.com '), { roleIds: ids('reader', 'approver') });
        expect([put.status, put.body]).toEqual([
          200,
          {
            success: true,
            data: [
              { id: roles.get('approver'), code: 'approver', name: null, description: null, ...ALWAYS },
              { id: roles.get('reader'), code: 'reader', name: 'Reader', description: 'Reads.', ...ALWAYS },
            ],
          },
        ]);
        expect(put.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
        expect([await allowed(email, 'invoice.read'), await allowed(email, 'invoice.approve')]).toEqual([true, true]);
        const read = await nora.get(rolesOf(email));
        expect([read.body, read.headers.get('etag')]).toEqual([put.body, put.headers.get('etag')]);

        // The same again, in another order and twice over, makes no revision, but names one.
        const again = await nora.put(rolesOf(email), { roleIds: ids('approver', 'reader', 'approver') });
        expect([again.status, again.headers.get('usher-revision')]).toEqual([200, put.headers.get('usher-revision')]);
        expect((await nora.put(rolesOf(email), { roleIds: [] })).body.data).toEqual([]);
        expect(await allowed(email, 'invoice.read')).toBe(false);
        expect(await audits('user_roles.replaced', email)).toMatchObject([
          {
            actor: 'user:nora@example.com',
            appCode: 'billing',
            before: { roles: [] },
            after: { roles: ['approver', 'reader'] },
          },
          { before: { roles: ['approver', 'reader'] }, after: { roles: [] } },
        ]);
      });

      test('an empty set of roles for an unknown address creates no row', async () => {
        expect((await nora.put(rolesOf('never@example.com'), { roleIds: [] })).status).toBe(200);
        expect((await nora.put(overridesOf('never@example.com'), { permissions: [] })).status).toBe(200);
        expect(await isKnown('never@example.com')).toBe(false);
      });

      test('If-Match of older roles is 412, and one of two concurrent writers wins', async () => {
        const email = 'match@example.com';
        const etag = (await root.get(rolesOf(email))).headers.get('etag') as string;
        const both = await Promise.all(
          ['reader', 'approver'].map((code) => root.put(rolesOf(email), { roleIds: ids(code) }, { 'if-match': etag })),
        );
        expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412]);
        expect(both.find(({ status }) => status === 412)?.body.details.code).toBe('STALE');
        expect((await root.get(rolesOf(email))).body.data).toHaveLength(1);
        const fresh = (await root.get(rolesOf(email))).headers.get('etag') as string;
        expect((await root.put(rolesOf(email), { roleIds: [] }, { 'if-match': fresh })).status).toBe(200);
      });

      test('an invalid set of roles is refused as a whole', async () => {
        const email = 'kept@example.com';
        await nora.put(rolesOf(email), { roleIds: ids('reader') });
        for (const [body, code, path] of [
          [{ roleIds: [...ids('approver'), ...ids('clerk')] }, 'UNKNOWN_REFERENCE', 'roleIds.1'],
          [{ roleIds: [999_999] }, 'UNKNOWN_REFERENCE', 'roleIds.0'],
          [{ roleIds: ['1'] }, 'VALIDATION_FAILED', 'roleIds.0'],
          [{ roleIds: [0] }, 'VALIDATION_FAILED', 'roleIds.0'],
          [{ roleIds: null }, 'VALIDATION_FAILED', 'roleIds'],
          [{}, 'VALIDATION_FAILED', 'roleIds'],
          [{ roleIds: [], roles: [] }, 'VALIDATION_FAILED', 'roles'],
          [{ roleIds: Array.from({ length: 1001 }, (_, index) => index + 1) }, 'VALIDATION_FAILED', 'roleIds'],
        ] as const) {
          const answer = await nora.put(rolesOf(email), body);
          expect([answer.status, answer.body.details.code]).toEqual([400, code]);
          const { path: named, issues } = answer.body.details;
          expect(named ?? issues[0].path).toBe(path);
        }
        expect((await nora.get(rolesOf(email))).body.data).toMatchObject([{ code: 'reader' }]);
        expect((await nora.put(rolesOf('no address'), { roleIds: [] })).status).toBe(400);
        expect((await nora.get(rolesOf('kelvin\u212A@example.com'))).status).toBe(400);
      });

      test('the holders of a role come in pages and are searched as text', async () => {
        const emails = Array.from({ length: 5 }, (_, index) => `holder${index}_%@example.com`);
        for (const email of emails) await nora.put(rolesOf(email), { roleIds: ids('constructor') });
        const path = `/api/applications/billing/roles/${roles.get('constructor')}/users`;
        const seen: string[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const { body } = await nora.get(`${path}?limit=2${cursor && `&cursor=${cursor}`}`);
          expect(body.data.length).toBeLessThanOrEqual(2);
          seen.push(...body.data.map((row: { email: string }) => row.email));
          cursor = body.page.nextCursor;
        }
        expect(seen).toEqual(emails);
        const { body } = await nora.get(`${path}?q=${encodeURIComponent('R3_%')}`);
        expect(body.data).toMatchObject([{ email: emails[3], displayName: null, registered: false, active: true }]);
        expect((await nora.get(`${path}?q=${encodeURIComponent('r_%@')}`)).body.data).toEqual([]);
        expect((await nora.get(`${path}?cursor=x`)).status).toBe(400);
        expect((await nora.get(`/api/applications/billing/roles/${roles.get('clerk')}/users`)).status).toBe(404);
      });
    });

    describe('overrides', () => {
      const at = (id: string) => ({ resourceType: 'invoice', resourceId: id });

      test('overrides are replaced for one resource, and decide the next check', async () => {
        const email = 'ida@example.com';
        await nora.put(rolesOf(email), { roleIds: ids('reader') });
        const put = await nora.put(overridesOf(email, 'a:b/ č'), {
          permissions: [override('invoice.read', false), override('invoice.approve', true)],
        });
        expect([put.status, put.body]).toEqual([
          200,
          {
            success: true,
            data: {
              permissions: [
                { ...override('invoice.approve', true, 'allowed'), code: 'invoice.approve', ...ALWAYS },
                { ...override('invoice.read', false, null), code: 'invoice.read', ...ALWAYS },
              ],
            },
          },
        ]);
        const decided = async (id: string) => [
          await allowed(email, 'invoice.read', at(id)),
          await allowed(email, 'invoice.approve', at(id)),
        ];
        expect([await decided('a:b/ č'), await decided('other')]).toEqual([
          [false, true],
          [true, false],
        ]);
        const read = await nora.get(overridesOf(email, 'a:b/ č'));
        expect([read.body, read.headers.get('etag')]).toEqual([put.body, put.headers.get('etag')]);
        // Get, put.
        const again = await nora.put(overridesOf(email, 'a:b/ č'), read.body.data);
        expect([again.status, again.headers.get('usher-revision')]).toEqual([200, put.headers.get('usher-revision')]);

        expect((await nora.put(overridesOf(email, 'a:b/ č'), { permissions: [] })).body.data).toEqual({
          permissions: [],
        });
        expect(await decided('a:b/ č')).toEqual([true, false]);
        expect(await audits('override.replaced', email)).toMatchObject([
          {
            appCode: 'billing',
            before: { resourceId: 'a:b/ č', overrides: [] },
            after: { overrides: ['invoice.approve: allowed', 'invoice.read: denied'] },
          },
          { after: { overrides: [] } },
        ]);
      });

      test('an override of a tiered permission has the requested level, or `edit` by default', async () => {
        const email = 'lev@example.com';
        for (const [level, shown] of [
          ['view', 'view'],
          ['edit', 'edit'],
          [undefined, 'edit'],
          [null, 'edit'],
        ] as const) {
          const put = await nora.put(overridesOf(email), { permissions: [override('invoice.read', true, level)] });
          expect([put.status, put.body.data.permissions[0].accessLevel]).toEqual([200, shown]);
          expect(await allowed(email, 'invoice.read', { ...at('1'), accessLevel: 'edit' })).toBe(shown === 'edit');
        }
      });

      test('an invalid set of overrides is refused as a whole', async () => {
        const email = 'unfit@example.com';
        const kept = { permissions: [override('invoice.read', true, 'view')] };
        const before = (await nora.put(overridesOf(email), kept)).body;
        for (const [permissions, code] of [
          [[override('invoice.read', true, 'allowed')], 'INVALID_ACCESS_LEVEL'],
          [[override('invoice.approve', true, 'view')], 'INVALID_ACCESS_LEVEL'],
          [[override('invoice.approve', true, 'edit')], 'INVALID_ACCESS_LEVEL'],
          [[override('invoice.read', false, 'view')], 'INVALID_ACCESS_LEVEL'],
          [[override('invoice.approve', false, 'allowed')], 'INVALID_ACCESS_LEVEL'],
          [[override('reports.see', true)], 'GLOBAL_PERMISSION'],
          [[override('reports.see', false)], 'GLOBAL_PERMISSION'],
          [[override('order.read', true)], 'UNKNOWN_REFERENCE'],
          [[{ permissionId: 999_999, granted: true }], 'UNKNOWN_REFERENCE'],
          [[override('invoice.read', true), override('invoice.read', false)], 'VALIDATION_FAILED'],
          [[{ permissionId: override('invoice.read', true).permissionId }], 'VALIDATION_FAILED'],
          // An id and the code of another permission: neither is what was meant for certain.
          [[{ ...override('invoice.read', true), code: 'invoice.approve' }], 'IMMUTABLE_FIELD'],
          [[{ ...override('invoice.read', true), granted: 'true' }], 'VALIDATION_FAILED'],
          [[{ ...override('invoice.read', true), acessLevel: 'view' }], 'VALIDATION_FAILED'],
          [[override('invoice.read', true, '')], 'VALIDATION_FAILED'],
        ] as const) {
          const answer = await nora.put(overridesOf(email), { permissions });
          expect([answer.status, answer.body.details.code]).toEqual([400, code]);
        }
        expect((await nora.get(overridesOf(email))).body).toEqual(before);
        for (const path of [
          overridesOf('not-an-address'),
          overridesOf(email, '1', 'Not.A.Slug'),
          overridesOf(email, 'x'.repeat(257)),
          overridesOf(email, 'a\u0007'),
          overridesOf(email, '1').replace('/1/', '/%ff/'),
        ]) {
          expect([path, (await nora.get(path)).status]).toEqual([path, 400]);
          expect([path, (await nora.put(path, { permissions: [] })).status]).toEqual([path, 400]);
        }
      });

      test('a new override of an unlisted type is refused, and an existing one may be sent again or removed', async () => {
        const email = 'typed@example.com';
        const refused = await nora.put(overridesOf(email, '1', 'ledger'), {
          permissions: [override('invoice.read', true)],
        });
        expect([refused.status, refused.body.details.code]).toEqual([400, 'UNKNOWN_RESOURCE_TYPE']);
        // An application without a catalog takes any type.
        const olga = await Rest.as(registry.usher, 'olga@example.com');
        const free = overridesOf(email, '1', 'anything', 'shop');
        expect((await olga.put(free, { permissions: [override('order.read', true)] })).status).toBe(200);
        await write((kysely) =>
          kysely
            .insertInto('entity')
            .columns(['applicationId', 'code', 'name'])
            .expression((eb) =>
              eb
                .selectFrom('application')
                .select((s) => ['id', s.val('order').as('code'), s.val('Order').as('name')])
                .where('code', '=', 'shop'),
            )
            .execute(),
        );
        expect((await olga.put(free, { permissions: [override('order.read', true)] })).status).toBe(200);
        const changed = await olga.put(free, { permissions: [override('order.read', false)] });
        expect(changed.body.details.code).toBe('UNKNOWN_RESOURCE_TYPE');
        expect((await olga.put(free, { permissions: [] })).status).toBe(200);
        const gone = await olga.put(free, { permissions: [override('order.read', true)] });
        expect(gone.body.details.code).toBe('UNKNOWN_RESOURCE_TYPE');
      });

      test('an override of a permission that became global stays dormant, and can be resent but not changed', async () => {
        const email = 'dormant@example.com';
        const set = { permissions: [override('invoice.approve', true), override('invoice.read', true, 'view')] };
        await nora.put(overridesOf(email), set);
        await write((kysely) =>
          kysely.updateTable('permission').set({ global: true }).where('code', '=', 'invoice.approve').execute(),
        );
        expect(await allowed(email, 'invoice.approve', at('1'))).toBe(false);
        const read = (await nora.get(overridesOf(email))).body.data;
        expect(read.permissions.map((row: { code: string }) => row.code)).toEqual(['invoice.approve', 'invoice.read']);
        expect((await nora.put(overridesOf(email), read)).status).toBe(200);
        const changed = { permissions: [override('invoice.approve', false), override('invoice.read', true, 'view')] };
        expect((await nora.put(overridesOf(email), changed)).body.details.code).toBe('GLOBAL_PERMISSION');
        await nora.put(overridesOf(email), { permissions: [override('invoice.read', true, 'view')] });
        expect((await nora.put(overridesOf(email), set)).body.details.code).toBe('GLOBAL_PERMISSION');
        await write((kysely) =>
          kysely.updateTable('permission').set({ global: false }).where('code', '=', 'invoice.approve').execute(),
        );
      });

      test('all overrides of a person come in pages, by type and identifier', async () => {
        const email = 'many@example.com';
        const names = ['10', '9', 'a:b', 'ž'.repeat(256), '%'];
        for (const id of names) {
          const set = [override('invoice.read', true, 'view'), override('invoice.approve', false)];
          await nora.put(overridesOf(email, id), { permissions: set });
        }
        const path = `/api/users/${email}/apps/billing/resources`;
        const seen: { resourceId: string; code: string; granted: boolean }[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const { status, body } = await nora.get(`${path}?limit=3${cursor && `&cursor=${cursor}`}`);
          expect(status).toBe(200);
          seen.push(...body.data);
          cursor = body.page.nextCursor;
        }
        expect(seen.map(({ resourceId }) => resourceId)).toEqual(
          ['%', '10', '9', 'a:b', 'ž'.repeat(256)].flatMap((id) => [id, id]),
        );
        expect(seen[0]).toMatchObject({ resourceType: 'invoice', createdAt: expect.stringMatching(/Z$/) });
        expect((await nora.get(`${path}?q=%25`)).body.data).toHaveLength(2);
        expect((await nora.get(`${path}?q=approve&limit=200`)).body.data).toHaveLength(5);
        expect((await nora.get('/api/users/unmentioned@example.com/apps/billing/resources')).body).toEqual({
          success: true,
          data: [],
          page: { nextCursor: null },
        });
        const foreign = Buffer.from(
          JSON.stringify(['holders', { resourceType: 'a', resourceId: 'b', permissionId: 1 }]),
        );
        for (const broken of ['x', foreign.toString('base64url'), 'W10', 'bnVsbA']) {
          expect([broken, (await nora.get(`${path}?cursor=${broken}`)).status]).toEqual([broken, 400]);
        }
      });
    });

    test("SuperAdmins and the application's administrators assign, and others learn nothing", async () => {
      const [nobody, plain, foreign] = [
        await Rest.as(registry.usher),
        await Rest.as(registry.usher, 'ida@example.com'),
        await Rest.as(registry.usher, 'olga@example.com'),
      ];
      const calls = (rest: Rest, app: string) => [
        rest.get(rolesOf('ida@example.com', app)),
        rest.put(rolesOf('ida@example.com', app), { roleIds: ids('constructor') }),
        rest.get(overridesOf('ida@example.com', '1', 'invoice', app)),
        rest.put(overridesOf('ida@example.com', '1', 'invoice', app), {
          permissions: [override('invoice.read', true)],
        }),
        rest.get(`/api/users/ida@example.com/apps/${app}/resources`),
        rest.get(`/api/applications/${app}/roles/${roles.get('reader')}/users`),
      ];
      for (const answer of await Promise.all(calls(nobody, 'billing'))) expect(answer.status).toBe(401);
      for (const rest of [plain, foreign]) {
        for (const app of ['billing', 'unknown']) {
          for (const answer of await Promise.all(calls(rest, app))) {
            expect([answer.status, answer.body.details.code]).toEqual([403, 'NO_APPLICATION_LEVEL']);
          }
        }
      }
      for (const answer of await Promise.all(calls(root, 'unknown'))) expect(answer.status).toBe(404);
      expect((await nora.get(rolesOf('ida@example.com'))).body.data).toMatchObject([{ code: 'reader' }]);
      for (const action of ['user_roles.replaced.refused', 'override.replaced.refused']) {
        expect((await audits(action)).map(({ actor }) => actor)).toEqual(
          expect.arrayContaining(['user:ida@example.com', 'user:olga@example.com']),
        );
      }
    });
  });
}
