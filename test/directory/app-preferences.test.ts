import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { alter, asBackend, prepareBrands, rowsOf } from './people.ts';

const APPS = '/api/profile/me/apps';
const EVENTS = '/api/internal/auth/application-events';
const DEFAULTS = { showHelp: true, notificationsEnabled: true };
const MANIFESTS = [
  'application: { code: billing, name: Billing }\nadmins: [nora@example.com]',
  'application: { code: shop, name: Shop }\nadmins: [olga@example.com]',
];

interface Login {
  first: Date | null;
  last: Date | null;
  count: number;
  active: Date | null;
}

for (const kind of KINDS) {
  describe(`application preferences (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let root: Rest;
    let nora: Rest;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage);
      await prepareBrands(usher.app.database);
      for (const text of MANIFESTS) await usher.app.manifests.apply(text, { actor: 'cli' });
      root = await Rest.as(usher, 'admin@example.com');
      nora = await Rest.as(usher, 'nora@example.com');
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const summary = async (email: string, app = 'billing'): Promise<Login | undefined> =>
      (
        await rowsOf(
          usher.app.database,
          sql<Login>`select f.first_login_at as first, f.last_login_at as last, f.login_count as count,
            f.last_activity_at as active from app_preference f join person p on p.id = f.person_id
            join application a on a.id = f.application_id where p.email = ${email} and a.code = ${app}`,
        )
      )[0];
    const count = async (email: string, app?: string) => (await summary(email, app))?.count;
    const events = async (email: string): Promise<string[]> =>
      (await root.get(`/api/users/${email}/apps/billing/events`)).body.data.map((one: { event: string }) => one.event);
    const audits = async (action: string) =>
      await rowsOf(
        usher.app.database,
        sql<{ actor: string; subject: string; appCode: string }>`
          select actor, subject, app_code from audit where action = ${action} order by id`,
      );
    /** Moves all that is known of somebody's activity and logins into the past. */
    const age = (email: string, minutes: number) =>
      alter(
        usher.app.database,
        sql`update app_preference set last_activity_at = last_activity_at - make_interval(mins => ${minutes}),
          first_login_at = first_login_at - make_interval(mins => ${minutes}),
          last_login_at = last_login_at - make_interval(mins => ${minutes})
          where person_id = (select id from person where email = ${email})`,
      );
    const told = (body: Record<string, unknown>, headers?: Record<string, string>) =>
      asBackend(usher, 'POST', EVENTS, { appCode: 'billing', ...body }, headers);

    test('the login bootstrap records a login and creates preferences with defaults (rule 1)', async () => {
      const ada = await Rest.as(usher, 'ada@example.com');
      expect((await ada.get(APPS)).body).toEqual({ success: true, data: [] });
      const answer = await ada.get(`${APPS}/billing`);
      expect([answer.status, answer.body]).toEqual([
        200,
        { success: true, data: { applicationCode: 'billing', ...DEFAULTS } },
      ]);
      const first = await summary('ada@example.com');
      expect(first).toMatchObject({ count: 1, first: expect.any(Date) });
      expect([first?.last, first?.active]).toEqual([first?.first, first?.first]);
      await age('ada@example.com', 1);
      await ada.get(`${APPS}/billing`);
      const second = await summary('ada@example.com');
      expect(second?.count).toBe(2);
      expect(Number(second?.last) - Number(second?.first)).toBeGreaterThan(59_000);
      expect(second?.active).toEqual(second?.last);
      expect((await ada.get('/api/profile/me')).body.data.email).toBe('ada@example.com');
      expect(await events('ada@example.com')).toEqual(['login', 'login']);
    });

    test('a hundred concurrent logins count a hundred, even for a new person (rule 1)', async () => {
      const many = await Rest.as(usher, 'many@example.com');
      const answers = await Promise.all(Array.from({ length: 100 }, () => many.get(`${APPS}/billing`)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await count('many@example.com')).toBe(100);
    });

    test('HEAD is refused where a GET would record or create something', async () => {
      const heady = await Rest.as(usher, 'heady@example.com');
      for (const path of ['/api/profile/me', `${APPS}/billing`, '/api/idp/callback?code=x&state=y']) {
        const answer = await heady.send('HEAD', path);
        expect({ path, status: answer.status, allow: answer.headers.get('allow') }).toEqual({
          path,
          status: 405,
          allow: expect.not.stringContaining('HEAD'),
        });
      }
      expect(await summary('heady@example.com')).toBeUndefined();
      expect((await root.get('/api/profile/heady@example.com')).status).toBe(404);
      expect((await heady.send('HEAD', APPS)).status).toBe(200);
    });

    test('each application has its own preferences, and an unknown one is 404 and records nothing (rule 2)', async () => {
      const ada = await Rest.as(usher, 'ada@example.com');
      await ada.get(`${APPS}/shop`);
      expect([await count('ada@example.com'), await count('ada@example.com', 'shop')]).toEqual([2, 1]);
      expect((await ada.get(APPS)).body.data).toEqual([
        { applicationCode: 'billing', ...DEFAULTS },
        { applicationCode: 'shop', ...DEFAULTS },
      ]);
      const fresh = await Rest.as(usher, 'fresh@example.com');
      for (const app of ['unknown', 'Billing', 'inbox', '__proto__']) {
        for (const answer of [
          await fresh.get(`${APPS}/${app}`),
          await fresh.put(`${APPS}/${app}`, { showHelp: false }),
          await fresh.post(`${APPS}/${app}/activity`),
          await fresh.post(`${APPS}/${app}/logout`),
        ]) {
          expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND']);
        }
      }
      const rows = await rowsOf(usher.app.database, sql`select 1 from person where email = 'fresh@example.com'`);
      expect(rows).toEqual([]);
    });

    test('PUT sets the fields sent, creates missing preferences, and records no login', async () => {
      const bob = await Rest.as(usher, 'bob@example.com');
      const put = await bob.put(`${APPS}/billing`, { showHelp: false });
      expect([put.status, put.body]).toEqual([
        200,
        { success: true, data: { applicationCode: 'billing', showHelp: false, notificationsEnabled: true } },
      ]);
      expect(await summary('bob@example.com')).toEqual({ first: null, last: null, count: 0, active: null });
      const back = await bob.put(`${APPS}/billing`, { ...put.body.data, notificationsEnabled: false });
      expect(back.body.data).toEqual({ applicationCode: 'billing', showHelp: false, notificationsEnabled: false });
      expect((await bob.get(`${APPS}/billing`)).body.data).toEqual(back.body.data);
      expect((await bob.put(`${APPS}/billing`, {})).body.data).toEqual(back.body.data);
      for (const [body, code] of [
        [{ showHelp: null }, 'VALIDATION_FAILED'],
        [{ showHelp: 'yes' }, 'VALIDATION_FAILED'],
        [{ showhelp: true }, 'VALIDATION_FAILED'],
        [{ loginCount: 5 }, 'VALIDATION_FAILED'],
        [{ applicationCode: 'shop', showHelp: true }, 'IMMUTABLE_FIELD'],
      ] as const) {
        const answer = await bob.put(`${APPS}/billing`, body);
        expect([answer.status, answer.body.details.code]).toEqual([400, code]);
      }
      expect((await bob.get(APPS)).body.data).toEqual([back.body.data]);
    });

    test('administrators read and change preferences with an audit record and no login (rule 3)', async () => {
      const path = '/api/users/bob@example.com/apps/billing/preferences';
      const before = await summary('bob@example.com');
      expect((await nora.get(path)).body).toEqual({
        success: true,
        data: { applicationCode: 'billing', showHelp: false, notificationsEnabled: false },
      });
      const put = await nora.put('/api/users/BOB%40example.com/apps/billing/preferences', { showHelp: true });
      expect([put.status, put.body.data]).toEqual([
        200,
        { applicationCode: 'billing', showHelp: true, notificationsEnabled: false },
      ]);
      expect(await summary('bob@example.com')).toEqual(before);
      expect(await audits('preferences.changed')).toEqual([
        { actor: 'user:nora@example.com', subject: 'bob@example.com', appCode: 'billing' },
      ]);
      // Of somebody without a row the defaults; of somebody unknown nothing.
      expect((await nora.get('/api/users/olga@example.com/apps/billing/preferences')).body.data).toEqual({
        applicationCode: 'billing',
        ...DEFAULTS,
      });
      for (const answer of [
        await nora.get('/api/users/unknown@example.com/apps/billing/preferences'),
        await nora.put('/api/users/unknown@example.com/apps/billing/preferences', { showHelp: true }),
        await nora.get('/api/users/unknown@example.com/apps/billing/events'),
        await root.get('/api/users/bob@example.com/apps/unknown/preferences'),
      ]) {
        expect(answer.status).toBe(404);
      }
    });

    test('preferences are refused to foreign administrators, users and anonymous callers', async () => {
      const [olga, bob, nobody] = [
        await Rest.as(usher, 'olga@example.com'),
        await Rest.as(usher, 'bob@example.com'),
        await Rest.as(usher),
      ];
      const calls = (rest: Rest) => [
        rest.get('/api/users/bob@example.com/apps/billing/preferences'),
        rest.put('/api/users/bob@example.com/apps/billing/preferences', { showHelp: false }),
        rest.get('/api/users/bob@example.com/apps/billing/events'),
      ];
      for (const rest of [olga, bob]) {
        for (const answer of await Promise.all(calls(rest))) {
          expect([answer.status, answer.body.details.code]).toEqual([403, 'NO_APPLICATION_LEVEL']);
        }
      }
      for (const answer of await Promise.all(calls(nobody))) expect(answer.status).toBe(401);
      for (const [method, path] of [
        ['GET', APPS],
        ['GET', `${APPS}/billing`],
        ['PUT', `${APPS}/billing`],
        ['POST', `${APPS}/billing/activity`],
        ['POST', `${APPS}/billing/logout`],
      ] as const) {
        expect((await nobody.send(method, path)).status).toBe(401);
      }
    });

    test('activity is written once in five minutes and does not change the last login (rule 4)', async () => {
      const email = 'act@example.com';
      const act = await Rest.as(usher, email);
      const path = `${APPS}/billing/activity`;
      const answers = await Promise.all(Array.from({ length: 50 }, () => act.post(path)));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
      expect(answers.filter(({ body }) => body.data.recorded)).toHaveLength(1);
      const first = await summary(email);
      expect(first).toEqual({ first: null, last: null, count: 0, active: expect.any(Date) });
      expect((await act.post(path)).body).toEqual({ success: true, data: { recorded: false } });
      expect(await summary(email)).toEqual(first);
      expect(await events(email)).toEqual([]);
    });

    test('a logout leaves an event and an audit record, and changes no summary (rule 5)', async () => {
      const ada = await Rest.as(usher, 'ada@example.com');
      const before = await summary('ada@example.com');
      const answer = await ada.post(`${APPS}/billing/logout`);
      expect([answer.status, answer.body]).toEqual([200, { success: true, data: { recorded: true } }]);
      expect(await summary('ada@example.com')).toEqual(before);
      expect(await events('ada@example.com')).toEqual(['logout', 'login', 'login']);
      expect(await audits('user.logout')).toEqual([
        { actor: 'user:ada@example.com', subject: 'ada@example.com', appCode: 'billing' },
      ]);
    });

    test('a backend reports events (rule 6)', async () => {
      const email = 'backend@example.com';
      for (const event of ['activity', 'logout']) {
        const answer = await told({ email, event });
        expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND']);
      }
      const login = await told({ email: ' Backend@Example.com', event: 'login' });
      expect([login.status, login.body]).toEqual([200, { success: true, data: { recorded: true } }]);
      const first = await summary(email);
      expect(first).toMatchObject({ count: 1, first: expect.any(Date), active: first?.first });
      expect((await root.get(`/api/profile/${email}`)).body.data).toMatchObject({ email, displayName: null });
      expect((await told({ email, event: 'activity' })).body.data).toEqual({ recorded: false });
      await age(email, 5);
      expect((await told({ email, event: 'activity' })).body.data).toEqual({ recorded: true });
      const active = await summary(email);
      expect([active?.count, Number(active?.active) - Number(active?.last) >= 299_000]).toEqual([1, true]);
      expect((await told({ email, event: 'logout' })).body.data).toEqual({ recorded: true });
      expect(await summary(email)).toEqual(active);
      const { body } = await root.get(`/api/users/${email}/apps/billing/events`);
      expect(body.data).toMatchObject([
        { event: 'logout', actor: 'key:local' },
        { event: 'login', actor: 'key:local' },
      ]);
      expect(await audits('user.logout')).toContainEqual({ actor: 'key:local', subject: email, appCode: 'billing' });
    });

    test('a login creates the profile of a person who only had notifications', async () => {
      const email = 'written-to@example.com';
      const order = { recipients: [email], subject: 'Hello' };
      expect((await root.post('/api/applications/billing/notifications', order)).status).toBe(202);
      expect((await told({ email, event: 'login' })).body.data).toEqual({ recorded: true });
      expect((await root.get(`/api/profile/${email}`)).body.data).toMatchObject({ email, theme: 'system' });
    });

    test('an eventId counts once within 24 hours, even when it comes ten times at once', async () => {
      const email = 'twice@example.com';
      const event = { email, event: 'login', eventId: 'e-1' };
      const answers = await Promise.all(Array.from({ length: 10 }, () => told(event)));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
      expect(answers.filter(({ body }) => body.data.recorded)).toHaveLength(1);
      expect(await count(email)).toBe(1);
      await alter(usher.app.database, sql`update seen_event set at = at - interval '23 hours' where key like '%e-1'`);
      expect((await told(event)).body.data).toEqual({ recorded: false });
      await alter(usher.app.database, sql`update seen_event set at = at - interval '1 hour' where key like '%e-1'`);
      expect((await told(event)).body.data).toEqual({ recorded: true });
      expect(await count(email)).toBe(2);
      // Another application names its events by itself, and what was refused was not told.
      expect((await told({ ...event, appCode: 'shop' })).body.data).toEqual({ recorded: true });
      expect((await told({ email: 'refused@example.com', event: 'logout', eventId: 'e-2' })).status).toBe(404);
      await told({ email: 'refused@example.com', event: 'login' });
      const again = await told({ email: 'refused@example.com', event: 'logout', eventId: 'e-2' });
      expect(again.body.data).toEqual({ recorded: true });
    });

    test('eventIds of a deleted application are forgotten with it', async () => {
      const root = await Rest.as(usher, 'admin@example.com');
      const make = () => root.post('/api/applications', { code: 'passing', name: 'Passing' });
      expect((await make()).status).toBe(201);
      // Another application whose code only begins the same way.
      expect((await root.post('/api/applications', { code: 'passing-by', name: 'Passing by' })).status).toBe(201);
      const email = 'passing@example.com';
      const all = [
        { event: 'login', eventId: 'one', appCode: 'passing' },
        { event: 'logout', eventId: 'two', appCode: 'passing' },
        { event: 'activity', eventId: 'three', appCode: 'passing' },
        { event: 'login', eventId: 'one', appCode: 'passing-by' },
      ].map((event) => ({ email, ...event }));
      const tellAll = async () => {
        const recorded: boolean[] = [];
        for (const event of all) recorded.push((await told(event)).body.data.recorded);
        return recorded;
      };
      // Activity right after a login moves nothing, but its eventId is remembered.
      expect(await tellAll()).toEqual([true, true, false, true]);
      expect(await tellAll()).toEqual([false, false, false, false]);
      expect((await root.delete('/api/applications/passing')).status).toBe(204);
      expect((await make()).status).toBe(201);
      const activity = { email, event: 'activity', eventId: 'three', appCode: 'passing' };
      expect((await told(activity)).body.data).toEqual({ recorded: true });
      expect(await tellAll()).toEqual([true, true, false, false]);
      expect((await told(activity)).body.data).toEqual({ recorded: false });
    });

    test('refused events change nothing', async () => {
      const email = 'twice@example.com';
      const before = await summary(email);
      const unknown = await told({ email, event: 'login', appCode: 'unknown' });
      expect([unknown.status, unknown.body.details.code]).toEqual([400, 'UNKNOWN_REFERENCE']);
      for (const [body, field] of [
        [{ event: 'login' }, 'email'],
        [{ email, event: 'Login' }, 'event'],
        [{ email, event: 'login', eventId: '' }, 'eventId'],
        [{ email, event: 'login', at: '2026-01-01T00:00:00Z' }, 'at'],
        [{ email, event: 'login', appCode: null }, 'appCode'],
      ] as const) {
        const answer = await told(body);
        expect([answer.status, answer.body.details.issues[0].path]).toEqual([400, field]);
      }
      const body = { email, appCode: 'billing', event: 'login' };
      expect((await (await Rest.as(usher)).post(EVENTS, body)).status).toBe(401);
      expect((await told({ email, event: 'login' }, { 'x-internal-api-key': 'wrong' })).status).toBe(401);
      // Rule 7: not from a browser.
      const browser = await told({ email, event: 'login' }, { origin: 'https://app.example.com' });
      expect([browser.status, browser.body.details.code]).toEqual([403, 'BROWSER_NOT_ALLOWED']);
      expect(await summary(email)).toEqual(before);
    });

    test('inactive users may only log out', async () => {
      const email = 'inactive@example.com';
      const rest = await Rest.as(usher, email);
      await rest.get(`${APPS}/billing`);
      await usher.app.database.change(async (tx) => {
        await sql`update person set blocked = true where email = ${email}`.execute(tx.kysely);
        return { result: null, scopes: [`u:${email}`] };
      });
      const before = await summary(email);
      for (const answer of [
        await rest.get(APPS),
        await rest.get(`${APPS}/billing`),
        await rest.put(`${APPS}/billing`, { showHelp: false }),
        await rest.post(`${APPS}/billing/activity`),
        await rest.post(`${APPS}/billing/logout`),
        await told({ email, event: 'login' }),
        await told({ email, event: 'activity' }),
      ]) {
        expect([answer.status, answer.body.details.code]).toEqual([403, 'USER_INACTIVE']);
      }
      expect((await told({ email, event: 'logout' })).body.data).toEqual({ recorded: true });
      expect(await summary(email)).toEqual(before);
      expect(await events(email)).toEqual(['logout', 'login']);
    });

    test('events come in pages, the newest first', async () => {
      const path = '/api/users/ada@example.com/apps/billing/events';
      const all = (await nora.get(path)).body.data;
      const pages: unknown[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await nora.get(`${path}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
        pages.push(...body.data);
        cursor = body.page.nextCursor;
      }
      expect(pages).toEqual(all);
      expect(all).toHaveLength(3);
      for (const query of ['limit=0', 'limit=201', 'cursor=x', 'q=1']) {
        expect((await nora.get(`${path}?${query}`)).status).toBe(400);
      }
    });
  });
}
