import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { useWorld } from './fixture.ts';

const PATH = '/api/internal/auth/registration-locale';
const KEY = 'a-key-of-the-login-component';

for (const kind of KINDS) {
  describe(`registration locale (${kind})`, () => {
    const world = useWorld({
      kind,
      env: () => ({ INTERNAL_API_KEY: `login:profile:${KEY},shop:check:a-key-of-the-shop-backend` }),
    });

    const put = (body: unknown, key: string | null = KEY) =>
      world.nobody.send('PUT', PATH, body, key === null ? {} : { 'x-internal-api-key': key });
    const kept = (email: string, orgId: string) =>
      world.usher.app.database.read(async (tx) => {
        const row = await tx.kysely
          .selectFrom('registration_locale')
          .select('locale')
          .where('email', '=', email)
          .where('orgId', '=', orgId)
          .executeTakeFirst();
        return row?.locale ?? null;
      });
    const localeOf = (email: string) =>
      world.usher.app.database.read((tx) =>
        tx.kysely
          .selectFrom('profile as f')
          .innerJoin('person as p', 'p.id', 'f.personId')
          .select('f.locale')
          .where('p.email', '=', email)
          .executeTakeFirst(),
      );
    const support = (codes: readonly string[]) =>
      world.usher.app.database.change(async (tx) => {
        const { id } = await tx.kysely
          .selectFrom('application')
          .select('id')
          .where('code', '=', 'auth')
          .executeTakeFirstOrThrow();
        await tx.kysely.deleteFrom('application_language').where('applicationId', '=', id).execute();
        for (const [position, language_code] of codes.entries()) {
          await tx.kysely
            .insertInto('application_language')
            .values({ applicationId: id, languageCode: language_code, position })
            .execute();
        }
        return { result: null, scopes: [] };
      });

    test.each([
      ['cs-CZ', 'cs'],
      ['CS', 'cs'],
      ['cs_CZ', 'cs'],
      ['de-Latn-AT', 'de'],
      ['en', 'en'],
      ['ja-JP', 'ja'],
      ['zh-TW', 'zh-hant'],
      ['zh_HK', 'zh-hant'],
      ['zh', 'zh-hans'],
      ['no-NO', 'no'],
      ['tl-PH', 'fil'],
      ['iw-IL', 'he'],
      ['pt-BR', 'pt-br'],
      ['pt-AO', 'pt'],
      ['tlh', 'en'],
      ['x', 'en'],
      ['not a language', 'en'],
      ['cs; drop table', 'en'],
    ])('the registration locale %s is stored as %s', async (locale, stored) => {
      const answer = await put({ email: 'Ada@Example.com', orgId: '100', locale });
      const data = { email: 'ada@example.com', orgId: '100', locale: stored };
      expect([answer.status, answer.body]).toEqual([200, { success: true, data }]);
      expect(await kept('ada@example.com', '100')).toBe(stored);
      expect(await kept('ada@example.com', '200')).toBeNull();
    });

    test('a locale that `auth` does not support is stored as en', async () => {
      await support(['de', 'en']);
      expect((await put({ email: 'ben@example.com', orgId: '100', locale: 'cs' })).body.data.locale).toBe('en');
      expect((await put({ email: 'ben@example.com', orgId: '100', locale: 'de-DE' })).body.data.locale).toBe('de');
      await support([]);
      expect((await put({ email: 'ben@example.com', orgId: '100', locale: 'cs' })).body.data.locale).toBe('cs');
    });

    test('a profile created within 24 hours takes the newest registration locale, and a later one does not', async () => {
      await put({ email: 'cleo@example.com', orgId: '100', locale: 'de' });
      await new Promise((resolve) => setTimeout(resolve, 5));
      await put({ email: 'cleo@example.com', orgId: '200', locale: 'cs' });
      const created = { eventType: 'user.created', user: { email: 'cleo@example.com' } };
      await world.nobody.send('POST', '/api/idp/webhook', created, { 'x-webhook-secret': 'webhook-secret-canary-one' });
      const age = (seconds: number) =>
        world.usher.app.database.change(async (tx) => {
          const at = new Date(Date.now() - seconds * 1000);
          await tx.kysely.updateTable('registration_locale').set({ at }).where('orgId', '=', '200').execute();
          await tx.kysely.deleteFrom('registration_locale').where('orgId', '=', '100').execute();
          // Somebody else by the same address.
          await tx.kysely.deleteFrom('person').where('email', '=', 'cleo@example.com').execute();
          return { result: null, scopes: ['u:cleo@example.com'] };
        });
      const secret = { 'x-webhook-secret': 'webhook-secret-canary-one' };
      expect(await localeOf('cleo@example.com')).toEqual({ locale: 'cs' });
      for (const [seconds, locale] of [
        [24 * 3600 - 60, 'cs'],
        [24 * 3600 + 1, null],
      ] as const) {
        await age(seconds);
        await world.nobody.send('POST', '/api/idp/webhook', created, secret);
        expect([seconds, await localeOf('cleo@example.com')]).toEqual([seconds, { locale }]);
      }
    });

    test('two concurrent registration locales leave one of the two', async () => {
      const both = await Promise.all(
        ['cs', 'de'].map((locale) => put({ email: 'dora@example.com', orgId: '1', locale })),
      );
      expect(both.map(({ status }) => status)).toEqual([200, 200]);
      expect(['cs', 'de']).toContain(await kept('dora@example.com', '1'));
    });

    test('a registration locale needs a key with the scope, and every field', async () => {
      const good = { email: 'eve@example.com', orgId: '100', locale: 'cs' };
      for (const [key, status] of [
        [null, 401],
        ['wrong', 401],
        ['a-key-of-the-shop-backend', 403],
      ] as const) {
        expect((await put(good, key)).status).toBe(status);
      }
      for (const [change, field] of [
        [{ email: 'no address' }, 'email'],
        [{ email: undefined }, 'email'],
        [{ orgId: '' }, 'orgId'],
        [{ orgId: 7 }, 'orgId'],
        [{ locale: '' }, 'locale'],
        [{ locale: null }, 'locale'],
        [{ locale: 'x'.repeat(65) }, 'locale'],
        [{ org: '1' }, 'org'],
      ] as const) {
        const answer = await put({ ...good, ...change });
        expect([answer.status, answer.body.details.issues[0].path]).toEqual([400, field]);
      }
      expect(await kept('eve@example.com', '100')).toBeNull();
    });
  });
}
