import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import type { Rest, RestAnswer } from '../support/rest.ts';

const BILLING = `
application: { code: billing, name: Billing }
permissions:
  - { code: invoice.read, type: tiered }
  - { code: invoice.pay, type: binary }
  - { code: invoice.burn, type: binary }
roles: [{ code: reader, permissions: { invoice.read: view } }, { code: payer, permissions: { invoice.read: edit, invoice.pay: allowed } }, { code: nothing }]
admins: [nora@example.com, gone-admin@example.com]
assignments:
  - { email: ben@example.com, roles: [reader, payer] }
  - { email: cid@example.com, roles: [reader] }
  - { email: gone-reader@example.com, roles: [reader] }
  - { email: idle@example.com, roles: [nothing] }
overrides:
  - { email: gone-override@example.com, resourceType: invoice, resourceId: "1", permission: invoice.pay, granted: true }
  - { email: ida@example.com, resourceType: invoice, resourceId: "1", permission: invoice.read, granted: true }
`;
const SHOP = `
application: { code: shop, name: Shop, strictCodes: true }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
admins: [olga@example.com]
assignments: [{ email: sam@example.com, roles: [clerk] }, { email: gone-clerk@example.com, roles: [clerk] }]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: eva@example.com, roles: [application_manager] }]
`;
const GONE = ['gone-admin', 'gone-reader', 'gone-override', 'gone-clerk', 'gone-root', 'gone-visitor', 'gone-nobody'];

