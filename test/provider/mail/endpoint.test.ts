import { createHmac } from 'node:crypto';
import { get } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { Sealing, SIGNING_KEY_CONTEXT } from '../../../src/brands/sealing.ts';
import { gatewayRoutes } from '../../../src/gateway/routes.ts';
import type { DevelopmentMail, Template } from '../../../src/gen/api.ts';
import { SecretKey } from '../../../src/identity/secret-key.ts';
import { putSetting } from '../../../src/persistence/settings.ts';
import { createStorage, KINDS } from '../../support/databases.ts';
import { Rest } from '../../support/rest.ts';
import { startUsher } from '../../support/usher.ts';
import { BRAND_KEY, ENV, type MailWorld, useMailWorld } from './mail-world.ts';
import { IDP, mailBody, post, signature } from './provider-mails.ts';
import { testWords } from './words-of-mails.ts';

const SECRET = new SecretKey(ENV.USHER_SECRET_KEY, systemClock, () => Promise.reject(new Error('it is configured')));

describe.each(KINDS)("the provider's e-mails (%s)", (kind) => {
  const world = useMailWorld(kind);
  testWords(world);
  testSending(world);
});

/** Who may send, and how often it goes out. */
function testSending(world: MailWorld): void {
  const { send, write } = world;
  test('an organization without a brand is refused, and nothing is sent by another', async () => {
    for (const args of [{ orgID: '404' }, { orgID: undefined }]) {
      const answer = await send({ args, url: `${IDP}/x` });
      expect([answer.status, answer.body.details.code]).toEqual([422, 'UNKNOWN_ORGANIZATION']);
    }
    expect((await send({ args: { orgID: undefined }, url: `${IDP}/x?organization=100` })).status).toBe(200);
    await world.sink.next();
  });

  test('an identical call sends nothing more, and two at once send one', async () => {
    const { body } = mailBody();
    const before = world.sink.mails.length;
    const first = await post(world.usher.rest, body, signature(body));
    expect(first.body.data.status).toBe('sent');
    const again = await post(world.usher.rest, body, signature(body, { t: Math.floor(Date.now() / 1000) - 7 }));
    expect([again.status, again.body.data]).toEqual([200, { status: 'duplicate', templateSource: 'panel' }]);
    await world.sink.next();

    const other = mailBody().body;
    world.sink.fault = { at: 'slow', ms: 300 };
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(world.usher.rest, other, signature(other))));
    expect(answers.map(({ status, body: { data } }) => [status, data.status])).toEqual(
      [1, 2, 3, 4].map(() => [200, 'sent']),
    );
    await world.sink.next();
    expect(world.sink.mails.length - before).toBe(2);
  });

  test('a mail that another instance is sending is 503, and one left by a crash is sent', async () => {
    const { body } = mailBody();
    const hash = createHmac('sha256', await SECRET.derive('auth-mail'))
      .update(body)
      .digest('hex');
    const claimed = (at: Date) =>
      write((tx) => tx.kysely.updateTable('auth_mail').set({ at }).where('hash', '=', hash).execute());
    await write((tx) => tx.kysely.insertInto('auth_mail').values({ hash, status: 'sending' }).execute());
    expect((await post(world.usher.rest, body, signature(body))).status).toBe(503);
    await claimed(new Date(Date.now() - 100_000));
    expect((await post(world.usher.rest, body, signature(body))).body.data.status).toBe('sent');
    await world.sink.next();
    // Remembered for 30 days, to the minute.
    const month = 30 * 24 * 3600_000;
    await claimed(new Date(Date.now() - month + 60_000));
    expect((await post(world.usher.rest, body, signature(body))).body.data.status).toBe('duplicate');
    await claimed(new Date(Date.now() - month - 60_000));
    expect((await post(world.usher.rest, body, signature(body))).body.data.status).toBe('sent');
    await world.sink.next();
  });

  test('trouble of the mail server is 502, and the next try uses the same Message-ID', async () => {
    const { body } = mailBody();
    world.sink.fault = { at: 'rcpt', code: 451, words: '4.7.1 later' };
    const failed = await post(world.usher.rest, body, signature(body));
    expect([failed.status, failed.body.details]).toMatchObject([
      502,
      { code: 'SMTP_FAILED', smtp: { kind: 'transient', code: '451', response: expect.stringContaining('later') } },
    ]);
    world.sink.fault = { at: 'after-data' };
    expect((await post(world.usher.rest, body, signature(body))).body.details.smtp.kind).toBe('unknown');
    world.sink.fault = null;
    expect((await post(world.usher.rest, body, signature(body))).body.data.status).toBe('sent');
    expect((await world.sink.next()).parsed.messageId).toMatch(/^<auth-[0-9a-f]{32}@atelier\.example\.com>$/);
  });

  test('a caller without the key gets nothing sent', async () => {
    const { body } = mailBody();
    const before = world.sink.mails.length;
    const now = Math.floor(Date.now() / 1000);
    for (const [header, reason] of [
      [null, 'SIGNATURE_INVALID'],
      ['', 'SIGNATURE_INVALID'],
      [signature(body, { key: 'another key' }), 'SIGNATURE_INVALID'],
      [signature(`${body} `), 'SIGNATURE_INVALID'],
      [signature(body, { t: now - 301 }), 'SIGNATURE_EXPIRED'],
      [signature(body, { t: now + 310 }), 'SIGNATURE_EXPIRED'],
    ] as const) {
      const answer = await post(world.usher.rest, body, header);
      expect([answer.status, answer.body.details.code]).toEqual([401, reason]);
    }
    expect(world.sink.mails.length).toBe(before);
    for (const scheme of ['body', 'timestamped'] as const) {
      const mail = mailBody().body;
      expect((await post(world.usher.rest, mail, signature(mail, { scheme }))).status).toBe(200);
      await world.sink.next();
    }
  });

  test('an unsigned mail needs a signature, not a token', async () => {
    const { body } = mailBody();
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${world.usher.rest}/api/idp/notifications/email`, { method: 'POST', headers, body });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Signature realm="usher"']);
  });

  test('a signed body that is not an e-mail is 400, and one of another type 415', async () => {
    for (const body of ['', '{', '[]', '{"contextInfo":{}}', '{"contextInfo":{"eventType":7}}']) {
      const answer = await post(world.usher.rest, body, signature(body));
      expect([body, answer.status, answer.body.details.code]).toEqual([body, 400, 'VALIDATION_FAILED']);
    }
    const empty = mailBody({ eventType: 'x.y', templateData: { subject: '', title: '' } }).body;
    expect((await post(world.usher.rest, empty, signature(empty))).body.details.issues[0].path).toBe('templateData');
    const path = `${world.usher.rest}/api/idp/notifications/email`;
    const headers = { 'content-type': 'text/plain', 'idp-signature': signature('{}') };
    expect((await fetch(path, { method: 'POST', headers, body: '{}' })).status).toBe(415);
    expect((await fetch(path)).status).toBe(405);
    const large = JSON.stringify({ x: 'y'.repeat(1024 * 1024) });
    expect((await post(world.usher.rest, large, signature(large))).status).toBe(413);
  });

  test('the key that setup stored counts beside the configured one', async () => {
    const sealing = new Sealing([BRAND_KEY], systemClock);
    const signingKey = sealing.sealText(SIGNING_KEY_CONTEXT, 'stored-key-of-the-provider');
    await write((tx) => putSetting(tx, 'idp.notification-provider', { providerId: '1', signingKey }));
    for (const key of ['stored-key-of-the-provider', 'k'.repeat(36)]) {
      expect((await send({}, { key })).status).toBe(200);
      await world.sink.next();
    }
    expect((await send({}, { key: signingKey })).status).toBe(401);
    // The same body is the same, whichever key signs it: the provider may get a new one between two tries.
    const { body } = mailBody();
    expect((await post(world.usher.rest, body, signature(body))).body.data.status).toBe('sent');
    const again = await post(world.usher.rest, body, signature(body, { key: 'stored-key-of-the-provider' }));
    expect(again.body.data.status).toBe('duplicate');
    await world.sink.next();
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

describe('the e-mail endpoint after a restart', () => {
  test('a restart keeps edits and deletions of auth templates, keeps mail without SMTP in development, and needs a key', async () => {
    const storage = await createStorage('postgresql');
    try {
      const first = await startUsher(storage, { env: ENV });
      await first.app.database.change(async (tx) => {
        await tx.kysely.updateTable('template').set({ subject: 'Mine' }).where('key', '=', 'otp_email').execute();
        await tx.kysely
          .updateTable('notification_type')
          .set({ emailFromName: null })
          .where('code', '=', 'auth_idp')
          .execute();
        await tx.kysely.updateTable('brand').set({ idpOrgId: '100' }).execute();
        await tx.kysely.deleteFrom('template').where('key', '=', 'password_changed').execute();
        return { result: null, scopes: [] };
      });
      await first.close();
      const second = await startUsher(storage, { env: ENV });
      const { body, code } = mailBody({ eventType: 'session.otp.email.challenged' });
      const answer = await post(second.rest, body, signature(body));
      const root = await Rest.as(second, 'admin@example.com');
      const templates = (await root.get('/api/applications/auth/templates')).body.data as Template[];
      const list = await fetch(`${second.rest}/dev/mail`);
      const { data } = (await list.json()) as { data: DevelopmentMail[] };
      const path = `/dev/mail/${data[0]?.id}`;
      const shown = await fetch(second.rest + path);
      const page = await shown.text();
      const elsewhere = await statusUnder('usher.evil.example.com', second.rest + path);
      const here = await statusUnder('localhost:8080', second.rest + path);
      await second.close();
      expect(answer.body.data).toEqual({ status: 'sent', templateSource: 'panel' });
      expect(templates.map(({ locale }) => locale)).toEqual(Array.from({ length: 7 }, () => 'cs'));
      expect(templates.map(({ key }) => key)).not.toContain('password_changed');
      expect(data).toMatchObject([{ to: 'gigi@example.com', subject: 'Mine', text: expect.stringContaining(code) }]);
      const mounted = (production: boolean) =>
        gatewayRoutes({ production }).filter((route) => route.path.startsWith('/dev/'));
      // The list, a mail, and both routes of the sign-in.
      expect([mounted(false).length, mounted(true)]).toEqual([4, []]);
      expect(page).toContain(code);
      expect(data[0]).toMatchObject({ from: { name: 'Default', address: 'no-reply@usher.example.com' } });
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
