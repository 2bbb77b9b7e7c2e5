import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Sealing, SIGNING_KEY_CONTEXT } from '../../../src/brands/sealing.ts';
import { systemClock } from '../../../src/clock.ts';
import { gatewayRoutes } from '../../../src/gateway/routes.ts';
import { SecretKey } from '../../../src/identity/secret-key.ts';
import type { Tx } from '../../../src/persistence/database.ts';
import { ensurePeople } from '../../../src/persistence/people.ts';
import { putSetting } from '../../../src/persistence/settings.ts';
import { createLogger } from '../../../src/telemetry.ts';
import { createStorage, type TestStorage } from '../../support/databases.ts';
import { Rest } from '../../support/rest.ts';
import { type SmtpSink, startSmtp } from '../../support/smtp.ts';
import { type RunningUsher, startUsher } from '../../support/usher.ts';
import { IDP, type MailOf, mailBody, post, type Sign, signature } from './provider-mails.ts';

const BRAND_KEY = randomBytes(32).toString('base64');
const ENV = {
  BRAND_SMTP_KEY: BRAND_KEY,
  IDP_NOTIFICATION_SIGNING_KEY: 'k'.repeat(36),
  IDP_PUBLIC_URL: IDP,
  PUBLIC_URL: 'https://usher.example.com',
  USHER_SECRET_KEY: 'a secret key of this installation',
};
const SECRET = new SecretKey(ENV.USHER_SECRET_KEY, systemClock, () => Promise.reject(new Error('it is configured')));

let sink: SmtpSink;
beforeAll(async () => {
  sink = await startSmtp();
});
afterEach(() => {
  sink.fault = null;
});
afterAll(() => sink.close());

