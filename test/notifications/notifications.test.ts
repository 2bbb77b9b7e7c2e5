import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { inboxOf, testReading, writeBeside } from './reading.ts';
import { deliveriesOf, describeApplications, sendBySystem, typeId } from './support.ts';

const TYPES = '/api/applications/billing/notification-types';
const TEMPLATES = '/api/applications/billing/templates';
const LOG = '/api/applications/billing/notifications';
const INBOX = '/api/profile/me/notifications/inbox';

for (const kind of KINDS) {
  describe(`notifications (${kind})`, () => {
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
          notificationTypeId: due.id,
          locale,
          subject,
          html: '<p>{{ user.email }}: {{ number }} & {{ brand.name }}</p>',
          requiredVariables: ['number'],
          url: 'https://app.example.com/i/{{ number }}',
        });
        expect(answer.status).toBe(201);
      }
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const send = (body: Record<string, unknown>) => sendBySystem(usher, { appCode: 'billing', ...body });
    const write = (statement: Parameters<typeof writeBeside>[1]) => writeBeside(usher, statement);

    test('a send stores a notification and its mail, and the inbox lists it', async () => {
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
      const [item] = await inboxOf(ann);
      expect(item).toEqual({
        id,
        appCode: 'billing',
        appName: 'Billing',
        type: 'due',
        subject: 'Invoice 2026-1',
        body: expect.stringMatching(/^ann@example\.com: 2026-1 & /),
        url: 'https://app.example.com/i/2026-1',
        icon: null,
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
            unsubscribe: {
              base: usher.rest.replace('127.0.0.1', 'localhost'),
              person: expect.any(Number),
              type: expect.any(Number),
            },
          },
        },
      ]);
    });

    test("the language is the body's, else the reader's, else by fallback, and the notification records it", async () => {
      await ann.get(INBOX);
      await write(async (tx) => {
        const { id } = await tx.kysely
          .selectFrom('person')
          .select('id')
          .where('email', '=', 'ann@example.com')
          .executeTakeFirstOrThrow();
        await tx.kysely
          .insertInto('profile')
          .values({ personId: id, firstName: 'Ann', locale: 'sk' })
          .onConflict((oc) => oc.column('personId').doUpdateSet({ locale: 'sk' }))
          .execute();
        await tx.kysely.updateTable('language').set({ fallback: 'cs' }).where('code', '=', 'sk').execute();
      });
      await send({ type: 'due', recipients: ['ann@example.com'], payload: { number: 'a' } });
      await send({ type: 'due', recipients: ['ann@example.com'], payload: { number: 'b' }, locale: 'de' });
      await send({ type: 'due', recipients: ['ann@example.com'], payload: { number: 'c' }, locale: 'fr' });
      const items = (await inboxOf(ann, '?limit=3')) as { subject: string; locale: string }[];
      expect(items.map(({ subject, locale }) => [subject, locale])).toEqual([
        ['Invoice c', 'en'],
        ['Rechnung b', 'de'],
        ['Faktura a', 'cs'],
      ]);
    });

    test("without a template, subject and body are used as sent, else the type's name", async () => {
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
            html: '<h1 dir="auto">Hi {{ x }} Bcc: y</h1>\n<p dir="auto">a &lt;b&gt;</p>\n<p dir="auto">c</p>',
            fromName: null,
          },
        },
      ]);
      const second = await nora.post(LOG, { recipients: ['plain@example.com'] });
      const plain = await Rest.as(usher, 'plain@example.com');
      expect(await inboxOf(plain)).toMatchObject([
        { id: second.body.data.notifications[0].id, subject: 'Generic', payload: {} },
        { id },
      ]);
    });

    test('missing and unknown fields are refused, and nothing is stored', async () => {
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

    test('a send needs a key with the scope, and is refused from pages', async () => {
      const body = { appCode: 'billing', recipients: ['a@example.com'] };
      expect((await sendBySystem(usher, body, { 'x-internal-api-key': 'wrong' })).status).toBe(401);
      expect((await root.post('/api/internal/notifications', body)).status).toBe(401);
      const page = await sendBySystem(usher, body, { origin: 'https://evil.example.com' });
      expect([page.status, page.body.details.code]).toEqual([403, 'BROWSER_NOT_ALLOWED']);
    });

    test("the application's switch suppresses, the type's stops the mail, and a locked type ignores both", async () => {
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
          .values({ personId: id, applicationId: app.id, notificationsEnabled: false })
          .execute();
      });
      const off = await send({ recipients: ['eve@example.com'] });
      expect(off.body.data.notifications).toMatchObject([
        { status: 'suppressed', statusReason: 'notifications_disabled' },
      ]);
      expect(await inboxOf(eve)).toHaveLength(2);
      const locked = await send({ type: 'locked', recipients: ['eve@example.com'] });
      expect(locked.body.data.notifications).toMatchObject([{ status: 'queued' }]);
      const [mail] = await deliveriesOf(usher, locked.body.data.notifications[0].id);
      expect(mail?.content).toMatchObject({ unsubscribe: null });
      expect((await eve.send('PATCH', `${INBOX}/${off.body.data.notifications[0].id}/read`)).status).toBe(404);
    });

    test('a push goes to subscribers, with title, body, icon and url', async () => {
      await write(async (tx) => {
        const { id } = await tx.kysely
          .insertInto('person')
          .values({ email: 'pat@example.com' })
          .returning('id')
          .executeTakeFirstOrThrow();
        await tx.kysely
          .insertInto('push_subscription')
          .values({
            personId: id,
            endpoint: 'https://fcm.googleapis.com/x',
            p256dh: 'k',
            auth: 'a',
            deviceLabel: 'd',
            vapidKey: 'v',
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

    testReading({
      get usher() {
        return usher;
      },
      get nora() {
        return nora;
      },
      get ids() {
        return ids;
      },
      send,
      write,
    });

    test('a thousand recipients are one send', async () => {
      const recipients = Array.from({ length: 1000 }, (_, n) => `many${n}@example.com`);
      const answer = await send({ type: 'due', recipients, payload: { number: 1 } });
      expect(answer.status).toBe(202);
      expect(answer.body.data.notifications.map(({ email }: { email: string }) => email)).toEqual(recipients);
    });

    test('deleting an application during its send removes what was stored, and refuses the rest', async () => {
      const outcomes = new Map<string, number>();
      for (let round = 0; round < 5; round++) {
        const appCode = `short${round}`;
        const { id } = (await root.post('/api/applications', { code: appCode, name: 'Short' })).body.data;
        const recipients = Array.from({ length: 60 }, (_, n) => `short${n}@example.com`);
        const sends = Array.from({ length: 8 }, () => send({ appCode, recipients, subject: 'S', body: 'B' }));
        // The first is stored by then, or being so.
        await Promise.race(round % 2 === 0 ? sends : [new Promise((resolve) => setTimeout(resolve, 20 * round))]);
        expect((await root.delete(`/api/applications/${appCode}`)).status).toBe(204);
        for (const { status, body } of await Promise.all(sends)) {
          const outcome = status === 202 ? '202' : body.details.code;
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        }
        const left = await usher.app.database.read((tx) =>
          tx.kysely.selectFrom('notification').select('id').where('applicationId', '=', id).execute(),
        );
        expect(left).toEqual([]);
      }
      expect(await orphans()).toEqual([]);
      expect([...outcomes.keys()].filter((one) => one !== 'UNKNOWN_REFERENCE')).toEqual(['202']);
      const late = await send({ appCode: 'short0', recipients: ['ann@example.com'] });
      expect(late.body.details.code).toBe('UNKNOWN_REFERENCE');
    }, 60_000);

    test('deleting a type during its send is refused, or leaves nothing of it', async () => {
      const outcomes = new Set<string>();
      for (let round = 0; round < 6; round++) {
        const { id } = (await root.post(TYPES, { code: `brief${round}`, name: 'Brief' })).body.data;
        const recipients = Array.from({ length: 60 }, (_, n) => `brief${n}@example.com`);
        const order = { type: `brief${round}`, recipients, subject: 'S', body: 'B' };
        const deleting = () => root.delete(`${TYPES}/${id}`);
        // Which of them is first is tried both ways.
        const [deleted, ...sent] =
          round % 2 === 0
            ? await Promise.all([deleting(), send(order), send(order)])
            : (await Promise.all([send(order), send(order), deleting()])).reverse();
        const stored = sent.filter(({ status }) => status === 202).length;
        expect(deleted).toMatchObject(
          stored > 0 ? { status: 409, body: { details: { code: 'TYPE_IN_USE' } } } : { status: 204 },
        );
        for (const { status, body } of sent) outcomes.add(status === 202 ? '202' : body.details.code);
      }
      expect([...outcomes].filter((one) => one !== 'UNKNOWN_REFERENCE' && one !== '202')).toEqual([]);
      expect(await orphans()).toEqual([]);
    }, 60_000);

    /** Notifications without their application, type or person, deliveries without their notification: no constraint speaks of them. */
    async function orphans(): Promise<unknown[]> {
      const { rows } = await usher.app.database.read((tx) =>
        sql`select 'notification' as of, n.id from notification n
              left join notification_type t on t.id = n.notification_type_id and t.application_id = n.application_id
              left join person p on p.id = n.person_id where t.id is null or p.id is null
            union all
            select 'delivery', d.id from delivery d
              left join notification n on n.id = d.notification_id where n.id is null`.execute(tx.kysely),
      );
      return rows;
    }
  });
}
