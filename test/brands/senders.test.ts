import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Sealing, SIGNING_KEY_CONTEXT } from '../../src/brands/sealing.ts';
import { Senders } from '../../src/brands/senders.ts';
import { createMailer } from '../../src/delivery/mail.ts';
import type { Brand } from '../../src/gen/api.ts';
import { getSetting, putSetting } from '../../src/persistence/settings.ts';
import { ENV } from '../provider/mail/mail-world.ts';
import { mailBody, post, signature } from '../provider/mail/provider-mails.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type ReceivedMail, type SmtpSink, startSmtp } from '../support/smtp.ts';
import { accessTokens } from '../support/token-accounts.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const BRANDS = '/api/admin/brands';
const LOGIN = { user: 'atelier', password: 'canary-password-2' };
const MESSAGE = {
  to: 'ben@example.com',
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: 'Hello',
  locale: 'en',
  messageId: 'n-1@example.com',
  fromName: null,
};
const newKey = () => randomBytes(32).toString('base64');

describe.each(KINDS)('senders of brands (%s)', (kind) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let sink: SmtpSink;
  let root: Rest;

  beforeAll(async () => {
    [sink, storage] = await Promise.all([startSmtp(), createStorage(kind)]);
    usher = await startUsher(storage, { env: ENV });
    root = await Rest.as(usher, 'admin@example.com');
    await root.post('/api/applications', { code: 'billing', name: 'Billing' });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
    await sink?.close();
  }, 60_000);

  const make = async (slug: string, fields: Record<string, unknown> = {}) => {
    const made = await root.post(BRANDS, { slug, name: slug, smtp: { host: '127.0.0.1', port: sink.port }, ...fields });
    expect(made.status).toBe(201);
    return made.body.data as Brand;
  };
  const choose = async (email: string, brand: string | null) =>
    await (await Rest.as(usher, email)).put('/api/profile/me', { brand });
  const send = async (body: Record<string, unknown>): Promise<ReceivedMail> => {
    expect((await root.post('/api/applications/billing/notifications', body)).status).toBe(202);
    return await sink.next();
  };
  const lookOf = ({ parsed: { html } }: ReceivedMail) => {
    const text = String(html);
    return {
      ground: /<body class="usher-page" style="[^"]*background:(#\w{6})"/.exec(text)?.[1],
      edge: /border-top:4px solid (#\w{6})/.exec(text)?.[1],
      logo: /<img class="usher-logo" src="([^"]*)" alt="([^"]*)"/.exec(text)?.slice(1),
      foot: /class="usher-foot"[^>]*>([\s\S]*?)<\/td>/.exec(text)?.[1]?.replaceAll(/<[^>]*>/g, '|'),
    };
  };

  test("a brand's look, sender and server apply to notifications and to both kinds of auth mail", async () => {
    const logoUrl = 'https://cdn.example.com/logo.png?a=1&b=2';
    const brand = { primaryColor: '#AA2244', backgroundColor: '#0a1b2c', logoUrl, footerText: 'Studio <One>\nBrno' };
    await make('studio', { name: 'Studio "1"', idpOrgId: '100', emailFrom: 'hello@studio.example.com', ...brand });
    await choose('gigi@example.com', 'studio');

    const mails = [await send({ recipients: ['gigi@example.com'], subject: 'News', body: 'Plain.' })];
    for (const [eventType, source] of [
      ['user.human.password.code.added', 'panel'],
      ['something.unknown', 'idp'],
    ] as const) {
      const { body } = mailBody({ eventType });
      expect((await post(usher.rest, body, signature(body))).body.data).toEqual({
        status: 'sent',
        templateSource: source,
      });
      mails.push(await sink.next());
    }
    for (const mail of mails) {
      expect(mail.from).toBe('hello@studio.example.com');
      const { foot, ...look } = lookOf(mail);
      expect(look).toEqual({
        ground: '#0a1b2c',
        edge: '#AA2244',
        logo: ['https://cdn.example.com/logo.png?a=1&amp;b=2', 'Studio &quot;1&quot;'],
      });
      expect(foot).toMatch(/^\|Studio &lt;One&gt;\|\|\|Brno\|/);
      expect(mail.parsed.text).toContain('--\nStudio <One>\nBrno');
    }
    expect(mails[0]?.parsed.from?.value).toEqual([{ address: 'hello@studio.example.com', name: 'Studio "1"' }]);
  });

  test('a user without a brand gets the current default brand, and their own brand takes precedence', async () => {
    const first = await make('first', { isDefault: true, emailFrom: 'a@first.example.com' });
    await make('own', { emailFrom: 'a@own.example.com' });
    const from = async (email: string) => (await send({ recipients: [email], subject: 'x', body: 'y' })).from;
    expect(await from('dana@example.com')).toBe('a@first.example.com');
    await make('second', { isDefault: true, emailFrom: 'a@second.example.com' });
    expect(await from('dana@example.com')).toBe('a@second.example.com');
    await choose('dana@example.com', 'own');
    expect(await from('dana@example.com')).toBe('a@own.example.com');
    await choose('dana@example.com', null);
    expect(await from('dana@example.com')).toBe('a@second.example.com');
    const brands = (await root.get(BRANDS)).body.data as Brand[];
    expect(brands.filter(({ isDefault }) => isDefault).map(({ slug }) => slug)).toEqual(['second']);
    expect((await root.delete(`${BRANDS}/${first.id}`)).status).toBe(204);
  });

  test("the sender is the brand's address, else its SMTP user, else no-reply, and the type's name precedes the brand's", async () => {
    const senders = new Senders({
      database: usher.app.database,
      sealing: new Sealing([ENV.BRAND_SMTP_KEY], systemClock),
      publicUrl: ENV.PUBLIC_URL,
    });
    const fromOf = async (slug: string, fields: Record<string, unknown>) =>
      (await senders.senderOf((await make(slug, fields)).id)).from;
    const smtp = { host: '127.0.0.1', port: sink.port };
    expect(
      await fromOf('f1', { emailFrom: 'f@one.example.com', smtp: { ...smtp, user: 'u@two.example.com' } }),
    ).toEqual({
      address: 'f@one.example.com',
      name: 'f1',
    });
    expect(await fromOf('f2', { emailFromName: 'Two', smtp: { ...smtp, user: 'U@Two.example.com' } })).toEqual({
      address: 'u@two.example.com',
      name: 'Two',
    });
    expect(await fromOf('f3', { smtp: { ...smtp, user: 'no address' } })).toEqual({
      address: 'no-reply@usher.example.com',
      name: 'f3',
    });
    expect(await fromOf('f4', { smtp: null })).toMatchObject({ address: 'no-reply@usher.example.com' });
    await choose('theo@example.com', 'f2');
    const type = { code: 'named', name: 'Named', emailFromName: 'Of the type' };
    await root.post('/api/applications/billing/notification-types', type);
    const mail = await send({ type: 'named', recipients: ['theo@example.com'], subject: 'x', body: 'y' });
    expect(mail.parsed.from?.value).toEqual([{ address: 'u@two.example.com', name: 'Of the type' }]);
  });

  test('a PUT of the result of GET leaves the brand unchanged', async () => {
    await make('bare', { smtp: null });
    await make('whole', {
      primaryColor: '#112233',
      backgroundColor: '#FFFFFF',
      logoUrl: 'https://example.com/l.png',
      iconUrl: 'http://localhost/i.ico',
      footerText: ' kept as it is \n',
      emailFrom: 'w@example.com',
      emailFromName: 'Whole',
      idpOrgId: '4711',
      smtp: { host: '127.0.0.1', port: sink.port, allowInsecure: true, ...LOGIN },
    });
    const state = () =>
      usher.app.database.read(async (tx) => ({
        brands: await tx.kysely.selectFrom('brand').selectAll().orderBy('id').execute(),
        audits: (await tx.kysely.selectFrom('audit').selectAll().execute()).length,
      }));
    const before = await state();
    const brands = (await root.get(BRANDS)).body.data as Brand[];
    expect(brands.length).toBeGreaterThan(5);
    for (const brand of brands) {
      const read = await root.get(`${BRANDS}/${brand.id}`);
      const put = await root.put(`${BRANDS}/${brand.id}`, read.body.data);
      expect([put.status, put.body]).toEqual([200, read.body]);
    }
    expect(await state()).toEqual(before);
  });

  test('every SMTP server but loopback requires encryption, unless the brand allows less', async () => {
    const plain = await startSmtp({ login: LOGIN });
    const sealing = new Sealing([ENV.BRAND_SMTP_KEY], systemClock);
    const senders = new Senders({ database: usher.app.database, sealing, publicUrl: null });
    const mailer = createMailer({
      mailbox: null,
      clock: systemClock,
      tokens: accessTokens(),
      addressOf: () => '127.0.0.1',
    });
    try {
      const smtp = { host: 'mail.example.com', port: plain.port, ...LOGIN };
      const { id } = await make('strict', { smtp });
      const outcome = async () => (await mailer.send(await senders.senderOf(id), MESSAGE)).kind;
      const change = async (fields: Record<string, unknown>) =>
        expect((await root.put(`${BRANDS}/${id}`, { smtp: fields })).status).toBe(200);
      let logins = 0;
      plain.fault = { at: 'login', words: () => `5.7.8 ${++logins}` };
      expect([await outcome(), logins]).toEqual(['account', 0]);
      for (const host of ['localhost.example.com', '10.0.0.1', '192.168.1.9', 'fd00::1']) {
        await change({ host, password: LOGIN.password });
        expect([host, await outcome(), logins]).toEqual([host, 'account', 0]);
      }
      plain.fault = null;
      await change({ allowInsecure: true });
      expect([await outcome(), (await plain.next()).user]).toEqual(['sent', LOGIN.user]);
      await change({ allowInsecure: false });
      expect(await outcome()).toBe('account');
      for (const host of ['localhost', '127.0.0.1', '127.8.9.10', '::1']) {
        await change({ host, password: LOGIN.password });
        expect([host, await outcome()]).toEqual([host, 'sent']);
        await plain.next();
      }
    } finally {
      await mailer.close();
      await plain.close();
    }
  });

  test('a password is kept or required field by field, even in one PUT with other changes', async () => {
    const server = { host: '127.0.0.1', port: sink.port, user: LOGIN.user };
    const { id } = await make('asked', { smtp: { ...server, password: LOGIN.password } });
    const put = async (fields: Record<string, unknown>) => await root.put(`${BRANDS}/${id}`, fields);
    const sealed = async () =>
      await usher.app.database.read(
        async (tx) =>
          await tx.kysely
            .selectFrom('brand')
            .select(['smtpPassword', 'smtpHost'])
            .where('id', '=', id)
            .executeTakeFirst(),
      );
    const before = await sealed();
    for (const smtp of [
      { ...server, host: '127.0.0.2' },
      { ...server, port: server.port + 1, hasPassword: true },
      { ...server, user: 'atelier2', secure: false },
      { ...server, user: null },
      { host: '127.0.0.2', port: server.port, allowInsecure: true },
    ]) {
      const refused = await put({ name: 'Sneaked', smtp });
      expect([refused.status, refused.body.details.issues]).toEqual([
        400,
        [{ path: 'smtp.password', message: expect.stringContaining('host, port or user') }],
      ]);
    }
    expect((await root.get(`${BRANDS}/${id}`)).body.data.name).toBe('asked');
    // The same values change nothing.
    expect((await put({ smtp: { ...server, secure: true, hasPassword: false } })).status).toBe(200);
    expect((await put({ name: 'Renamed', smtp: {} })).body.data.smtp).toMatchObject({
      hasPassword: true,
      secure: true,
    });
    expect(await sealed()).toEqual(before);
    // Taking the server away takes the password along: it cannot come back by naming another server.
    await put({ smtp: null });
    expect((await put({ smtp: { ...server, host: '127.0.0.2' } })).body.data.smtp).toMatchObject({
      hasPassword: false,
    });
    expect(await sealed()).toEqual({ smtpPassword: null, smtpHost: '127.0.0.2' });
  });

  test('a sealed password copied to another brand does not open there', async () => {
    const smtp = { host: '127.0.0.1', port: sink.port, ...LOGIN };
    const [victim, thief] = [
      await make('victim', { smtp }),
      await make('thief', { smtp: { ...smtp, password: 'other' } }),
    ];
    await usher.app.database.change(async (tx) => {
      const row = await tx.kysely
        .selectFrom('brand')
        .select(['smtpPassword', 'smtpKey'])
        .where('id', '=', victim.id)
        .executeTakeFirstOrThrow();
      await tx.kysely.updateTable('brand').set(row).where('id', '=', thief.id).execute();
      return { result: null, scopes: [] };
    });
    const sent = sink.mails.length;
    const refused = await root.post(`${BRANDS}/${thief.id}/test-email`, { to: 'ben@example.com' });
    expect([refused.status, refused.body.code]).toEqual([503, 'UNAVAILABLE']);
    expect(JSON.stringify(refused.body)).not.toContain('canary');
    expect(sink.mails).toHaveLength(sent);
  });

  test('a brand that users choose during its deletion is either kept or deleted', async () => {
    for (let round = 0; round < 5; round++) {
      const brand = await make(`raced${round}`, { smtp: null });
      const email = `racer${round}@example.com`;
      const racer = await Rest.as(usher, email);
      await racer.get('/api/profile/me');
      const [deleted, chosen] = await Promise.all([root.delete(`${BRANDS}/${brand.id}`), choose(email, brand.slug)]);
      const profile = (await racer.get('/api/profile/me')).body.data;
      if (deleted.status === 204) {
        expect([chosen.status, chosen.body.details.code]).toEqual([400, 'UNKNOWN_REFERENCE']);
        expect(profile.brand).not.toBe(brand.slug);
      } else {
        expect([deleted.status, deleted.body.details.code]).toEqual([409, 'BRAND_IN_USE']);
        expect([chosen.status, profile.brand]).toEqual([200, brand.slug]);
        await choose(email, null);
        expect((await root.delete(`${BRANDS}/${brand.id}`)).status).toBe(204);
      }
    }
  });

  test('an organization belongs to one brand at a time, and is free once that brand gives it up', async () => {
    const [one, two] = [await make('org1', { idpOrgId: '555' }), await make('org2')];
    const claim = async (id: number, idpOrgId: string | null) =>
      (await root.put(`${BRANDS}/${id}`, { idpOrgId })).status;
    expect(await claim(two.id, '555')).toBe(409);
    expect((await root.delete(`${BRANDS}/${one.id}`)).body.details.code).toBe('BRAND_IN_USE');
    expect([await claim(one.id, null), await claim(two.id, '555'), await claim(one.id, '555')]).toEqual([
      200, 200, 409,
    ]);
    expect([await claim(two.id, null), (await root.delete(`${BRANDS}/${two.id}`)).status]).toEqual([200, 204]);
    expect(await claim(one.id, '555')).toBe(200);
    const both = await Promise.all([claim((await make('org3')).id, '556'), claim((await make('org4')).id, '556')]);
    expect(both.toSorted((a, b) => a - b)).toEqual([200, 409]);
  });
});

