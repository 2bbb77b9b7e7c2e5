import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigError } from '../../src/config/config.ts';
import { storableUrl } from '../../src/gateway/route/fields.ts';
import type { Brand } from '../../src/gen/api.ts';
import { ensurePeople } from '../../src/persistence/people/people.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const BRANDS = '/api/admin/brands';
const KEY = randomBytes(32).toString('base64');
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: petra@example.com, roles: [application_manager] }]
`;
const PASSWORD = 'canary-password-1';

let sink: SmtpSink;
beforeAll(async () => {
  sink = await startSmtp({ login: { user: 'atelier', password: PASSWORD } });
});
afterEach(() => {
  sink.fault = null;
});
afterAll(() => sink.close());

for (const kind of KINDS) {
  describe(`brands (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let root: Rest;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env: { BRAND_SMTP_KEY: KEY } });
      root = await Rest.as(usher, 'admin@example.com');
      await usher.app.manifests.apply(PANEL, { actor: 'cli' });
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const list = async () => (await root.get(BRANDS)).body.data as Brand[];
    const bySlug = async (slug: string) => (await list()).find((brand) => brand.slug === slug);
    const defaults = async () => (await list()).filter(({ isDefault }) => isDefault).map(({ slug }) => slug);
    const path = (answer: RestAnswer) => `${BRANDS}/${answer.body.data.id}`;
    const audits = async (action: string) =>
      await usher.app.database.read(
        async (tx) =>
          await tx.kysely.selectFrom('audit').selectAll().where('action', '=', action).orderBy('id').execute(),
      );

    test('the first start creates a default brand', async () => {
      expect(await list()).toEqual([
        {
          id: expect.any(Number),
          slug: 'default',
          name: 'Default',
          isDefault: true,
          primaryColor: null,
          backgroundColor: null,
          logoUrl: null,
          iconUrl: null,
          footerText: null,
          emailFrom: null,
          emailFromName: null,
          smtp: null,
          idpOrgId: null,
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
      ]);
    });

    test('a brand is created, read, changed and deleted with audit records, and its password appears nowhere', async () => {
      const made = await root.post(BRANDS, {
        slug: 'atelier',
        name: 'Atelier',
        primaryColor: '#3451B2',
        logoUrl: 'http://localhost/logo.png',
        footerText: 'Two\nlines',
        emailFrom: 'Hello@Atelier.example.com',
        idpOrgId: '100',
        smtp: { host: '127.0.0.1', port: sink.port, user: 'atelier', password: PASSWORD },
      });
      expect(made.status).toBe(201);
      expect(made.headers.get('location')).toBe(path(made));
      const smtp = { host: '127.0.0.1', port: sink.port, secure: false, allowInsecure: false, user: 'atelier' };
      expect(made.body.data).toMatchObject({
        slug: 'atelier',
        isDefault: false,
        emailFrom: 'hello@atelier.example.com',
        smtp: { ...smtp, hasPassword: true },
      });
      const read = await root.get(path(made));
      expect(read.body.data).toEqual(made.body.data);

      // Get, change, put.
      const put = await root.put(path(made), { ...read.body.data, name: 'Atelier 2', smtp: read.body.data.smtp });
      expect([put.status, put.body.data]).toMatchObject([200, { name: 'Atelier 2', smtp: { hasPassword: true } }]);
      expect((await root.put(path(made), { slug: 'other' })).body.details.code).toBe('IMMUTABLE_FIELD');

      expect((await root.delete(path(made))).body.details.code).toBe('BRAND_IN_USE');
      expect((await root.put(path(made), { idpOrgId: null })).status).toBe(200);
      expect((await root.delete(path(made))).status).toBe(204);
      for (const gone of [await root.get(path(made)), await root.delete(path(made)), await root.put(path(made), {})]) {
        expect(gone.status).toBe(404);
      }
      for (const action of ['brand.created', 'brand.changed', 'brand.deleted']) {
        expect((await audits(action)).filter(({ subject }) => subject === 'atelier')).not.toEqual([]);
      }
      const all = await usher.app.database.read(
        async (tx) => await tx.kysely.selectFrom('audit').selectAll().execute(),
      );
      expect(JSON.stringify([all, made.body, read.body, put.body])).not.toContain('canary');
    });

    test('slug and organization of a brand are unique, even under concurrent writes', async () => {
      const answers = await Promise.all(
        ['one', 'two', 'three', 'one'].map((slug) => root.post(BRANDS, { slug, name: slug, idpOrgId: '777' })),
      );
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409, 409]);
      expect(answers.find(({ status }) => status === 409)?.body.details.code).toBe('ALREADY_EXISTS');
      const other = await root.post(BRANDS, { slug: 'other', name: 'Other' });
      expect((await root.put(path(other), { idpOrgId: '777' })).body.details.code).toBe('ALREADY_EXISTS');
      expect((await root.post(BRANDS, { slug: 'default', name: 'x' })).body.details.code).toBe('ALREADY_EXISTS');
    });

    test('exactly one brand is the default, even when several are promoted at once', async () => {
      const made = await Promise.all(
        ['d1', 'd2', 'd3'].map((slug) => root.post(BRANDS, { slug, name: slug, isDefault: true })),
      );
      expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(await defaults()).toHaveLength(1);
      await Promise.all(made.map((brand) => root.put(path(brand), { isDefault: true })));
      expect(await defaults()).toHaveLength(1);
      const [present] = await defaults();
      const id = (await bySlug(present ?? ''))?.id;
      const none = await root.put(`${BRANDS}/${id}`, { isDefault: false });
      expect([none.status, none.body.details.issues[0].path]).toEqual([400, 'isDefault']);
      expect((await root.delete(`${BRANDS}/${id}`)).body.details.code).toBe('BRAND_IN_USE');
      expect((await root.put(`${BRANDS}/${(await bySlug('default'))?.id}`, { isDefault: true })).status).toBe(200);
      expect(await defaults()).toEqual(['default']);
      expect((await root.delete(path(made[0] as RestAnswer))).status).toBe(204);
    });

    test('a brand that a user has chosen cannot be deleted', async () => {
      const made = await root.post(BRANDS, { slug: 'chosen', name: 'Chosen' });
      await usher.app.database.change(async (tx) => {
        const person_id = (await ensurePeople(tx, ['ben@example.com'])).get('ben@example.com') ?? 0;
        const brand_id = made.body.data.id as number;
        await tx.kysely
          .insertInto('profile')
          .values({ personId: person_id, brandId: brand_id })
          .onConflict((oc) => oc.column('personId').doUpdateSet({ brandId: brand_id }))
          .execute();
        return { result: null, scopes: ['u:ben@example.com'] };
      });
      expect((await root.delete(path(made))).body.details.code).toBe('BRAND_IN_USE');
      expect((await root.get(path(made))).status).toBe(200);
    });

    test.each([
      [{ slug: 'x' }, 'name'],
      [{ slug: 'X Y', name: 'x' }, 'slug'],
      [{ slug: 'x', name: ' ' }, 'name'],
      [{ slug: 'x', name: 'a\r\nBcc: b' }, 'name'],
      [{ slug: 'x', name: 'x', emailFromName: 'a\nb' }, 'emailFromName'],
      [{ slug: 'x', name: 'x', emailFrom: 'no address' }, 'emailFrom'],
      [{ slug: 'x', name: 'x', emailFrom: 'a@b\r\nBcc: c@d' }, 'emailFrom'],
      [{ slug: 'x', name: 'x', primaryColor: 'red' }, 'primaryColor'],
      [{ slug: 'x', name: 'x', backgroundColor: '#12345' }, 'backgroundColor'],
      [{ slug: 'x', name: 'x', logoUrl: 'javascript:alert(1)' }, 'logoUrl'],
      [{ slug: 'x', name: 'x', iconUrl: 'https://user:secret@example.com/' }, 'iconUrl'],
      [{ slug: 'x', name: 'x', footerText: 'y'.repeat(2001) }, 'footerText'],
      [{ slug: 'x', name: 'x', isDefault: 'yes' }, 'isDefault'],
      [{ slug: 'x', name: 'x', idpOrgID: '1' }, 'idpOrgID'],
      [{ slug: 'x', name: 'x', smtp: { host: 'mail.example.com' } }, 'smtp.port'],
      [{ slug: 'x', name: 'x', smtp: { host: 'mail host', port: 25 } }, 'smtp.host'],
      [{ slug: 'x', name: 'x', smtp: { host: 'a\r\nb', port: 25 } }, 'smtp.host'],
      [{ slug: 'x', name: 'x', smtp: { host: 'mail.example.com', port: 70000 } }, 'smtp.port'],
      [{ slug: 'x', name: 'x', smtp: { host: 'mail.example.com', port: 25, password: 'p' } }, 'smtp.user'],
      [{ slug: 'x', name: 'x', smtp: { host: 'mail.example.com', port: 25, pass: 'p' } }, 'smtp.pass'],
    ])('invalid brand input %# is refused with its field, and changes nothing', async (body, field) => {
      const before = await list();
      const answer = await root.post(BRANDS, body);
      expect([answer.status, answer.body.details.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map((issue: { path: string }) => issue.path)).toContain(field);
      expect(await list()).toEqual(before);
    });

    test('an SMTP password is kept until host, port or user change, and null removes it', async () => {
      const server = { host: '127.0.0.1', port: sink.port, user: 'atelier' };
      const made = await root.post(BRANDS, { slug: 'kept', name: 'Kept', smtp: { ...server, password: PASSWORD } });
      for (const smtp of [{ host: 'localhost' }, { port: 2 }, { user: 'other' }, { user: null }]) {
        const refused = await root.put(path(made), { smtp });
        expect([refused.status, refused.body.details.issues[0].path]).toEqual([400, 'smtp.password']);
      }
      expect((await root.put(path(made), { smtp: { allowInsecure: true } })).body.data.smtp).toEqual({
        ...server,
        secure: false,
        allowInsecure: true,
        auth: 'password',
        hasPassword: true,
        oauth2: null,
      });
      expect((await root.post(`${path(made)}/test-email`, { to: 'ben@example.com' })).status).toBe(200);
      await sink.next();
      const none = await root.put(path(made), { smtp: { host: 'localhost', password: null } });
      expect(none.body.data.smtp).toMatchObject({ host: 'localhost', hasPassword: false });
      expect((await root.put(path(made), { smtp: null })).body.data.smtp).toBeNull();
      const without = await root.post(`${path(made)}/test-email`, { to: 'ben@example.com' });
      expect([without.status, without.body.details.code]).toEqual([502, 'SMTP_FAILED']);
    });

    test("a test mail uses the brand's own server, and its refusal is quoted without the password", async () => {
      const smtp = { host: '127.0.0.1', port: sink.port, user: 'atelier', password: PASSWORD };
      const brand = { slug: 'tested', name: 'Tested', emailFrom: 'a@tested.example.com', smtp };
      const made = await root.post(BRANDS, brand);
      const sent = await root.post(`${path(made)}/test-email`, { to: 'ben@example.com' });
      expect([sent.status, sent.body.data]).toEqual([
        200,
        { sent: true, smtp: { response: expect.stringContaining('kept as') } },
      ]);
      expect(await sink.next()).toMatchObject({
        from: 'a@tested.example.com',
        to: ['ben@example.com'],
        user: 'atelier',
      });
      sink.fault = { at: 'rcpt', code: 550, words: '5.1.1 no such mailbox' };
      const refused = await root.post(`${path(made)}/test-email`, { to: 'ben@example.com' });
      expect([refused.status, refused.body.details]).toEqual([
        502,
        { code: 'SMTP_FAILED', smtp: { kind: 'permanent', code: '550', response: '550 5.1.1 no such mailbox' } },
      ]);
      // Other settings are other connections: the login comes again.
      await root.put(path(made), { smtp: { allowInsecure: true } });
      sink.fault = { at: 'login', words: (user, password) => `5.7.8 ${user}/${password} is wrong` };
      const login = await root.post(`${path(made)}/test-email`, { to: 'ben@example.com' });
      expect(login.body.details.smtp).toMatchObject({ kind: 'auth', code: '535' });
      expect(JSON.stringify(login.body)).not.toContain('canary');
      expect((await root.post(`${path(made)}/test-email`, { to: 'nobody' })).body.details.issues[0].path).toBe('to');
      expect((await root.post(`${BRANDS}/999999/test-email`, { to: 'a@b.example.com' })).status).toBe(404);
    });

    test('SuperAdmins write brands, panel users read them without SMTP, and others are refused', async () => {
      const [nobody, ben, petra] = [
        await Rest.as(usher),
        await Rest.as(usher, 'ben@example.com'),
        await Rest.as(usher, 'petra@example.com'),
      ];
      const id = (await bySlug('default'))?.id;
      const writes = (rest: Rest) => [
        rest.post(BRANDS, { slug: 'sneaked', name: 'x' }),
        rest.put(`${BRANDS}/${id}`, { name: 'sneaked' }),
        rest.delete(`${BRANDS}/${id}`),
        rest.post(`${BRANDS}/${id}/test-email`, { to: 'ben@example.com' }),
      ];
      const reads = (rest: Rest) => [rest.get(BRANDS), rest.get(`${BRANDS}/${id}`)];
      for (const answer of await Promise.all([...writes(nobody), ...reads(nobody)])) expect(answer.status).toBe(401);
      for (const answer of await Promise.all([...writes(ben), ...reads(ben), ...writes(petra)])) {
        expect(answer.status).toBe(403);
      }
      for (const answer of await Promise.all(reads(petra))) {
        expect(answer.status).toBe(200);
        expect(JSON.stringify(answer.body)).not.toContain('smtp');
      }
      expect((await audits('brand.deleted.refused')).map(({ actor }) => actor)).toContain('user:ben@example.com');
      expect(await bySlug('sneaked')).toBeUndefined();
    });

    test('mail of a brand without SMTP goes to the inert development mailbox', async () => {
      const list = await fetch(`${usher.rest}/dev/mail`);
      expect([list.status, list.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      expect(list.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect((await fetch(`${usher.rest}/dev/mail/000000000000001-00000000`)).status).toBe(404);
    });
  });
}

test('production refuses http URLs in brands', () => {
  const takes = (allowHttp: boolean, url: string) => storableUrl(allowHttp).safeParse(url).success;
  expect([takes(true, 'http://a.example.com/'), takes(false, 'http://a.example.com/')]).toEqual([true, false]);
  expect([takes(false, 'https://a.example.com/'), takes(true, 'ftp://a.example.com/')]).toEqual([true, false]);
});

describe('keys of SMTP passwords', () => {
  let storage: TestStorage;
  beforeAll(async () => {
    storage = await createStorage('postgresql');
  }, 60_000);
  afterAll(() => storage?.remove(), 60_000);

  test('an SMTP password needs a key to store it, the sealing key at each start, and moves to a newer key', async () => {
    const smtp = { host: '127.0.0.1', port: sink.port, user: 'atelier', password: PASSWORD };
    const bare = await startUsher(storage);
    const refused = await (await Rest.as(bare, 'admin@example.com')).post(BRANDS, { slug: 'a', name: 'A', smtp });
    await bare.close();
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain('brandSmtpKey');

    const first = await startUsher(storage, { env: { BRAND_SMTP_KEY: KEY } });
    const made = await (await Rest.as(first, 'admin@example.com')).post(BRANDS, { slug: 'a', name: 'A', smtp });
    await first.close();
    expect(made.status).toBe(201);

    const newer = randomBytes(32).toString('base64');
    for (const env of [{}, { BRAND_SMTP_KEY: newer }]) {
      const failed = await startUsher(storage, { env }).then(
        () => null,
        (error: unknown) => error,
      );
      expect(failed).toBeInstanceOf(ConfigError);
      expect(String(failed)).toContain('BRAND_SMTP_KEY');
    }
    await (await startUsher(storage, { env: { BRAND_SMTP_KEY: `${newer},${KEY}` } })).close();
    const last = await startUsher(storage, { env: { BRAND_SMTP_KEY: newer } });
    const root = await Rest.as(last, 'admin@example.com');
    const sent = await root.post(`${BRANDS}/${made.body.data.id}/test-email`, { to: 'ben@example.com' });
    await last.close();
    expect(sent.status).toBe(200);
    await sink.next();
  }, 60_000);
});
