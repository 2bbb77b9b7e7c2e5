import { beforeAll, describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
permissions:
  - { code: invoice.read, type: tiered }
  - { code: invoice.approve, type: binary }
roles:
  - { code: reader, description: Reads., permissions: { invoice.read: view } }
  - { code: approver, permissions: { invoice.approve: allowed } }
  - { code: constructor, permissions: { invoice.read: edit } }
admins: [nora@example.com]
`;
const OTHER = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
`;
const AUTH = `
application: { code: auth, name: Administration }
assignments:
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: lim@example.com, roles: [panel_admin] }
overrides:
  - { email: lim@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
`;

for (const kind of KINDS) {
  describe(`one role of a person (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, OTHER, AUTH]);
    const { root, audits, allowed } = registry;
    const nora = registry.as('nora');
    const rolesOf = (email: string, app = 'billing') => `/api/users/${encodeURIComponent(email)}/apps/${app}/roles`;
    const codesOf = async (email: string, app = 'billing') =>
      (await root.get(rolesOf(email, app))).body.data.map(({ code }: { code: string }) => code);

    test('granting one role takes effect at once and keeps the others', async () => {
      const path = rolesOf('new+1@example.com');
      const made = await nora.post(path, { role: 'reader' });
      expect([made.status, made.headers.get('location')]).toEqual([201, `${path}/reader`]);
      expect(made.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
      expect(made.body.data).toEqual({
        id: expect.any(Number),
        code: 'reader',
        name: null,
        description: 'Reads.',
        startsAt: null,
        endsAt: null,
      });
      expect(await allowed('new+1@example.com', 'billing', 'invoice.read')).toBe(true);
      expect((await nora.post(path, { role: 'approver' })).status).toBe(201);
      expect(await codesOf('new+1@example.com')).toEqual(['approver', 'reader']);
      const again = await nora.post(path, { roleId: made.body.data.id });
      expect([again.status, again.headers.get('location')]).toEqual([200, null]);
      expect(await codesOf('new+1@example.com')).toEqual(['approver', 'reader']);
      expect(await audits('assignment.created', 'new+1@example.com')).toMatchObject([
        { actor: 'user:nora@example.com', appCode: 'billing', before: null, after: { role: 'reader' } },
        { after: { role: 'approver' } },
      ]);
    });

    test('revoking one role works, and is 404 when it is not held or unknown', async () => {
      const path = rolesOf('lost@example.com');
      await nora.put(path, { roles: ['reader', 'approver'] });
      expect((await nora.delete(`${path}/reader`)).status).toBe(204);
      expect(await codesOf('lost@example.com')).toEqual(['approver']);
      expect(await allowed('lost@example.com', 'billing', 'invoice.read')).toBe(false);
      for (const code of ['reader', 'constructor', 'clerk', '__proto__', 'x'.repeat(300)]) {
        expect([code, outcome(await nora.delete(`${path}/${code}`))]).toEqual([code, [404, 'NOT_FOUND']]);
      }
      expect(outcome(await nora.delete(`${rolesOf('stranger@example.com')}/reader`))).toEqual([404, 'NOT_FOUND']);
      expect(await audits('assignment.removed', 'lost@example.com')).toMatchObject([
        { before: { role: 'reader' }, after: null },
      ]);
    });

    test('an unknown role is refused with its path', async () => {
      const path = rolesOf('who@example.com');
      const refused: [object, object][] = [
        [{ role: 'reeder' }, { path: 'role', known: 'reader' }],
        [{ role: 'clerk' }, { path: 'role' }],
        [{ roleId: 999_999 }, { path: 'roleId' }],
      ];
      for (const [body, details] of refused) {
        const answer = await nora.post(path, body);
        expect([body, answer.body.details]).toEqual([body, { code: 'UNKNOWN_REFERENCE', ...details }]);
      }
      for (const body of [
        {},
        { role: 'reader', roleId: 1 },
        { role: null },
        { role: 'rea/der' },
        { roles: ['reader'] },
      ]) {
        expect([body, outcome(await nora.post(path, body))]).toEqual([body, [400, 'VALIDATION_FAILED']]);
      }
      expect((await nora.put(path, { roles: ['reader', 'clerk'] })).body.details).toEqual({
        code: 'UNKNOWN_REFERENCE',
        path: 'roles.1',
      });
      for (const body of [{}, { roles: ['reader'], roleIds: [] }]) {
        expect(outcome(await nora.put(path, body))).toEqual([400, 'VALIDATION_FAILED']);
      }
      expect(outcome(await root.post(rolesOf('who@example.com', 'nowhere'), { role: 'reader' }))).toEqual([
        404,
        'NOT_FOUND',
      ]);
      expect(outcome(await nora.post(rolesOf('who@example.com', 'shop'), { role: 'clerk' }))).toEqual([
        403,
        'NO_APPLICATION_LEVEL',
      ]);
      expect(await codesOf('who@example.com')).toEqual([]);
    });

    test('concurrent grants and replacements lose nothing', async () => {
      const path = rolesOf('busy@example.com');
      for (let round = 0; round < 8; round++) {
        await nora.put(path, { roles: ['reader'] });
        const answers = await Promise.all([
          nora.post(path, { role: 'approver' }),
          nora.post(path, { role: 'constructor' }),
          nora.delete(`${path}/reader`),
        ]);
        expect(answers.map(({ status }) => status)).toEqual([201, 201, 204]);
        expect(await codesOf('busy@example.com')).toEqual(['approver', 'constructor']);
        const [replaced, given] = await Promise.all([
          nora.put(path, { roles: ['constructor'] }),
          nora.post(path, { role: 'reader' }),
        ]);
        expect([replaced.status, given.status]).toEqual([200, 201]);
        const held = await codesOf('busy@example.com');
        // In either order: the replacement last, or the role given after it.
        expect([['constructor'], ['constructor', 'reader']]).toContainEqual(held);
        if (replaced.body.data.length === 1 && held.length === 1) continue;
        expect(held).toEqual(['constructor', 'reader']);
      }
    });

    test('managers of every application grant and revoke the two panel roles in `auth`, within their own level', async () => {
      const path = rolesOf('newcomer@example.com', 'auth');
      const [pat, lim] = [registry.as('pat'), registry.as('lim')];
      await root.post('/api/applications/auth/roles', { code: 'reporter' });
      expect(outcome(await pat.post(path, { role: 'reporter' }))).toEqual([403, 'FORBIDDEN']);
      expect(outcome(await pat.post(path, { role: 'no-such-role' }))).toEqual([403, 'FORBIDDEN']);
      expect(outcome(await nora.post(path, { role: 'panel_admin' }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      // A second account of one who is denied an application would manage it.
      expect(outcome(await lim.post(path, { role: 'panel_admin' }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      expect((await pat.post(path, { role: 'panel_admin' })).status).toBe(201);
      expect((await pat.post(path, { role: 'panel_admin' })).status).toBe(200);
      expect(outcome(await lim.delete(`${path}/panel_admin`))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      expect((await pat.delete(`${path}/panel_admin`)).status).toBe(204);
      await root.post(path, { role: 'reporter' });
      expect(outcome(await pat.delete(`${path}/reporter`))).toEqual([403, 'FORBIDDEN']);
      expect(await codesOf('newcomer@example.com', 'auth')).toEqual(['reporter']);
      expect((await audits('assignment.created.refused')).length).toBeGreaterThan(3);
    });
  });

  describe(`codes in place of ids (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, OTHER]);
    const nora = registry.as('nora');
    let reader: number;
    let read: number;
    beforeAll(async () => {
      const of = async (path: string, code: string): Promise<number> =>
        (await registry.root.get(path)).body.data.find((row: { code: string }) => row.code === code).id;
      reader = await of('/api/applications/billing/roles', 'reader');
      read = await of('/api/applications/billing/permissions', 'invoice.read');
    });

    test("a role's permissions may be referred to by code", async () => {
      const path = `/api/applications/billing/roles/${reader}/permissions`;
      const put = await nora.put(path, {
        permissions: [
          { permission: 'invoice.approve', accessLevel: 'allowed' },
          { permissionId: read, accessLevel: 'edit' },
        ],
      });
      expect(put.body.data.permissions).toMatchObject([
        { code: 'invoice.approve', accessLevel: 'allowed' },
        { code: 'invoice.read', accessLevel: 'edit' },
      ]);
      const unknown = await nora.put(path, { permissions: [{ permission: 'order.read', accessLevel: 'allowed' }] });
      expect(unknown.body.details).toEqual({ code: 'UNKNOWN_REFERENCE', path: 'permissions.0.permission' });
      const unfit = await nora.put(path, { permissions: [{ permission: 'invoice.approve', accessLevel: 'view' }] });
      expect(outcome(unfit)).toEqual([400, 'INVALID_ACCESS_LEVEL']);
    });

    test('overrides may refer to permissions by code', async () => {
      const path = '/api/users/ada@example.com/apps/billing/resources/invoice/7/permissions';
      const put = await nora.put(path, {
        permissions: [{ permission: 'invoice.read', granted: true, accessLevel: 'view' }],
      });
      expect(put.body.data.permissions).toEqual([
        {
          permissionId: read,
          code: 'invoice.read',
          granted: true,
          accessLevel: 'view',
          startsAt: null,
          endsAt: null,
        },
      ]);
      const unknown = await nora.put(path, { permissions: [{ permission: 'invoice.reed', granted: false }] });
      expect(unknown.body.details).toEqual({
        code: 'UNKNOWN_REFERENCE',
        path: 'permissions.0.permission',
        known: 'invoice.read',
      });
    });

    test.each([
      ['neither', [{ granted: false }], 'permissions.0.permissionId'],
      ['both', [{ permissionId: 1, permission: 'invoice.read', granted: false }], 'permissions.0.permissionId'],
      [
        'one code twice',
        [
          { permission: 'invoice.read', granted: false },
          { permission: 'invoice.read', granted: true },
        ],
        'permissions.1.permission',
      ],
    ])('an item that refers to its permission by %s is refused', async (_, permissions, path) => {
      const answer = await nora.put('/api/users/ada@example.com/apps/billing/resources/invoice/8/permissions', {
        permissions,
      });
      expect(answer.status).toBe(400);
      expect(answer.body.details.issues).toMatchObject([{ path }]);
    });

    test('referring to one permission by id and by code is refused', async () => {
      for (const [path, more] of [
        ['/api/users/ada@example.com/apps/billing/resources/invoice/9/permissions', { granted: false }],
        [`/api/applications/billing/roles/${reader}/permissions`, { accessLevel: 'view' }],
      ] as const) {
        const permissions = [
          { permissionId: read, ...more },
          { permission: 'invoice.read', ...more },
        ];
        const answer = await nora.put(path, { permissions });
        expect([path, answer.body.details?.issues]).toMatchObject([path, [{ path: 'permissions.1.permission' }]]);
      }
    });

    test("a permission's parent may be referred to by code", async () => {
      const path = '/api/applications/billing/permissions';
      const made = await nora.post(path, { code: 'invoice.print', type: 'binary', parentPermission: 'invoice.read' });
      expect(made.body.data.parentPermissionId).toBe(read);
      const at = `${path}/${made.body.data.id}`;
      expect((await nora.put(at, { parentPermission: null })).body.data.parentPermissionId).toBeNull();
      expect((await nora.put(at, { description: 'Paper.' })).body.data.parentPermissionId).toBeNull();
      expect((await nora.put(at, { parentPermission: 'invoice.approve' })).status).toBe(200);
      expect((await nora.put(at, { parentPermission: 'order.read' })).body.details).toEqual({
        code: 'UNKNOWN_REFERENCE',
        path: 'parentPermission',
      });
      expect(outcome(await nora.put(at, { parentPermission: 'invoice.print' }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(outcome(await nora.put(at, { parentPermission: 'invoice.read', parentPermissionId: read }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    });
  });
}
