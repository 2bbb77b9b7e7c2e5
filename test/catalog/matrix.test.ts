import { describe, expect, test } from '@jest/globals';
import { Matrices } from '../../src/catalog/matrix.ts';
import { Level } from '../../src/engine/types.ts';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest } from '../support/rest.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions:
  - { code: invoice.read, type: tiered, groupName: Invoices }
  - { code: invoice.approve, type: binary }
  - { code: token.read, type: tiered }
roles:
  - { code: reader, description: Reads., permissions: { invoice.read: view } }
  - { code: writer, permissions: { invoice.read: edit, invoice.approve: allowed } }
  - { code: constructor }
admins: [nora@example.com]
assignments:
  - { email: ben@example.com, roles: [reader] }
  - { email: cleo@example.com, roles: [reader, writer] }
`;
const OTHER = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
admins: [olga@example.com]
`;
const MANY = JSON.stringify({
  application: { code: 'many', name: 'Many' },
  permissions: Array.from({ length: 101 }, (_, index) => ({ code: `p${index}`, type: 'binary' })),
  roles: Array.from({ length: 10 }, (_, index) => ({ code: `r${index}`, permissions: {} })),
});
const AUTH = `
application: { code: auth, name: Administration }
admins: [nora@example.com]
assignments:
  - { email: view@example.com, roles: [application_manager] }
  - { email: pat@example.com, roles: [panel_admin] }
overrides:
  - { email: view@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
`;
const APP = '/api/applications/billing';
const PATH = `${APP}/matrix`;

interface Coded {
  id: number;
  code: string;
}