describe('rotation of BRAND_SMTP_KEY', () => {
  let storage: TestStorage;
  let sink: SmtpSink;
  afterEach(async () => {
    await storage?.remove();
    await sink?.close();
  });

  test('a start with a new first key seals every password and the signing key again, so the old key can go', async () => {
    [sink, storage] = await Promise.all([startSmtp({ login: LOGIN }), createStorage('pglite')]);
    const [old, fresh] = [newKey(), newKey()];
    const start = (keys: string) => startUsher(storage, { env: { BRAND_SMTP_KEY: keys } });
    const rows = async (usher: RunningUsher) =>
      await usher.app.database.read(
        async (tx) =>
          await tx.kysely.selectFrom('brand').select(['slug', 'smtpPassword', 'smtpKey']).orderBy('slug').execute(),
      );
    const signingKey = async (usher: RunningUsher, keys: string[]) => {
      const kept = (await usher.app.database.read((tx) => getSetting(tx, 'idp.notification-provider'))) as {
        signingKey: string;
      };
      return new Sealing(keys, systemClock).openText(SIGNING_KEY_CONTEXT, kept.signingKey);
    };

    let usher = await start(old);
    let root = await Rest.as(usher, 'admin@example.com');
    const smtp = { host: '127.0.0.1', port: sink.port, ...LOGIN };
    for (const slug of ['one', 'two']) {
      expect((await root.post(BRANDS, { slug, name: slug, smtp })).status).toBe(201);
    }
    const sealed = new Sealing([old], systemClock).sealText(SIGNING_KEY_CONTEXT, 'the signing key');
    await usher.app.database.change(async (tx) => {
      await putSetting(tx, 'idp.notification-provider', { id: '1', signingKey: sealed });
      return { result: null, scopes: [] };
    });
    const before = await rows(usher);
    await usher.close();

    // Known behind the old one, a new key changes nothing yet.
    usher = await start(`${old},${fresh}`);
    expect(await rows(usher)).toEqual(before);
    await usher.close();

    usher = await start(`${fresh},${old}`);
    const after = await rows(usher);
    const { current } = new Sealing([fresh], systemClock);
    expect(after.map(({ smtpKey }) => smtpKey)).toEqual([null, current, current]);
    expect(new Set([...before, ...after].map(({ smtpPassword }) => smtpPassword)).size).toBe(5);
    expect(await signingKey(usher, [fresh])).toBe('the signing key');
    await usher.close();

    usher = await start(fresh);
    root = await Rest.as(usher, 'admin@example.com');
    expect(await rows(usher)).toEqual(after);
    const brands = (await root.get(BRANDS)).body.data as Brand[];
    for (const { id } of brands.filter(({ slug }) => slug !== 'default')) {
      expect((await root.post(`${BRANDS}/${id}/test-email`, { to: 'ben@example.com' })).status).toBe(200);
      expect((await sink.next()).user).toBe(LOGIN.user);
    }
    await usher.close();
  }, 90_000);
});
