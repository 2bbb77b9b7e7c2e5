import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';

const BILLING = `
application: { code: billing, name: Billing }
permissions:
  - { code: invoice, type: binary }
  - { code: invoice.read, type: tiered, description: Reads. }
  - { code: old.Invoice, type: binary }
roles: [{ code: invoice-reader }, { code: reader }, { code: proof-reader, description: Reads twice. }]
admins: [nora@example.com]
assignments:
  - { email: eva@example.com, roles: [reader] }
  - { email: eva@example.com.org, roles: [reader] }
  - { email: medieva@example.com, roles: [reader] }
  - { email: jan@example.com, roles: [reader] }
`;
const SHOP = `
application: { code: shop, name: The Invoice Shop }
permissions: [{ code: invoice.shop, type: binary }]
roles: [{ code: reader }]
admins: [olga@example.com]
assignments: [{ email: evan@example.com, roles: [reader] }]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: pat@example.com, roles: [panel_admin] }, { email: iva@example.com, roles: [application_manager] }]
overrides:
  - { email: pat@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
`;

for (const kind of KINDS) {
  describe(`search (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, SHOP, PANEL]);
    let named: Promise<unknown> | undefined;
    const search = async (q: string, who = 'admin') => {
      named ??= registry.usher.app.database.change(async (tx) => {
        await sql`insert into profile (person_id, display_name)
          select p.id, n.name from (values ('jan', 'Eva'), ('medieva', 'Žofie 100%_Evans')) as n (who, name)
            join person p on p.email = n.who || '@example.com'`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
      await named;
      const { status, body } = await registry.as(who).get(`/api/search?q=${encodeURIComponent(q)}`);
      expect([q, status]).toEqual([q, 200]);
      const codes = (rows: { appCode: string; code: string }[]) =>
        rows.map(({ appCode, code }) => `${appCode}:${code}`);
      return {
        people: body.data.people.map(({ email }: { email: string }) => email),
        applications: body.data.applications.map(({ code }: { code: string }) => code),
        roles: codes(body.data.roles),
        permissions: codes(body.data.permissions),
      };
    };

    test('matches are ranked: exact, then by the beginning, then contained', async () => {
      expect((await search('eva@example.com')).people).toEqual([
        'eva@example.com',
        'eva@example.com.org',
        'medieva@example.com',
      ]);
      expect((await search('EVA')).people).toEqual([
        // By the name, which is just that.
        'jan@example.com',
        'eva@example.com',
        'eva@example.com.org',
        'evan@example.com',
        'medieva@example.com',
      ]);
      expect((await search('reader')).roles).toEqual([
        'billing:reader',
        'shop:reader',
        'billing:invoice-reader',
        'billing:proof-reader',
      ]);
      expect(await search('Invoice')).toEqual({
        people: [],
        applications: ['shop'],
        roles: ['billing:invoice-reader'],
        permissions: ['billing:invoice', 'billing:invoice.read', 'shop:invoice.shop', 'billing:old.Invoice'],
      });
      expect((await search('b')).applications).toEqual(['billing']);
      expect((await search('in')).permissions.slice(0, 3)).toEqual([
        'billing:invoice',
        'billing:invoice.read',
        'shop:invoice.shop',
      ]);
    });

    test('an answer holds the records, at most five of each kind', async () => {
      const { body } = await registry.root.get('/api/search?q=invoice.read');
      expect(body).toEqual({
        success: true,
        data: {
          people: [],
          applications: [],
          roles: [],
          permissions: [
            { appCode: 'billing', id: expect.any(Number), code: 'invoice.read', description: 'Reads.', type: 'tiered' },
          ],
        },
      });
      const found = await search('e');
      expect(found.people).toHaveLength(5);
      const person = (await registry.root.get('/api/search?q=medieva')).body.data.people[0];
      expect(person).toEqual({ email: 'medieva@example.com', displayName: 'Žofie 100%_Evans', active: true });
    });

    test('the text is taken literally', async () => {
      for (const q of ['100%_', 'Žofie', 'evans']) expect((await search(q)).people).toEqual(['medieva@example.com']);
      expect(await search('_')).toMatchObject({
        people: ['medieva@example.com'],
        roles: ['auth:application_manager', 'auth:panel_admin'],
        permissions: [],
      });
      for (const q of ['100_', "'", '\\', ':*', "' | 'a", 'e.a@', '🎈']) {
        expect([q, await search(q)]).toEqual([q, { people: [], applications: [], roles: [], permissions: [] }]);
      }
    });

    test('everybody finds what they may see, and nothing else', async () => {
      expect(await search('reader', 'nora')).toMatchObject({
        roles: ['billing:reader', 'billing:invoice-reader', 'billing:proof-reader'],
      });
      expect(await search('eva', 'olga')).toEqual({
        people: ['evan@example.com'],
        applications: [],
        roles: [],
        permissions: [],
      });
      expect(await search('invoice', 'olga')).toMatchObject({
        applications: ['shop'],
        permissions: ['shop:invoice.shop'],
      });
      // They see every application but billing, which an override denies them.
      expect(await search('invoice', 'pat')).toMatchObject({
        applications: ['shop'],
        roles: [],
        permissions: ['shop:invoice.shop'],
      });
      expect((await search('pat@', 'pat')).people).toEqual(['pat@example.com']);
      expect((await search('medieva@example.com', 'pat')).people).toEqual([]);
      expect((await search('panel', 'nora')).permissions).toEqual([]);
      expect((await search('panel', 'pat')).permissions).toEqual(['auth:panel.access']);
      expect(await search('e', 'iva')).toEqual({ people: [], applications: [], roles: [], permissions: [] });
    });

    test('search is refused to people without a level, and for a text that is missing or too long', async () => {
      expect(outcome(await registry.as('eva').get('/api/search?q=a'))).toEqual([403, 'FORBIDDEN']);
      for (const query of [
        '',
        '?q=',
        `?q=${'x'.repeat(65)}`,
        '?q=a&q=b',
        '?q=a%00',
        '?q=%01a',
        '?q=a&limit=5',
        '?text=a',
      ]) {
        expect([query, outcome(await registry.root.get(`/api/search${query}`))]).toEqual([
          query,
          [400, 'VALIDATION_FAILED'],
        ]);
      }
      expect((await registry.root.get(`/api/search?q=${encodeURIComponent('🎈'.repeat(64))}`)).status).toBe(200);
    });
  });
}
