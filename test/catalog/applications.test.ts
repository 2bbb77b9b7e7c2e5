import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';

const APPS = '/api/applications';
const BILLING = `
application: { code: billing, name: Billing, supportedLanguages: [cs, en] }
entities: [{ code: invoice, name: Invoice }]
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
admins: [nora@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
overrides: [{ email: ben@example.com, resourceType: invoice, resourceId: '1', permission: invoice.read, granted: false }]
`;
const SHOP = 'application: { code: shop, name: Shop }\nadmins: [olga@example.com]';
/** Who may do what in the panel: eve edits billing, vera views it, pat manages all, mia all but billing, vic views all, tom only enters. */
const PANEL = `
application: { code: auth, name: Administration }
roles: [{ code: auditor, permissions: { panel.access: allowed, applications.manage: view } }]
assignments:
  - { email: vic@example.com, roles: [auditor] }
  - { email: eve@example.com, roles: [application_manager] }
  - { email: vera@example.com, roles: [application_manager] }
  - { email: tom@example.com, roles: [application_manager] }
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: mia@example.com, roles: [panel_admin] }
overrides:
  - { email: eve@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true }
  - { email: vera@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
  - { email: mia@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
`;
for (const kind of KINDS) {
  describe(`the registry of applications (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, SHOP, PANEL]);
    const { root } = registry;

    const by = registry.as;
    const query = async <T>(text: string): Promise<T[]> =>
      await registry.usher.app.database.read(async (tx) => (await sql.raw<T>(text).execute(tx.kysely)).rows);
    const codes = ({ body }: RestAnswer): string[] => body.data.map(({ code }: { code: string }) => code);

    test('users list the applications they may view, and people outside the panel are refused', async () => {
      expect(codes(await root.get(APPS))).toEqual(['auth', 'billing', 'shop']);
      expect(codes(await by('nora').get(APPS))).toEqual(['billing']);
      expect(codes(await by('olga').get(APPS))).toEqual(['shop']);
      expect(codes(await by('eve').get(APPS))).toEqual(['billing']);
      expect(codes(await by('vera').get(APPS))).toEqual(['billing']);
      expect(codes(await by('pat').get(APPS))).toEqual(['auth', 'billing', 'shop']);
      expect(codes(await by('mia').get(APPS))).toEqual(['auth', 'shop']);
      expect(codes(await by('vic').get(APPS))).toEqual(['auth', 'billing', 'shop']);
      const entered = await by('tom').get(APPS);
      expect([entered.status, entered.body.data]).toEqual([200, []]);
      expect(outcome(await by('ben').get(APPS))).toEqual([403, 'FORBIDDEN']);
      expect((await (await Rest.as(registry.usher)).get(APPS)).status).toBe(401);
      expect((await by('ben').get(`${APPS}?x=1`)).status).toBe(403);
      expect((await root.get(`${APPS}?x=1`)).status).toBe(400);
      expect((await root.get(APPS)).body.data[1]).toMatchObject({
        code: 'billing',
        name: 'Billing',
        description: null,
        supportedLanguages: ['cs', 'en'],
      });
    });

    test('an application is read and changed according to the level', async () => {
      const statuses = async (who: string, app: string) => [
        (await by(who).get(`${APPS}/${app}`)).status,
        (await by(who).put(`${APPS}/${app}`, {})).status,
      ];
      for (const who of ['nora', 'eve', 'pat'])
        expect([who, await statuses(who, 'billing')]).toEqual([who, [200, 200]]);
      expect(await statuses('vera', 'billing')).toEqual([200, 403]);
      for (const who of ['olga', 'ben', 'tom', 'mia']) {
        expect([who, await statuses(who, 'billing')]).toEqual([who, [403, 403]]);
      }
      // In `auth` only SuperAdmins write; who manages all may look.
      expect(await statuses('pat', 'auth')).toEqual([200, 403]);
      for (const who of ['nora', 'pat']) expect(await statuses(who, 'unknown')).toEqual([403, 403]);
      expect((await root.get(`${APPS}/unknown`)).status).toBe(404);
      expect((await root.put(`${APPS}/unknown`, { name: 'x' })).status).toBe(404);
      expect((await root.delete(`${APPS}/unknown`)).status).toBe(404);
      for (const odd of ['inbox', 'UPPER', 'a%00b', '%ED%A0%80', '__proto__', 'x'.repeat(300)]) {
        expect([odd, (await root.get(`${APPS}/${odd}`)).status >= 500]).toEqual([odd, false]);
        expect([odd, (await root.get(`${APPS}/${odd}/i18n/en`)).status >= 500]).toEqual([odd, false]);
      }
    });

    test('a global level `view` reads every application and writes none', async () => {
      const vic = by('vic');
      for (const app of ['billing', 'shop', 'auth']) {
        expect((await vic.get(`${APPS}/${app}`)).status).toBe(200);
        expect((await vic.get(`${APPS}/${app}/roles`)).status).toBe(200);
        expect(outcome(await vic.put(`${APPS}/${app}`, { name: 'Mine' }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
        expect(outcome(await vic.post(`${APPS}/${app}/roles`, { code: 'mine' }))).toEqual([
          403,
          'NO_APPLICATION_LEVEL',
        ]);
        expect(outcome(await vic.delete(`${APPS}/${app}`))).toEqual([403, 'NO_APPLICATION_LEVEL']);
        const roles = `/api/users/friend@example.com/apps/${app}/roles`;
        expect(outcome(await vic.post(roles, { role: 'auditor' }))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      }
      expect(outcome(await vic.post(APPS, { code: 'new', name: 'New' }))).toEqual([403, 'FORBIDDEN']);
      const status = await vic.get('/api/profile/me/admin-status');
      expect(status.body.response).toMatchObject({
        isSuperAdmin: false,
        panelPermissions: ['applications.manage', 'panel.access'],
        applications: ['auth', 'billing', 'shop'].map((appCode) => ({ appCode, level: 'view' })),
      });
    });

    test('a panel user sees the profiles of users of their applications only', async () => {
      for (const name of ['ben', 'stranger', 'olga']) await by(name).get('/api/profile/me');
      const of = (who: string, name: string) => by(who).get(`/api/profile/${name}@example.com`);
      for (const who of ['eve', 'vera', 'vic', 'pat']) expect([who, (await of(who, 'ben')).status]).toEqual([who, 200]);
      // mia manages everything but billing, tom only enters the panel.
      for (const [who, name] of [
        ['mia', 'ben'],
        ['tom', 'ben'],
        ['eve', 'olga'],
        ['eve', 'stranger'],
        ['vic', 'stranger'],
        ['eve', 'unknown'],
        ['tom', 'tom'],
      ] as const) {
        expect([who, name, ...outcome(await of(who, name))]).toEqual([who, name, 403, 'NO_APPLICATION_LEVEL']);
      }
      for (const who of ['nora', 'admin']) {
        expect([who, (await of(who, 'stranger')).status]).toEqual([who, 200]);
        expect([who, (await of(who, 'unknown')).status]).toEqual([who, 404]);
      }
      expect(outcome(await of('ben', 'olga'))).toEqual([403, 'FORBIDDEN']);
    });

    test('a manager of all creates an application with its type `generic`, visible at once', async () => {
      const body = { code: 'crm', name: 'CRM', description: 'Customers.', supportedLanguages: ['en', 'cs'] };
      for (const who of ['nora', 'eve', 'vera', 'tom', 'ben']) {
        expect([who, outcome(await by(who).post(APPS, body))]).toEqual([who, [403, 'FORBIDDEN']]);
      }
      const made = await by('pat').post(APPS, body);
      expect(made.status).toBe(201);
      expect(made.headers.get('location')).toBe(`${APPS}/crm`);
      expect(made.headers.get('usher-revision')).toMatch(/^\d+\.\d+$/);
      expect(made.body.data).toEqual({
        ...body,
        strictCodes: false,
        tellEndings: true,
        id: expect.any(Number),
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      expect((await by('mia').get(`${APPS}/crm`)).body.data).toEqual(made.body.data);
      expect(
        await query(`select t.code, t.system from notification_type t join application a on a.id = t.application_id
        where a.code = 'crm'`),
      ).toEqual([{ code: 'generic', system: false }]);
      expect(outcome(await root.post(APPS, body))).toEqual([409, 'ALREADY_EXISTS']);
      expect(await query(`select actor, action from audit where subject = 'crm'`)).toEqual([
        { actor: 'user:pat@example.com', action: 'application.created' },
      ]);
      expect(
        (
          await query(
            `select 1 from audit where action = 'application.created.refused' and actor <> 'user:vic@example.com'`,
          )
        ).length,
      ).toBe(5);
      const plain = await root.post(APPS, { code: 'plain', name: 'Plain' });
      expect(plain.body.data).toMatchObject({ description: null, supportedLanguages: [] });
    });

    test('one of several concurrent creations of an application succeeds', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => root.post(APPS, { code: 'twice', name: 'Twice' })));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409]);
    });

    test.each([
      [{ name: 'X' }, 'code'],
      [{ code: 'x' }, 'name'],
      [{ code: 'Not A Slug', name: 'X' }, 'code'],
      [{ code: 'inbox', name: 'X' }, 'code'],
      [{ code: 'x'.repeat(65), name: 'X' }, 'code'],
      [{ code: 'x', name: ' ' }, 'name'],
      [{ code: 'x', name: 'a\nb' }, 'name'],
      [{ code: 'x', name: 'X', supportedLanguages: 'en' }, 'supportedLanguages'],
      [{ code: 'x', name: 'X', supportedLanguages: [1] }, 'supportedLanguages.0'],
      [{ code: 'x', name: 'X', supportedLanguages: ['en', 'en'] }, 'supportedLanguages'],
      [{ code: 'x', name: 'X', supportedLanguages: null }, 'supportedLanguages'],
      [{ code: 'x', name: 'X', id: 7 }, 'id'],
    ])('invalid application input %# is refused with its field', async (body, field) => {
      const answer = await root.post(APPS, body);
      expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map(({ path }: { path: string }) => path)).toContain(field);
      expect((await root.get(`${APPS}/x`)).status).toBe(404);
    });

    test('unknown languages are listed, and change nothing', async () => {
      for (const answer of [
        await root.post(APPS, { code: 'x', name: 'X', supportedLanguages: ['en', 'tlh', 'EN', 'no such'] }),
        await root.put(`${APPS}/billing`, { name: 'New', supportedLanguages: ['tlh', 'en', 'EN', 'no such'] }),
      ]) {
        expect(outcome(answer)).toEqual([400, 'UNKNOWN_LANGUAGES']);
        expect(answer.body.details.languages).toEqual(['tlh', 'EN', 'no such']);
      }
      expect((await root.get(`${APPS}/x`)).status).toBe(404);
      expect((await root.get(`${APPS}/billing`)).body.data).toMatchObject({
        name: 'Billing',
        supportedLanguages: ['cs', 'en'],
      });
    });

    test('a change touches only the fields sent, and replaces the languages in the given order', async () => {
      const path = `${APPS}/shop`;
      expect((await by('olga').put(path, { supportedLanguages: ['sk', 'cs', 'en'] })).body.data).toMatchObject({
        name: 'Shop',
        supportedLanguages: ['sk', 'cs', 'en'],
      });
      expect(
        (await by('olga').put(path, { supportedLanguages: ['en', 'sk'], description: 'Sells.' })).body.data,
      ).toMatchObject({
        description: 'Sells.',
        supportedLanguages: ['en', 'sk'],
      });
      expect((await by('olga').put(path, { name: 'The shop' })).body.data.supportedLanguages).toEqual(['en', 'sk']);
      const read = (await by('olga').get(path)).body.data;
      // Get, change, put.
      const put = await by('olga').put(path, { ...read, supportedLanguages: [], description: null });
      expect([put.status, put.body.data]).toMatchObject([
        200,
        { name: 'The shop', description: null, supportedLanguages: [] },
      ]);
      expect(put.body.data).toEqual((await root.get(path)).body.data);
      expect((await root.get(APPS)).body.data.find(({ code }: { code: string }) => code === 'shop')).toEqual({
        ...put.body.data,
        counts: expect.any(Object),
      });
      expect(outcome(await by('olga').put(path, { code: 'store' }))).toEqual([400, 'IMMUTABLE_FIELD']);
      expect(outcome(await by('olga').put(path, { title: 'x' }))).toEqual([400, 'VALIDATION_FAILED']);
      // The same again changes nothing.
      const again = await by('olga').put(path, { name: 'The shop' });
      expect(again.headers.get('usher-revision')).toBe(put.headers.get('usher-revision'));
    });

    test('If-Match of an older application is 412, and one of two concurrent writers wins', async () => {
      const path = `${APPS}/shop`;
      const etag = (await root.get(path)).headers.get('etag') as string;
      const both = await Promise.all(
        ['de', 'fr'].map((code) => root.put(path, { supportedLanguages: [code] }, { 'if-match': etag })),
      );
      expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412]);
      expect(outcome(both.find(({ status }) => status === 412) as RestAnswer)).toEqual([412, 'STALE']);
      const won = both.find(({ status }) => status === 200) as RestAnswer;
      expect(won.headers.get('etag')).toBe((await root.get(path)).headers.get('etag'));
    });

    test("every signed-in user reads an application's texts, flat and without nulls", async () => {
      await registry.usher.app.database.change(async (tx) => {
        await sql`insert into notification_type (application_id, code, name, description)
          select id, 'invoice.due', 'Invoice due', 'It is time.' from application where code = 'billing'`.execute(
          tx.kysely,
        );
        return { result: null, scopes: [] };
      });
      const answer = await by('ben').get(`${APPS}/billing/i18n/xx-anything`);
      expect([answer.status, answer.body]).toEqual([
        200,
        {
          code: 'OK',
          response: {
            'notifications.types.generic.title': 'Generic',
            'notifications.types.invoice.due.title': 'Invoice due',
            'notifications.types.invoice.due.description': 'It is time.',
          },
        },
      ]);
      expect((await by('ben').get(`${APPS}/unknown/i18n/en`)).status).toBe(404);
      expect((await (await Rest.as(registry.usher)).get(`${APPS}/billing/i18n/en`)).status).toBe(401);
    });

    test("managers of all delete an application with everything in it and the panel's levels on it", async () => {
      for (const who of ['ben', 'olga', 'vera', 'tom', 'mia']) {
        expect([who, outcome(await by(who).delete(`${APPS}/billing`))]).toEqual([who, [403, 'NO_APPLICATION_LEVEL']]);
      }
      for (const who of ['nora', 'eve']) {
        expect([who, outcome(await by(who).delete(`${APPS}/billing`))]).toEqual([who, [403, 'FORBIDDEN']]);
      }
      await registry.usher.app.database.change(async (tx) => {
        for (const text of [
          `insert into template (application_id, notification_type_id, locale, subject, html)
            select application_id, id, 'en', 's', 'h' from notification_type where code = 'invoice.due'`,
          `insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
            select t.application_id, t.id, p.id, 's', '{}', 'queued', 'en' from notification_type t, person p
            where t.code = 'invoice.due' and p.email = 'ben@example.com'`,
          `insert into delivery (notification_id, channel, lane, content, due_at)
            select id, 'email', 'brand:default', '{}', null from notification`,
          `insert into notification_preference (person_id, notification_type_id, email)
            select p.id, t.id, true from notification_type t, person p where t.code = 'invoice.due' and p.email = 'ben@example.com'`,
          `insert into app_preference (person_id, application_id) select p.id, a.id from person p, application a
            where p.email = 'ben@example.com' and a.code = 'billing'`,
          `insert into app_event (person_id, application_id, event, actor) select p.id, a.id, 'login', 'user:x' from person p,
            application a where p.email = 'ben@example.com' and a.code = 'billing'`,
          `insert into send_request (application_id, idempotency_key, body_hash) select id, 'k', 'h' from application
            where code = 'billing'`,
          `insert into administrator_send_request (application_id, idempotency_key, body_hash) select id, 'k', 'h'
            from application where code = 'billing'`,
          `insert into organization (org_id, application_id) select 'o-1', id from application where code = 'billing'`,
        ]) {
          await sql.raw(text).execute(tx.kysely);
        }
        return { result: null, scopes: [] };
      });
      const check = async () =>
        (await root.post('/api/check', { email: 'ben@example.com', app: 'billing', permission: 'invoice.read' })).body
          .data.allowed;
      expect(await check()).toBe(true);
      const [app] = await query<{ id: number }>(`select id from application where code = 'billing'`);
      const gone = await by('pat').delete(`${APPS}/billing`);
      expect([gone.status, gone.body]).toEqual([204, undefined]);
      expect(await check()).toBe(false);
      expect((await by('pat').delete(`${APPS}/billing`)).status).toBe(403);
      expect((await root.delete(`${APPS}/billing`)).status).toBe(404);
      const tables = await query<{ name: string }>(`select table_name as name from information_schema.columns
        where column_name = 'application_id' and table_schema = 'public' order by 1`);
      expect(tables.length).toBeGreaterThan(12);
      for (const { name } of tables) {
        expect([name, await query(`select 1 from ${name} where application_id = ${app?.id}`)]).toEqual([name, []]);
      }
      // Deliveries hang on notifications, and go with them.
      expect(await query('select 1 from delivery')).toEqual([]);
      expect(await query('select 1 from notification_preference')).toEqual([]);
      expect(
        await query(`select 1 from audit where action = 'application.deleted' and subject = 'billing'`),
      ).toHaveLength(1);

      // Made again, it is another one: nobody is anything in it.
      expect((await root.post(APPS, { code: 'billing', name: 'Another' })).status).toBe(201);
      for (const who of ['nora', 'eve', 'vera', 'tom']) expect((await by(who).get(`${APPS}/billing`)).status).toBe(403);
      expect(await check()).toBe(false);
      expect((await by('pat').get(`${APPS}/billing`)).status).toBe(200);
    });

    test("the panel's own application cannot be deleted", async () => {
      expect(outcome(await root.delete(`${APPS}/auth`))).toEqual([409, 'SYSTEM_RECORD']);
      expect(outcome(await by('pat').delete(`${APPS}/auth`))).toEqual([403, 'NO_APPLICATION_LEVEL']);
    });
  });
}
