import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { seed } from '../../src/catalog/seed.ts';
import type { Language } from '../../src/gen/api.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const PATH = '/api/languages';
const outcome = ({ status, body }: RestAnswer): [number, string | undefined] => [
  status,
  body?.details?.code ?? body?.code,
];

for (const kind of KINDS) {
  describe(`the language registry (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let root: Rest;
    let ada: Rest;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage);
      [root, ada] = [await Rest.as(usher, 'admin@example.com'), await Rest.as(usher, 'ada@example.com')];
      await usher.app.manifests.apply('application: { code: shop, name: Shop }\nadmins: [olga@example.com]', {
        actor: 'cli',
      });
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const run = (text: string) =>
      usher.app.database.change(async (tx) => {
        await sql.raw(text).execute(tx.kysely);
        return { result: null, scopes: [] };
      });

    test('signed-in users read the language registry, and SuperAdmins write it', async () => {
      const listed = await ada.get(PATH);
      expect(listed.status).toBe(200);
      expect(listed.body.data).toEqual(
        expect.arrayContaining([
          { code: 'en', name: 'English', nativeName: 'English', fallback: null },
          { code: 'cs', name: 'Czech', nativeName: 'Čeština', fallback: 'en' },
        ]),
      );
      const codes = listed.body.data.map(({ code }: { code: string }) => code);
      expect(codes).toEqual(codes.toSorted());
      const body = { code: 'is', name: 'Icelandic', nativeName: 'Íslenska' };
      const nobody = await Rest.as(usher);
      for (const [rest, status] of [
        [nobody, 401],
        [ada, 403],
        [await Rest.as(usher, 'olga@example.com'), 403],
      ] as const) {
        expect((await rest.post(PATH, body)).status).toBe(status);
        expect((await rest.put(`${PATH}/cs`, { name: 'x' })).status).toBe(status);
        expect((await rest.delete(`${PATH}/mt`)).status).toBe(status);
      }
      expect((await nobody.get(PATH)).status).toBe(401);
      expect((await ada.get(PATH)).body).toEqual(listed.body);
    });

    test('a start adds the languages of a later version once, and never again', async () => {
      const added = "('pt-br', 'no', 'zh-hans', 'zh-hant', 'ja', 'ko', 'ar', 'he', 'hi', 'fil', 'vi', 'th', 'id')";
      const fallbacks = async () => {
        const { data } = (await ada.get(PATH)).body as { data: Language[] };
        return Object.fromEntries(data.map(({ code, fallback }) => [code, fallback]));
      };
      const before = await fallbacks();
      expect(before).toMatchObject({ no: 'nb', 'pt-br': 'pt', 'zh-hant': 'en', 'zh-hans': 'en', fil: 'en', id: 'en' });
      // As a version before left it, whose administrators deleted a language that others fall back to, and had added one.
      await run(`delete from language where code in ${added}`);
      await run("delete from language where code = 'nb'");
      await run("delete from setting where key = 'languages.seeded-more'");
      await run("insert into language (code, name, native_name) values ('ja', 'Ours', 'Ours')");
      await usher.app.database.change(seed);
      expect(await fallbacks()).toEqual(
        Object.fromEntries(Object.entries({ ...before, no: 'en', ja: null }).filter(([code]) => code !== 'nb')),
      );
      await run("delete from language where code = 'ko'");
      await usher.app.database.change(seed);
      expect(await fallbacks()).not.toHaveProperty('ko');
      await run("insert into language (code, name, native_name, fallback) values ('nb', 'Norwegian', 'Norsk', 'en')");
    });

    test('languages are added, changed and removed with audit records', async () => {
      const body = { code: 'fr-ca', name: 'Canadian French', nativeName: 'Français du Canada', fallback: 'fr' };
      const made = await root.post(PATH, body);
      expect([made.status, made.body, made.headers.get('location')]).toEqual([
        201,
        { success: true, data: body },
        `${PATH}/fr-ca`,
      ]);
      expect(outcome(await root.post(PATH, body))).toEqual([409, 'ALREADY_EXISTS']);
      expect((await root.put(`${PATH}/fr-ca`, { name: 'French (Canada)' })).body.data).toEqual({
        ...body,
        name: 'French (Canada)',
      });
      expect((await root.put(`${PATH}/fr-ca`, { ...body, fallback: null })).body.data.fallback).toBeNull();
      expect(outcome(await root.put(`${PATH}/fr-ca`, { code: 'fr-ch' }))).toEqual([400, 'IMMUTABLE_FIELD']);
      expect((await root.delete(`${PATH}/fr-ca`)).status).toBe(204);
      expect((await root.delete(`${PATH}/fr-ca`)).status).toBe(404);
      for (const odd of ['fr-ca', 'PT', 'no such', '__proto__']) {
        expect([odd, (await root.put(`${PATH}/${encodeURIComponent(odd)}`, { name: 'x' })).status]).toEqual([odd, 404]);
      }
      const records = await usher.app.database.read(
        async (tx) =>
          await tx.kysely.selectFrom('audit').selectAll().where('subject', '=', 'fr-ca').orderBy('id').execute(),
      );
      expect(records.map(({ action, actor, appCode }) => [action, actor, appCode])).toEqual(
        ['language.created', 'language.changed', 'language.changed', 'language.deleted'].map((action) => [
          action,
          'user:admin@example.com',
          null,
        ]),
      );
    });

    test.each([
      [{ name: 'X', nativeName: 'X' }, 'VALIDATION_FAILED'],
      [{ code: 'EN', name: 'X', nativeName: 'X' }, 'VALIDATION_FAILED'],
      [{ code: 'xx_yy', name: 'X', nativeName: 'X' }, 'VALIDATION_FAILED'],
      [{ code: 'xx', name: '', nativeName: 'X' }, 'VALIDATION_FAILED'],
      [{ code: 'xx', name: 'X' }, 'VALIDATION_FAILED'],
      [{ code: 'xx', name: 'X', nativeName: 'X', fallback: 'xx' }, 'VALIDATION_FAILED'],
      [{ code: 'xx', name: 'X', nativeName: 'X', fallback: 'tlh' }, 'UNKNOWN_LANGUAGES'],
      [{ code: 'xx', name: 'X', nativeName: 'X', id: 1 }, 'VALIDATION_FAILED'],
    ])('invalid language input %# is refused', async (body, code) => {
      expect(outcome(await root.post(PATH, body))).toEqual([400, code]);
      expect((await root.put(`${PATH}/xx`, { name: 'x' })).status).toBe(404);
    });

    test('fallbacks never form a cycle, even when two are set concurrently', async () => {
      expect(outcome(await root.put(`${PATH}/en`, { fallback: 'cs' }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(outcome(await root.put(`${PATH}/en`, { fallback: 'en' }))).toEqual([400, 'VALIDATION_FAILED']);
      expect((await root.put(`${PATH}/sk`, { fallback: 'cs' })).status).toBe(200);
      const long = await root.put(`${PATH}/en`, { fallback: 'sk' });
      expect(outcome(long)).toEqual([400, 'VALIDATION_FAILED']);
      expect(long.body.details.issues[0].path).toBe('fallback');
      for (let round = 0; round < 5; round++) {
        const both = await Promise.all([
          root.put(`${PATH}/da`, { fallback: 'nb' }),
          root.put(`${PATH}/nb`, { fallback: 'da' }),
        ]);
        expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400]);
        await Promise.all(['da', 'nb'].map((code) => root.put(`${PATH}/${code}`, { fallback: 'en' })));
      }
    });

    test('a language used by an application, profile, template or fallback cannot be deleted', async () => {
      const used = async (code: string) => {
        const answer = await root.delete(`${PATH}/${code}`);
        expect([code, ...outcome(answer)]).toEqual([code, 409, 'LANGUAGE_IN_USE']);
        return answer.body.details.users;
      };
      expect(await used('en')).toContain('the fallback of other languages');
      await root.put('/api/applications/shop', { supportedLanguages: ['hu'] });
      expect(await used('hu')).toEqual(['applications']);
      await run(`insert into person (email) values ('p@example.com')`);
      await run(`insert into profile (person_id, locale) select id, 'ro' from person where email = 'p@example.com'`);
      expect(await used('ro')).toEqual(['profiles']);
      await run(`insert into template (application_id, notification_type_id, locale, subject, html)
        select application_id, id, 'bg', 's', 'h' from notification_type order by id limit 1`);
      expect(await used('bg')).toEqual(['templates']);
      await root.put('/api/applications/shop', { supportedLanguages: [] });
      expect((await root.delete(`${PATH}/hu`)).status).toBe(204);
    });

    test('the deletion of a language and its first use never both succeed', async () => {
      for (const code of ['et', 'lv', 'lt', 'ga', 'mt']) {
        const [gone, used] = await Promise.all([
          root.delete(`${PATH}/${code}`),
          root.put('/api/applications/shop', { supportedLanguages: [code] }),
        ]);
        expect([
          [204, 400],
          [409, 200],
        ]).toContainEqual([gone.status, used.status]);
      }
    });
  });
}