for (const kind of ['postgresql', 'pglite'] as const) {
  describe(`the provider's e-mails (${kind}; specification, delivery flow; contract 8)`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    const lines: string[] = [];

    beforeAll(async () => {
      storage = await createStorage(kind);
      const into = new Writable({
        write(chunk, _encoding, done) {
          lines.push(String(chunk));
          done();
        },
      });
      usher = await startUsher(storage, { env: ENV, parts: { log: createLogger('debug', into) } });
      const root = await Rest.as(usher, 'admin@example.com');
      const made = await root.post('/api/admin/brands', {
        slug: 'atelier',
        name: 'Atelier',
        emailFrom: 'hello@atelier.example.com',
        footerText: 'Atelier, Brno',
        idpOrgId: '100',
        smtp: { host: '127.0.0.1', port: sink.port },
      });
      expect(made.status).toBe(201);
      // The seed is in Czech; the example's English is what these tests read.
      const types = (await root.get('/api/applications/auth/notification-types')).body.data as {
        id: number;
        code: string;
      }[];
      const notificationTypeId = types.find(({ code }) => code === 'auth_idp')?.id;
      for (const variant of JSON.parse(readFileSync('examples/auth-emails-en.json', 'utf8')) as object[]) {
        const added = await root.post('/api/applications/auth/templates', { notificationTypeId, ...variant });
        expect(added.status).toBe(201);
      }
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const send = async (of: MailOf = {}, sign: Sign = {}) => {
      const { body, code } = mailBody(of);
      return { ...(await post(usher.rest, body, signature(body, sign))), code };
    };
    const write = async (statement: (tx: Tx) => Promise<unknown>): Promise<void> => {
      await usher.app.database.change(async (tx) => {
        await statement(tx);
        return { result: null, scopes: ['*'] };
      });
    };
    const audits = async () =>
      await usher.app.database.read(
        async (tx) =>
          await tx.kysely
            .selectFrom('audit')
            .selectAll()
            .where('action', '=', 'auth_email.sent')
            .orderBy('id', 'desc')
            .execute(),
      );
    const template = (key: string, change: Record<string, unknown>) =>
      write((tx) => tx.kysely.updateTable('template').set(change).where('key', '=', key).execute());

    type Args = { oTP?: string; tempUsername?: string; code?: undefined; [other: string]: unknown };
    const NO_CODE = { code: undefined };
    const events = [
      ['user.human.initialization.code.added', 'Activate your account', {}, '/ui/login/user/init?code=%&orgID=100'],
      ['user.human.email.code.added', 'Verify your e-mail address', {}, '/ui/login/mail/verification?code=%&orgID=100'],
      ['user.human.password.code.added', 'Reset your password', {}, '/ui/login/password/init?code=%&orgID=100'],
      [
        'user.human.invite.code.added',
        'You are invited to O’Hara & Sons',
        { applicationName: 'O’Hara &amp; Sons' },
        '/ui/login/user/invite?authRequestID=&code=%&loginname=gigi&orgID=100&userID=200',
      ],
      [
        'user.human.passwordless.initialization.code.requested',
        'Add a way to sign in without a password',
        NO_CODE,
        '/ui/login/login/passwordless/init?userID=200&orgID=100&codeID=K&code=%',
      ],
      [
        'user.human.mfa.otp.email.code.added',
        'Your sign-in code',
        { ...NO_CODE, oTP: '12345678', expiry: 300_000_000_000 },
        '/ui/login/mfa/otp/verify?authRequestID=A&code=12345678&selectedProvider=4',
      ],
      [
        'session.otp.email.challenged',
        'Your sign-in code',
        { ...NO_CODE, oTP: '87654321' },
        '/ui/v2/login/otp/email?code=87654321&userId=200&sessionId=S',
      ],
      ['user.human.password.changed', 'Your password was changed', NO_CODE, '/ui/console?login_hint=gigi'],
      [
        'user.domain.claimed',
        'Your sign-in name has changed',
        { ...NO_CODE, tempUsername: 'gigi@temporary', domain: 'example.com' },
        '/ui/login/login?orgID=100',
      ],
    ] as const;
    // The databases differ in nothing that one event does not show.
    test.each(kind === 'postgresql' ? events : events.slice(0, 1))(
      '%s is written by its template',
      async (eventType, subject, args: Args, path) => {
        const code = `K${randomBytes(4).toString('hex')}`;
        const url = IDP + path.replace('%', code);
        const given = 'code' in args ? args : { ...args, code };
        const answer = await send({ eventType, args: given, url });
        expect([answer.status, answer.body]).toEqual([
          200,
          { success: true, data: { status: 'sent', templateSource: 'panel' } },
        ]);
        const mail = await sink.next();
        expect(mail).toMatchObject({ from: 'hello@atelier.example.com', to: ['gigi@example.com'] });
        expect(mail.parsed.from?.value).toEqual([{ address: 'hello@atelier.example.com', name: 'Auth' }]);
        expect(mail.parsed.subject).toBe(subject);
        expect(mail.parsed.text).toContain('Hello Gigi,');
        expect(mail.parsed.text).toContain(url);
        expect(mail.parsed.text).toContain('Atelier, Brno');
        expect(mail.parsed.html).toContain(`href="${url.replaceAll('&', '&amp;')}"`);
        const secret = args.oTP ?? (path.includes('%') ? code : '');
        expect(mail.parsed.text).toContain(secret);
        if (args.tempUsername) expect(mail.parsed.html).toContain('gigi@temporary');
        expect(mail.parsed.text).not.toContain('Provider t');

        const [record] = await audits();
        expect(record).toMatchObject({ actor: 'idp', app_code: 'auth', subject: 'gigi@example.com' });
        expect(record?.after).toMatchObject({ eventType, brand: 'atelier', locale: 'en', templateSource: 'panel' });
        expect(record?.after).not.toHaveProperty('fallbackReason');
        if (secret !== '') {
          const kept = await usher.app.database.read(async (tx) => ({
            audit: await tx.kysely.selectFrom('audit').selectAll().execute(),
            mails: await tx.kysely.selectFrom('auth_mail').selectAll().execute(),
          }));
          expect(JSON.stringify(kept)).not.toContain(secret);
          expect(lines.join('')).not.toContain(secret);
        }
        expect(JSON.stringify(record)).not.toContain('/ui/');
      },
    );

    test('an event without a template goes out in the provider’s words', async () => {
      const answer = await send({ eventType: 'user.human.something.new' });
      expect(answer.body.data).toEqual({ status: 'sent', templateSource: 'idp' });
      const mail = await sink.next();
      expect(mail.parsed.subject).toBe('Provider subject');
      expect(mail.parsed.text).toContain("Hello Gigi O'Brien,");
      expect(mail.parsed.text).toContain(`Provider text (Code ${answer.code})`);
      expect(mail.parsed.html).toContain('>Provider button</a>');
      expect(mail.raw).not.toContain('InitCode.Footer');
      // The look is the brand's, not the provider's.
      expect(mail.parsed.html).not.toContain('label/logo');
      expect((await audits())[0]?.after).toMatchObject({ templateSource: 'idp', fallbackReason: 'unknown_event' });
    });

    test('so does one whose template lacks a variable, cannot be rendered, or is no more', async () => {
      const reasons: unknown[] = [];
      const event = { eventType: 'user.human.password.changed' };
      const change = async (values: Record<string, unknown>) => {
        await template('password_changed', values);
        const answer = await send(event);
        expect(answer.body.data).toEqual({ status: 'sent', templateSource: 'idp' });
        expect((await sink.next()).parsed.subject).toBe('Provider subject');
        const [record] = await audits();
        reasons.push((record?.after as { fallbackReason?: string } | undefined)?.fallbackReason);
      };
      await change({ required_variables: ['nickName', 'code'] });
      await change({ required_variables: [], html: '{% for i in (1..100000000) %}{{ i }}{% endfor %}' });
      await change({ key: 'elsewhere' });
      expect(reasons).toEqual(['missing_variables', 'render_failed', 'no_template']);
      const words = { html: '<p>{{ displayName }} {{ user.email }} {{ args.userID }}</p>', text: null };
      await write((tx) =>
        tx.kysely
          .updateTable('template')
          .set({
            key: 'password_changed',
            subject: 'Changed: {{ brand.name }}, {{ app.code }}, {{ locale }}',
            ...words,
          })
          .where('key', '=', 'elsewhere')
          .execute(),
      );
      expect((await send(event)).body.data.templateSource).toBe('panel');
      const mail = await sink.next();
      expect(mail.parsed.subject).toBe('Changed: Atelier, auth, en');
      expect(mail.parsed.html).toContain('<p>Gigi O&#39;Brien gigi@example.com 200</p>');
      expect(mail.parsed.text).toContain("Gigi O'Brien gigi@example.com 200");
    }, 30_000);

    test('a link elsewhere is not put into a mail, wherever it stands', async () => {
      const evil = 'https://evil.example.com/x?code=1&orgID=100';
      const args = { firstName: 'Visit https://evil.example.com/ now', code: 'C-LINK' };
      const panel = await send({ url: evil, args });
      expect(panel.body.data.templateSource).toBe('panel');
      const mail = await sink.next();
      expect(mail.raw).not.toContain('evil.example.com');
      expect(mail.parsed.text).toContain('C-LINK');
      const own = { eventType: 'x.y', url: evil, templateData: { text: `Go to ${evil}` } };
      expect((await send(own)).body.data.templateSource).toBe('idp');
      expect((await sink.next()).raw).not.toContain('evil.example.com');
    });

    test('nothing is loaded from elsewhere, but for the brand’s logo', async () => {
      const html =
        '<p>{{ code }}<img src="https://evil.example.com/p?{{ code }}"><i style="background:url(x)">x</i></p>';
      await template('account_activation', { html });
      expect((await send({ eventType: 'user.human.initialization.code.added' })).body.data.templateSource).toBe(
        'panel',
      );
      const mail = await sink.next();
      expect(mail.parsed.html).not.toContain('evil');
      expect(mail.parsed.html).not.toContain('url(');
    });

    test('the language: of the profile, else of the registration, which the profile then keeps, else English', async () => {
      const subjectFor = async (to: string) => {
        expect((await send({ to, eventType: 'user.human.password.code.added' })).status).toBe(200);
        return (await sink.next()).parsed.subject;
      };
      const profileOf = async (email: string) =>
        await usher.app.database.read(
          async (tx) =>
            await tx.kysely
              .selectFrom('profile as p')
              .innerJoin('person as e', 'e.id', 'p.person_id')
              .select('p.locale')
              .where('e.email', '=', email)
              .executeTakeFirst(),
        );
      await write(async (tx) => {
        const ids = await ensurePeople(tx, ['czech@example.com', 'slovak@example.com', 'plain@example.com']);
        for (const [email, locale] of [
          ['czech@example.com', 'cs'],
          ['slovak@example.com', 'sk'],
          ['plain@example.com', null],
        ] as const) {
          await tx.kysely
            .insertInto('profile')
            .values({ person_id: ids.get(email) ?? 0, locale })
            .execute();
        }
        const registered = (email: string, org_id: string, at: Date) => ({ email, org_id, locale: 'cs', at });
        const [now, yesterday] = [new Date(), new Date(Date.now() - 25 * 3600_000)];
        await tx.kysely
          .insertInto('registration_locale')
          .values([
            registered('newcomer@example.com', '100', now),
            registered('elsewhere@example.com', '999', now),
            registered('late@example.com', '100', yesterday),
            registered('plain@example.com', '100', now),
            registered('slovak@example.com', '100', now),
          ])
          .execute();
      });
      expect(await subjectFor('czech@example.com')).toBe('Obnovení hesla');
      // Slovak falls back to English in the registry, and a profile's language goes before a registration's.
      expect(await subjectFor('slovak@example.com')).toBe('Reset your password');
      expect(await subjectFor('newcomer@example.com')).toBe('Obnovení hesla');
      expect(await subjectFor('elsewhere@example.com')).toBe('Reset your password');
      expect(await subjectFor('late@example.com')).toBe('Reset your password');
      expect(await subjectFor('nobody@example.com')).toBe('Reset your password');
      expect(await subjectFor('plain@example.com')).toBe('Obnovení hesla');
      expect(await profileOf('plain@example.com')).toEqual({ locale: 'cs' });
      expect(await profileOf('newcomer@example.com')).toBeUndefined();
    });

    test('a language told at registration reaches the first mail, before there is a profile', async () => {
      const to = 'registering@example.com';
      const headers = { 'x-internal-api-key': usher.app.localKey ?? '' };
      const body = { email: to, orgId: '100', locale: 'cs-CZ' };
      const told = await (await Rest.as(usher)).send('PUT', '/api/internal/auth/registration-locale', body, headers);
      expect(told.status).toBe(200);
      expect((await send({ to, eventType: 'user.human.initialization.code.added' })).status).toBe(200);
      const mail = await sink.next();
      expect(mail.parsed.subject).toBe('Aktivujte svůj účet');
      expect(mail.parsed.html).toContain('<html lang="cs"');
      expect((await audits())[0]?.after).toMatchObject({ locale: 'cs' });
    });

    test('an organization without a brand is refused, and nothing is sent by another', async () => {
      for (const args of [{ orgID: '404' }, { orgID: undefined }]) {
        const answer = await send({ args, url: `${IDP}/x` });
        expect([answer.status, answer.body.details.code]).toEqual([422, 'UNKNOWN_ORGANIZATION']);
      }
      expect((await send({ args: { orgID: undefined }, url: `${IDP}/x?organization=100` })).status).toBe(200);
      await sink.next();
    });

    test('an identical call sends nothing more; two at once send one', async () => {
      const { body } = mailBody();
      const before = sink.mails.length;
      const first = await post(usher.rest, body, signature(body));
      expect(first.body.data.status).toBe('sent');
      const again = await post(usher.rest, body, signature(body, { t: Math.floor(Date.now() / 1000) - 7 }));
      expect([again.status, again.body.data]).toEqual([200, { status: 'duplicate', templateSource: 'panel' }]);
      await sink.next();

      const other = mailBody().body;
      sink.fault = { at: 'slow', ms: 300 };
      const answers = await Promise.all([1, 2, 3, 4].map(() => post(usher.rest, other, signature(other))));
      expect(answers.map(({ status, body: { data } }) => [status, data.status])).toEqual(
        [1, 2, 3, 4].map(() => [200, 'sent']),
      );
      await sink.next();
      expect(sink.mails.length - before).toBe(2);
    });

    test('what another instance is sending is 503; what a crash left half done is sent after all', async () => {
      const { body } = mailBody();
      const hash = createHmac('sha256', await SECRET.derive('auth-mail'))
        .update(body)
        .digest('hex');
      const claimed = (at: Date) =>
        write((tx) => tx.kysely.updateTable('auth_mail').set({ at }).where('hash', '=', hash).execute());
      await write((tx) => tx.kysely.insertInto('auth_mail').values({ hash, status: 'sending' }).execute());
      expect((await post(usher.rest, body, signature(body))).status).toBe(503);
      await claimed(new Date(Date.now() - 100_000));
      expect((await post(usher.rest, body, signature(body))).body.data.status).toBe('sent');
      await sink.next();
      // A month later nobody remembers.
      await claimed(new Date(Date.now() - 31 * 24 * 3600_000));
      expect((await post(usher.rest, body, signature(body))).body.data.status).toBe('sent');
      await sink.next();
    });

    test('trouble of the mail server is 502, and the next try sends it under the same Message-ID', async () => {
      const { body } = mailBody();
      sink.fault = { at: 'rcpt', code: 451, words: '4.7.1 later' };
      const failed = await post(usher.rest, body, signature(body));
      expect([failed.status, failed.body.details]).toMatchObject([
        502,
        { code: 'SMTP_FAILED', smtp: { kind: 'transient', code: '451', response: expect.stringContaining('later') } },
      ]);
      sink.fault = { at: 'after-data' };
      expect((await post(usher.rest, body, signature(body))).body.details.smtp.kind).toBe('unknown');
      sink.fault = null;
      expect((await post(usher.rest, body, signature(body))).body.data.status).toBe('sent');
      expect((await sink.next()).parsed.messageId).toMatch(/^<auth-[0-9a-f]{32}@atelier\.example\.com>$/);
    });

    test('who has no key gets nothing sent', async () => {
      const { body } = mailBody();
      const before = sink.mails.length;
      const now = Math.floor(Date.now() / 1000);
      for (const [header, reason] of [
        [null, 'SIGNATURE_INVALID'],
        ['', 'SIGNATURE_INVALID'],
        [signature(body, { key: 'another key' }), 'SIGNATURE_INVALID'],
        [signature(`${body} `), 'SIGNATURE_INVALID'],
        [signature(body, { t: now - 301 }), 'SIGNATURE_EXPIRED'],
        [signature(body, { t: now + 310 }), 'SIGNATURE_EXPIRED'],
      ] as const) {
        const answer = await post(usher.rest, body, header);
        expect([answer.status, answer.body.details.code]).toEqual([401, reason]);
      }
      expect(sink.mails.length).toBe(before);
      for (const scheme of ['body', 'timestamped'] as const) {
        const mail = mailBody().body;
        expect((await post(usher.rest, mail, signature(mail, { scheme }))).status).toBe(200);
        await sink.next();
      }
    });

    test('a signed body that is no e-mail is 400, one of another kind 415', async () => {
      for (const body of ['', '{', '[]', '{"contextInfo":{}}', '{"contextInfo":{"eventType":7}}']) {
        const answer = await post(usher.rest, body, signature(body));
        expect([body, answer.status, answer.body.details.code]).toEqual([body, 400, 'VALIDATION_FAILED']);
      }
      const empty = mailBody({ eventType: 'x.y', templateData: { subject: '', title: '' } }).body;
      expect((await post(usher.rest, empty, signature(empty))).body.details.issues[0].path).toBe('templateData');
      const path = `${usher.rest}/api/idp/notifications/email`;
      const headers = { 'content-type': 'text/plain', 'idp-signature': signature('{}') };
      expect((await fetch(path, { method: 'POST', headers, body: '{}' })).status).toBe(415);
      expect((await fetch(path)).status).toBe(405);
      const large = JSON.stringify({ x: 'y'.repeat(1024 * 1024) });
      expect((await post(usher.rest, large, signature(large))).status).toBe(413);
    });

    test('the key that setup stored counts beside the configured one', async () => {
      const sealing = new Sealing([BRAND_KEY], systemClock);
      const signingKey = sealing.sealText(SIGNING_KEY_CONTEXT, 'stored-key-of-the-provider');
      await write((tx) => putSetting(tx, 'idp.notification-provider', { providerId: '1', signingKey }));
      for (const key of ['stored-key-of-the-provider', 'k'.repeat(36)]) {
        expect((await send({}, { key })).status).toBe(200);
        await sink.next();
      }
      expect((await send({}, { key: signingKey })).status).toBe(401);
      // The same body is the same, whichever key signs it: the provider may get a new one between two tries.
      const { body } = mailBody();
      expect((await post(usher.rest, body, signature(body))).body.data.status).toBe('sent');
      const again = await post(usher.rest, body, signature(body, { key: 'stored-key-of-the-provider' }));
      expect(again.body.data.status).toBe('duplicate');
      await sink.next();
    });
  });
}

/** fetch does not let a page's host name be played. */
function statusUnder(host: string, url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}

describe('what a restart leaves', () => {
  test('edited templates and the type’s sender name stay, and deleted ones stay away; without SMTP mail is kept in development; without a key nobody is let in', async () => {
    const storage = await createStorage('postgresql');
    try {
      const first = await startUsher(storage, { env: ENV });
      await first.app.database.change(async (tx) => {
        await tx.kysely.updateTable('template').set({ subject: 'Mine' }).where('key', '=', 'otp_email').execute();
        await tx.kysely
          .updateTable('notification_type')
          .set({ email_from_name: null })
          .where('code', '=', 'auth_idp')
          .execute();
        await tx.kysely.updateTable('brand').set({ idp_org_id: '100' }).execute();
        await tx.kysely.deleteFrom('template').where('key', '=', 'password_changed').execute();
        return { result: null, scopes: [] };
      });
      await first.close();
      const second = await startUsher(storage, { env: ENV });
      const { body, code } = mailBody({ eventType: 'session.otp.email.challenged' });
      const answer = await post(second.rest, body, signature(body));
      const root = await Rest.as(second, 'admin@example.com');
      const templates = (await root.get('/api/applications/auth/templates')).body.data as {
        key: string;
        locale: string;
      }[];
      const list = await (await fetch(`${second.rest}/dev/mail`)).text();
      const [, path] = /href="(\/dev\/mail\/[^"]+)"/.exec(list) ?? [];
      const json = await fetch(`${second.rest}/dev/mail`, { headers: { accept: 'application/json' } });
      const { data } = (await json.json()) as { data: unknown };
      const shown = await fetch(second.rest + path);
      const page = await shown.text();
      const elsewhere = await statusUnder('usher.evil.example.com', second.rest + path);
      const here = await statusUnder('localhost:8080', second.rest + path);
      await second.close();
      expect(answer.body.data).toEqual({ status: 'sent', templateSource: 'panel' });
      expect(templates.map(({ locale }) => locale)).toEqual(Array.from({ length: 7 }, () => 'cs'));
      expect(templates.map(({ key }) => key)).not.toContain('password_changed');
      expect(list).toContain('Mine');
      expect(data).toMatchObject([{ to: 'gigi@example.com', subject: 'Mine', text: expect.stringContaining(code) }]);
      const mounted = (production: boolean) =>
        gatewayRoutes({ production }).filter((route) => route.path.startsWith('/dev/'));
      expect([mounted(false).length, mounted(true)]).toEqual([2, []]);
      expect(page).toContain(code);
      expect(page).toContain('<iframe sandbox=""');
      expect(page).toContain('Default &lt;no-reply@usher.example.com&gt;');
      expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect([elsewhere, here]).toEqual([403, 200]);

      const { IDP_NOTIFICATION_SIGNING_KEY: _, ...keyless } = ENV;
      const third = await startUsher(storage, { env: keyless });
      const refused = await post(third.rest, body, signature(body));
      await third.close();
      expect([refused.status, refused.body.details.code]).toEqual([401, 'SIGNATURE_INVALID']);
    } finally {
      await storage.remove();
    }
  }, 60_000);
});
