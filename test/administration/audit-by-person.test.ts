import { describe, expect, test } from '@jest/globals';
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

interface Row {
  action: string;
  appCode: string | null;
  before: unknown;
  after: unknown;
}

for (const kind of ['postgresql', 'pglite'] as const) {
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
