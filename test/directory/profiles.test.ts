import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { alter, asToken, prepareBrands, rowsOf, seconds } from './people.ts';

const ME = '/api/profile/me';
const MANIFEST = `
application: { code: billing, name: Billing }
admins: [nora@example.com]
`;

for (const kind of KINDS) {
  describe(`profiles (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let brand: string;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env: { IDP_PUBLIC_URL: 'https://idp.example.com' } });
      brand = await prepareBrands(usher.app.database);
      await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const people = async (email: string) =>
      await rowsOf(
        usher.app.database,
        sql<{ registered: boolean }>`select p.registered_at is not null as registered from person p
          join profile f on f.person_id = p.id where p.email = ${email}`,
      );

    test('the first access creates a profile from the token and the defaults', async () => {
      const claims = {
        given_name: 'Ada',
        family_name: 'Lovelace',
        name: 'Ada L.',
        picture: 'https://img.example.com/a',
      };
      const ada = await asToken(usher, 'ada@example.com', { ...claims, locale: 'cs' });
      const question = { app: 'billing', permission: 'invoice.read' };
      expect((await ada.post('/api/profile/me/check', question)).status).toBe(200);
      expect(await people('ada@example.com')).toEqual([]);
      const first = await ada.get(ME);
      expect([first.status, first.body]).toEqual([
        200,
        {
          success: true,
          data: {
            id: expect.any(Number),
            email: 'ada@example.com',
            firstName: 'Ada',
            lastName: 'Lovelace',
            displayName: 'Ada L.',
            avatarUrl: 'https://img.example.com/a',
            locale: 'cs',
            theme: 'system',
            timezone: null,
            brand,
            identityProfileUrl: 'https://idp.example.com/ui/console/users/me',
            createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
            updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
          },
        },
      ]);
      expect(first.headers.get('cache-control')).toBe('no-store');
      expect((await ada.get(ME)).body).toEqual(first.body);
      expect(await people('ada@example.com')).toEqual([{ registered: true }]);
    });

    test('a hundred concurrent first requests create one profile', async () => {
      const crowd = await asToken(usher, 'crowd@example.com', { name: 'Crowd' });
      const answers = await Promise.all(Array.from({ length: 100 }, () => crowd.get(ME)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
      expect(await people('crowd@example.com')).toHaveLength(1);
    });

    test('the names of people with concurrent first requests do not mix', async () => {
      const names = [
        'NULL',
        'null',
        '{"a",b}',
        "'; drop table profile; --",
        'back\\slash "quoted"',
        '%_',
        'Žluťoučký 🐎',
        'ok',
      ];
      const shown = await Promise.all(
        names.map(async (name, index) => {
          const rest = await asToken(usher, `odd${index}@example.com`, {
            given_name: name,
            name: index === 7 ? '' : name,
          });
          const { firstName, lastName, displayName } = (await rest.get(ME)).body.data;
          return [firstName, lastName, displayName];
        }),
      );
      expect(shown).toEqual(names.map((name, index) => [name, null, index === 7 ? null : name]));
    });

    test('lookalike spellings of an address are invalid, or another person', async () => {
      const own = await asToken(usher, 'kim.alike@example.com', { given_name: 'Kim', sub: 'kim' });
      const { id } = (await own.get(ME)).body.data;
      const same = await asToken(usher, 'x@example.com', { email: ' KIM.Alike@Example.com ', sub: 'kim' });
      expect((await same.get(ME)).body.data).toMatchObject({ id, email: 'kim.alike@example.com' });
      for (const email of [
        '\u212aim.alike@example.com',
        'k\u0131m.alike@example.com',
        'k\u0130m.alike@example.com',
        '\u043aim.alike@example.com',
        '\uff4bim.alike@example.com',
        'kim.al\u200dike@example.com',
        'kim.alike\u00ad@example.com',
        'kim.alike@ex\u0430mple.com',
        'kim.alike@example\uff0ecom',
        'kim.alike@example\u3002com',
        'kim.alike@example.com.',
        'kim.alike@example.com\0',
        'kim\u2024alike@example.com',
        '"kim.alike"@example.com',
        'kimalike@example.com',
        'kim.alike+x@example.com',
      ]) {
        const { status, body } = await (await asToken(usher, 'x@example.com', { email, sub: 'kim' })).get(ME);
        const known = status === 200 || status === 401;
        expect({ email, known, isKim: body.data?.id === id, name: body.data?.firstName ?? null }).toEqual({
          email,
          known: true,
          isKim: false,
          name: null,
        });
      }
      expect((await own.get(ME)).body.data).toMatchObject({ id, firstName: 'Kim' });
    });

    test('the newer of two tokens in concurrent first requests names the user, and accounts stay apart', async () => {
      const email = 'twice@example.com';
      const older = await asToken(usher, email, { name: 'Older', sub: 'one', iat: seconds(-20) });
      const newer = await asToken(usher, email, { name: 'Newer', sub: 'two', iat: seconds(-10) });
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? older : newer).get('/api/profile/me')),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect((await newer.get('/api/profile/me')).body.data.displayName).toBe('Newer');
      expect((await older.get('/api/profile/me')).body.data.displayName).toBe('Newer');
      const changes = await rowsOf(
        usher.app.database,
        sql<{ id: number }>`select id from audit where action = 'user.subject_changed' and subject = ${email}`,
      );
      expect(changes.length).toBeGreaterThan(0);
    });

    test('claims of a token that cannot be stored are left out', async () => {
      const odd = await asToken(usher, 'odd@example.com', {
        given_name: 'x'.repeat(201),
        family_name: '   ',
        name: 'Odd\r\nBcc: x@example.com',
        picture: 'javascript:alert(1)',
      });
      const { body } = await odd.get(ME);
      expect(body.data).toMatchObject({ firstName: null, lastName: null, displayName: null, avatarUrl: null });
    });

    test.each([
      ['cs-CZ', 'cs'],
      ['de_AT', 'de'],
      ['no-NO', 'no'],
      ['tlh', null],
      ['\u0000', null],
      ['x'.repeat(3000), null],
      [7, null],
    ])('a new profile takes the locale of its token: %j is %j', async (locale, stored) => {
      const email = `locale-${String(stored)}-${String(locale).length}@example.com`;
      const first = await asToken(usher, email, { locale });
      expect((await first.get('/api/profile/me')).body.data.locale).toBe(stored);
      const later = await asToken(usher, email, { locale: 'fr', iat: seconds(20) });
      expect((await later.get('/api/profile/me')).body.data.locale).toBe(stored);
    });

    test('a registration locale goes before that of the token', async () => {
      await alter(
        usher.app.database,
        sql`insert into registration_locale (email, org_id, locale) values ('registered@example.com', '1', 'cs')`,
      );
      const rest = await asToken(usher, 'registered@example.com', { locale: 'de' });
      expect((await rest.get('/api/profile/me')).body.data.locale).toBe('cs');
    });

    test('a new profile takes the newest registration locale of the last 24 hours', async () => {
      await alter(
        usher.app.database,
        sql`insert into registration_locale (email, org_id, locale, at) values
          ('reg@example.com', '1', 'de', now() - interval '2 hours'), ('reg@example.com', '2', 'cs', now() - interval '1 hour'),
          ('late@example.com', '1', 'de', now() - interval '25 hours')`,
      );
      expect((await (await asToken(usher, 'reg@example.com')).get(ME)).body.data.locale).toBe('cs');
      expect((await (await asToken(usher, 'late@example.com')).get(ME)).body.data.locale).toBeNull();
    });

    test('PUT changes the fields sent and returns the profile, and GET, edit, PUT works', async () => {
      const eve = await asToken(usher, 'eve@example.com', { name: 'Eve' });
      const put = await eve.put(ME, { firstName: 'Eve', theme: 'dark', brand: 'acme', timezone: 'EUROPE/prague' });
      expect([put.status, put.body.data]).toMatchObject([
        200,
        { firstName: 'Eve', displayName: 'Eve', theme: 'dark', brand: 'acme', timezone: 'Europe/Prague', locale: null },
      ]);
      const set = await eve.put(ME, { ...put.body.data, locale: 'cs', avatarUrl: 'http://localhost/e.png' });
      expect([set.status, set.body.data]).toMatchObject([200, { locale: 'cs', theme: 'dark', brand: 'acme' }]);
      const reset = await eve.put(ME, {
        locale: null,
        timezone: null,
        avatarUrl: null,
        brand: null,
        displayName: null,
      });
      expect(reset.body.data).toMatchObject({
        locale: null,
        timezone: null,
        avatarUrl: null,
        brand,
        displayName: null,
        firstName: 'Eve',
        theme: 'dark',
      });
      expect((await eve.get(ME)).body).toEqual(reset.body);
      const nothing = await eve.put(ME, {});
      expect([nothing.status, nothing.body]).toEqual([200, reset.body]);
    });

    test('PUT accepts the unchanged e-mail, and refuses any other', async () => {
      const eve = await asToken(usher, 'eve@example.com');
      expect((await eve.put(ME, { email: ' EVE@Example.com' })).status).toBe(200);
      const other = await eve.put(ME, { email: 'mallory@example.com', theme: 'light' });
      expect([other.status, other.body.details.code]).toEqual([400, 'IMMUTABLE_FIELD']);
      expect((await eve.get(ME)).body.data).toMatchObject({ email: 'eve@example.com', theme: 'dark' });
    });

    test.each([
      [{ theme: 'blue' }, 'VALIDATION_FAILED', 'theme'],
      [{ theme: null }, 'VALIDATION_FAILED', 'theme'],
      [{ locale: 'CS' }, 'VALIDATION_FAILED', 'locale'],
      [{ locale: 'xx' }, 'UNKNOWN_LANGUAGES', 'locale'],
      [{ brand: 'nobody' }, 'UNKNOWN_REFERENCE', 'brand'],
      [{ timezone: 'Europe/Nowhere' }, 'VALIDATION_FAILED', 'timezone'],
      [{ timezone: '+01:00' }, 'VALIDATION_FAILED', 'timezone'],
      [{ timezone: 'BST' }, 'VALIDATION_FAILED', 'timezone'],
      [{ avatarUrl: 'javascript:alert(1)' }, 'VALIDATION_FAILED', 'avatarUrl'],
      [{ avatarUrl: 'https://u:p@example.com/a' }, 'VALIDATION_FAILED', 'avatarUrl'],
      [{ firstName: '' }, 'VALIDATION_FAILED', 'firstName'],
      [{ firstName: 'a\r\nb' }, 'VALIDATION_FAILED', 'firstName'],
      [{ lastName: 'x'.repeat(201) }, 'VALIDATION_FAILED', 'lastName'],
      [{ displayName: 7 }, 'VALIDATION_FAILED', 'displayName'],
      [{ isSuperAdmin: true }, 'VALIDATION_FAILED', 'isSuperAdmin'],
      [{ active: true }, 'VALIDATION_FAILED', 'active'],
    ])('the profile update %j is refused with its field, and changes nothing', async (body, code, field) => {
      const eve = await asToken(usher, 'eve@example.com');
      const before = (await eve.get(ME)).body;
      const answer = await eve.put(ME, { ...body, displayName: 'sneaked', ...body });
      expect([answer.status, answer.body.details.code]).toEqual([400, code]);
      expect(JSON.stringify(answer.body.details)).toContain(field);
      expect((await eve.get(ME)).body).toEqual(before);
    });

    test("only administrators see another person's profile", async () => {
      const nora = await Rest.as(usher, 'nora@example.com');
      const root = await Rest.as(usher, 'admin@example.com');
      const ada = await Rest.as(usher, 'ada@example.com');
      for (const rest of [nora, root]) {
        const answer = await rest.get('/api/profile/%20ADA%40example.com');
        expect([answer.status, answer.body]).toMatchObject([
          200,
          { success: true, data: { email: 'ada@example.com' } },
        ]);
        const unknown = await rest.get('/api/profile/nobody@example.com');
        expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND']);
        expect((await rest.get('/api/profile/no-address')).status).toBe(400);
      }
      const refused = await ada.get('/api/profile/eve@example.com');
      expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN']);
      expect((await ada.get('/api/profile/nobody@example.com')).status).toBe(403);
    });

    test('a profile requires a token of an active user', async () => {
      const nobody = await Rest.as(usher);
      for (const [method, path] of [
        ['GET', ME],
        ['PUT', ME],
        ['GET', '/api/profile/ada@example.com'],
      ] as const) {
        expect((await nobody.send(method, path)).status).toBe(401);
      }
      expect((await nobody.get(ME)).headers.get('www-authenticate')).toMatch(/^Bearer/);
      await usher.app.database.change(async (tx) => {
        await sql`insert into person (email, blocked) values ('gone@example.com', true)`.execute(tx.kysely);
        return { result: null, scopes: ['u:gone@example.com'] };
      });
      const gone = await Rest.as(usher, 'gone@example.com');
      for (const answer of [await gone.get(ME), await gone.put(ME, { theme: 'dark' })]) {
        expect([answer.status, answer.body.details.code]).toEqual([403, 'USER_INACTIVE']);
      }
      expect(await people('gone@example.com')).toEqual([]);
    });
  });
}
