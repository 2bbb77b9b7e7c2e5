import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../../support/databases.ts';
import { outcome, useRegistry } from '../../support/registry.ts';
import type { RestAnswer } from '../../support/rest.ts';

/** Windows of grants in manifests (docs/reference/time.md#manifests). */

const DAY = 86_400_000;
const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
const LATER = at(9 * DAY);
const SOON = at(3 * DAY);

const file = (app: string, people: string): string => `
application: { code: ${app}, name: Shop }
permissions: [{ code: pages, type: tiered }]
roles:
  - { code: reader, permissions: { pages: view } }
  - { code: writer, permissions: { pages: edit } }
${people}`;

const PEOPLE = `
admins: [nora@example.com, { email: olaf@example.com, endsAt: "${LATER}" }]
assignments:
  - { email: ada@example.com, roles: [reader, { role: writer, startsAt: "${SOON}", endsAt: "${LATER}" }] }
overrides:
  - { email: ada@example.com, resourceType: page, resourceId: "1", permission: pages, granted: false, endsAt: "${LATER}" }
`;

for (const kind of KINDS) {
  describe(`windows in manifests (${kind})`, () => {
    const registry = useRegistry(kind, []);
    const { root } = registry;
    const apply = async (text: string, query = ''): Promise<RestAnswer> => {
      const { usher } = registry;
      const response = await fetch(`${usher.rest}/api/manifests/apply${query}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await usher.token('admin@example.com')}`,
          'content-type': 'application/yaml',
        },
        body: text,
      });
      return { status: response.status, headers: response.headers, body: await response.json() };
    };
    const exportOf = async (app: string) =>
      (await root.get(`/api/applications/${app}/manifest`, { accept: 'application/json' })).body.data;

    /** As time would, some rows wait for their removal. */
    const end = async (app: string): Promise<void> => {
      await registry.usher.app.database.change(async ({ kysely }) => {
        for (const table of ['user_role', 'app_admin', 'resource_override']) {
          await sql`update ${sql.table(table)} set starts_at = null, ends_at = statement_timestamp() - interval '1 ms'
            where ends_at is not null and application_id = (select id from application where code = ${app})`.execute(
            kysely,
          );
        }
        return { result: null, scopes: ['*'] };
      });
    };

    test('windows are applied once, exported, and applied again without a change', async () => {
      const text = file('shop', PEOPLE);
      const first = await apply(text);
      expect([first.status, first.body.data.summary]).toMatchObject([200, { change: 0, remove: 0 }]);
      const again = await apply(text, '?prune=true');
      expect(again.body.data.summary).toMatchObject({ create: 0, change: 0, remove: 0 });
      expect(again.body.data.ended).toBeUndefined();
      const { data } = (await root.get('/api/users/ada@example.com/apps/shop/roles')).body;
      expect(data).toMatchObject([
        { code: 'reader', startsAt: null, endsAt: null },
        { code: 'writer', startsAt: SOON, endsAt: LATER },
      ]);
      const exported = await exportOf('shop');
      expect(exported).toMatchObject({
        admins: ['nora@example.com', { email: 'olaf@example.com', endsAt: LATER }],
        assignments: [
          { email: 'ada@example.com', roles: ['reader', { role: 'writer', startsAt: SOON, endsAt: LATER }] },
        ],
        overrides: [{ email: 'ada@example.com', permission: 'pages', granted: false, endsAt: LATER }],
      });
      const back = await apply(JSON.stringify(exported), '?prune=true');
      expect(back.body.data.summary).toMatchObject({ create: 0, change: 0, remove: 0 });
    });

    test('another window is a change, and a code alone has none', async () => {
      await apply(file('other', PEOPLE));
      const changed = await apply(file('other', 'assignments: [{ email: ada@example.com, roles: [writer] }]'));
      expect(changed.body.data.summary).toMatchObject({ create: 0, change: 1, remove: 0 });
      expect(changed.body.data.changes).toEqual([
        {
          action: 'change',
          kind: 'assignment',
          key: 'ada@example.com:writer',
          before: { email: 'ada@example.com', role: 'writer', startsAt: SOON, endsAt: LATER },
          after: { email: 'ada@example.com', role: 'writer' },
        },
      ]);
      expect(await registry.allowed('ada@example.com', 'other', 'pages', { accessLevel: 'edit' })).toBe(true);
      expect(await registry.audits('assignment.changed', 'ada@example.com')).toMatchObject([
        { before: { role: 'writer', endsAt: LATER }, after: { role: 'writer' } },
      ]);
    });

    test('an item whose time is over is no assignment: it is named, and the same file changes nothing each night', async () => {
      const past = PEOPLE.replaceAll(LATER, at(-DAY)).replaceAll(SOON, at(-2 * DAY));
      const text = file('nightly', past);
      await apply(file('nightly', PEOPLE));
      await end('nightly');
      for (const query of ['', '?prune=true', '?prune=true&dryRun=true']) {
        const { data } = (await apply(text, query)).body;
        expect(data.summary).toMatchObject({ create: 0, change: 0, remove: 0 });
        expect(data.ended).toEqual([
          { kind: 'admin', key: 'olaf@example.com' },
          { kind: 'assignment', key: 'ada@example.com:writer' },
          { kind: 'override', key: 'ada@example.com:pages:page:1' },
        ]);
      }
      const exported = await exportOf('nightly');
      expect([exported.admins, exported.assignments, exported.overrides]).toEqual([
        ['nora@example.com'],
        [{ email: 'ada@example.com', roles: ['reader'] }],
        [],
      ]);
      // The rows that wait for their removal give way to what is given anew.
      const anew = await apply(file('nightly', PEOPLE));
      expect(anew.body.data.summary).toMatchObject({ create: 3, change: 0, remove: 0 });
    });

    test('prune takes away what the file says is over', async () => {
      await apply(file('pruned', PEOPLE));
      const text = file('pruned', PEOPLE.replaceAll(LATER, at(-DAY)).replaceAll(SOON, at(-2 * DAY)));
      expect((await apply(text)).body.data.summary).toMatchObject({ change: 0, remove: 0 });
      expect((await apply(text, '?prune=true')).body.data.summary).toMatchObject({ create: 0, change: 0, remove: 3 });
    });

    test('a window that is turned round, or no time, is refused with line and column', async () => {
      const turned = await apply(
        file(
          'wrong',
          `assignments:\n  - { email: ada@example.com, roles: [{ role: reader, startsAt: "${LATER}", endsAt: "${SOON}" }] }\n`,
        ),
      );
      expect(outcome(turned)).toEqual([400, 'VALIDATION_FAILED']);
      expect(turned.body.details.issues).toEqual([
        expect.objectContaining({
          path: 'assignments.0.roles.0.endsAt',
          message: expect.stringMatching(/must be after startsAt.*|line \d+/),
        }),
      ]);
      expect(JSON.stringify(turned.body.details.issues)).toMatch(/"line":8,"column":\d+/);
      const noZone = await apply(
        file(
          'wrong',
          'assignments: [{ email: ada@example.com, roles: [{ role: reader, endsAt: "2027-02-30T00:00:00" }] }]',
        ),
      );
      expect(noZone.body.details.issues).toMatchObject([{ path: 'assignments.0.roles.0.endsAt' }]);
      const twice = await apply(
        file(
          'wrong',
          `assignments: [{ email: ada@example.com, roles: [reader, { role: reader, endsAt: "${SOON}" }] }]`,
        ),
      );
      expect(twice.body.details.issues).toMatchObject([{ path: 'assignments.0.roles.1' }]);
    });

    test('while the upgrade is unfinished a file with a new window is refused, and one that clears goes through', async () => {
      const setRules = (rules: number) =>
        registry.usher.app.database.change(async ({ kysely }) => {
          await sql`update setting set value = to_jsonb(${rules}::int) where key = 'rules'`.execute(kysely);
          return { result: null, scopes: [] };
        });
      await apply(file('rules', PEOPLE));
      await setRules(1);
      try {
        expect((await apply(file('rules', PEOPLE))).status).toBe(200);
        expect(outcome(await apply(file('rules', PEOPLE.replaceAll(LATER, at(8 * DAY)))))).toEqual([
          409,
          'UPGRADE_UNFINISHED',
        ]);
        const cleared = await apply(file('rules', 'assignments: [{ email: ada@example.com, roles: [writer] }]'));
        expect(cleared.body.data.summary).toMatchObject({ change: 1 });
      } finally {
        await setRules(2);
      }
    });
  });
}
