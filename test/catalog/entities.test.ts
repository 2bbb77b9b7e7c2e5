import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { insertOverride } from '../support/rows.ts';

const ENTITIES = '/api/applications/billing/entities';
const BILLING = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: binary }]
admins: [nora@example.com]
`;
const SHOP = `
application: { code: shop, name: Shop }
entities: [{ code: order, name: Order }]
admins: [olga@example.com]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: vera@example.com, roles: [application_manager] }]
overrides:
  - { email: vera@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
`;
for (const kind of KINDS) {
  describe(`the entity catalog (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, SHOP, PANEL]);
    const { root } = registry;
    const nora = registry.as('nora');

    const override = (type: string) =>
      registry.usher.app.manifests.apply(
        `application: { code: billing, name: Billing }
overrides: [{ email: ben@example.com, resourceType: ${type}, resourceId: '1', permission: invoice.read, granted: true }]`,
        { actor: 'cli' },
      );
    const noOverrides = () =>
      registry.usher.app.manifests.apply('application: { code: billing, name: Billing }\noverrides: []', {
        actor: 'cli',
        prune: true,
      });
    const make = async (code: string): Promise<number> =>
      (await nora.post(ENTITIES, { code, name: code })).body.data.id;

    test('an entity is created, listed by code, changed and deleted with audit records', async () => {
      const body = {
        code: 'invoice',
        name: 'Invoice',
        description: 'What customers owe.',
        idLabel: 'Invoice number',
        listEndpoint: 'http://billing.internal:8080/invoices?all=1',
        listSearch: true,
      };
      const made = await nora.post(ENTITIES, body);
      expect([made.status, made.headers.get('location')]).toEqual([201, `${ENTITIES}/${made.body.data.id}`]);
      expect(made.body.data).toEqual({
        ...body,
        id: expect.any(Number),
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      const bare = await nora.post(ENTITIES, { code: 'constructor', name: 'C' });
      expect(bare.body.data).toMatchObject({
        description: null,
        idLabel: null,
        listEndpoint: null,
        listSearch: false,
      });
      expect((await nora.get(ENTITIES)).body.data.map(({ code }: { code: string }) => code)).toEqual([
        'constructor',
        'invoice',
      ]);
      const path = `${ENTITIES}/${made.body.data.id}`;
      const put = await nora.put(path, { ...made.body.data, name: 'Bill', listEndpoint: null });
      expect([put.status, put.body.data]).toMatchObject([
        200,
        { name: 'Bill', idLabel: 'Invoice number', listEndpoint: null, listSearch: true },
      ]);
      expect((await nora.put(path, { code: 'bill' })).body.data).toMatchObject({ code: 'bill', name: 'Bill' });
      expect(outcome(await nora.put(path, { code: 'constructor' }))).toEqual([409, 'ALREADY_EXISTS']);
      expect((await nora.delete(path)).status).toBe(204);
      expect((await nora.delete(path)).status).toBe(404);
      expect((await nora.put(path, { name: 'x' })).status).toBe(404);
      const actions = await registry.usher.app.database.read(
        async (tx) =>
          await tx.kysely
            .selectFrom('audit')
            .select('action')
            .where('appCode', '=', 'billing')
            .where('actor', '=', 'user:nora@example.com')
            .where('subject', 'in', ['invoice', 'bill'])
            .orderBy('id')
            .execute(),
      );
      expect(actions.map(({ action }) => action)).toEqual([
        'entity.created',
        'entity.changed',
        'entity.changed',
        'entity.deleted',
      ]);
    });

    test('a taken entity code is 409, even for two concurrent requests', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => nora.post(ENTITIES, { code: 'twice', name: 'T' })));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409]);
    });

    test.each([
      [{ name: 'X' }, 'code'],
      [{ code: 'x' }, 'name'],
      [{ code: 'A B', name: 'X' }, 'code'],
      [{ code: 'x', name: '' }, 'name'],
      [{ code: 'x', name: 'X', listEndpoint: 'ftp://x.example/' }, 'listEndpoint'],
      [{ code: 'x', name: 'X', listEndpoint: '/items' }, 'listEndpoint'],
      [{ code: 'x', name: 'X', listEndpoint: 'javascript:alert(1)' }, 'listEndpoint'],
      [{ code: 'x', name: 'X', listEndpoint: 'https://user:pw@x.example/' }, 'listEndpoint'],
      [{ code: 'x', name: 'X', listEndpoint: `https://x.example/${'y'.repeat(2048)}` }, 'listEndpoint'],
      [{ code: 'x', name: 'X', idlabel: 'x' }, 'idlabel'],
    ])('invalid entity input %# is refused with its field', async (body, field) => {
      const answer = await nora.post(ENTITIES, body);
      expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map(({ path }: { path: string }) => path)).toContain(field);
      expect((await nora.get(ENTITIES)).body.data.map(({ code }: { code: string }) => code)).not.toContain('x');
    });

    test('access to entities depends on the level, and those of another application are unknown', async () => {
      const id = await make('mine');
      const vera = await Rest.as(registry.usher, 'vera@example.com');
      const olga = await Rest.as(registry.usher, 'olga@example.com');
      const calls = async (rest: Rest, path: string) =>
        (
          await Promise.all([
            rest.get(path),
            rest.post(path, { code: 'sneaked', name: 'x' }),
            rest.put(`${path}/${id}`, { name: 'sneaked' }),
            rest.delete(`${path}/${id}`),
          ])
        ).map(({ status }) => status);
      expect(await calls(vera, ENTITIES)).toEqual([200, 403, 403, 403]);
      expect(await calls(olga, ENTITIES)).toEqual([403, 403, 403, 403]);
      expect(await calls(await Rest.as(registry.usher), ENTITIES)).toEqual([401, 401, 401, 401]);
      expect(await calls(olga, '/api/applications/shop/entities')).toEqual([200, 201, 404, 404]);
      expect(await calls(root, '/api/applications/unknown/entities')).toEqual([404, 404, 404, 404]);
      expect((await root.put(`${ENTITIES}/x`, {})).status).toBe(400);
    });

    test('an entity that overrides use is neither renamed nor deleted, but may change otherwise', async () => {
      const id = await make('used');
      await override('used');
      for (const answer of [
        await nora.delete(`${ENTITIES}/${id}`),
        await nora.put(`${ENTITIES}/${id}`, { code: 'new' }),
      ]) {
        expect(outcome(answer)).toEqual([409, 'ENTITY_IN_USE']);
      }
      expect((await nora.put(`${ENTITIES}/${id}`, { code: 'used', name: 'Used' })).body.data.name).toBe('Used');
      // An override of that type in another application does not count.
      const shop = (await root.get('/api/applications/shop/entities')).body.data[0];
      expect((await root.post('/api/applications/shop/entities', { code: 'used', name: 'x' })).status).toBe(201);
      expect((await root.delete(`/api/applications/shop/entities/${shop.id}`)).status).toBe(204);
      await noOverrides();
      expect((await nora.put(`${ENTITIES}/${id}`, { code: 'new' })).status).toBe(200);
      expect((await nora.delete(`${ENTITIES}/${id}`)).status).toBe(204);
    });

    test('the deletion of an entity waits for a concurrent override, and then sees it', async () => {
      const id = await make('raced');
      const rows = await registry.usher.app.database.read(async (tx) => {
        const app = await tx.kysely
          .selectFrom('application')
          .select('id')
          .where('code', '=', 'billing')
          .executeTakeFirstOrThrow();
        const permission = await tx.kysely
          .selectFrom('permission')
          .select('id')
          .where('code', '=', 'invoice.read')
          .executeTakeFirstOrThrow();
        return { id: app.id, permissions: { 'invoice.read': permission.id }, roles: {} };
      });
      let deleted: Promise<RestAnswer> | undefined;
      await registry.usher.app.database.change(async (tx) => {
        await tx.kysely.selectFrom('application').select('id').where('code', '=', 'billing').forKeyShare().execute();
        deleted = nora.delete(`${ENTITIES}/${id}`);
        // On PGlite the deletion only begins when this transaction ends; on PostgreSQL it waits for the row.
        if (kind === 'postgresql') await new Promise((resolve) => setTimeout(resolve, 200));
        await insertOverride(tx, rows, 'ben@example.com', {
          type: 'raced',
          id: '1',
          permission: 'invoice.read',
          level: 1,
        });
        return { result: null, scopes: ['m:billing:ben@example.com'] };
      });
      expect(outcome((await deleted) as RestAnswer)).toEqual([409, 'ENTITY_IN_USE']);
    });

    test("the panel's own entity keeps its code and cannot be deleted", async () => {
      const path = '/api/applications/auth/entities';
      const [{ id }] = (await root.get(path)).body.data;
      expect(outcome(await root.delete(`${path}/${id}`))).toEqual([409, 'SYSTEM_RECORD']);
      expect(outcome(await root.put(`${path}/${id}`, { code: 'app' }))).toEqual([409, 'SYSTEM_RECORD']);
      expect((await root.put(`${path}/${id}`, { name: 'An application' })).status).toBe(200);
    });
  });
}
