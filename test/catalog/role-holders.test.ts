import { describe, expect, test } from '@jest/globals';
import { Assignments } from '../../src/catalog/assignments.ts';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest } from '../support/rest.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: tiered }]
roles:
  - { code: reader, permissions: { invoice.read: view } }
  - { code: writer, permissions: { invoice.read: edit } }
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
const AUTH = `
application: { code: auth, name: Administration }
roles: [{ code: reporter }]
assignments:
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: lim@example.com, roles: [panel_admin] }
  - { email: view@example.com, roles: [application_manager] }
overrides:
  - { email: lim@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
  - { email: view@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
`;
const STALE = [412, 'STALE'];

for (const kind of KINDS) {
  describe(`a role of many people (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, OTHER, AUTH]);
    const { root, audits, allowed } = registry;
    const nora = registry.as('nora');

    const idOf = async (code: string, app = 'billing'): Promise<number> => {
      const { data } = (await root.get(`/api/applications/${app}/roles`)).body;
      return data.find((role: { code: string }) => role.code === code).id;
    };
    const pathOf = async (code: string, app = 'billing'): Promise<string> =>
      `/api/applications/${app}/roles/${await idOf(code, app)}/users`;
    const rolesOf = async (email: string, app = 'billing'): Promise<string[]> => {
      const { data } = (await root.get(`/api/users/${email}/apps/${app}/roles`)).body;
      return data.map(({ code }: { code: string }) => code);
    };
    const isKnown = (email: string): Promise<boolean> =>
      registry.usher.app.database.read(async (tx) => {
        const rows = await tx.kysely.selectFrom('person').select('id').where('email', '=', email).execute();
        return rows.length > 0;
      });

    test('a role is given to some and taken from others at once, and their other roles stay', async () => {
      const path = await pathOf('reader');
      const body = {
        add: ['New.One@example.com', 'new-two@example.com', 'cleo@example.com'],
        remove: ['ben@example.com'],
      };
      expect(await allowed('ben@example.com', 'billing', 'invoice.read')).toBe(true);
      const answer = await nora.post(path, body);
      expect([answer.status, answer.body]).toEqual([200, { success: true, data: { added: 2, removed: 1 } }]);
      expect(answer.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
      expect(await allowed('new.one@example.com', 'billing', 'invoice.read')).toBe(true);
      expect(await allowed('ben@example.com', 'billing', 'invoice.read')).toBe(false);
      expect(await rolesOf('cleo@example.com')).toEqual(['reader', 'writer']);
      const by = { actor: 'user:nora@example.com', appCode: 'billing' };
      expect(await audits('assignment.created', 'new.one@example.com')).toMatchObject([
        { ...by, before: null, after: { role: 'reader' } },
      ]);
      expect(await audits('assignment.removed', 'ben@example.com')).toMatchObject([
        { ...by, before: { role: 'reader' }, after: null },
      ]);
      // Cleo held it already, by the manifest.
      const ofCleo = await audits('assignment.created', 'cleo@example.com');
      expect(ofCleo.map(({ actor }) => actor)).toEqual(['cli', 'cli']);

      // The same again changes nothing, and neither do empty lists.
      for (const same of [body, { add: [] }, { remove: [] }, { add: [], remove: ['stranger@example.com'] }]) {
        const again = await nora.post(path, same);
        expect([again.status, again.body.data]).toEqual([200, { added: 0, removed: 0 }]);
        expect(again.headers.get('usher-revision')).toBe(answer.headers.get('usher-revision'));
      }
      expect(await isKnown('stranger@example.com')).toBe(false);
      expect((await audits('assignment.created', 'new.one@example.com')).length).toBe(1);
      expect((await nora.post(path, { add: ['ben@example.com'], remove: body.add.slice(0, 2) })).body.data).toEqual({
        added: 1,
        removed: 2,
      });
    });

    test('an address that is sent twice counts once, and in both lists is refused', async () => {
      const path = await pathOf('writer');
      const twice = await nora.post(path, { add: ['twice@example.com', ' TWICE@example.com'] });
      expect(twice.body.data).toEqual({ added: 1, removed: 0 });
      const both = await nora.post(path, {
        add: ['a@example.com', 'b@example.com'],
        remove: ['x@example.com', 'B@example.com'],
      });
      expect([...outcome(both), both.body.details.issues[0].path]).toEqual([400, 'VALIDATION_FAILED', 'remove.1']);
      expect(await isKnown('a@example.com')).toBe(false);
    });

    test('a malformed body is refused with the place of the fault', async () => {
      const path = await pathOf('reader');
      const many = Array.from({ length: 501 }, (_, index) => `m${index}@example.com`);
      const others = many.map((email) => `o${email}`);
      const malformed: [unknown, string][] = [
        [{}, 'add'],
        [{ add: 'ben@example.com' }, 'add'],
        [{ add: ['ben@example.com', 'ben'] }, 'add.1'],
        [{ remove: [null] }, 'remove.0'],
        [{ add: null }, 'add'],
        [{ add: [], emails: [] }, 'emails'],
        [{ add: many, remove: others.slice(0, 500) }, 'remove'],
        [{ add: [...many, ...others] }, 'add'],
      ];
      for (const [body, at] of malformed) {
        const answer = await nora.post(path, body);
        expect([at, ...outcome(answer)]).toEqual([at, 400, 'VALIDATION_FAILED']);
        expect(answer.body.details.issues[0].path).toBe(at);
      }
      expect((await nora.post(path)).status).toBe(400);
      expect((await nora.post(`${path}?q=x`, { add: [] })).status).toBe(400);
      expect(await isKnown('m1@example.com')).toBe(false);
    });

    test('a thousand people are given a role, and lose it, in one write each', async () => {
      const path = await pathOf('writer');
      const crowd = Array.from({ length: 1000 }, (_, index) => `crowd${index}@example.com`);
      const [first = '', last = ''] = [crowd[0], crowd.at(-1)];
      const given = await nora.post(path, { add: crowd });
      expect([given.status, given.body.data]).toEqual([200, { added: 1000, removed: 0 }]);
      for (const email of [first, last]) expect(await allowed(email, 'billing', 'invoice.read')).toBe(true);
      const dry = await nora.post(`${path}?dryRun=true`, { remove: crowd });
      expect(dry.body.data).toMatchObject({
        result: { added: 0, removed: 1000 },
        impact: { people: 1000, gained: 0, lost: 1000, truncated: false },
      });
      const taken = await nora.post(path, { add: crowd.slice(0, 10), remove: crowd.slice(10) });
      expect(taken.body.data).toEqual({ added: 0, removed: 990 });
      expect(await allowed(first, 'billing', 'invoice.read')).toBe(true);
      expect(await allowed(last, 'billing', 'invoice.read')).toBe(false);
    }, 60_000);

    test('an unknown role, and one of another application, are 404', async () => {
      const body = { add: ['lost@example.com'] };
      for (const id of [999_999, await idOf('clerk', 'shop')]) {
        for (const rest of [nora, root]) {
          expect(outcome(await rest.post(`/api/applications/billing/roles/${id}/users`, body))).toEqual([
            404,
            'NOT_FOUND',
          ]);
        }
      }
      expect(outcome(await root.post('/api/applications/nowhere/roles/1/users', body))).toEqual([404, 'NOT_FOUND']);
      expect((await root.post('/api/applications/billing/roles/x/users', body)).status).toBe(400);
      expect(await isKnown('lost@example.com')).toBe(false);
    });

    test('concurrent writes count every change once', async () => {
      const path = await pathOf('reader');
      const people = Array.from({ length: 20 }, (_, index) => `busy${index}@example.com`);
      for (let round = 0; round < 4; round++) {
        const answers = await Promise.all([
          nora.post(path, { add: people }),
          root.post(path, { add: people.toReversed() }),
          nora.post(path, { add: people.slice(5, 15) }),
        ]);
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
        expect(answers.reduce((sum, { body }) => sum + body.data.added, 0)).toBe(20);
        const mixed = await Promise.all([
          nora.post(path, { remove: people }),
          root.post(path, { remove: people.toReversed() }),
          nora.put(`/api/users/${people[3]}/apps/billing/roles`, { roles: ['writer'] }),
          nora.put(`/api/users/${people[4]}/apps/billing/roles`, { roles: ['writer'] }),
        ]);
        expect(mixed.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        for (const email of people.slice(3, 5)) expect(await rolesOf(email)).toEqual(['writer']);
        expect(await rolesOf(people[9] as string)).toEqual([]);
      }
    });

    test('of a deletion of the role and a write about its holders one comes first', async () => {
      for (let round = 0; round < 4; round++) {
        const { id } = (await root.post('/api/applications/billing/roles', { code: `brief${round}` })).body.data;
        const role = `/api/applications/billing/roles/${id}`;
        const [gone, given] = await Promise.all([
          root.delete(role),
          nora.post(`${role}/users`, { add: ['late@example.com'] }),
        ]);
        expect([gone.status, [200, 404].includes(given.status)]).toEqual([204, true]);
        expect(await rolesOf('late@example.com')).toEqual([]);
      }
    });

    test('a dry run tells who gains and who loses, and only these people make its revision STALE', async () => {
      const path = await pathOf('writer');
      const body = { add: ['ben@example.com', 'dry@example.com'], remove: ['cleo@example.com'] };
      const dry = async (): Promise<string> => {
        const { status, body: answered } = await nora.post(`${path}?dryRun=true`, body);
        expect([status, answered.data]).toMatchObject([
          200,
          {
            result: { added: 2, removed: 1 },
            impact: {
              people: 3,
              gained: 2,
              lost: 1,
              changes: [
                { email: 'ben@example.com', from: 'view', to: 'edit' },
                { email: 'cleo@example.com', from: 'edit', to: 'view' },
                { email: 'dry@example.com', from: null, to: 'edit' },
              ],
            },
          },
        ]);
        return answered.data.impact.revision;
      };
      const holding = (revision: string) => ({ 'usher-if-revision': revision });
      const first = await dry();
      expect(await isKnown('dry@example.com')).toBe(false);
      expect((await audits('assignment.removed', 'cleo@example.com')).length).toBe(0);
      expect((await nora.put('/api/users/cleo@example.com/apps/billing/roles', { roles: ['writer'] })).status).toBe(
        200,
      );
      expect(outcome(await nora.post(path, body, holding(first)))).toEqual(STALE);
      expect(
        (await nora.put('/api/users/cleo@example.com/apps/billing/roles', { roles: ['reader', 'writer'] })).status,
      ).toBe(200);
      const second = await dry();
      expect((await nora.put('/api/users/zoe@example.com/apps/billing/roles', { roles: ['reader'] })).status).toBe(200);
      expect((await nora.post(path, body, holding(second))).body.data).toEqual({ added: 2, removed: 1 });
      expect(outcome(await nora.post(path, body, holding('999999999')))).toEqual([400, 'UNKNOWN_REVISION']);
    });

    test('editors write, and everybody else learns nothing', async () => {
      const [path, body] = [await pathOf('reader'), { add: ['sneaked@example.com'] }];
      for (const name of ['view', 'ben', 'olga']) {
        expect([name, ...outcome(await registry.as(name).post(path, body))]).toEqual([
          name,
          403,
          'NO_APPLICATION_LEVEL',
        ]);
      }
      for (const rest of [await Rest.as(registry.usher), Rest.bearing(registry.usher, 'not-a-token')]) {
        expect((await rest.post(path, body)).status).toBe(401);
      }
      expect(await isKnown('sneaked@example.com')).toBe(false);
      const actors = (await audits('role_users.changed.refused')).map(({ actor }) => actor);
      for (const name of ['view', 'ben', 'olga']) expect(actors).toContain(`user:${name}@example.com`);
      expect((await registry.as('pat').post(path, { remove: ['nobody@example.com'] })).status).toBe(200);
      const by = { caller: { email: 'ben@example.com' }, requestId: 'request-0001' };
      const wanted = { add: [{ email: 'sneaked@example.com' }], remove: [] };
      const inside = new Assignments(registry.usher.app.database).changeHolders(
        'billing',
        await idOf('reader'),
        wanted,
        by,
      );
      await expect(inside).rejects.toMatchObject({ reason: 'NO_APPLICATION_LEVEL' });
      expect(await isKnown('sneaked@example.com')).toBe(false);
    });

    test('managers of every application give and take the panel roles in `auth`, within their own level', async () => {
      const [admin, reporter] = [await pathOf('panel_admin', 'auth'), await pathOf('reporter', 'auth')];
      const [pat, lim] = [registry.as('pat'), registry.as('lim')];
      const add = ['p1@example.com', 'p2@example.com'];
      expect(outcome(await nora.post(admin, { add }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      expect(outcome(await pat.post(reporter, { add }))).toEqual([403, 'FORBIDDEN']);
      // A second account of one who is denied an application would manage it.
      expect(outcome(await lim.post(admin, { add }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      expect(await isKnown('p1@example.com')).toBe(false);
      expect((await pat.post(admin, { add })).body.data).toEqual({ added: 2, removed: 0 });
      expect((await lim.post(admin, { add })).body.data).toEqual({ added: 0, removed: 0 });
      expect(outcome(await lim.post(admin, { remove: add }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      // One person of many is refused: nobody is changed.
      expect((await root.post(reporter, { add: ['p2@example.com'] })).body.data).toEqual({ added: 1, removed: 0 });
      expect(outcome(await pat.post(reporter, { remove: ['p1@example.com', 'p2@example.com'] }))).toEqual([
        403,
        'FORBIDDEN',
      ]);
      expect(await rolesOf('p2@example.com', 'auth')).toEqual(['panel_admin', 'reporter']);
      expect((await pat.post(admin, { remove: add })).body.data).toEqual({ added: 0, removed: 2 });
    });
  });
}
