import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest } from '../support/rest.ts';

const PATH = '/api/applications/billing/permissions';
const BILLING = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: tiered }, { code: invoice.approve, type: binary }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
admins: [nora@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
overrides: [{ email: ben@example.com, resourceType: invoice, resourceId: '1', permission: invoice.approve, granted: true }]
`;
const SHOP = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
admins: [olga@example.com]
`;
for (const kind of KINDS) {
  describe(`permissions of an application (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, SHOP]);
    const { root } = registry;
    const nora = registry.as('nora');

    const idOf = async (code: string, path = PATH): Promise<number> =>
      (await root.get(path)).body.data.find((permission: { code: string }) => permission.code === code)?.id;
    const make = async (code: string, more: object = {}): Promise<number> =>
      (await nora.post(PATH, { code, type: 'binary', ...more })).body.data.id;
    const allowed = (permission: string, resource: object = {}) =>
      registry.allowed('ben@example.com', 'billing', permission, resource);

    test('a permission is created, listed by code, changed and deleted with audit records', async () => {
      const parent = await idOf('invoice.read');
      const body = {
        code: 'Invoice.print',
        type: 'binary',
        description: 'On paper.',
        groupName: 'Invoices',
        parentPermissionId: parent,
        global: true,
      };
      const made = await nora.post(PATH, body);
      expect([made.status, made.headers.get('location')]).toEqual([201, `${PATH}/${made.body.data.id}`]);
      expect(made.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
      expect(made.body.data).toEqual({
        ...body,
        id: expect.any(Number),
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      const bare = await nora.post(PATH, { code: 'constructor', type: 'tiered' });
      expect(bare.body.data).toMatchObject({
        description: null,
        groupName: null,
        parentPermissionId: null,
        global: false,
      });
      expect((await nora.get(PATH)).body.data.map(({ code }: { code: string }) => code)).toEqual([
        'Invoice.print',
        'constructor',
        'invoice.approve',
        'invoice.read',
      ]);
      const path = `${PATH}/${made.body.data.id}`;
      const put = await nora.put(path, { ...made.body.data, groupName: null, type: 'tiered' });
      expect([put.status, put.body.data]).toMatchObject([200, { groupName: null, type: 'tiered', global: true }]);
      expect((await nora.put(path, { parentPermissionId: null, global: false })).body.data).toMatchObject({
        description: 'On paper.',
        parentPermissionId: null,
        global: false,
      });
      // What changes nothing makes no revision and no record.
      const same = await nora.put(path, { type: 'tiered' });
      const again = await nora.put(path, { description: 'On paper.', code: 'Invoice.print' });
      expect(again.headers.get('usher-revision')).toBe(same.headers.get('usher-revision'));
      expect(outcome(await nora.put(path, { code: 'other' }))).toEqual([400, 'IMMUTABLE_FIELD']);
      expect((await nora.delete(path)).status).toBe(204);
      expect((await nora.delete(path)).status).toBe(404);
      const actions = await registry.usher.app.database.read(
        async (tx) =>
          await tx.kysely
            .selectFrom('audit')
            .select('action')
            .where('subject', '=', 'Invoice.print')
            .orderBy('id')
            .execute(),
      );
      expect(actions.map(({ action }) => action)).toEqual([
        'permission.created',
        'permission.changed',
        'permission.changed',
        'permission.deleted',
      ]);
    });

    test('a taken permission code is 409, even for two concurrent requests', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => nora.post(PATH, { code: 'twice', type: 'binary' })));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409]);
    });

    test.each([
      [{ type: 'binary' }, 'code'],
      [{ code: 'x' }, 'type'],
      [{ code: 'x', type: 'boolean' }, 'type'],
      [{ code: 'a b', type: 'binary' }, 'code'],
      [{ code: 'a::b', type: 'binary' }, 'code'],
      [{ code: 'x'.repeat(129), type: 'binary' }, 'code'],
      [{ code: 'x', type: 'binary', global: 'yes' }, 'global'],
      [{ code: 'x', type: 'binary', groupName: '' }, 'groupName'],
      [{ code: 'x', type: 'binary', parentPermissionId: '1' }, 'parentPermissionId'],
      [{ code: 'x', type: 'binary', tiered: true }, 'tiered'],
    ])('invalid permission input %# is refused with its field', async (body, field) => {
      const answer = await nora.post(PATH, body);
      expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map(({ path }: { path: string }) => path)).toContain(field);
      expect(await idOf('x')).toBeUndefined();
    });

    test('access to permissions depends on the level, and those of another application are unknown', async () => {
      const id = await idOf('invoice.read');
      const calls = async (rest: Rest, path: string) =>
        (
          await Promise.all([
            rest.get(path),
            rest.post(path, { code: 'sneaked', type: 'binary' }),
            rest.put(`${path}/${id}`, { description: 'sneaked' }),
            rest.delete(`${path}/${id}`),
          ])
        ).map(({ status }) => status);
      const olga = await Rest.as(registry.usher, 'olga@example.com');
      expect(await calls(await Rest.as(registry.usher), PATH)).toEqual([401, 401, 401, 401]);
      expect(await calls(await Rest.as(registry.usher, 'ben@example.com'), PATH)).toEqual([403, 403, 403, 403]);
      expect(await calls(olga, PATH)).toEqual([403, 403, 403, 403]);
      expect(await calls(olga, '/api/applications/shop/permissions')).toEqual([200, 201, 404, 404]);
      expect(await calls(root, '/api/applications/unknown/permissions')).toEqual([404, 404, 404, 404]);
    });

    test("a permission's parent is in its application and never below it, even when two are set at once", async () => {
      const foreign = await idOf('order.read', '/api/applications/shop/permissions');
      for (const parentPermissionId of [foreign, 999_999_999]) {
        expect(outcome(await nora.post(PATH, { code: 'x', type: 'binary', parentPermissionId }))).toEqual([
          400,
          'UNKNOWN_REFERENCE',
        ]);
        expect(outcome(await nora.put(`${PATH}/${await idOf('twice')}`, { parentPermissionId }))).toEqual([
          400,
          'UNKNOWN_REFERENCE',
        ]);
      }
      const top = await make('t.top');
      const middle = await make('t.middle', { parentPermissionId: top });
      const leaf = await make('t.leaf', { parentPermissionId: middle });
      for (const parentPermissionId of [top, middle, leaf]) {
        const answer = await nora.put(`${PATH}/${top}`, { parentPermissionId });
        expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
        expect(answer.body.details.issues[0].path).toBe('parentPermissionId');
      }
      const [one, two] = [await make('u.one'), await make('u.two')];
      for (let round = 0; round < 5; round++) {
        const both = await Promise.all([
          nora.put(`${PATH}/${one}`, { parentPermissionId: two }),
          nora.put(`${PATH}/${two}`, { parentPermissionId: one }),
        ]);
        expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400]);
        for (const id of [one, two]) await nora.put(`${PATH}/${id}`, { parentPermissionId: null });
      }
      // Children of a deleted permission lose their parent.
      expect((await nora.delete(`${PATH}/${middle}`)).status).toBe(204);
      const left = (await nora.get(PATH)).body.data.find(({ id }: { id: number }) => id === leaf);
      expect(left.parentPermissionId).toBeNull();
    });

    test('a permission keeps its type while roles or overrides refer to it', async () => {
      for (const [code, type] of [
        ['invoice.read', 'binary'],
        ['invoice.approve', 'tiered'],
      ] as const) {
        const path = `${PATH}/${await idOf(code)}`;
        expect(outcome(await nora.put(path, { type }))).toEqual([409, 'TYPE_IN_USE']);
        expect((await nora.put(path, { type: type === 'binary' ? 'tiered' : 'binary', description: 'x' })).status).toBe(
          200,
        );
      }
    });

    test('`global` decides at once whether overrides count, and a deletion removes grants', async () => {
      const invoice = { resourceType: 'invoice', resourceId: '1' };
      const approve = `${PATH}/${await idOf('invoice.approve')}`;
      expect(await allowed('invoice.approve', invoice)).toBe(true);
      expect((await nora.put(approve, { global: true })).status).toBe(200);
      expect(await allowed('invoice.approve', invoice)).toBe(false);
      await nora.put(approve, { global: false });
      expect(await allowed('invoice.approve', invoice)).toBe(true);
      expect(await allowed('invoice.read')).toBe(true);
      for (const code of ['invoice.approve', 'invoice.read']) {
        expect((await nora.delete(`${PATH}/${await idOf(code)}`)).status).toBe(204);
        expect((await nora.post(PATH, { code, type: 'binary' })).status).toBe(201);
      }
      expect(await allowed('invoice.approve', invoice)).toBe(false);
      expect(await allowed('invoice.read')).toBe(false);
    });

    test('a role that takes a permission during its deletion or change of type causes no internal error', async () => {
      const roles = '/api/applications/billing/roles';
      const [role] = (await nora.get(roles)).body.data;
      for (let round = 0; round < 5; round++) {
        const id = await make(`raced-${round}`);
        const [gone, given] = await Promise.all([
          round % 2 === 0 ? nora.delete(`${PATH}/${id}`) : nora.put(`${PATH}/${id}`, { type: 'tiered' }),
          nora.put(`${roles}/${role.id}/permissions`, { permissions: [{ permissionId: id, accessLevel: 'allowed' }] }),
        ]);
        expect([200, 204, 409]).toContain(gone.status);
        expect([200, 400]).toContain(given.status);
      }
    });

    test("only SuperAdmins write permissions of `auth`, and the panel's own stay unchanged", async () => {
      const path = '/api/applications/auth/permissions';
      expect((await nora.post(path, { code: 'mine', type: 'binary' })).status).toBe(403);
      for (const code of ['panel.access', 'applications.manage']) {
        const one = `${path}/${await idOf(code, path)}`;
        expect(outcome(await root.delete(one))).toEqual([409, 'SYSTEM_RECORD']);
        expect(outcome(await root.put(one, { global: code !== 'panel.access' }))).toEqual([409, 'SYSTEM_RECORD']);
        expect((await root.put(one, { description: 'Mine.' })).status).toBe(200);
      }
      expect((await root.post(path, { code: 'mine', type: 'binary' })).status).toBe(201);
      expect((await root.delete(`${path}/${await idOf('mine', path)}`)).status).toBe(204);
    });
  });
}
