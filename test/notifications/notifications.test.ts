import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { deliveriesOf, describeApplications, sendBySystem, typeId } from './support.ts';

const TYPES = '/api/applications/billing/notification-types';
const TEMPLATES = '/api/applications/billing/templates';
const LOG = '/api/applications/billing/notifications';
const INBOX = '/api/profile/me/notifications/inbox';

for (const kind of ['postgresql', 'pglite'] as const) {
  describe(`notifications (${kind}; contract 6)`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let root: Rest;
    let nora: Rest;
    let ann: Rest;
    let ids: Record<'generic' | 'due' | 'locked', number>;

    beforeAll(async () => {
      storage = await createStorage(kind);
      // No worker: what is stored to be delivered is looked at as it is.
      usher = await startUsher(storage, { env: { USHER_ROLES: 'gateway,rpc' } });
      root = await Rest.as(usher, 'admin@example.com');
      nora = await Rest.as(usher, 'nora@example.com');
      ann = await Rest.as(usher, 'ann@example.com');
      await describeApplications(usher);
      const due = (
        await root.post(TYPES, { code: 'due', name: 'Invoice due', defaultPush: false, emailFromName: 'Bills' })
      ).body.data;
      const locked = (await root.post(TYPES, { code: 'locked', name: 'Security', userCanDisable: false })).body.data;
      ids = { generic: await typeId(root, 'billing', 'generic'), due: due.id, locked: locked.id };
      for (const [locale, subject] of [
        ['en', 'Invoice {{ number }}'],
        ['cs', 'Faktura {{ number }}'],
        ['de', 'Rechnung {{ number }}'],
      ]) {
        const answer = await root.post(TEMPLATES, {
          ...{
            notificationTypeId: due.id,
            locale,
            subject,
            html: '<p>{{ user.email }}: {{ number }} & {{ brand.name }}</p>',
          },
          ...{ requiredVariables: ['number'], url: 'https://app.example.com/i/{{ number }}' },
        });
        expect(answer.status).toBe(201);
      }
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const send = (body: Record<string, unknown>) => sendBySystem(usher, { appCode: 'billing', ...body });
    const inbox = async (rest: Rest, query = '') => (await rest.get(`${INBOX}${query}`)).body.response;
    const write = (
      statement: (tx: Parameters<Parameters<RunningUsher['app']['database']['change']>[0]>[0]) => Promise<unknown>,
    ) =>
      usher.app.database.change(async (tx) => {
        await statement(tx);
        return { result: null, scopes: ['*'] };
      });

    test('a send stores a notification and its mail, and the inbox shows it', async () => {
      const answer = await send({
        type: 'due',
        recipients: ['Ann@Example.com', 'ann@example.com '],
        payload: { number: '2026-1', n: { deep: [1] } },
      });
      expect([answer.status, answer.body]).toEqual([
        202,
        {
          success: true,
          data: {
            notifications: [{ id: expect.any(Number), email: 'ann@example.com', status: 'queued', statusReason: null }],
          },
        },
      ]);
      const [{ id }] = answer.body.data.notifications;
      const [item] = await inbox(ann);
      expect(item).toEqual({
        id,
        appCode: 'billing',
        appName: 'Billing',
        type: 'due',
        subject: 'Invoice 2026-1',
        status: 'queued',
        statusReason: null,
        locale: 'en',
        readAt: null,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        payload: { number: '2026-1', n: { deep: [1] } },
      });
      const deliveries = await deliveriesOf(usher, id);
      expect(deliveries).toMatchObject([
        {
          channel: 'email',
          status: 'queued',
          content: {
            to: 'ann@example.com',
            subject: 'Invoice 2026-1',
            html: expect.stringMatching(/^<p>ann@example\.com: 2026-1 & /),
            text: expect.stringMatching(/^ann@example\.com: 2026-1 & /),
            locale: 'en',
            fromName: 'Bills',
            unsubscribeUrl: expect.stringMatching(
              new RegExp(`^${usher.rest.replace('127.0.0.1', 'localhost')}/api/notifications/unsubscribe\\?token=`),
            ),
          },
        },
      ]);
    });

    test('the language: the body’s, else the reader’s, else along the registry; the notification says which', async () => {
      await ann.get(INBOX);
      await write(async (tx) => {
        const { id } = await tx.kysely
          .selectFrom('person')
          .select('id')
          .where('email', '=', 'ann@example.com')
          .executeTakeFirstOrThrow();
        await tx.kysely
          .insertInto('profile')
          .values({ person_id: id, first_name: 'Ann', locale: 'sk' })
          .onConflict((oc) => oc.column('person_id').doUpdateSet({ locale: 'sk' }))
          .execute();
        await tx.kysely.updateTable('language').set({ fallback: 'cs' }).where('code', '=', 'sk').execute();
      });
      await send({ type: 'due', recipients: ['ann@example.com'], payload: { number: 'a' } });
      await send({ type: 'due', recipients: ['ann@example.com'], payload: { number: 'b' }, locale: 'de' });
      await send({ type: 'due', recipients: ['ann@example.com'], payload: { number: 'c' }, locale: 'fr' });
      const items = (await inbox(ann, '?limit=3')) as { subject: string; locale: string }[];
      expect(items.map(({ subject, locale }) => [subject, locale])).toEqual([
        ['Invoice c', 'en'],
        ['Rechnung b', 'de'],
        ['Faktura a', 'cs'],
      ]);
    });

    test('without a template: subject and body as they were sent, else the type’s name', async () => {
      const first = await nora.post(LOG, {
        recipients: ['plain@example.com'],
        subject: 'Hi {{ x }}\r\nBcc: y',
        body: 'a <b>\n\nc',
      });
      expect(first.status).toBe(202);
      const [{ id }] = first.body.data.notifications;
      expect(await deliveriesOf(usher, id)).toMatchObject([
        {
          content: {
            subject: 'Hi {{ x }} Bcc: y',
            text: 'a <b>\n\nc',
            html: '<p>a &lt;b&gt;</p>\n<p>c</p>',
            fromName: null,
          },
        },
      ]);
      const second = await nora.post(LOG, { recipients: ['plain@example.com'] });
      const plain = await Rest.as(usher, 'plain@example.com');
      expect(await inbox(plain)).toMatchObject([
        { id: second.body.data.notifications[0].id, subject: 'Notifications', payload: {} },
        { id },
      ]);
    });

    test('what is missing or unknown is refused, and nothing is stored', async () => {
      const before = (await root.get(`${LOG}?limit=200`)).body.data.length;
      const lacking = await send({ type: 'due', recipients: ['ann@example.com'], payload: { sum: 1 } });
      expect([lacking.status, lacking.body.details]).toEqual([
        400,
        { code: 'MISSING_VARIABLES', variables: ['number'] },
      ]);
      const payload = { number: 1 };
      for (const [body, code] of [
        [{ type: 'no-such', recipients: ['a@example.com'] }, 'UNKNOWN_REFERENCE'],
        [{ type: 'due', templateKey: 'no-such', recipients: ['a@example.com'], payload }, 'UNKNOWN_REFERENCE'],
        [{ appCode: 'no-such', recipients: ['a@example.com'] }, 'UNKNOWN_REFERENCE'],
        [{ recipients: [] }, 'VALIDATION_FAILED'],
        [{ recipients: ['not an address'] }, 'VALIDATION_FAILED'],
        [{ recipients: Array.from({ length: 1001 }, (_, n) => `u${n}@example.com`) }, 'VALIDATION_FAILED'],
        [{ recipients: ['a@example.com'], url: 'javascript:alert(1)' }, 'VALIDATION_FAILED'],
        [{ recipients: ['a@example.com'], icon: '//evil.example.com/i.png' }, 'VALIDATION_FAILED'],
        [{ recipients: ['a@example.com'], payload: [1] }, 'VALIDATION_FAILED'],
        [{ recipients: ['a@example.com'], locale: 'EN' }, 'VALIDATION_FAILED'],
        [{ recipients: ['a@example.com'], idempotencykey: 'x' }, 'VALIDATION_FAILED'],
      ] as const) {
        const answer = await send(body);
        expect([answer.status, answer.body.details.code]).toEqual([400, code]);
      }
      expect((await root.get(`${LOG}?limit=200`)).body.data.length).toBe(before);
    });

    test('only with a key of the right scope, and never from a page', async () => {
      const body = { appCode: 'billing', recipients: ['a@example.com'] };
      expect((await sendBySystem(usher, body, { 'x-internal-api-key': 'wrong' })).status).toBe(401);
      expect((await root.post('/api/internal/notifications', body)).status).toBe(401);
      const page = await sendBySystem(usher, body, { origin: 'https://evil.example.com' });
      expect([page.status, page.body.details.code]).toEqual([403, 'BROWSER_NOT_ALLOWED']);
    });

    test('switches: the application’s suppresses, the type’s keeps the mail back, a locked type ignores both', async () => {
      const eve = await Rest.as(usher, 'eve@example.com');
      await send({ recipients: ['eve@example.com'] });
      const put = await eve.put(`/api/profile/me/notifications/preferences/${ids.due}`, { email: false });
      expect([put.status, put.body.data]).toMatchObject([
        200,
        { notificationTypeId: ids.due, email: false, push: false },
      ]);
      const quiet = await send({ type: 'due', recipients: ['eve@example.com'], payload: { number: 1 } });
      expect(quiet.body.data.notifications).toMatchObject([{ status: 'sent', statusReason: null }]);

      await write(async (tx) => {
        const { id } = await tx.kysely
          .selectFrom('person')
          .select('id')
          .where('email', '=', 'eve@example.com')
          .executeTakeFirstOrThrow();
        const app = await tx.kysely
          .selectFrom('application')
          .select('id')
          .where('code', '=', 'billing')
          .executeTakeFirstOrThrow();
        await tx.kysely
          .insertInto('app_preference')
          .values({ person_id: id, application_id: app.id, notifications_enabled: false })
          .execute();
      });
      const off = await send({ recipients: ['eve@example.com'] });
      expect(off.body.data.notifications).toMatchObject([
        { status: 'suppressed', statusReason: 'notifications_disabled' },
      ]);
      expect(await inbox(eve)).toHaveLength(2);
      const locked = await send({ type: 'locked', recipients: ['eve@example.com'] });
      expect(locked.body.data.notifications).toMatchObject([{ status: 'queued' }]);
      const [mail] = await deliveriesOf(usher, locked.body.data.notifications[0].id);
      expect(mail?.content).toMatchObject({ unsubscribeUrl: null });
      expect((await eve.send('PATCH', `${INBOX}/${off.body.data.notifications[0].id}/read`)).status).toBe(404);
    });

    test('push goes to who subscribed, with title, body, icon and url', async () => {
      await write(async (tx) => {
        const { id } = await tx.kysely
          .insertInto('person')
          .values({ email: 'pat@example.com' })
          .returning('id')
          .executeTakeFirstOrThrow();
        await tx.kysely
          .insertInto('push_subscription')
          .values({
            person_id: id,
            endpoint: 'https://fcm.googleapis.com/x',
            p256dh: 'k',
            auth: 'a',
            device_label: 'd',
            vapid_key: 'v',
          })
          .execute();
      });
      const answer = await send({
        recipients: ['pat@example.com', 'ann@example.com'],
        subject: 'S',
        body: 'B',
        icon: '/i.png',
        url: 'https://app.example.com/',
      });
      const [pat, other] = answer.body.data.notifications;
      expect(await deliveriesOf(usher, pat.id)).toMatchObject([
        { channel: 'email' },
        { channel: 'push', content: { title: 'S', body: 'B', icon: '/i.png', url: 'https://app.example.com/' } },
      ]);
      expect((await deliveriesOf(usher, other.id)).map(({ channel }) => channel)).toEqual(['email']);
    });

    test('an inactive user gets nothing', async () => {
      await write((tx) => tx.kysely.insertInto('person').values({ email: 'ina@example.com', blocked: true }).execute());
      for (const type of ['generic', 'locked']) {
        const answer = await send({ type, recipients: ['ina@example.com'] });
        expect(answer.body.data.notifications).toMatchObject([{ status: 'suppressed', statusReason: 'user_inactive' }]);
      }
    });

    test('one idempotencyKey, one send: again, at once, and with another body', async () => {
      const body = {
        recipients: ['idem@example.com'],
        subject: 'Once',
        payload: { b: 1, a: 2 },
        idempotencyKey: 'k-1',
      };
      const answers = await Promise.all([1, 2, 3, 4].map(() => send(body)));
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
      expect(new Set(answers.map(({ body: answer }) => JSON.stringify(answer))).size).toBe(1);
      const again = await send({ ...body, recipients: ['IDEM@example.com'], payload: { a: 2, b: 1 } });
      expect(again.body).toEqual(answers[0]?.body);
      // Administrators share the keys of their application.
      const byAdmin = await nora.post(LOG, body);
      expect(byAdmin.body).toEqual(answers[0]?.body);
      expect(await inbox(await Rest.as(usher, 'idem@example.com'))).toHaveLength(1);
      const other = await send({ ...body, subject: 'Twice' });
      expect([other.status, other.body.details.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
      const elsewhere = await sendBySystem(usher, { ...body, appCode: 'shop', subject: 'Twice' });
      expect(elsewhere.status).toBe(202);
      await write((tx) =>
        tx.kysely
          .updateTable('send_request')
          .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
          .execute(),
      );
      expect((await send({ ...body, subject: 'Twice' })).status).toBe(202);
      expect(await inbox(await Rest.as(usher, 'idem@example.com'))).toHaveLength(3);
    });

    test('the inbox: pages, unread, one application; read one, read all', async () => {
      const ivy = await Rest.as(usher, 'ivy@example.com');
      expect((await ivy.get(INBOX)).body).toEqual({ code: 'OK', response: [], page: { nextCursor: null } });
      for (let n = 1; n <= 5; n++) await send({ recipients: ['ivy@example.com'], subject: `n${n}` });
      await sendBySystem(usher, { appCode: 'shop', recipients: ['ivy@example.com'], subject: 'shop' });
      const subjects = (items: { subject: string }[]) => items.map(({ subject }) => subject);
      const first = await ivy.get(`${INBOX}?limit=4`);
      expect(subjects(first.body.response)).toEqual(['shop', 'n5', 'n4', 'n3']);
      const second = await ivy.get(`${INBOX}?limit=4&cursor=${first.body.page.nextCursor}`);
      expect(second.body).toMatchObject({
        response: [{ subject: 'n2' }, { subject: 'n1' }],
        page: { nextCursor: null },
      });
      expect(subjects(await inbox(ivy, '?appCode=shop'))).toEqual(['shop']);
      expect(await inbox(ivy, '?appCode=no-such')).toEqual([]);
      for (const bad of [
        '?limit=0',
        '?limit=201',
        '?limit=x',
        '?cursor=x',
        '?unreadOnly=maybe',
        '?nope=1',
        '?limit=1&limit=2',
      ]) {
        expect((await ivy.get(INBOX + bad)).status).toBe(400);
      }

      const [newest] = first.body.response;
      const path = `${INBOX}/${newest.id}/read`;
      expect((await ivy.get(`${INBOX}/unread-count`)).body).toEqual({ code: 'OK', response: { count: 6 } });
      expect((await (await Rest.as(usher, 'ben@example.com')).send('PATCH', path)).status).toBe(404);
      expect((await ivy.send('PATCH', path)).status).toBe(204);
      const { readAt } = (await inbox(ivy))[0];
      expect(readAt).not.toBeNull();
      expect((await ivy.send('PATCH', path)).status).toBe(204);
      expect((await inbox(ivy))[0].readAt).toBe(readAt);
      expect((await ivy.send('PATCH', `${INBOX}/999999999/read`)).status).toBe(404);
      expect((await ivy.send('PATCH', `${INBOX}/abc/read`)).status).toBe(400);
      expect(await inbox(ivy, '?unreadOnly=true')).toHaveLength(5);
      expect((await ivy.post(`${INBOX}/read-all`, { appCode: 'no-such' })).body).toEqual({ updated: 0 });
      expect((await ivy.post(`${INBOX}/read-all`, { appCode: 'shop' })).body).toEqual({ updated: 0 });
      expect((await ivy.post(`${INBOX}/read-all`)).body).toEqual({ updated: 5 });
      expect((await ivy.post(`${INBOX}/read-all`, {})).body).toEqual({ updated: 0 });
      expect((await ivy.get(`${INBOX}/unread-count`)).body.response).toEqual({ count: 0 });
    });

    test('preferences: every type, one, several, all or nothing', async () => {
      const pia = await Rest.as(usher, 'pia@example.com');
      const list = await pia.get('/api/profile/me/notifications/billing');
      expect([list.status, list.body.code]).toEqual([200, 'OK']);
      expect(list.body.response).toEqual([
        {
          notificationTypeId: ids.due,
          code: 'due',
          name: 'Invoice due',
          description: null,
          emailEnabled: true,
          pushEnabled: true,
          userCanDisable: true,
          email: true,
          push: false,
        },
        {
          notificationTypeId: ids.generic,
          code: 'generic',
          name: 'Notifications',
          description: null,
          emailEnabled: true,
          pushEnabled: true,
          userCanDisable: true,
          email: true,
          push: true,
        },
        {
          notificationTypeId: ids.locked,
          code: 'locked',
          name: 'Security',
          description: null,
          emailEnabled: true,
          pushEnabled: true,
          userCanDisable: false,
          email: true,
          push: true,
        },
      ]);
      expect((await pia.get('/api/profile/me/notifications/no-such')).status).toBe(404);
      const bulk = '/api/profile/me/notifications/preferences/bulk';
      const both = await pia.put(bulk, {
        updates: [
          { notificationTypeId: ids.generic, push: false },
          { notificationTypeId: ids.due, push: true, email: false },
        ],
      });
      expect([both.status, both.body.data]).toMatchObject([
        200,
        [
          { code: 'generic', email: true, push: false },
          { code: 'due', email: false, push: true },
        ],
      ]);
      for (const [id, status, code] of [
        [ids.locked, 403, 'PREFERENCE_LOCKED'],
        [999_999, 400, 'UNKNOWN_REFERENCE'],
      ] as const) {
        const answer = await pia.put(bulk, {
          updates: [
            { notificationTypeId: ids.generic, email: false },
            { notificationTypeId: id, email: false },
          ],
        });
        expect([answer.status, answer.body.details.code]).toEqual([status, code]);
      }
      const one = (id: number | string) => `/api/profile/me/notifications/preferences/${id}`;
      expect((await pia.put(one(ids.locked), { email: false })).body.details.code).toBe('PREFERENCE_LOCKED');
      expect((await pia.put(one(999_999), { email: false })).status).toBe(404);
      expect((await pia.put(one(ids.generic), { email: 'no' })).status).toBe(400);
      expect(
        (await pia.put(bulk, { updates: [{ notificationTypeId: ids.generic }, { notificationTypeId: ids.generic }] }))
          .status,
      ).toBe(400);
      const after = (await pia.get('/api/profile/me/notifications/billing')).body.response;
      expect(after.map(({ email, push }: { email: boolean; push: boolean }) => [email, push])).toEqual([
        [false, true],
        [true, false],
        [true, true],
      ]);
      // Nobody else's.
      expect((await ann.get('/api/profile/me/notifications/billing')).body.response[1]).toMatchObject({ push: true });
    });

    test('the log: newest first, in pages, by status, type and address; a failed one is tried again', async () => {
      const sent = await send({ type: 'due', recipients: ['log@example.com'], payload: { number: 1 } });
      const [{ id }] = sent.body.data.notifications;
      await send({ recipients: ['log@example.com'] });
      const all = await nora.get(`${LOG}?email=LOG@example.com`);
      expect(all.body.data).toEqual([
        expect.objectContaining({ type: 'generic' }),
        {
          id,
          email: 'log@example.com',
          type: 'due',
          status: 'queued',
          statusReason: null,
          locale: 'en',
          createdAt: expect.any(String),
          deliveries: [{ channel: 'email', status: 'queued', attempts: 0, error: null, sentAt: null }],
        },
      ]);
      expect((await nora.get(`${LOG}?email=log@example.com&type=due`)).body.data).toMatchObject([{ id }]);
      expect((await nora.get(`${LOG}?type=no-such`)).body.data).toEqual([]);
      const suppressed = (await nora.get(`${LOG}?status=suppressed`)).body.data;
      expect(suppressed.length).toBeGreaterThan(0);
      expect(suppressed.every((row: { status: string }) => row.status === 'suppressed')).toBe(true);
      const page = await nora.get(`${LOG}?limit=2`);
      expect(page.body.data).toHaveLength(2);
      const next = await nora.get(`${LOG}?limit=2&cursor=${page.body.page.nextCursor}`);
      expect(next.body.data[0].id).toBeLessThan(page.body.data[1].id);
      expect((await nora.get(`${LOG}?status=nope`)).status).toBe(400);

      await write(async (tx) => {
        await tx.kysely
          .updateTable('delivery')
          .set({ status: 'failed', error: 'smtp_550', due_at: null, attempts: 8 })
          .where('notification_id', '=', id)
          .execute();
        await tx.kysely.updateTable('notification').set({ status: 'failed' }).where('id', '=', id).execute();
      });
      const retried = await nora.post(`${LOG}/${id}/retry`);
      expect([retried.status, retried.body.data]).toMatchObject([
        202,
        { id, status: 'queued', deliveries: [{ status: 'queued' }] },
      ]);
      expect((await nora.post(`${LOG}/999999999/retry`)).status).toBe(404);
    });

    test('unsubscribing: a page that changes nothing, a button that does, tokens that are ours', async () => {
      const sent = await send({ type: 'due', recipients: ['una@example.com'], payload: { number: 1 } });
      const [mail] = await deliveriesOf(usher, sent.body.data.notifications[0].id);
      const link = new URL((mail as { content: { unsubscribeUrl: string } }).content.unsubscribeUrl);
      const url = `${usher.rest}${link.pathname}${link.search}`;
      const una = await Rest.as(usher, 'una@example.com');
      const email = async () => (await una.get('/api/profile/me/notifications/billing')).body.response[0].email;

      const page = await fetch(url);
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(await page.text()).toMatch(/<form method="post"><button>/);
      expect(await email()).toBe(true);
      for (const tampered of [
        `${url}x`,
        url.replace(/token=\d+/, 'token=1'),
        `${usher.rest}${link.pathname}?token=`,
        `${usher.rest}${link.pathname}`,
      ]) {
        expect([(await fetch(tampered)).status, (await fetch(tampered, { method: 'POST' })).status]).toEqual([
          400, 400,
        ]);
      }
      expect(await email()).toBe(true);
      for (let n = 0; n < 2; n++) {
        const done = await fetch(url, {
          method: 'POST',
          body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
        });
        expect([done.status, await done.json()]).toEqual([200, { success: true, data: { unsubscribed: true } }]);
      }
      expect(await email()).toBe(false);
      const quiet = await send({ type: 'due', recipients: ['una@example.com'], payload: { number: 1 } });
      expect(quiet.body.data.notifications).toMatchObject([{ status: 'sent' }]);
    });

    test('a thousand recipients are one send', async () => {
      const recipients = Array.from({ length: 1000 }, (_, n) => `many${n}@example.com`);
      await send({ type: 'due', recipients: ['warm@example.com'], payload: { number: 1 } });
      const from = performance.now();
      const answer = await send({ type: 'due', recipients, payload: { number: 1 } });
      const took = performance.now() - from;
      expect(answer.status).toBe(202);
      expect(answer.body.data.notifications.map(({ email }: { email: string }) => email)).toEqual(recipients);
      console.log(kind, 'took', took);
      expect(took).toBeLessThan(10_000);
    });
  });
}
