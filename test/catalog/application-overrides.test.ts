import { describe, expect, test } from '@jest/globals';
import { ApplicationOverrides } from '../../src/catalog/application-overrides.ts';
import type { Override } from '../../src/gen/api.ts';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }, { code: order, name: Order }]
permissions:
  - { code: invoice.read, type: tiered }
  - { code: invoice.approve, type: binary }
roles: [{ code: reader, permissions: { invoice.read: view } }]
admins: [nora@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
overrides:
  - { email: ben@example.com, resourceType: invoice, resourceId: "1", permission: invoice.read, granted: false }
  - { email: ben@example.com, resourceType: invoice, resourceId: "a/b c", permission: invoice.approve, granted: true }
  - { email: cleo@example.com, resourceType: invoice, resourceId: "1", permission: invoice.read, granted: true, accessLevel: view }
  - { email: cleo@example.com, resourceType: order, resourceId: "1", permission: invoice.read, granted: true }
`;
const OTHER = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
admins: [olga@example.com]
overrides: [{ email: ben@example.com, resourceType: order, resourceId: "1", permission: order.read, granted: true }]
`;
const AUTH = `
application: { code: auth, name: Administration }
permissions: [{ code: reports.read, type: binary }]
assignments:
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: lim@example.com, roles: [panel_admin] }
  - { email: view@example.com, roles: [application_manager] }
overrides:
  - { email: lim@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
  - { email: view@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
  - { email: zoe@example.com, resourceType: application, resourceId: billing, permission: reports.read, granted: true }
`;
const MANY = JSON.stringify({
  application: { code: 'many', name: 'Many' },
  permissions: ['a', 'b'].map((code) => ({ code, type: 'tiered' })),
  overrides: Array.from({ length: 600 }, (_, index) => ({
    email: `p${index % 40}@example.com`,
    resourceType: ['x', 'y', 'z'][index % 3],
    resourceId: `${Math.floor(index / 120)}`,
    permission: index % 2 === 0 ? 'a' : 'b',
    granted: index % 5 !== 0,
  })),
});
const PATH = '/api/applications/billing/overrides';
const DELETE = `${PATH}/delete`;

type Item = Omit<Override, 'createdAt'>;

const keyOf = ({ email, resourceType, resourceId, permission }: Item) => ({
  email,
  resourceType,
  resourceId,
  permission,
});
const textOf = (item: Item): string =>
  `${item.email.split('@')[0]} ${item.resourceType}:${item.resourceId} ${item.permission} ${item.accessLevel ?? 'denied'}`;

for (const kind of KINDS) {
  describe(`the overrides of an application (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, OTHER, AUTH, MANY]);
    const { root, audits, allowed } = registry;
    const nora = registry.as('nora');

    const list = async (query = ''): Promise<string[]> => {
      const { status, body } = await nora.get(`${PATH}${query}`);
      expect([query, status]).toEqual([query, 200]);
      return body.data.map(textOf).sort();
    };
    const pages = async (path: string, limit: number, query = ''): Promise<Item[]> => {
      const items: Item[] = [];
      for (let cursor = ''; ; ) {
        const { status, body } = await root.get(`${path}?limit=${limit}${cursor}${query}`);
        expect(status).toBe(200);
        expect(body.data.length).toBeLessThanOrEqual(limit);
        items.push(...body.data);
        if (body.page.nextCursor === null) return items;
        cursor = `&cursor=${body.page.nextCursor}`;
      }
    };
    const ben = { email: 'ben@example.com', resourceType: 'invoice', resourceId: '1', permission: 'invoice.read' };

    test('overrides are listed with every filter, alone and together', async () => {
      const [denied, approves] = ['ben invoice:1 invoice.read denied', 'ben invoice:a/b c invoice.approve allowed'];
      const [views, edits] = ['cleo invoice:1 invoice.read view', 'cleo order:1 invoice.read edit'];
      expect(await list()).toEqual([denied, approves, views, edits]);
      expect(await list('?email=Ben@Example.com')).toEqual([denied, approves]);
      expect(await list('?resourceType=invoice')).toEqual([denied, approves, views]);
      expect(await list('?resourceType=invoice&resourceId=1')).toEqual([denied, views]);
      expect(await list('?resourceType=invoice&resourceId=a%2Fb+c')).toEqual([approves]);
      expect(await list('?permission=invoice.approve')).toEqual([approves]);
      expect(await list('?permission=invoice.read&resourceType=order')).toEqual([edits]);
      expect(await list('?email=cleo@example.com&resourceType=invoice&resourceId=1&permission=invoice.read')).toEqual([
        views,
      ]);
      for (const none of ['email=nobody@example.com', 'permission=order.read', 'resourceType=nothing']) {
        expect(await list(`?${none}`)).toEqual([]);
      }
      const { body, headers } = await nora.get(`${PATH}?email=ben@example.com&permission=invoice.read`);
      expect(body).toEqual({
        success: true,
        data: [
          {
            ...ben,
            granted: false,
            accessLevel: null,
            createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
            startsAt: null,
            endsAt: null,
          },
        ],
        page: { nextCursor: null },
      });
      expect(headers.get('cache-control')).toBe('no-store');
    });

    test('pages of every size hold each override once, in one order', async () => {
      const path = '/api/applications/many/overrides';
      for (const query of [
        '',
        '&resourceType=y',
        '&permission=b',
        '&email=p7@example.com',
        '&resourceType=x&resourceId=2',
      ]) {
        const all = await pages(path, 200, query);
        expect(all.length).toBeGreaterThan(2);
        expect(new Set(all.map((item) => JSON.stringify(keyOf(item)))).size).toBe(all.length);
        for (const limit of [1, 7, 50]) {
          if (limit === 1 && all.length > 100) continue;
          expect(await pages(path, limit, query)).toEqual(all);
        }
      }
      const whole = await pages(path, 200);
      const distinct = new Set((JSON.parse(MANY).overrides as Item[]).map((item) => JSON.stringify(keyOf(item))));
      expect(whole).toHaveLength(distinct.size);
    });

    test('a malformed query is refused', async () => {
      const other = (await root.get('/api/users/p7@example.com/apps/many/resources?limit=1')).body.page.nextCursor;
      for (const query of [
        'limit=0',
        'limit=201',
        'cursor=x',
        `cursor=${other}`,
        'email=ben',
        'resourceType=Not+a+slug',
        'resourceType=',
        'resourceType=invoice&resourceId=',
        'permission=a::b',
        'q=x',
        'email=a@example.com&email=b@example.com',
      ]) {
        expect([query, ...outcome(await nora.get(`${PATH}?${query}`))]).toEqual([query, 400, 'VALIDATION_FAILED']);
      }
      expect(outcome(await nora.get(`${PATH}?resourceId=1`))).toEqual([400, 'INCOMPLETE_RESOURCE']);
    });

    test('overrides are deleted at once, and decide the next check', async () => {
      const record = { resourceType: 'invoice', resourceId: '1' };
      const path = '/api/users/ben@example.com/apps/billing/resources/invoice/7/permissions';
      const put = (): Promise<RestAnswer> =>
        nora.put(path, { permissions: [{ permission: 'invoice.approve', granted: true }] });
      expect((await put()).status).toBe(200);
      const overrides = [
        ben,
        { ...ben, email: 'BEN@example.com' },
        { ...ben, resourceId: '7', permission: 'invoice.approve' },
        { ...ben, resourceId: '2' },
        { ...ben, email: 'nobody@example.com' },
      ];
      expect(await allowed('ben@example.com', 'billing', 'invoice.read', record)).toBe(false);
      const dry = await nora.post(`${DELETE}?dryRun=true`, { overrides });
      expect([dry.status, dry.body.data]).toMatchObject([
        200,
        {
          result: { deleted: 2 },
          impact: {
            people: 1,
            gained: 1,
            lost: 1,
            changes: [
              { email: 'ben@example.com', permission: 'invoice.approve', resourceId: '7', from: 'allowed', to: null },
              { email: 'ben@example.com', permission: 'invoice.read', resourceId: '1', from: null, to: 'view' },
            ],
          },
        },
      ]);
      expect(await audits('override.removed', 'ben@example.com')).toEqual([]);
      // A write about somebody else does not make it STALE; one about the same person does.
      expect((await nora.put('/api/users/zoe@example.com/apps/billing/roles', { roles: ['reader'] })).status).toBe(200);
      const held = { 'usher-if-revision': dry.body.data.impact.revision };
      const done = await nora.post(DELETE, { overrides }, held);
      expect([done.status, done.body]).toEqual([200, { success: true, data: { deleted: 2 } }]);
      expect(done.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
      expect(await allowed('ben@example.com', 'billing', 'invoice.read', record)).toBe(true);
      expect(outcome(await nora.post(DELETE, { overrides }, held))).toEqual([412, 'STALE']);
      const records = await audits('override.removed', 'ben@example.com');
      expect(records).toHaveLength(2);
      expect(records).toContainEqual(
        expect.objectContaining({
          actor: 'user:nora@example.com',
          appCode: 'billing',
          before: { ...record, permission: 'invoice.read', granted: false, accessLevel: null },
          after: null,
        }),
      );
      for (const again of [overrides, []]) {
        const answer = await nora.post(DELETE, { overrides: again });
        expect([answer.status, answer.body.data]).toEqual([200, { deleted: 0 }]);
        expect(answer.headers.get('usher-revision')).toBe(done.headers.get('usher-revision'));
      }
      expect(await audits('override.removed', 'ben@example.com')).toHaveLength(2);
      expect((await list('?email=cleo@example.com')).length).toBe(2);
    });

    test('a malformed deletion, and one of an unknown permission, deletes nothing', async () => {
      const before = await list();
      const cleo = { ...ben, email: 'cleo@example.com' };
      const malformed: [unknown, string][] = [
        [{}, 'overrides'],
        [{ overrides: [cleo], dryRun: true }, 'dryRun'],
        [{ overrides: [{ ...cleo, email: 'cleo' }] }, 'overrides.0.email'],
        [{ overrides: [cleo, { ...cleo, resourceId: '' }] }, 'overrides.1.resourceId'],
        [{ overrides: [{ ...cleo, resourceType: null }] }, 'overrides.0.resourceType'],
        [{ overrides: [{ ...cleo, permission: 'a::b' }] }, 'overrides.0.permission'],
        [{ overrides: [{ ...cleo, granted: true }] }, 'overrides.0.granted'],
        [{ overrides: Array.from({ length: 1001 }, () => cleo) }, 'overrides'],
      ];
      for (const [body, at] of malformed) {
        const answer = await nora.post(DELETE, body);
        expect([at, ...outcome(answer)]).toEqual([at, 400, 'VALIDATION_FAILED']);
        expect(answer.body.details.issues[0].path).toBe(at);
      }
      // The nearest that the caller may see is named; `order.read` is another application's.
      for (const [permission, near] of [
        ['order.read', {}],
        ['invoice.raed', { known: 'invoice.read' }],
      ] as const) {
        const answer = await nora.post(DELETE, { overrides: [cleo, { ...cleo, permission }] });
        expect([answer.status, answer.body.details]).toEqual([
          400,
          { code: 'UNKNOWN_REFERENCE', path: 'overrides.1.permission', ...near },
        ]);
      }
      expect(await list()).toEqual(before);
    });

    test('concurrent deletions of the same overrides count each once, also beside a replacement', async () => {
      const overrides = (await pages('/api/applications/many/overrides', 200)).map(keyOf);
      const path = '/api/applications/many/overrides/delete';
      const answers = await Promise.all([
        root.post(path, { overrides }),
        root.post(path, { overrides: overrides.toReversed() }),
        root.put('/api/users/p1@example.com/apps/many/resources/w/1/permissions', {
          permissions: [{ permission: 'a', granted: true }],
        }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(answers.slice(0, 2).reduce((sum, { body }) => sum + body.data.deleted, 0)).toBe(overrides.length);
      expect((await pages('/api/applications/many/overrides', 200)).map(textOf)).toEqual(['p1 w:1 a edit']);
    });

    test('viewers read, editors delete, and everybody else learns nothing', async () => {
      const body = { overrides: [{ ...ben, email: 'cleo@example.com' }] };
      const before = await list();
      expect((await registry.as('view').get(PATH)).status).toBe(200);
      expect(outcome(await registry.as('view').post(DELETE, body))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      for (const name of ['ben', 'olga', 'lim']) {
        for (const answer of [await registry.as(name).get(PATH), await registry.as(name).post(DELETE, body)]) {
          expect([name, ...outcome(answer)]).toEqual([name, 403, 'NO_APPLICATION_LEVEL']);
        }
      }
      for (const rest of [await Rest.as(registry.usher), Rest.bearing(registry.usher, 'not-a-token')]) {
        expect([(await rest.get(PATH)).status, (await rest.post(DELETE, body)).status]).toEqual([401, 401]);
      }
      const nowhere = '/api/applications/nowhere/overrides';
      expect([(await root.get(nowhere)).status, (await root.post(`${nowhere}/delete`, body)).status]).toEqual([
        404, 404,
      ]);
      const actors = (await audits('override.removed.refused')).map(({ actor }) => actor);
      for (const name of ['view', 'ben', 'olga', 'lim']) expect(actors).toContain(`user:${name}@example.com`);
      const by = { caller: { email: 'ben@example.com' }, requestId: 'request-0001' };
      const inside = new ApplicationOverrides(registry.usher.app.database).delete('billing', body.overrides, by);
      await expect(inside).rejects.toMatchObject({ reason: 'NO_APPLICATION_LEVEL' });
      expect(await list()).toEqual(before);
    });

    test('managers of every application delete levels in `auth`, within their own', async () => {
      const path = '/api/applications/auth/overrides/delete';
      const level = { resourceType: 'application', resourceId: 'billing', permission: 'applications.manage' };
      const [own, others] = [
        { ...level, email: 'lim@example.com' },
        { ...level, email: 'view@example.com' },
      ];
      const reports = { ...level, email: 'zoe@example.com', permission: 'reports.read' };
      const [pat, lim] = [registry.as('pat'), registry.as('lim')];
      // Their own denial, and what somebody else holds on that application.
      for (const one of [own, others]) {
        expect(outcome(await lim.post(path, { overrides: [one] }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      }
      expect(outcome(await pat.post(path, { overrides: [others, reports] }))).toEqual([403, 'FORBIDDEN']);
      expect(outcome(await nora.post(path, { overrides: [others] }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      expect((await pat.post(path, { overrides: [others] })).body.data).toEqual({ deleted: 1 });
      expect((await root.post(path, { overrides: [reports, own] })).body.data).toEqual({ deleted: 2 });
    });
  });
}
