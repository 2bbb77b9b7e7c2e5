import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { administratorCases } from './administrators.cases.ts';
import { emails, useRegistry } from './registry.ts';

for (const kind of KINDS) {
  describe(`people and administrators (${kind})`, () => {
    const registry = useRegistry(kind);
    const who = (name: string) => registry.who(name);
    const audits = (action: string) => registry.audits(action);
    const allowed = (email: string, permission: string, app?: string) => registry.allowed(email, permission, app);

    describe('the list', () => {
      test('a SuperAdmin lists every known address', async () => {
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
          movedTo: null,
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

      test('others list users of the applications that they may see, by role, override, preferences or administration', async () => {
        for (const [name, expected] of [
          ['nora', ['ben', 'dan', 'ida', 'nora']],
          ['olga', ['ben', 'olga', 'sam']],
          ['viv', ['ben', 'olga', 'sam']],
          // In `auth` and `shop`; billing is denied to them.
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

      test('the list of users is refused to people without a level', async () => {
        for (const name of ['ben', 'ida', 'sam']) {
          const answer = await who(name).get('/api/users');
          expect([name, answer.status, answer.body.code]).toEqual([name, 403, 'FORBIDDEN']);
        }
        expect((await (await Rest.as(registry.usher)).get('/api/users')).status).toBe(401);
      });

      test('the list of users is searched as text, filtered and paged', async () => {
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

      test('filtering by an application is 403 without a level, and 404 for an unknown one and a SuperAdmin', async () => {
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
      test('a SuperAdmin sees everything of a user', async () => {
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
        // Who has called has a record; ira was only mentioned.
        const mention = (statement: ReturnType<typeof sql>) =>
          registry.usher.app.database.change(async (tx) => {
            await statement.execute(tx.kysely);
            return { result: null, scopes: ['u:ira@example.com'] };
          });
        await mention(sql`with ira as (insert into person (email) values ('ira@example.com') returning id)
          insert into app_admin (person_id, application_id) select ira.id, a.id from ira, application a where code = 'billing'`);
        expect((await who('admin').get('/api/users/ira@example.com')).body.data).toMatchObject({
          registered: false,
          displayName: null,
          appAdminFor: ['billing'],
          applications: [{ appCode: 'billing', firstLoginAt: null, lastLoginAt: null, loginCount: 0, roles: [] }],
        });
        await mention(sql`delete from person where email = 'ira@example.com'`);
        expect((await who('admin').get('/api/users/unknown@example.com')).status).toBe(404);
        expect((await who('admin').get('/api/users/unknown')).status).toBe(400);
      });

      test("others see a user's data in the applications that they may see", async () => {
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

      test("blocking denies everything at once, can be undone, and keeps the provider's flag", async () => {
        expect(await allowed('sam@example.com', 'order.read', 'shop')).toBe(true);
        const put = await who('admin').put(path, { active: false });
        expect([put.status, put.body.data]).toMatchObject([
          200,
          { email: 'sam@example.com', active: false, blocked: true },
        ]);
        expect(put.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
        expect(await allowed('sam@example.com', 'order.read', 'shop')).toBe(false);
        expect((await who('sam').get('/api/profile/me/admin-status')).body.details.code).toBe('USER_INACTIVE');
        expect(emails((await who('admin').get('/api/users?active=false')).body)).toEqual(['sam']);
        expect(emails((await who('olga').get('/api/users?active=true')).body)).toEqual(['ben', 'olga']);
        const again = await who('admin').put(path, { active: false });
        expect(again.headers.get('usher-revision')).toBe(put.headers.get('usher-revision'));

        const provider = (active: boolean) =>
          registry.usher.app.database.change(async (tx) => {
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

      test('only SuperAdmins block, and only known addresses', async () => {
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

    test('a SuperAdmin unbinds the account of an address', async () => {
      const path = '/api/users/dan@example.com/subject';
      const kept = async () => {
        const read = sql<{ subject: string | null }>`
          select subject from profile where person_id = (select id from person where email = 'dan@example.com')`;
        return (await registry.usher.app.database.read((tx) => read.execute(tx.kysely))).rows[0]?.subject;
      };
      expect(await kept()).toBe('sub-1');
      expect((await who('admin').delete(path)).status).toBe(204);
      expect(await kept()).toBeNull();
      expect((await who('admin').delete(path)).status).toBe(204);
      expect((await who('admin').delete('/api/users/unknown@example.com/subject')).status).toBe(404);
      expect(await audits('user.subject_cleared')).toMatchObject([{ subject: 'dan@example.com' }]);
    });

    administratorCases(registry);

    describe('the audit', () => {
      test('SuperAdmins read the whole audit, newest first, filtered and paged', async () => {
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
          reason: null,
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
        const all = await registry.usher.app.database.read(
          async (tx) =>
            await tx.kysely.selectFrom('audit').select('id').orderBy('at', 'desc').orderBy('id', 'desc').execute(),
        );
        expect(seen).toEqual(all.map(({ id }) => id));

        const count = async (query: string) => (await root.get(`/api/admin/audit?limit=200&${query}`)).body.data.length;
        expect(await count('actor=user:nora@example.com')).toBe(await count('actor=nora@example.com'));
        expect(await count('appCode=billing')).toBeGreaterThan(0);
        expect(await count('to=2020-01-01T00:00:00Z')).toBe(0);
        expect(await count('from=2020-01-01T00:00:00%2B01:00&action=user.blocked&subject=sam@example.com')).toBe(2);
        for (const query of ['from=yesterday', 'text=x', 'limit=0', 'cursor=x', 'actor=a&actor=b']) {
          expect([query, (await root.get(`/api/admin/audit?${query}`)).status]).toEqual([query, 400]);
        }
        for (const name of ['nora', 'pat', 'ben']) expect((await who(name).get('/api/admin/audit')).status).toBe(403);
      });

      test('viewers read the audit of their application, without the history of a deleted one', async () => {
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

        await registry.usher.app.manifests.apply(
          'application: { code: passing, name: Old }\nadmins: [olga@example.com]',
          {
            actor: 'cli',
          },
        );
        await registry.usher.app.database.change(async (tx) => {
          await tx.kysely.deleteFrom('application').where('code', '=', 'passing').execute();
          return { result: null, scopes: ['a:passing'] };
        });
        await new Promise((resolve) => setTimeout(resolve, 5));
        await registry.usher.app.manifests.apply(
          'application: { code: passing, name: New }\nadmins: [nora@example.com]',
          {
            actor: 'cli',
          },
        );
        const anew = (await who('nora').get('/api/applications/passing/audit')).body.data;
        expect(anew.length).toBeGreaterThan(0);
        expect(JSON.stringify(anew)).not.toContain('olga');
      });
    });
  });
}