for (const kind of KINDS) {
  describe(`lists of users (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, SHOP, PANEL]);
    const { root } = registry;
    let ready: Promise<void> | undefined;
    /** Logins and dates, the inactive and a SuperAdmin among them: made once. */
    const world = (): Promise<void> => {
      ready ??= registry.usher.app.database
        .change(async (tx) => {
          const statements = [
            sql`insert into person (email) select unnest(${GONE.map((name) => `${name}@example.com`)}::text[]) on conflict do nothing`,
            sql`update person set blocked = true where email like 'gone-%'`,
            sql`insert into superadmin (person_id) select id from person where email = 'gone-root@example.com'`,
            sql`insert into app_preference (person_id, application_id, last_login_at)
            select p.id, a.id, l.at::timestamptz from (values
              ('ben', 'billing', '2026-02-02Z'), ('ben', 'shop', '2026-05-05Z'), ('cid', 'billing', '2026-03-03Z'),
              ('sam', 'shop', '2026-04-04Z'), ('gone-visitor', 'billing', '2026-01-01Z'), ('ida', 'billing', null)) as l (name, app, at)
            join person p on p.email = l.name || '@example.com' join application a on a.code = l.app`,
            sql`update person set created_at = '2026-01-01Z'::timestamptz + id * interval '1 day'`,
            sql`insert into profile (person_id, created_at) select id, '2030-01-01Z' from person where email = 'cid@example.com'`,
          ];
          for (const statement of statements) await statement.execute(tx.kysely);
          return { result: undefined, scopes: ['*'] };
        })
        .then(() => undefined);
      return ready;
    };
    const names = ({ body }: RestAnswer): string[] =>
      body.data.map(({ email }: { email: string }) => email.split('@')[0] ?? '');
    const listed = async (rest: Rest, query: string): Promise<string[]> => {
      await world();
      const all: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: RestAnswer = await rest.get(`/api/users?limit=2&${query}${cursor && `&cursor=${cursor}`}`);
        expect([query, page.status]).toEqual([query, 200]);
        all.push(...names(page));
        cursor = page.body.page.nextCursor;
      }
      return all;
    };

    test('a filter by role lists its holders', async () => {
      expect(await listed(root, 'appCode=billing&role=reader&sort=email')).toEqual(['ben', 'cid', 'gone-reader']);
      expect((await listed(root, 'appCode=billing&role=reader')).sort()).toEqual(['ben', 'cid', 'gone-reader']);
      expect(await listed(root, 'appCode=billing&role=reader&active=false')).toEqual(['gone-reader']);
      expect(await listed(root, 'appCode=billing&role=reader&q=CID')).toEqual(['cid']);
      expect(await listed(root, 'appCode=billing&role=unknown')).toEqual([]);
      expect(await listed(root, 'appCode=billing&role=clerk')).toEqual([]);
      expect(await listed(registry.as('olga'), 'appCode=shop&role=clerk&sort=email')).toEqual(['gone-clerk', 'sam']);
    });

    test('a filter by several roles lists the holders of any, each once', async () => {
      expect(await listed(root, 'appCode=billing&role=payer,nothing&sort=email')).toEqual(['ben', 'idle']);
      expect((await listed(root, 'appCode=billing&role=reader,payer')).sort()).toEqual(['ben', 'cid', 'gone-reader']);
      expect(await listed(root, 'appCode=billing&role=payer,unknown')).toEqual(['ben']);
      const many = Array.from({ length: 21 }, (_, at) => `r${at}`).join(',');
      for (const role of [many, ',', 'reader,']) {
        expect(outcome(await root.get(`/api/users?appCode=billing&role=${role}`))).toEqual([400, 'VALIDATION_FAILED']);
      }
    });

    test('people of one application are listed with the roles that they hold there, and elsewhere without', async () => {
      await world();
      for (const sort of ['', '&sort=email']) {
        const { body } = await registry.as('nora').get(`/api/users?appCode=billing${sort}`);
        const held = Object.fromEntries(body.data.map(({ email, roles }: Record<string, unknown>) => [email, roles]));
        expect([held['ben@example.com'], held['nora@example.com']]).toEqual([['payer', 'reader'], []]);
      }
      const { body } = await root.get('/api/users?limit=1');
      expect(body.data[0]).not.toHaveProperty('roles');
    });

    test('a filter by permission lists exactly the subjects of the permission', async () => {
      await world();
      for (const [app, permission] of [
        ['billing', 'invoice.read'],
        ['billing', 'invoice.pay'],
        ['billing', 'invoice.burn'],
        ['billing', 'invoice.unknown'],
        ['shop', 'order.read'],
        ['auth', 'panel.access'],
      ] as const) {
        const { body } = await root.post(`/api/applications/${app}/subjects`, { permission });
        const subjects = body.data.subjects.map(({ email }: { email: string }) => email.split('@')[0]);
        expect(subjects).toContain('admin');
        const query = `appCode=${app}&permission=${permission}`;
        expect([query, await listed(root, query)]).toEqual([query, subjects]);
        expect(await listed(root, `${query}&sort=email`)).toEqual(subjects.toSorted());
      }
      expect(await listed(root, 'appCode=billing&permission=invoice.pay&role=reader')).toEqual(['ben']);
      expect(await listed(root, 'appCode=billing&permission=invoice.pay&active=false')).toEqual([]);
      expect(await listed(root, 'appCode=billing&permission=invoice.pay&orphan=true')).toEqual([]);
      expect((await listed(registry.as('nora'), 'appCode=billing&permission=invoice.pay')).sort()).toEqual([
        'admin',
        'ben',
        'nora',
      ]);
    });

    test('a misspelt permission of a strict application is refused, and hidden applications stay hidden', async () => {
      const path = '/api/users?appCode=shop&permission=order.raed';
      expect(outcome(await root.get(path))).toEqual([400, 'UNKNOWN_CODE']);
      for (const query of [
        'permission=order.read',
        'permission=order.raed',
        'role=clerk',
        'orphan=true',
        'sort=email',
      ]) {
        const path = `/api/users?appCode=shop&${query}`;
        expect([query, outcome(await registry.as('nora').get(path))]).toEqual([query, [403, 'NO_APPLICATION_LEVEL']]);
      }
    });

    test('orphans are inactive users who still hold something', async () => {
      const all = ['gone-admin', 'gone-clerk', 'gone-override', 'gone-reader', 'gone-root'];
      expect(await listed(root, 'orphan=true&sort=email')).toEqual(all);
      expect((await listed(root, 'orphan=true')).sort()).toEqual(all);
      expect(await listed(root, 'orphan=true&active=true')).toEqual([]);
      expect(await listed(root, 'orphan=true&q=CLERK')).toEqual(['gone-clerk']);
      expect(await listed(root, 'orphan=true&appCode=shop')).toEqual(['gone-clerk']);
    });

    test('orphans are judged by what the caller may see', async () => {
      expect(await listed(registry.as('olga'), 'orphan=true')).toEqual(['gone-clerk']);
      expect(await listed(registry.as('nora'), 'orphan=true&sort=email')).toEqual([
        'gone-admin',
        'gone-override',
        'gone-reader',
      ]);
      // Of `billing` by a login only; and what they hold is in `shop`, or everywhere.
      await registry.usher.app.database.change(async (tx) => {
        await sql`insert into app_preference (person_id, application_id) select p.id, a.id from person p, application a
          where a.code = 'billing' and p.email in ('gone-clerk@example.com', 'gone-root@example.com')`.execute(
          tx.kysely,
        );
        return { result: null, scopes: [] };
      });
      expect(await listed(registry.as('nora'), 'orphan=true&q=gone-clerk')).toEqual([]);
      expect(await listed(registry.as('nora'), 'orphan=true&q=gone-root')).toEqual([]);
      expect(await listed(root, 'orphan=true&appCode=billing&q=gone-clerk')).toEqual(['gone-clerk']);
      expect(await listed(registry.as('eva'), 'orphan=true')).toEqual([]);
    });

    test('users are sorted by address, and by dates with the newest first and none last', async () => {
      const everybody = await listed(root, 'sort=email');
      expect(everybody).toEqual(everybody.toSorted());
      expect((await listed(root, '')).sort()).toEqual(everybody);
      const dated = async (sort: string, of: string) => {
        const { body } = await root.get(`/api/users?limit=200&sort=${sort}`);
        return body.data.map((row: Record<string, string | null>) => row[of]);
      };
      const created = await dated('createdAt', 'createdAt');
      expect(created).toEqual(created.toSorted().reverse());
      expect((await listed(root, 'sort=createdAt'))[0]).toBe('cid');
      expect((await listed(root, 'sort=createdAt')).toSorted()).toEqual(everybody);
      const logins = await listed(root, 'sort=lastLoginAt');
      expect(logins.slice(0, 4)).toEqual(['ben', 'sam', 'cid', 'gone-visitor']);
      expect(logins.toSorted()).toEqual(everybody);
    });

    test('a sort by login counts the logins that the caller may see', async () => {
      await world();
      const { body } = await registry.as('nora').get('/api/users?sort=lastLoginAt&limit=3');
      expect(names({ body } as RestAnswer)).toEqual(['cid', 'ben', 'gone-visitor']);
      expect(body.data.map(({ lastLoginAt }: { lastLoginAt: string }) => lastLoginAt.slice(5, 10))).toEqual([
        '03-03',
        '02-02',
        '01-01',
      ]);
      expect((await listed(registry.as('olga'), 'sort=lastLoginAt')).slice(0, 2)).toEqual(['ben', 'sam']);
    });

    test('filters without their application, and cursors of another order, are refused', async () => {
      await world();
      const cursorOf = async (query: string): Promise<string> =>
        (await root.get(`/api/users?limit=1&${query}`)).body.page.nextCursor;
      const byEmail = await cursorOf('sort=email');
      const forged = (place: unknown) => Buffer.from(JSON.stringify(['users', place])).toString('base64url');
      for (const query of [
        'role=reader',
        'permission=invoice.read',
        'appCode=billing&role=a/b',
        'appCode=billing&permission=a::b',
        'orphan=false',
        'orphan=',
        'sort=id',
        'sort=Email',
        `cursor=${byEmail}`,
        `sort=createdAt&cursor=${byEmail}`,
        `sort=email&cursor=${await cursorOf('')}`,
        `sort=lastLoginAt&cursor=${await cursorOf('sort=createdAt')}`,
        `sort=email&cursor=${forged(['email', 'a\u0000@example.com', 1])}`,
        `sort=createdAt&cursor=${forged(['createdAt', null, 1])}`,
        `sort=lastLoginAt&cursor=${forged(['lastLoginAt', 'yesterday', 1])}`,
        `sort=lastLoginAt&cursor=${forged(['lastLoginAt', null, 0])}`,
      ]) {
        expect([query, outcome(await root.get(`/api/users?${query}`))]).toEqual([query, [400, 'VALIDATION_FAILED']]);
      }
      expect((await root.get('/api/users?role=reader')).body.details.issues).toEqual([
        { path: 'role', message: 'needs appCode' },
      ]);
    });

    test('people of one application are listed with the windows of their roles, to come included', async () => {
      await world();
      const [ends, begins] = ['2050-01-02T03:04:05.006Z', '2049-01-02T03:04:05.006Z'];
      await registry.usher.app.database.change(async (tx) => {
        await sql`update user_role h set starts_at = case when p.email like 'cid%' then ${begins}::timestamptz end, ends_at = ${ends}
          from role r, person p where r.id = h.role_id and p.id = h.person_id
            and (p.email, r.code) in (('ben@example.com', 'payer'), ('cid@example.com', 'reader'))`.execute(tx.kysely);
        return { result: undefined, scopes: ['*'] };
      });
      const { body } = await root.get('/api/users?appCode=billing');
      const of = (email: string) => body.data.find((row: { email: string }) => row.email === email);
      expect(of('ben@example.com')).toMatchObject({
        roles: ['payer', 'reader'],
        roleWindows: [{ code: 'payer', startsAt: null, endsAt: ends }],
      });
      expect(of('cid@example.com')).toMatchObject({
        roles: [],
        roleWindows: [{ code: 'reader', startsAt: begins, endsAt: ends }],
      });
      expect(of('idle@example.com').roleWindows).toEqual([]);
      expect((await root.get('/api/users?limit=1')).body.data[0]).not.toHaveProperty('roleWindows');
    });
  });
}
