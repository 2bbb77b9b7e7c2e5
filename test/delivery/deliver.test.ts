import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { requeue } from '../../src/delivery/queue.ts';
import { ensurePeople } from '../../src/persistence/people/people.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { accept, hurry, insertType, settled, stateOf, until, type Wanted } from './rows.ts';

for (const kind of KINDS) {
  describe(`deliveries from the table to the recipient (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let smtp: SmtpSink;
    let push: PushService;
    let type: { app: number; type: number };
    let brandId: number;
    let vapid: string;

    beforeAll(async () => {
      [storage, smtp, push] = await Promise.all([createStorage(kind), startSmtp(), startPushService()]);
      usher = await startUsher(storage, { env: { PUSH_ALLOWED_HOSTS: push.host } });
      const root = await Rest.as(usher, 'admin@example.com');
      brandId = (await makeBrand(root, 'atelier', smtp.port)).id;
      vapid = (await root.get('/api/profile/me/push/vapid-key')).body.data.vapidPublicKey;
      type = await insertType(usher.app.database, 'billing');
    }, 60_000);
    afterEach(() => {
      smtp.fault = null;
      push.answers.clear();
    });
    afterAll(async () => {
      await usher?.close();
      await Promise.all([smtp?.close(), push?.close(), storage?.remove()]);
    }, 60_000);

    const sendAll = async (wanted: readonly Wanted[]) => {
      const ids = await accept(usher.app.database, type, wanted);
      usher.app.bell.ring();
      return ids;
    };
    const send = async (wanted: Wanted) => (await sendAll([wanted]))[0] ?? 0;
    const hurryUp = async () => {
      await hurry(usher.app.database);
      usher.app.bell.ring();
    };
    const state = (id: number) => stateOf(usher.app.database, id);
    const end = (id: number) => until(() => state(id), settled);
    const subscribe = async (email: string, name: string) => {
      const browser = push.browser(name, vapid);
      const rest = await Rest.as(usher, email);
      const { status } = await rest.post('/api/profile/me/push/subscribe', {
        subscription: browser,
        deviceLabel: name,
      });
      expect(status).toBe(201);
      return new URL(browser.endpoint).pathname;
    };
    const subscriptions = async (email: string) =>
      (await (await Rest.as(usher, email)).get('/api/profile/me/push/subscriptions')).body.response;

    test('an e-mail is sent by its brand, with one-click unsubscription', async () => {
      const ada = await usher.app.database.change(async (tx) => {
        const result = (await ensurePeople(tx, ['ada@example.com'])).get('ada@example.com') ?? 0;
        return { result, scopes: [] };
      });
      const unsubscribe = { base: usher.rest, person: ada.result, type: type.type };
      const id = await send({
        to: 'ada@example.com',
        email: { brandId, subject: 'Nová faktura', locale: 'cs', fromName: 'Billing', unsubscribe },
      });
      const mail = await smtp.next();
      expect(await end(id)).toEqual({
        status: 'sent',
        reason: null,
        deliveries: [{ channel: 'email', status: 'sent', error: null, attempts: 1, sent: true, dueIn: null }],
      });
      expect(mail.to).toEqual(['ada@example.com']);
      expect(mail.parsed.subject).toBe('Nová faktura');
      expect(mail.parsed.from?.value).toEqual([{ address: 'atelier@example.com', name: 'Billing' }]);
      expect(mail.parsed.text).toContain('There is news.');
      expect(mail.parsed.messageId).toMatch(/^<delivery-\d+-[a-z0-9]+@localhost>$/);
      const [, link = ''] = /^List-Unsubscribe:\s+<(.*)>/m.exec(mail.raw) ?? [];
      expect(link).toContain(`${usher.rest}/api/notifications/unsubscribe?token=${ada.result}.${type.type}.`);
      expect(mail.raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/m);
      expect(mail.parsed.html).toContain(`href="${link}"`);
      expect(mail.parsed.text).toContain(`:\n${link}\n`);
      expect((await fetch(link)).status).toBe(200);
      expect((await fetch(`${link}x`)).status).toBe(400);

      await send({ to: 'ada@example.com', email: { brandId } });
      expect((await smtp.next()).raw).not.toMatch(/^List-Unsubscribe/m);
      const signed = { unsubscribe: undefined as unknown as null, unsubscribeUrl: link };
      await send({ to: 'ada@example.com', email: { brandId, ...signed } });
      expect((await smtp.next()).raw).toContain(`<${link}>`);
    });

    test('mail of a brand without a server goes to the development mailbox', async () => {
      const id = await send({ to: 'ada@example.com', email: { subject: 'To the mailbox' } });
      expect((await end(id)).status).toBe('sent');
    });

    test('a push reaches every browser of the person, encrypted and signed, and updates lastUsedAt', async () => {
      await subscribe('bea@example.com', 'desktop');
      await subscribe('bea@example.com', 'phone');
      const before = push.pushes.length;
      const id = await send({ to: 'bea@example.com', push: { body: 'Číslo 7' } });
      expect(await end(id)).toMatchObject({
        status: 'sent',
        reason: null,
        deliveries: [{ channel: 'push', sent: true }],
      });
      const got = push.pushes.slice(before);
      expect(got).toHaveLength(2);
      expect(new Set(got.map(({ path }) => path.split('/').at(-1)))).toEqual(new Set(['desktop', 'phone']));
      for (const one of got) {
        expect(one.payload).toEqual({
          title: 'News',
          body: 'Číslo 7',
          icon: '/icon.png',
          url: 'https://app.example.com/7',
        });
        expect([one.ttl, one.urgency, one.encoding]).toEqual(['86400', 'normal', 'aes128gcm']);
        expect(one.claims).toMatchObject({ aud: push.origin, sub: expect.stringMatching(/^mailto:/) });
        expect((one.claims.exp ?? 0) * 1000).toBeLessThan(Date.now() + 24 * 3_600_000);
      }
      expect(push.faults).toEqual([]);
      const [first, second] = await subscriptions('bea@example.com');
      expect([first.lastUsedAt, second.lastUsedAt]).toEqual([expect.any(String), expect.any(String)]);
    });

    test('a body that is too long is shortened to fit a push', async () => {
      await subscribe('cid@example.com', 'desktop');
      const before = push.pushes.length;
      await end(await send({ to: 'cid@example.com', push: { body: '😀'.repeat(3000) } }));
      const [got] = push.pushes.slice(before);
      expect(got?.size).toBeGreaterThan(3980);
      expect(got?.size).toBeLessThanOrEqual(3993);
      expect(got?.payload.body).toMatch(/^(?:😀)+…$/u);
    });

    test.each([404, 410])(
      'an expired subscription (%d) is removed, and the other browsers get the push',
      async (status) => {
        const email = `dan${status}@example.com`;
        const gone = await subscribe(email, 'gone');
        await subscribe(email, 'alive');
        push.answers.set(gone, { status });
        const id = await send({ to: email, push: {} });
        expect((await end(id)).status).toBe('sent');
        expect((await subscriptions(email)).map((one: { deviceLabel: string }) => one.deviceLabel)).toEqual(['alive']);

        const alone = `dana${status}@example.com`;
        push.answers.set(await subscribe(alone, 'gone'), { status });
        expect(await end(await send({ to: alone, push: {} }))).toMatchObject({ status: 'failed', reason: 'push_gone' });
        expect(await subscriptions(alone)).toEqual([]);
      },
    );

    test.each([
      [400, 'push_rejected'],
      [401, 'push_unauthorized'],
      [403, 'push_unauthorized'],
      [413, 'push_too_large'],
      [302, 'push_redirected'],
    ])('a push refused with %d is not retried, and the subscription stays', async (status, reason) => {
      const email = `eva${status}@example.com`;
      const path = await subscribe(email, 'desktop');
      push.answers.set(path, { status, headers: { location: `${push.origin}/elsewhere` } });
      const id = await send({ to: email, push: {} });
      expect(await end(id)).toMatchObject({
        status: 'failed',
        reason,
        deliveries: [{ status: 'failed', error: reason, attempts: 1, dueIn: null }],
      });
      expect(push.asked.get(path)).toBe(1);
      expect(push.asked.get('/elsewhere')).toBeUndefined();
      expect(await subscriptions(email)).toHaveLength(1);
    });

    test('a push that failed at one browser is retried there only', async () => {
      const bad = await subscribe('fay@example.com', 'bad');
      const good = await subscribe('fay@example.com', 'good');
      push.answers.set(bad, { status: 500 });
      const id = await send({ to: 'fay@example.com', push: {} });
      // Sent as soon as one has it; the other is still to be tried.
      const first = await end(id);
      expect(first).toMatchObject({ status: 'sent', deliveries: [{ status: 'sent', attempts: 1 }] });
      expect(first.deliveries[0]?.dueIn).toBeGreaterThan(2);
      push.answers.clear();
      await hurryUp();
      await until(
        () => state(id),
        ({ deliveries }) => deliveries[0]?.dueIn === null,
      );
      expect([push.asked.get(bad), push.asked.get(good)]).toEqual([2, 1]);
      expect(push.pushes.filter(({ path }) => path === bad)).toHaveLength(1);
    });

    test('a permanently refused mail fails at once, and a deferred one is sent later', async () => {
      smtp.fault = { at: 'rcpt', code: 550, words: 'no such user' };
      expect(await end(await send({ to: 'gus@example.com', email: { brandId } }))).toMatchObject({
        status: 'failed',
        reason: 'smtp_rejected',
        deliveries: [{ status: 'failed', attempts: 1, dueIn: null }],
      });

      smtp.fault = { at: 'rcpt', code: 451, words: 'later' };
      const id = await send({ to: 'gus@example.com', email: { brandId } });
      const waiting = await until(
        () => state(id),
        ({ deliveries }) => deliveries[0]?.error === 'smtp_deferred',
      );
      expect(waiting).toMatchObject({
        status: 'queued',
        reason: null,
        deliveries: [{ status: 'queued', attempts: 1 }],
      });
      expect(waiting.deliveries[0]?.dueIn).toBeGreaterThan(1.5);
      expect(waiting.deliveries[0]?.dueIn).toBeLessThan(5);
      smtp.fault = null;
      await hurryUp();
      expect(await end(id)).toMatchObject({ status: 'sent', deliveries: [{ attempts: 2, error: null }] });
    });

    test('a connection lost after the data is retried with the same Message-ID', async () => {
      const before = smtp.mails.length;
      smtp.fault = { at: 'after-data' };
      const id = await send({ to: 'hal@example.com', email: { brandId } });
      await until(
        () => state(id),
        ({ deliveries }) => deliveries[0]?.error === 'smtp_interrupted',
      );
      smtp.fault = null;
      await hurryUp();
      await end(id);
      const [mail] = smtp.mails.slice(before);
      expect(mail?.parsed.messageId).toMatch(/^<delivery-/);
    });

    test("a notification's status combines its deliveries, and failed ones can be queued again", async () => {
      await subscribe('ida@example.com', 'desktop');
      smtp.fault = { at: 'rcpt', code: 550, words: 'no such user' };
      const id = await send({ to: 'ida@example.com', email: { brandId }, push: {} });
      expect(await end(id)).toMatchObject({
        status: 'partial',
        reason: 'smtp_rejected',
        deliveries: [
          { channel: 'email', status: 'failed' },
          { channel: 'push', status: 'sent' },
        ],
      });
      smtp.fault = null;
      const pushes = push.pushes.length;
      const again = async () =>
        (await usher.app.database.change(async (tx) => ({ result: (await requeue(tx, [id])).length, scopes: [] })))
          .result;
      expect(await again()).toBe(1);
      usher.app.bell.ring();
      expect(await end(id)).toMatchObject({ status: 'sent', reason: null });
      // What was sent was not sent again, and there is nothing more to queue.
      expect(push.pushes.length).toBe(pushes);
      expect(await again()).toBe(0);
    });

    test('a person deactivated after the send gets nothing', async () => {
      const path = await subscribe('joe@example.com', 'desktop');
      await usher.app.database.change(async (tx) => {
        await tx.kysely.updateTable('person').set({ blocked: true }).where('email', '=', 'joe@example.com').execute();
        return { result: null, scopes: ['u:joe@example.com'] };
      });
      const mails = smtp.mails.length;
      const id = await send({ to: 'joe@example.com', email: { brandId }, push: {} });
      expect(await end(id)).toMatchObject({ status: 'failed', reason: 'user_inactive' });
      expect([smtp.mails.length, push.asked.get(path)]).toEqual([mails, undefined]);
    });

    test('both deliveries of many notifications settle together without losing one', async () => {
      await subscribe('kim@example.com', 'desktop');
      const wanted = Array.from({ length: 40 }, () => ({ to: 'kim@example.com', email: { brandId }, push: {} }));
      const ids = await sendAll(wanted);
      for (const id of ids) expect((await end(id)).status).toBe('sent');
    });

    test('text that the database rejects does not prevent a send', async () => {
      await end(await send({ to: 'ada@example.com', email: { brandId, text: 'a\0b\ud800', html: '<p>\0</p>' } }));
    });
  });
}

/** A brand with that server. */
async function makeBrand(root: Rest, slug: string, port: number): Promise<{ id: number }> {
  const smtp = { host: '127.0.0.1', port, secure: false };
  const made = await root.post('/api/admin/brands', { slug, name: slug, emailFrom: `${slug}@example.com`, smtp });
  expect([made.status, made.body.details]).toEqual([201, undefined]);
  return made.body.data;
}