for (const kind of KINDS) {
  describe(`the matrix of roles and permissions (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, OTHER, MANY, AUTH]);
    const { root, audits, allowed } = registry;
    const nora = registry.as('nora');

    /** The levels by codes, as `role/permission: level`. */
    const cells = async (path = PATH): Promise<string[]> => {
      const { roles, permissions, levels } = (await root.get(path)).body.data;
      const codeOf = (all: Coded[], id: number) => all.find((one) => one.id === id)?.code;
      return levels
        .map(
          (cell: { roleId: number; permissionId: number; accessLevel: string }) =>
            `${codeOf(roles, cell.roleId)}/${codeOf(permissions, cell.permissionId)}: ${cell.accessLevel}`,
        )
        .sort();
    };
    const idOf = async (what: 'roles' | 'permissions', code: string, app = 'billing'): Promise<number> => {
      const { data } = (await root.get(`/api/applications/${app}/${what}`)).body;
      return data.find((one: Coded) => one.code === code).id;
    };
    const etagOf = async (): Promise<string> => (await root.get(PATH)).headers.get('etag') ?? '';
    /** Empties and fills cells until the matrix is that of the manifest. */
    const reset = async (): Promise<void> => {
      const levels: Record<string, string> = {
        'reader/invoice.read': 'view',
        'writer/invoice.read': 'edit',
        'writer/invoice.approve': 'allowed',
      };
      const changes = ['reader', 'writer', 'constructor'].flatMap((role) =>
        ['invoice.read', 'invoice.approve', 'token.read'].map((permission) => {
          return { role, permission, accessLevel: levels[`${role}/${permission}`] ?? null };
        }),
      );
      expect((await root.put(PATH, { changes })).status).toBe(200);
    };

    test('the matrix has the records of permissions and roles, the numbers of holders, and the levels', async () => {
      const { status, body, headers } = await nora.get(PATH);
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
      const { permissions, roles, levels } = body.data;
      expect(permissions).toEqual((await root.get(`${APP}/permissions`)).body.data);
      const records = (await root.get(`${APP}/roles`)).body.data;
      const holders: Record<string, number> = { constructor: 0, reader: 2, writer: 1 };
      expect(roles).toEqual(records.map((role: Coded) => ({ ...role, holders: holders[role.code] })));
      const reader = await idOf('roles', 'reader');
      expect(levels).toContainEqual({
        roleId: reader,
        permissionId: await idOf('permissions', 'invoice.read'),
        accessLevel: 'view',
      });
      expect(await cells()).toEqual([
        'reader/invoice.read: view',
        'writer/invoice.approve: allowed',
        'writer/invoice.read: edit',
      ]);
      const auth = (await root.get('/api/applications/auth/matrix')).body.data;
      expect(auth.roles.map(({ code }: Coded) => code)).toEqual(['application_manager', 'panel_admin']);
    });

    test('a write fills, changes and empties cells at once, and decides the next check', async () => {
      const [reader, read] = [await idOf('roles', 'reader'), await idOf('permissions', 'invoice.read')];
      const changes = [
        { roleId: reader, permissionId: read, accessLevel: null },
        { roleId: reader, permission: 'invoice.approve', accessLevel: 'allowed' },
        { role: 'writer', permissionId: read, code: 'invoice.read', accessLevel: 'view' },
        { role: 'constructor', permission: 'token.read', accessLevel: 'edit' },
      ];
      expect(await allowed('ben@example.com', 'billing', 'invoice.read')).toBe(true);
      const put = await nora.put(PATH, { changes });
      expect(put.status).toBe(200);
      expect(put.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
      expect([await allowed('ben@example.com', 'billing', 'invoice.read')]).toEqual([false]);
      expect(await allowed('ben@example.com', 'billing', 'invoice.approve')).toBe(true);
      expect(await cells()).toEqual([
        'constructor/token.read: edit',
        'reader/invoice.approve: allowed',
        'writer/invoice.approve: allowed',
        'writer/invoice.read: view',
      ]);
      const now = await root.get(PATH);
      expect([put.body, put.headers.get('etag')]).toEqual([now.body, now.headers.get('etag')]);

      // One record a changed role, with all that it grants.
      const record = async (role: string) => (await audits('role_permissions.replaced', role)).at(-1);
      expect(await record('reader')).toMatchObject({
        actor: 'user:nora@example.com',
        appCode: 'billing',
        before: { permissions: ['invoice.read: view'] },
        after: { permissions: ['invoice.approve: allowed'] },
      });
      expect(await record('constructor')).toMatchObject({
        before: { permissions: [] },
        after: { permissions: ['token.read: edit'] },
      });

      // The same again makes neither a revision nor a record, and neither does an empty list.
      const count = (await audits('role_permissions.replaced')).length;
      for (const same of [changes, []]) {
        const again = await nora.put(PATH, { changes: same });
        expect([again.status, again.headers.get('usher-revision')]).toEqual([200, put.headers.get('usher-revision')]);
        expect(again.body).toEqual(put.body);
      }
      expect((await audits('role_permissions.replaced')).length).toBe(count);
      await reset();
    });

    test('a tag is answered 304 while nothing changes, and a new holder changes it', async () => {
      const etag = await etagOf();
      expect((await root.get(PATH, { 'if-none-match': etag })).status).toBe(304);
      expect((await root.put('/api/users/dora@example.com/apps/billing/roles', { roles: ['reader'] })).status).toBe(
        200,
      );
      const now = await root.get(PATH, { 'if-none-match': etag });
      expect([now.status, now.body.data.roles.find(({ code }: Coded) => code === 'reader').holders]).toEqual([200, 3]);
      expect(now.headers.get('etag')).not.toBe(etag);

      // An assignment makes no write STALE.
      const held = { 'if-match': etag };
      expect((await root.put(PATH, { changes: [] }, held)).status).toBe(200);
      const change = { role: 'reader', permission: 'token.read', accessLevel: 'view' };
      expect((await root.put(PATH, { changes: [change] }, held)).status).toBe(200);
      expect(outcome(await root.put(PATH, { changes: [change] }, held))).toEqual([412, 'STALE']);
      expect((await root.put('/api/users/dora@example.com/apps/billing/roles', { roles: [] })).status).toBe(200);
      await reset();
    });

    test('If-Match is STALE after every other write of permissions, roles or levels', async () => {
      const role = `${APP}/roles/${await idOf('roles', 'reader')}`;
      const permission = `${APP}/permissions/${await idOf('permissions', 'invoice.read')}`;
      const writes: [string, string, object][] = [
        ['PUT', role, { description: 'Reads a lot.' }],
        ['PUT', permission, { groupName: 'Bills' }],
        ['PUT', `${role}/permissions`, { permissions: [{ permission: 'invoice.read', accessLevel: 'edit' }] }],
        ['POST', `${APP}/roles`, { code: 'temporary' }],
        ['POST', `${APP}/permissions`, { code: 'temporary', type: 'binary' }],
      ];
      for (const [method, path, body] of writes) {
        const tag = { 'if-match': await etagOf() };
        expect([path, (await root.send(method, path, body)).status < 300]).toEqual([path, true]);
        expect([path, ...outcome(await root.put(PATH, { changes: [] }, tag))]).toEqual([path, 412, 'STALE']);
      }
      for (const what of ['roles', 'permissions'] as const) {
        expect((await root.delete(`${APP}/${what}/${await idOf(what, 'temporary')}`)).status).toBe(204);
      }
      expect((await root.put(PATH, { changes: [] }, { 'if-match': `"other", ${await etagOf()}` })).status).toBe(200);
      expect((await root.put(PATH, { changes: [] }, { 'if-match': '*' })).status).toBe(200);
      await reset();
    });

    test('of two writers with one tag one is STALE, even about different roles', async () => {
      for (let round = 0; round < 4; round++) {
        const tag = { 'if-match': await etagOf() };
        const level = round % 2 === 0 ? 'view' : 'edit';
        const answers = await Promise.all(
          ['reader', 'writer', 'constructor'].map((role) =>
            nora.put(PATH, { changes: [{ role, permission: 'token.read', accessLevel: level }] }, tag),
          ),
        );
        expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412]);
        await reset();
      }
    });

    test('concurrent changes of different cells all take effect', async () => {
      const answers = await Promise.all(
        ['reader', 'writer', 'constructor'].flatMap((role) => [
          nora.put(PATH, { changes: [{ role, permission: 'token.read', accessLevel: 'view' }] }),
          root.put(PATH, { changes: [{ role, permission: 'token.read', accessLevel: 'edit' }] }),
          nora.put(PATH, { changes: [{ role, permission: 'invoice.approve', accessLevel: 'allowed' }] }),
        ]),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const held = await cells();
      for (const role of ['reader', 'writer', 'constructor']) {
        expect(held).toContain(`${role}/invoice.approve: allowed`);
        expect(held.filter((cell) => cell.startsWith(`${role}/token.read`))).toHaveLength(1);
      }
      await reset();
    });

    test('a refused change is refused whole, and names its place', async () => {
      const before = await root.get(PATH);
      const first = { role: 'reader', permission: 'token.read', accessLevel: 'view' };
      const [clerk, order] = [await idOf('roles', 'clerk', 'shop'), await idOf('permissions', 'order.read', 'shop')];
      const [reader, read] = [await idOf('roles', 'reader'), await idOf('permissions', 'invoice.read')];
      const refused: [object, string, string][] = [
        [{ roleId: clerk, permissionId: read, accessLevel: 'view' }, 'UNKNOWN_REFERENCE', 'changes.1.roleId'],
        [{ role: 'clerk', permissionId: read, accessLevel: 'view' }, 'UNKNOWN_REFERENCE', 'changes.1.role'],
        [
          { roleId: reader, permissionId: order, accessLevel: 'allowed' },
          'UNKNOWN_REFERENCE',
          'changes.1.permissionId',
        ],
        [{ roleId: reader, permission: 'order.read', accessLevel: null }, 'UNKNOWN_REFERENCE', 'changes.1.permission'],
        [{ roleId: 999_999, permissionId: read, accessLevel: null }, 'UNKNOWN_REFERENCE', 'changes.1.roleId'],
        [
          { roleId: reader, permissionId: read, accessLevel: 'allowed' },
          'INVALID_ACCESS_LEVEL',
          'changes.1.accessLevel',
        ],
        [
          { roleId: reader, permission: 'invoice.approve', accessLevel: 'view' },
          'INVALID_ACCESS_LEVEL',
          'changes.1.accessLevel',
        ],
      ];
      for (const [item, code, path] of refused) {
        const answer = await nora.put(PATH, { changes: [first, item] });
        expect([item, answer.status, answer.body.details]).toEqual([item, 400, { code, path }]);
      }
      const immutable = { roleId: reader, permissionId: read, code: 'token.read', accessLevel: 'view' };
      expect(outcome(await nora.put(PATH, { changes: [first, immutable] }))).toEqual([400, 'IMMUTABLE_FIELD']);
      const after = await root.get(PATH);
      expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')]);
    });

    test('a malformed body is refused with the place of the fault', async () => {
      const ids = { roleId: await idOf('roles', 'reader'), permissionId: await idOf('permissions', 'token.read') };
      const { roleId, permissionId } = ids;
      const codes = { role: 'reader', permission: 'token.read' };
      const malformed: [unknown, string][] = [
        [{}, 'changes'],
        [{ changes: {} }, 'changes'],
        [{ changes: [], levels: [] }, 'levels'],
        [{ changes: [{ ...ids }] }, 'changes.0.accessLevel'],
        [{ changes: [{ ...ids, accessLevel: 'own' }] }, 'changes.0.accessLevel'],
        [{ changes: [{ permissionId, accessLevel: null }] }, 'changes.0.roleId'],
        [{ changes: [{ roleId, accessLevel: null }] }, 'changes.0.permissionId'],
        [{ changes: [{ ...ids, role: 'reader', accessLevel: null }] }, 'changes.0.roleId'],
        [{ changes: [{ ...ids, permission: 'token.read', accessLevel: null }] }, 'changes.0.permissionId'],
        [{ changes: [{ ...ids, roleId: '1', accessLevel: null }] }, 'changes.0.roleId'],
        [{ changes: [{ ...ids, accessLevel: null, note: '' }] }, 'changes.0.note'],
        [{ changes: [{ ...codes, role: 'Not a slug', accessLevel: null }] }, 'changes.0.role'],
        // A pair twice, by ids, by codes, and by one of each.
        [
          {
            changes: [
              { ...ids, accessLevel: null },
              { ...ids, accessLevel: 'view' },
            ],
          },
          'changes.1.permissionId',
        ],
        [
          {
            changes: [
              { ...ids, accessLevel: 'view' },
              { ...codes, accessLevel: 'view' },
            ],
          },
          'changes.1.permission',
        ],
      ];
      for (const [body, path] of malformed) {
        const answer = await nora.put(PATH, body);
        expect([body, ...outcome(answer)]).toEqual([body, 400, 'VALIDATION_FAILED']);
        expect([body, answer.body.details.issues[0].path]).toEqual([body, path]);
      }
      expect((await nora.send('PUT', PATH, { changes: [] }, { 'content-type': 'text/plain' })).status).toBe(415);
      expect((await nora.get(`${PATH}?q=x`)).status).toBe(400);
    });

    test('a write takes up to 1,000 cells', async () => {
      const path = '/api/applications/many/matrix';
      const all = Array.from({ length: 1010 }, (_, index) => {
        return { role: `r${index % 10}`, permission: `p${Math.floor(index / 10)}`, accessLevel: 'allowed' };
      });
      const most = await root.put(path, { changes: all.slice(0, 1000) });
      expect([most.status, most.body.data.levels.length]).toEqual([200, 1000]);
      expect(outcome(await root.put(path, { changes: all.slice(0, 1001) }))).toEqual([400, 'VALIDATION_FAILED']);
      expect((await root.get(path)).body.data.levels).toHaveLength(1000);
    });

    test('a dry run tells who gains and who loses, and its revision holds the write to it', async () => {
      const before = await root.get(PATH);
      const body = {
        changes: [
          { role: 'reader', permission: 'invoice.read', accessLevel: null },
          { role: 'writer', permission: 'token.read', accessLevel: 'edit' },
        ],
      };
      const count = (await audits('role_permissions.replaced')).length;
      const dry = await nora.put(`${PATH}?dryRun=true`, body);
      expect([dry.status, dry.body.data.impact]).toMatchObject([
        200,
        {
          people: 2,
          gained: 1,
          lost: 1,
          changes: [
            { email: 'ben@example.com', permission: 'invoice.read', from: 'view', to: null },
            { email: 'cleo@example.com', permission: 'token.read', from: null, to: 'edit' },
          ],
        },
      ]);
      expect((await root.get(PATH)).body).toEqual(before.body);
      expect((await audits('role_permissions.replaced')).length).toBe(count);
      const stale = { 'if-match': '"older"' };
      expect(outcome(await nora.put(`${PATH}?dryRun=true`, body, stale))).toEqual([412, 'STALE']);
      const done = await nora.put(PATH, body, { 'usher-if-revision': dry.body.data.impact.revision });
      expect([done.status, done.body.data]).toEqual([200, dry.body.data.result]);
      const again = await nora.put(PATH, body, { 'usher-if-revision': dry.body.data.impact.revision });
      expect(outcome(again)).toEqual([412, 'STALE']);
      expect((await nora.get(`${PATH}?dryRun=true`)).status).toBe(400);
      await reset();
    });

    test('viewers read, editors write, and everybody else learns nothing', async () => {
      const [viewer, pat] = [registry.as('view'), registry.as('pat')];
      const body = { changes: [] };
      expect((await viewer.get(PATH)).status).toBe(200);
      expect(outcome(await viewer.put(PATH, body))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      expect((await pat.put(PATH, body)).status).toBe(200);
      for (const rest of [registry.as('ben'), registry.as('olga')]) {
        for (const app of ['billing', 'nowhere', 'auth']) {
          const path = `/api/applications/${app}/matrix`;
          expect([app, ...outcome(await rest.get(path))]).toEqual([app, 403, 'NO_APPLICATION_LEVEL']);
          expect([app, ...outcome(await rest.put(path, body))]).toEqual([app, 403, 'NO_APPLICATION_LEVEL']);
        }
      }
      for (const rest of [await Rest.as(registry.usher), Rest.bearing(registry.usher, 'not-a-token')]) {
        expect([(await rest.get(PATH)).status, (await rest.put(PATH, body)).status]).toEqual([401, 401]);
      }
      const nowhere = '/api/applications/nowhere/matrix';
      expect([(await root.get(nowhere)).status, (await root.put(nowhere, body)).status]).toEqual([404, 404]);
      // Whoever writes what the panel's own roles grant rules everything.
      const auth = '/api/applications/auth/matrix';
      expect((await nora.get(auth)).status).toBe(200);
      for (const rest of [nora, pat]) {
        expect(outcome(await rest.put(auth, body))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      }
      expect((await root.put(auth, body)).status).toBe(200);
      const actors = (await audits('role_permissions.replaced.refused')).map(({ actor }) => actor);
      for (const name of ['view', 'ben', 'olga', 'nora']) expect(actors).toContain(`user:${name}@example.com`);
    });

    test('the guard is asked again inside the transaction', async () => {
      const matrices = new Matrices(registry.usher.app.database);
      const by = { caller: { email: 'ben@example.com' }, requestId: 'request-0001' };
      const cell = { role: 'reader', permission: 'token.read', level: Level.EDIT };
      await expect(matrices.change('billing', [cell], undefined, by)).rejects.toMatchObject({
        reason: 'NO_APPLICATION_LEVEL',
      });
      expect(await cells()).not.toContain('reader/token.read: edit');
    });
  });
}
