import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import type { Rest } from '../support/rest.ts';

const APPS = '/api/applications';
const application = (code: string, name: string, more = '') => `application: { code: ${code}, name: ${name} }\n${more}`;
const ROLES = 'roles: [{ code: reader }, { code: writer }]\nadmins: [nora@example.com]';
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: eve@example.com, roles: [application_manager] }]
overrides:
  - { email: eve@example.com, resourceType: application, resourceId: shop, permission: applications.manage, granted: true }
  - { email: eve@example.com, resourceType: application, resourceId: crm, permission: applications.manage, granted: true }
`;

for (const kind of KINDS) {
  describe(`pages of applications (${kind})`, () => {
    const registry = useRegistry(kind, [
      application('billing', 'Zoo', ROLES),
      application('shop', 'apples', 'roles: [{ code: reader }]'),
      application('crm', 'Bears'),
      PANEL,
    ]);
    const { root } = registry;

    /** The codes of each page. */
    async function pagesOf(who: Rest, query: string): Promise<string[][]> {
      const pages: string[][] = [];
      let cursor = '';
      do {
        const { status, body } = await who.get(`${APPS}?${query}${cursor}`);
        expect(status).toBe(200);
        pages.push(body.data.map(({ code }: { code: string }) => code));
        cursor = body.page.nextCursor === null ? '' : `&cursor=${body.page.nextCursor}`;
      } while (cursor !== '');
      return pages;
    }

    test('the list comes whole, by code and without a page, unless one is asked for', async () => {
      const { body } = await root.get(APPS);
      expect(body.data.map(({ code }: { code: string }) => code)).toEqual(['auth', 'billing', 'crm', 'shop']);
      expect(Object.keys(body)).toEqual(['success', 'data']);
      const searched = await root.get(`${APPS}?q=bear`);
      expect([Object.keys(searched.body), searched.body.data]).toEqual([['success', 'data'], [body.data[2]]]);
      expect((await root.get(`${APPS}?limit=200`)).body).toEqual({ ...body, page: { nextCursor: null } });
    });

    test('each order has every application once, whatever the size of its pages', async () => {
      const orders = {
        code: ['auth', 'billing', 'crm', 'shop'],
        name: ['auth', 'shop', 'crm', 'billing'],
        updatedAt: ['crm', 'shop', 'billing', 'auth'],
        roles: ['auth', 'billing', 'shop', 'crm'],
        people: ['auth', 'billing', 'crm', 'shop'],
        admins: ['billing', 'auth', 'crm', 'shop'],
      };
      for (const code of ['billing', 'shop', 'crm']) await root.put(`${APPS}/${code}`, { description: `Of ${code}.` });
      for (const [order, expected] of Object.entries(orders)) {
        for (const limit of [1, 3, 4]) {
          expect([order, (await pagesOf(root, `sort=${order}&limit=${limit}`)).flat()]).toEqual([order, expected]);
        }
      }
      expect(await pagesOf(root, 'limit=3')).toEqual([['auth', 'billing', 'crm'], ['shop']]);
    });

    test('a search finds code, name and description as text, ignoring case', async () => {
      for (const [q, found] of [
        ['ZOO', ['billing']],
        ['of crm.', ['crm']],
        ['shop', ['shop']],
        ['%', []],
        ['_', []],
      ] as const) {
        expect([q, (await pagesOf(root, `limit=1&q=${encodeURIComponent(q)}`)).flat()]).toEqual([q, found]);
      }
    });

    test('pages hold what the caller may view', async () => {
      expect((await pagesOf(registry.as('eve'), 'limit=1&sort=name')).flat()).toEqual(['shop', 'crm']);
      expect((await pagesOf(registry.as('eve'), 'limit=1&sort=roles')).flat()).toEqual(['shop', 'crm']);
      expect(await pagesOf(registry.as('nora'), 'limit=5')).toEqual([['billing']]);
      expect(outcome(await registry.as('visitor').get(`${APPS}?limit=5`))).toEqual([403, 'FORBIDDEN']);
    });

    test('a cursor of another order or list, and a limit outside the range, are refused', async () => {
      const { nextCursor } = (await root.get(`${APPS}?limit=1&sort=name`)).body.page;
      const users = (await root.get('/api/users?limit=1')).body.page.nextCursor;
      for (const query of [
        `cursor=${nextCursor}`,
        `sort=code&cursor=${nextCursor}`,
        `cursor=${users}`,
        'cursor=x',
        'limit=0',
        'limit=201',
        'sort=size',
      ]) {
        expect([query, (await root.get(`${APPS}?${query}`)).status]).toEqual([query, 400]);
      }
      expect((await root.get(`${APPS}?sort=name&cursor=${nextCursor}`)).body.data).toHaveLength(3);
    });

    test('a page that is unchanged is not sent again', async () => {
      const first = await root.get(`${APPS}?limit=2`);
      const again = await root.get(`${APPS}?limit=2`, { 'if-none-match': first.headers.get('etag') ?? '' });
      expect(again.status).toBe(304);
    });
  });
}
