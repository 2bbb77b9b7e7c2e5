import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const BILLING = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
admins: [nora@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
overrides: [{ email: ida@example.com, resourceType: invoice, resourceId: "1", permission: invoice.read, granted: false }]
`;
const SHOP = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
admins: [olga@example.com]
assignments: [{ email: ben@example.com, roles: [clerk] }, { email: sam@example.com, roles: [clerk] }]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments:
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: viv@example.com, roles: [application_manager] }
  - { email: eva@example.com, roles: [application_manager] }
overrides:
  - { email: viv@example.com, resourceType: application, resourceId: shop, permission: applications.manage, granted: true, accessLevel: view }
  - { email: pat@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
`;

for (const kind of ['postgresql', 'pglite'] as const) {
  describe(`people and administrators (${kind}; contract 4, 5)`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    const as = new Map<string, Rest>();
    const who = (name: string): Rest => {
      const rest = as.get(name);
      if (rest === undefined) throw new Error(`nobody is called ${name}`);
      return rest;
    };

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage);
      for (const text of [BILLING, SHOP, PANEL]) await usher.app.manifests.apply(text, { actor: 'cli' });
      for (const name of ['admin', 'nora', 'olga', 'ben', 'sam', 'pat', 'viv', 'eva', 'ida']) {
        as.set(name, await Rest.as(usher, `${name}@example.com`));
      }
      // A profile, and logins, as the slices that make them do.
      await usher.app.database.change(async (tx) => {
        await sql`insert into person (email, registered_at) values ('dan@example.com', now())`.execute(tx.kysely);
        await sql`update person set registered_at = now() where email = 'ben@example.com'`.execute(tx.kysely);
        // Of somebody who does not call here: whoever calls brings his account along.
        await sql`insert into profile (person_id, issuer, subject)
          select id, 'https://idp.example.com', 'sub-1' from person where email = 'dan@example.com'`.execute(tx.kysely);
        await sql`insert into profile (person_id, first_name, display_name)
          select id, 'Ben', 'Ben 100%_Böhm' from person where email = 'ben@example.com'`.execute(tx.kysely);
        await sql`insert into app_preference (person_id, application_id, first_login_at, last_login_at, login_count, last_activity_at)
          select p.id, a.id, '2026-01-01Z', case a.code when 'shop' then '2026-03-03Z'::timestamptz else '2026-02-02Z' end, 3, '2026-04-04Z'
          from person p, application a where p.email = 'ben@example.com' and a.code in ('billing', 'shop')`.execute(
          tx.kysely,
        );
        await sql`insert into app_preference (person_id, application_id)
          select p.id, a.id from person p, application a where p.email = 'dan@example.com' and a.code = 'billing'`.execute(
          tx.kysely,
        );
        return { result: null, scopes: [] };
      });
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const emails = (body: { data: { email: string }[] }) =>
      body.data.map(({ email }) => email.split('@')[0] ?? '').sort();
    const audits = (action: string) =>
      usher.app.database.read(
        async (tx) =>
          await tx.kysely.selectFrom('audit').selectAll().where('action', '=', action).orderBy('id').execute(),
      );
    const allowed = async (email: string, permission: string, app = 'billing'): Promise<boolean> =>
      (await who('admin').post('/api/check', { email, app, permission })).body.data.allowed;

    describe('the list', () => {
      test('a SuperAdmin sees every known address', async () => {
        const { status, body } = await who('admin').get('/api/users?limit=200');
        expect(status).toBe(200);
        expect(emails(body)).toEqual(['admin', 'ben', 'dan', 'eva', 'ida', 'nora', 'olga', 'pat', 'sam', 'viv']);
        expect(body.data.find((row: { email: string }) => row.email === 'ben@example.com')).toEqual({
          id: expect.any(Number),
          email: 'ben@example.com',
          displayName: 'Ben 100%_Böhm',
          active: true,
          blocked: false,
          registered: true,
          isSuperAdmin: false,
          brand: body.data[0].brand,
          createdAt: expect.stringMatching(/Z$/),
          lastLoginAt: '2026-03-03T00:00:00.000Z',
        });
        expect(body.data.find((row: { email: string }) => row.email === 'admin@example.com')).toMatchObject({
          isSuperAdmin: true,
          lastLoginAt: null,
        });
        expect(body.page).toEqual({ nextCursor: null });
      });

      test('others see users of the applications that they may see: role, override, preferences, administrators', async () => {
        for (const [name, expected] of [
          ['nora', ['ben', 'dan', 'ida', 'nora']],
          ['olga', ['ben', 'olga', 'sam']],
          ['viv', ['ben', 'olga', 'sam']],
          // Of `auth` and `shop`; billing is denied to him.
          ['pat', ['ben', 'eva', 'olga', 'pat', 'sam', 'viv']],
          ['eva', []],
        ] as const) {
          const { status, body } = await who(name).get('/api/users');
          expect([name, status, emails(body)]).toEqual([name, 200, expected]);
          for (const row of body.data) expect(row).not.toHaveProperty('isSuperAdmin');
        }
        // What is told of a login, too, is only of the applications that the reader may see.
        const seen = async (name: string) => (await who(name).get('/api/users?q=ben')).body.data[0].lastLoginAt;
        expect([await seen('nora'), await seen('olga')]).toEqual([
          '2026-02-02T00:00:00.000Z',
          '2026-03-03T00:00:00.000Z',
        ]);
      });

      test('nobody else', async () => {
        for (const name of ['ben', 'ida', 'sam']) {
          const answer = await who(name).get('/api/users');
          expect([name, answer.status, answer.body.code]).toEqual([name, 403, 'FORBIDDEN']);
        }
        expect((await (await Rest.as(usher)).get('/api/users')).status).toBe(401);
      });

      test('is searched as text, filtered and paged', async () => {
        const root = who('admin');
        const search = async (rest: Rest, q: string) =>
          emails((await rest.get(`/api/users?q=${encodeURIComponent(q)}`)).body);
        expect(await search(root, 'BEN')).toEqual(['ben']);
        expect(await search(root, '100%_B')).toEqual(['ben']);
        expect(await search(root, 'Böhm')).toEqual(['ben']);
        expect(await search(root, '%')).toEqual(['ben']);
        for (const q of ['b_n', "'", '\\', "' | 'a", 'a:*', ':*']) expect([q, await search(root, q)]).toEqual([q, []]);
        expect(await search(who('olga'), 'ida')).toEqual([]);
        expect(emails((await root.get('/api/users?appCode=billing')).body)).toEqual(['ben', 'dan', 'ida', 'nora']);
        expect(emails((await who('viv').get('/api/users?appCode=shop&q=sam')).body)).toEqual(['sam']);

        const seen: string[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const { body } = await who('nora').get(`/api/users?limit=1${cursor && `&cursor=${cursor}`}`);
          expect(body.data).toHaveLength(1);
          seen.push(...emails(body));
          cursor = body.page.nextCursor;
        }
        expect(seen.sort()).toEqual(['ben', 'dan', 'ida', 'nora']);
      });

      test('an application that the caller may not see is 403, an unknown one for a SuperAdmin 404', async () => {
        for (const [name, app] of [
          ['nora', 'shop'],
          ['nora', 'unknown'],
          ['pat', 'billing'],
          ['eva', 'auth'],
        ] as const) {
          const answer = await who(name).get(`/api/users?appCode=${app}`);
          expect([answer.status, answer.body.details?.code]).toEqual([403, 'NO_APPLICATION_LEVEL']);
        }
        expect((await who('admin').get('/api/users?appCode=unknown')).status).toBe(404);
        for (const query of [
          'appCode=No',
          'active=yes',
          'limit=0',
          'limit=201',
          'sort=id',
          'active=true&active=false',
        ]) {
          expect([query, (await who('admin').get(`/api/users?${query}`)).status]).toEqual([query, 400]);
        }
      });
    });

    describe('one user', () => {
      test('a SuperAdmin sees all of him', async () => {
        const { status, body } = await who('admin').get('/api/users/BEN@example.com');
        expect(status).toBe(200);
        const logins = {
          firstLoginAt: '2026-01-01T00:00:00.000Z',
          loginCount: 3,
          lastActivityAt: '2026-04-04T00:00:00.000Z',
        };
        expect(body.data).toMatchObject({
          email: 'ben@example.com',
          firstName: 'Ben',
          displayName: 'Ben 100%_Böhm',
          theme: 'system',
          active: true,
          registered: true,
          isSuperAdmin: false,
          appAdminFor: [],
          applications: [
            { appCode: 'billing', ...logins, lastLoginAt: '2026-02-02T00:00:00.000Z', roles: ['reader'] },
            { appCode: 'shop', ...logins, lastLoginAt: '2026-03-03T00:00:00.000Z', roles: ['clerk'] },
          ],
        });
        expect(body.data).not.toHaveProperty('subject');
        expect((await who('admin').get('/api/users/nora@example.com')).body.data).toMatchObject({
          registered: false,
          displayName: null,
          appAdminFor: ['billing'],
          applications: [{ appCode: 'billing', firstLoginAt: null, lastLoginAt: null, loginCount: 0, roles: [] }],
        });
        expect((await who('admin').get('/api/users/unknown@example.com')).status).toBe(404);
        expect((await who('admin').get('/api/users/unknown')).status).toBe(400);
      });

      test('others see what concerns the applications that they may see', async () => {
        const { body } = await who('olga').get('/api/users/ben@example.com');
        expect(body.data.applications.map(({ appCode }: { appCode: string }) => appCode)).toEqual(['shop']);
        expect(body.data).not.toHaveProperty('isSuperAdmin');
        expect((await who('pat').get('/api/users/ben@example.com')).body.data.applications).toHaveLength(1);
        for (const [name, email] of [
          ['olga', 'nora'],
          ['olga', 'unknown'],
          ['viv', 'ida'],
          ['pat', 'nora'],
          ['eva', 'ben'],
        ]) {
          const answer = await who(name as string).get(`/api/users/${email}@example.com`);
          expect([name, answer.status, answer.body.details?.code]).toEqual([name, 403, 'NO_APPLICATION_LEVEL']);
        }
        expect((await who('ben').get('/api/users/ben@example.com')).status).toBe(403);
      });
    });

    describe('blocking', () => {
      const path = '/api/users/sam@example.com/active';

      test('denies everything at once, is undone, and leaves the provider’s flag alone', async () => {
        expect(await allowed('sam@example.com', 'order.read', 'shop')).toBe(true);
        const put = await who('admin').put(path, { active: false });
        expect([put.status, put.body.data]).toMatchObject([
          200,
          { email: 'sam@example.com', active: false, blocked: true },
        ]);
        expect(put.headers.get('usher-revision')).toMatch(/^\d+$/);
        expect(await allowed('sam@example.com', 'order.read', 'shop')).toBe(false);
        expect((await who('sam').get('/api/profile/me/admin-status')).body.details.code).toBe('USER_INACTIVE');
        expect(emails((await who('admin').get('/api/users?active=false')).body)).toEqual(['sam']);
        expect(emails((await who('olga').get('/api/users?active=true')).body)).toEqual(['ben', 'olga']);
        const again = await who('admin').put(path, { active: false });
        expect(again.headers.get('usher-revision')).toBe(put.headers.get('usher-revision'));

        const provider = (active: boolean) =>
          usher.app.database.change(async (tx) => {
            await sql`update person set provider_active = ${active} where email = 'sam@example.com'`.execute(tx.kysely);
            return { result: null, scopes: ['u:sam@example.com'] };
          });
        await provider(false);
        expect((await who('admin').put(path, { active: true })).body.data).toMatchObject({
          active: false,
          blocked: false,
        });
        await provider(true);
        expect(await allowed('sam@example.com', 'order.read', 'shop')).toBe(true);
        await who('admin').put(path, { active: false });
        await provider(false);
        await provider(true);
        expect(await allowed('sam@example.com', 'order.read', 'shop')).toBe(false);
        await who('admin').put(path, { active: true });
        expect((await audits('user.blocked')).map(({ subject, actor }) => [subject, actor])).toEqual([
          ['sam@example.com', 'user:admin@example.com'],
          ['sam@example.com', 'user:admin@example.com'],
        ]);
        expect(await audits('user.unblocked')).toHaveLength(2);
      });

      test('is for SuperAdmins, and of known addresses', async () => {
        for (const name of ['nora', 'pat', 'ben']) {
          expect((await who(name).put(path, { active: false })).body.code).toBe('FORBIDDEN');
          expect((await who(name).delete('/api/users/ben@example.com/subject')).body.code).toBe('FORBIDDEN');
        }
        expect(await audits('user.blocked.refused')).toHaveLength(3);
        expect((await who('admin').put('/api/users/unknown@example.com/active', { active: false })).status).toBe(404);
        for (const body of [{}, { active: 'false' }, { active: null }, { active: true, blocked: false }]) {
          expect((await who('admin').put(path, body)).status).toBe(400);
        }
        expect(await allowed('sam@example.com', 'order.read', 'shop')).toBe(true);
      });
    });

    test('the account of an address is forgotten by a SuperAdmin', async () => {
      const path = '/api/users/dan@example.com/subject';
      const kept = async () => {
        const read = sql<{ subject: string | null }>`
          select subject from profile where person_id = (select id from person where email = 'dan@example.com')`;
        return (await usher.app.database.read((tx) => read.execute(tx.kysely))).rows[0]?.subject;
      };
      expect(await kept()).toBe('sub-1');
      expect((await who('admin').delete(path)).status).toBe(204);
      expect(await kept()).toBeNull();
      expect((await who('admin').delete(path)).status).toBe(204);
      expect((await who('admin').delete('/api/users/unknown@example.com/subject')).status).toBe(404);
      expect(await audits('user.subject_cleared')).toMatchObject([{ subject: 'dan@example.com' }]);
    });

    describe('administrators of an application', () => {
      const path = '/api/users/admins/apps/billing';

      test('are named, listed and removed by those who administer it', async () => {
        const made = await who('nora').post(path, { email: ' New@example.com' });
        expect([made.status, made.body.data, made.headers.get('location')]).toEqual([
          201,
          { email: 'new@example.com', createdAt: expect.stringMatching(/Z$/) },
          `${path}/new%40example.com`,
        ]);
        expect(await allowed('new@example.com', 'invoice.read')).toBe(true);
        const twice = await who('nora').post(path, { email: 'new@example.com' });
        expect([twice.status, twice.body.data, twice.headers.get('location')]).toEqual([200, made.body.data, null]);
        expect(twice.headers.get('usher-revision')).toBe(made.headers.get('usher-revision'));
        expect(emails((await who('nora').get(path)).body)).toEqual(['new', 'nora']);
        expect((await who('nora').delete(`${path}/new@example.com`)).status).toBe(204);
        expect(await allowed('new@example.com', 'invoice.read')).toBe(false);
        expect((await who('nora').delete(`${path}/new@example.com`)).status).toBe(404);
        expect((await who('nora').delete(`${path}/unmentioned@example.com`)).status).toBe(404);
        for (const action of ['app_admin.added', 'app_admin.removed']) {
          expect(await audits(action)).toMatchObject([{ subject: 'new@example.com', app_code: 'billing' }]);
        }
        for (const body of [{}, { email: 'x' }, { email: null }, { email: 'a@example.com', role: 'x' }]) {
          expect((await who('nora').post(path, body)).status).toBe(400);
        }
      });

      test('of this application only; in `auth` by SuperAdmins only', async () => {
        for (const [name, app] of [
          ['olga', 'billing'],
          ['pat', 'billing'],
          ['viv', 'shop'],
          ['ben', 'shop'],
          ['pat', 'auth'],
          ['nora', 'unknown'],
        ]) {
          const answer = await who(name as string).post(`/api/users/admins/apps/${app}`, { email: 'x@example.com' });
          expect([name, app, answer.status, answer.body.details?.code]).toEqual([
            name,
            app,
            403,
            'NO_APPLICATION_LEVEL',
          ]);
        }
        expect((await who('viv').get('/api/users/admins/apps/shop')).status).toBe(200);
        expect((await who('viv').delete('/api/users/admins/apps/shop/olga@example.com')).status).toBe(403);
        expect((await who('admin').post('/api/users/admins/apps/unknown', { email: 'x@example.com' })).status).toBe(
          404,
        );
      });

      test('two who remove each other: the second fails, or both are gone', async () => {
        await who('admin').post(path, { email: 'olga@example.com' });
        const answers = await Promise.all([
          who('nora').delete(`${path}/olga@example.com`),
          who('olga').delete(`${path}/nora@example.com`),
        ]);
        const left = emails((await who('admin').get(path)).body);
        expect(left).toHaveLength(2 - answers.filter(({ status }) => status === 204).length);
        expect((await who('olga').post(path, { email: 'x@example.com' })).status).toBe(
          left.includes('olga') ? 201 : 403,
        );
        await who('admin').delete(`${path}/olga@example.com`);
        await who('admin').post(path, { email: 'nora@example.com' });
      });
    });

    describe('SuperAdmins', () => {
      const path = '/api/users/admins/super';

      test('are named, listed and removed by each other; the last active one stays', async () => {
        const last = await who('admin').delete(`${path}/admin@example.com`);
        expect([last.status, last.body.details.code]).toEqual([409, 'LAST_SUPERADMIN']);
        const blocked = await who('admin').put('/api/users/admin@example.com/active', { active: false });
        expect([blocked.status, blocked.body.details.code]).toEqual([409, 'LAST_SUPERADMIN']);

        const made = await who('admin').post(path, { email: 'sam@example.com' });
        expect([made.status, made.body.data, made.headers.get('location')]).toMatchObject([
          201,
          { email: 'sam@example.com', active: true },
          `${path}/sam%40example.com`,
        ]);
        expect((await who('admin').post(path, { email: 'sam@example.com' })).status).toBe(200);
        expect(emails((await who('sam').get(path)).body)).toEqual(['admin', 'sam']);

        // From both sides at once: one of them stays.
        const both = await Promise.all([
          who('admin').delete(`${path}/sam@example.com`),
          who('sam').put('/api/users/admin@example.com/active', { active: false }),
        ]);
        const done = both.filter(({ status }) => status < 300);
        expect(done).toHaveLength(1);
        const survivor = both[0].status === 204 ? 'admin' : 'sam';
        const active = (await who(survivor).get(path)).body.data.filter((row: { active: boolean }) => row.active);
        expect(emails({ data: active })).toEqual([survivor]);
        await who(survivor).put('/api/users/admin@example.com/active', { active: true });
        await who('admin').delete(`${path}/sam@example.com`);
        expect((await who('admin').delete(`${path}/sam@example.com`)).status).toBe(404);
        expect((await who('sam').get(path)).status).toBe(403);
        expect(await audits('superadmin.added')).toMatchObject([{ subject: 'sam@example.com' }]);
      });

      test('nobody else names them', async () => {
        for (const name of ['nora', 'pat', 'ben']) {
          for (const answer of [
            await who(name).get(path),
            await who(name).post(path, { email: `${name}@example.com` }),
            await who(name).delete(`${path}/admin@example.com`),
          ]) {
            expect([name, answer.status, answer.body.code]).toEqual([name, 403, 'FORBIDDEN']);
          }
        }
        expect(emails((await who('admin').get(path)).body)).toEqual(['admin']);
        expect((await audits('superadmin.added.refused')).map(({ actor }) => actor)).toContain('user:pat@example.com');
      });
    });

    describe('admin-status', () => {
      const status = async (name: string) => (await who(name).get('/api/profile/me/admin-status')).body;

      test('says what somebody may administer', async () => {
        expect(await status('nora')).toEqual({
          code: 'OK',
          response: {
            email: 'nora@example.com',
            isSuperAdmin: false,
            appAdminFor: ['billing'],
            panelPermissions: [],
            roles: [],
            applications: [{ appCode: 'billing', level: 'edit' }],
          },
        });
        expect((await status('ben')).response).toMatchObject({
          appAdminFor: [],
          roles: [
            { appCode: 'billing', roleCodes: ['reader'] },
            { appCode: 'shop', roleCodes: ['clerk'] },
          ],
          applications: [],
        });
        expect((await status('viv')).response).toMatchObject({
          panelPermissions: ['panel.access'],
          roles: [{ appCode: 'auth', roleCodes: ['application_manager'] }],
          applications: [{ appCode: 'shop', level: 'view' }],
        });
        // A denying override on one application beats the role of a panel_admin.
        expect((await status('pat')).response).toMatchObject({
          panelPermissions: ['applications.manage', 'panel.access'],
          applications: [
            { appCode: 'auth', level: 'edit' },
            { appCode: 'shop', level: 'edit' },
          ],
        });
        expect((await status('admin')).response).toMatchObject({
          isSuperAdmin: true,
          panelPermissions: ['applications.manage', 'panel.access'],
          applications: ['auth', 'billing', 'shop'].map((appCode) => ({ appCode, level: 'edit' })),
        });
      });

      test('agrees with what the guards let through', async () => {
        for (const name of ['nora', 'olga', 'viv', 'pat', 'eva', 'admin']) {
          const levels = new Map<string, string>(
            (await status(name)).response.applications.map((row: { appCode: string; level: string }) => [
              row.appCode,
              row.level,
            ]),
          );
          for (const app of ['billing', 'shop']) {
            const view = await who(name).get(`/api/applications/${app}/roles`);
            const edit = await who(name).post(`/api/users/admins/apps/${app}`, {});
            expect([name, app, view.status, edit.status]).toEqual([
              name,
              app,
              levels.has(app) ? 200 : 403,
              levels.get(app) === 'edit' ? 400 : 403,
            ]);
          }
        }
      });
    });

    describe('the audit', () => {
      test('of everything, for SuperAdmins: newest first, filtered, paged', async () => {
        const root = who('admin');
        const { body } = await root.get('/api/admin/audit?subject=SAM@example.com&action=user.blocked');
        expect(body.data).toHaveLength(2);
        expect(body.data[0]).toEqual({
          id: expect.any(Number),
          at: expect.stringMatching(/Z$/),
          actor: 'user:admin@example.com',
          action: 'user.blocked',
          appCode: null,
          subject: 'sam@example.com',
          before: { blocked: false },
          after: { blocked: true },
          requestId: expect.any(String),
        });
        expect(body.data[0].id).toBeGreaterThan(body.data[1].id);

        const seen: number[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const page: RestAnswer['body'] = (await root.get(`/api/admin/audit?limit=7${cursor && `&cursor=${cursor}`}`))
            .body;
          seen.push(...page.data.map(({ id }: { id: number }) => id));
          cursor = page.page.nextCursor;
        }
        const all = await usher.app.database.read(
          async (tx) => await tx.kysely.selectFrom('audit').select('id').orderBy('id', 'desc').execute(),
        );
        expect(seen).toEqual(all.map(({ id }) => id));

        const count = async (query: string) => (await root.get(`/api/admin/audit?limit=200&${query}`)).body.data.length;
        expect(await count('actor=user:nora@example.com')).toBe(await count('actor=nora@example.com'));
        expect(await count('appCode=billing')).toBeGreaterThan(0);
        expect(await count('to=2020-01-01T00:00:00Z')).toBe(0);
        expect(await count('from=2020-01-01T00:00:00%2B01:00&action=user.blocked&subject=sam@example.com')).toBe(2);
        for (const query of ['from=yesterday', 'q=x', 'limit=0', 'cursor=x', 'actor=a&actor=b']) {
          expect([query, (await root.get(`/api/admin/audit?${query}`)).status]).toEqual([query, 400]);
        }
        for (const name of ['nora', 'pat', 'ben']) expect((await who(name).get('/api/admin/audit')).status).toBe(403);
      });

      test('of an application, for those who may see it; one made anew begins without the old one’s', async () => {
        const { body } = await who('nora').get('/api/applications/billing/audit?action=app_admin.added&limit=1');
        expect(body.data).toMatchObject([{ appCode: 'billing', action: 'app_admin.added' }]);
        expect((await who('viv').get('/api/applications/shop/audit')).status).toBe(200);
        for (const [name, app] of [
          ['olga', 'billing'],
          ['pat', 'billing'],
          ['nora', 'unknown'],
          ['ben', 'billing'],
        ] as const) {
          expect((await who(name).get(`/api/applications/${app}/audit`)).body.details.code).toBe(
            'NO_APPLICATION_LEVEL',
          );
        }
        expect((await who('admin').get('/api/applications/unknown/audit')).status).toBe(404);

        await usher.app.manifests.apply('application: { code: passing, name: Old }\nadmins: [olga@example.com]', {
          actor: 'cli',
        });
        await usher.app.database.change(async (tx) => {
          await tx.kysely.deleteFrom('application').where('code', '=', 'passing').execute();
          return { result: null, scopes: ['a:passing'] };
        });
        await new Promise((resolve) => setTimeout(resolve, 5));
        await usher.app.manifests.apply('application: { code: passing, name: New }\nadmins: [nora@example.com]', {
          actor: 'cli',
        });
        const anew = (await who('nora').get('/api/applications/passing/audit')).body.data;
        expect(anew.length).toBeGreaterThan(0);
        expect(JSON.stringify(anew)).not.toContain('olga');
      });
    });
  });
}
