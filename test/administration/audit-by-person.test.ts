import { describe, expect, test } from '@jest/globals';
import type { AuditRecord } from '../../src/gen/api.ts';
import { recordAll } from '../../src/persistence/audit.ts';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: tiered }, { code: invoice.pay, type: binary }]
roles: [{ code: reader, permissions: { invoice.read: view } }, { code: payer }]
admins: [clara@example.com]
assignments: [{ email: clara@example.com, roles: [reader, payer] }]
overrides:
  - { email: clara@example.com, resourceType: invoice, resourceId: "a:1", permission: invoice.read, granted: true, accessLevel: edit }
  - { email: clara@example.com, resourceType: invoice, resourceId: "a:1", permission: invoice.pay, granted: false }
`;
const EMPTY = 'application: { code: billing, name: Billing }\nadmins: []\nassignments: []\noverrides: []';

type Row = Pick<AuditRecord, 'action' | 'appCode' | 'before' | 'after'>;

for (const kind of KINDS) {
  describe(`audit records by person (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST]);
    const { root } = registry;
    const about = async (email: string): Promise<Row[]> => {
      const answer = await root.get(`/api/admin/audit?subject=${encodeURIComponent(email)}&limit=200`);
      return answer.body.data
        .toReversed()
        .map(({ action, appCode, before, after }: Row) => ({ action, appCode, before, after }));
    };

    test('a filter by person finds one record for each grant and removal of a manifest, with before and after', async () => {
      const read = {
        resourceType: 'invoice',
        resourceId: 'a:1',
        permission: 'invoice.read',
        granted: true,
        accessLevel: 'edit',
      };
      const pay = {
        resourceType: 'invoice',
        resourceId: 'a:1',
        permission: 'invoice.pay',
        granted: false,
        accessLevel: null,
      };
      const things: [string, unknown][] = [
        ['admin', null],
        ['assignment', { role: 'payer' }],
        ['assignment', { role: 'reader' }],
        ['override', pay],
        ['override', read],
      ];
      const sorted = (rows: Row[]) => rows.map((row) => JSON.stringify(row)).sort();
      const made = things.map(([thing, after]) => ({
        action: `${thing}.created`,
        appCode: 'billing',
        before: null,
        after,
      }));
      const stored = sorted(await about('clara@example.com'));
      expect(stored.map((row) => JSON.parse(row))).toEqual(
        expect.arrayContaining(made.map((row) => expect.objectContaining(row))),
      );
      expect(stored).toHaveLength(made.length);
      await registry.usher.app.manifests.apply(EMPTY, { actor: 'cli', prune: true });
      const removed = (await about('clara@example.com')).slice(made.length);
      expect(removed).toHaveLength(things.length);
      for (const [thing, before] of things) {
        expect(removed).toContainEqual({ action: `${thing}.removed`, appCode: 'billing', before, after: null });
      }
    });

    test('a filter by person finds each person of a manifest with more than a hundred steps', async () => {
      const people = Array.from({ length: 150 }, (_, index) => `crowd${index}@example.com`);
      const assignments = people.map((email) => `  - { email: ${email}, roles: [reader] }`).join('\n');
      const roles = Array.from({ length: 120 }, (_, index) => `  - { code: role-${index} }`).join('\n');
      await registry.usher.app.manifests.apply(
        `application: { code: billing }\nroles:\n  - { code: reader }\n${roles}\nassignments:\n${assignments}`,
        { actor: 'cli' },
      );
      for (const email of [people[0], people[75], people[149]] as string[]) {
        expect(await about(email)).toEqual([
          { action: 'assignment.created', appCode: 'billing', before: null, after: { role: 'reader' } },
        ]);
      }
      const listed = (await registry.audits('manifest.listed')) as unknown as {
        after: { changes: { kind: string }[] };
      }[];
      expect(new Set(listed.flatMap(({ after }) => after.changes.map((change) => change.kind)))).toEqual(
        new Set(['role']),
      );
    });

    test('a filter by person finds every administrative write about them', async () => {
      const email = 'dora@example.com';
      const person = `/api/users/${email}`;
      const member = `${person}/apps/billing`;
      await registry.as('dora').get('/api/profile/me');
      const writes: [string, () => Promise<{ status: number }>][] = [
        ['app_admin.added', () => root.post('/api/users/admins/apps/billing', { email })],
        ['app_admin.removed', () => root.delete(`/api/users/admins/apps/billing/${email}`)],
        ['superadmin.added', () => root.post('/api/users/admins/super', { email })],
        ['superadmin.removed', () => root.delete(`/api/users/admins/super/${email}`)],
        ['user_roles.replaced', () => root.put(`${member}/roles`, { roles: ['reader'] })],
        ['assignment.created', () => root.post(`${member}/roles`, { role: 'payer' })],
        ['assignment.removed', () => root.delete(`${member}/roles/payer`)],
        [
          'override.replaced',
          () =>
            root.put(`${member}/resources/invoice/1/permissions`, {
              permissions: [{ permission: 'invoice.pay', granted: true }],
            }),
        ],
        ['preferences.changed', () => root.put(`${member}/preferences`, { showHelp: false })],
        ['user.blocked', () => root.put(`${person}/active`, { active: false })],
        ['user.unblocked', () => root.put(`${person}/active`, { active: true })],
        ['user.subject_cleared', () => root.delete(`${person}/subject`)],
      ];
      for (const [action, write] of writes)
        expect([action, Math.floor((await write()).status / 100)]).toEqual([action, 2]);
      expect((await about(email)).map(({ action }) => action)).toEqual(writes.map(([action]) => action));
    });

    describe('the person, the action and the text', () => {
      const SHOP = 'application: { code: shop, name: Shop }\nadmins: [olga@example.com]';
      const found = async (query: string, path = '/api/admin/audit', by = root) => {
        const { status, body } = await by.get(`${path}?limit=200&${query}`);
        expect([query, status]).toEqual([query, 200]);
        return body.data
          .map(({ action, subject, actor }: Record<string, string>) => [action, subject, actor])
          .toReversed();
      };
      let made: Promise<unknown> | undefined;
      /** Writes about Eva, by her, and one as an earlier version recorded it. */
      const world = (): Promise<unknown> => {
        made ??= (async () => {
          await registry.usher.app.manifests.apply(SHOP, { actor: 'cli' });
          await root.post('/api/users/admins/apps/billing', { email: 'eva@example.com' });
          await registry.as('eva').post('/api/users/admins/apps/billing', { email: 'fred@example.com' });
          await root.post('/api/users/admins/apps/shop', { email: 'eva@example.com' });
          await registry.usher.app.database.change(async (tx) => {
            const records = ['eva@example.com', 'eva@example.com.org'].map((email) => ({
              actor: 'cli',
              action: 'override.created',
              appCode: 'billing',
              subject: `${email}:document.access:document:contract-77`,
              after: { note: 'A "quoted" 100% note' },
            }));
            await recordAll(tx, records);
            return { result: null, scopes: [] };
          });
        })();
        return made;
      };
      const OLD = ['override.created', 'eva@example.com:document.access:document:contract-77', 'cli'];
      const OF_BILLING = [
        ['app_admin.added', 'eva@example.com', 'user:admin@example.com'],
        ['app_admin.added', 'fred@example.com', 'user:eva@example.com'],
      ];

      test('a person is found as the subject, as the actor, and in a subject that names a thing as well', async () => {
        await world();
        const ofShop = ['app_admin.added', 'eva@example.com', 'user:admin@example.com'];
        expect(await found('person=EVA@Example.com')).toEqual([...OF_BILLING, ofShop, OLD]);
        expect(await found('person=eva@example.com.org')).toHaveLength(1);
        expect(await found('person=eva@example.com', '/api/applications/billing/audit', registry.as('fred'))).toEqual([
          ...OF_BILLING,
          OLD,
        ]);
        expect(await found('person=eva@example.com', '/api/applications/shop/audit', registry.as('olga'))).toEqual([
          ofShop,
        ]);
        expect(await found('person=eva@example.com&actionPrefix=override')).toEqual([OLD]);
        expect(await found('person=eva@example.com&action=app_admin.added&appCode=shop')).toEqual([ofShop]);
      });

      test('actions are found by their beginning, and records by any text in them', async () => {
        await world();
        const actions = (await found('actionPrefix=app_admin.')).map(([action]: string[]) => action);
        expect(actions).toContain('app_admin.added');
        for (const action of actions) expect(action).toMatch(/^app_admin\./);
        for (const text of ['CONTRACT-77', '"quoted"', '100%', 'a "q', 'com:document.access']) {
          const query = `q=${encodeURIComponent(text)}&person=eva@example.com`;
          expect([text, await found(query)]).toEqual([text, [OLD]]);
        }
        for (const text of ['100_', 'contract%', '\\', 'nothing of that']) {
          expect([text, await found(`q=${encodeURIComponent(text)}`)]).toEqual([text, []]);
        }
        expect(await found('q=fred', '/api/applications/billing/audit', registry.as('fred'))).toEqual([OF_BILLING[1]]);
        expect(await found('q=fred', '/api/applications/shop/audit', registry.as('olga'))).toEqual([]);
      });

      test('a malformed person and an empty filter are refused', async () => {
        const empty = ['person=', 'actionPrefix=', 'actor=', 'subject=', 'action='];
        for (const query of ['person=eva', ...empty, 'q=a%00b', 'person=a@b.cz&person=c@b.cz']) {
          for (const path of ['/api/admin/audit', '/api/applications/billing/audit']) {
            expect([query, (await root.get(`${path}?${query}`)).status]).toEqual([query, 400]);
          }
        }
        for (const code of ['', 'Billing', 'a b']) {
          expect([code, (await root.get(`/api/admin/audit?appCode=${code}`)).status]).toEqual([code, 400]);
        }
      });
    });

    test('a filter by person finds refused writes about them', async () => {
      const email = 'refused@example.com';
      const plain = registry.as('plain');
      const member = `/api/users/Refused@Example.com/apps/billing`;
      await plain.put(`${member}/roles`, { roles: ['reader'] });
      await plain.post(`${member}/roles`, { role: 'reader' });
      await plain.put(`/api/users/${email}/active`, { active: false });
      await plain.delete(`/api/users/admins/super/${email}`);
      expect((await about(email)).map(({ action }) => action)).toEqual([
        'user_roles.replaced.refused',
        'assignment.created.refused',
        expect.stringMatching(/^user\..*\.refused$/),
        'superadmin.removed.refused',
      ]);
    });
  });
}
