import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { EmailContent } from '../../src/delivery/channels.ts';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { inboxOf, writeBeside } from './reading.ts';
import { deliveriesOf, MANIFEST, sendBySystem, typeId } from './support.ts';

const LOG = '/api/applications/billing/notifications';
const TYPES = '/api/applications/billing/notification-types';
const PREFERENCES = '/api/profile/me/notifications';

describe.each(KINDS)('sends (%s)', (kind) => {
  // No worker: what is stored to be delivered is looked at as it is.
  const registry = useRegistry(kind, [MANIFEST], { USHER_ROLES: 'gateway,rpc' });
  const send = (body: Record<string, unknown>) => sendBySystem(registry.usher, { appCode: 'billing', ...body });
  const write = (statement: Parameters<typeof writeBeside>[1]) => writeBeside(registry.usher, statement);
  const mailOf = async (id: number) =>
    (await deliveriesOf(registry.usher, id)).find(({ channel }) => channel === 'email')?.content as EmailContent;
  /** The ids of a send's notifications. */
  const idsOf = (answer: { body: { data: { notifications: { id: number }[] } } }) =>
    answer.body.data.notifications.map(({ id }) => id);

  describe('mails of the identity provider', () => {
    beforeAll(async () => {
      const template = {
        type: 'auth_idp',
        key: 'password_reset',
        locale: 'en',
        subject: 'Reset your password',
        html: '<a href="{{ url }}">Reset</a>',
      };
      expect((await registry.root.post('/api/applications/auth/templates', template)).status).toBe(201);
      // Where `idp.notificationAppCode` names another application, the type and its templates are there.
      const own = await registry.root.post(TYPES, { code: 'auth_idp', name: 'Sign-in e-mails' });
      expect(own.status).toBe(201);
      expect((await registry.root.post('/api/applications/billing/templates', template)).status).toBe(201);
    });

    const forged = {
      type: 'auth_idp',
      templateKey: 'password_reset',
      recipients: ['victim@example.com'],
      payload: { url: 'https://evil.example/reset' },
    };

    test("backends and administrators cannot send the provider's mails, whatever their application", async () => {
      for (const app of ['auth', 'billing']) {
        for (const more of [{}, { templateKey: undefined }, { idempotencyKey: 'forged' }]) {
          const order = { ...forged, ...more };
          const byKey = await sendBySystem(registry.usher, { appCode: app, ...order });
          const byRoot = await registry.root.post(`/api/applications/${app}/notifications`, order);
          for (const answer of [byKey, byRoot]) {
            expect(outcome(answer)).toEqual([400, 'UNKNOWN_REFERENCE']);
            expect(answer.body.details.path).toBe('type');
          }
        }
      }
      const stored = await registry.usher.app.database.read((tx) => sql`select from delivery`.execute(tx.kysely));
      expect(stored.rows).toEqual([]);
    });

    test("the provider's mails are refused like an unknown type", async () => {
      const unknown = await send({ ...forged, type: 'auth_none' });
      const refused = await send(forged);
      expect([refused.status, refused.body.message, refused.body.details]).toEqual([
        unknown.status,
        unknown.body.message.replace('auth_none', 'auth_idp'),
        unknown.body.details,
      ]);
    });

    test("the provider's mails stored by an older version are not retried", async () => {
      const [id = 0] = idsOf(await send({ recipients: ['old@example.com'], subject: 'S' }));
      await write(async (tx) => {
        await sql`update delivery set status = 'failed', due_at = null where notification_id = ${id}`.execute(
          tx.kysely,
        );
        await sql`
          update notification set status = 'failed', notification_type_id =
            (select t.id from notification_type t join application a on a.id = t.application_id
              where a.code = 'billing' and t.code = 'auth_idp')
          where id = ${id}`.execute(tx.kysely);
      });
      expect(outcome(await registry.root.post(`${LOG}/${id}/retry`))).toEqual([400, 'UNKNOWN_REFERENCE']);
      expect(await deliveriesOf(registry.usher, id)).toMatchObject([{ status: 'failed' }]);
    });
  });

  describe('locked types', () => {
    let locked: number;
    const path = () => `${TYPES}/${locked}`;
    const shown = async (name: string) => {
      const { body } = await registry.as(name).get(`${PREFERENCES}/billing`);
      const { email, push, userCanDisable } = body.response.find((one: { code: string }) => one.code === 'alarm');
      return { email, push, userCanDisable };
    };
    const channelsOf = async (name: string) => {
      const answer = await send({ type: 'alarm', recipients: [`${name}@example.com`] });
      const [id = 0] = idsOf(answer);
      const { status } = answer.body.data.notifications[0];
      return { status, channels: (await deliveriesOf(registry.usher, id)).map(({ channel }) => channel) };
    };

    beforeAll(async () => {
      await registry.root.post(TYPES, { code: 'alarm', name: 'Alarm' });
      locked = await typeId(registry.root, 'billing', 'alarm');
      for (const name of ['lena', 'luis']) {
        expect((await registry.as(name).get('/api/profile/me')).status).toBe(200);
        await write((tx) =>
          sql`insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
              select id, 'https://fcm.googleapis.com/' || email, 'k', 'a', 'd', 'v' from person
              where email = ${`${name}@example.com`}`.execute(tx.kysely),
        );
      }
    });

    test.each([
      [true, false],
      [false, true],
      [true, true],
      [false, false],
    ])(
      'the switches in the API are the effective ones, whatever was stored before: e-mail %p, push %p',
      async (mail, push) => {
        // Lena chose the contrary for the type, Luis switched the application off.
        expect((await registry.root.put(path(), { userCanDisable: true })).status).toBe(200);
        const chosen = await registry
          .as('lena')
          .put(`${PREFERENCES}/preferences/${locked}`, { email: !mail, push: !push });
        expect(chosen.body.data).toMatchObject({ email: !mail, push: !push });
        const off = await registry.as('luis').put('/api/profile/me/apps/billing', { notificationsEnabled: false });
        expect(off.status).toBe(200);
        const lock = { userCanDisable: false, defaultEmail: mail, defaultPush: push };
        expect((await registry.root.put(path(), lock)).status).toBe(200);

        const channels = [...(mail ? ['email'] : []), ...(push ? ['push'] : [])];
        for (const name of ['lena', 'luis']) {
          expect(await shown(name)).toEqual({ email: mail, push, userCanDisable: false });
          expect(await channelsOf(name)).toEqual({ status: channels.length > 0 ? 'queued' : 'sent', channels });
          const [newest] = await inboxOf(registry.as(name), '?limit=1');
          expect(newest).toMatchObject({ type: 'alarm' });
        }
        const bulk = await registry
          .as('lena')
          .put(`${PREFERENCES}/preferences/bulk`, { updates: [{ notificationTypeId: locked, email: mail }] });
        expect(outcome(bulk)).toEqual([403, 'PREFERENCE_LOCKED']);

        // What was chosen counts again when users may switch again.
        expect((await registry.root.put(path(), { userCanDisable: true })).status).toBe(200);
        expect(await shown('lena')).toEqual({ email: !mail, push: !push, userCanDisable: true });
        expect((await channelsOf('luis')).status).toBe('suppressed');
      },
    );
  });

  test('a send whose caller has left is cancelled, neither rendered further nor stored', async () => {
    const burning = '{% for i in (1..15000) %}{% assign x = i | times: 2 | plus: 1 %}{% endfor %}';
    const words = {
      type: 'generic',
      key: 'slow',
      locale: 'en',
      subject: 'Slow',
      html: `{{ user.email | upcase }}${burning}`,
    };
    const made = await registry.root.post('/api/applications/billing/templates', words);
    expect(made.status).toBe(201);
    const key = registry.usher.app.localKey ?? '';
    const gone = new AbortController();
    const recipients = Array.from({ length: 200 }, (_, at) => `slow${at}@example.com`);
    const asked = fetch(`${registry.usher.rest}/api/internal/notifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-internal-api-key': key },
      body: JSON.stringify({ appCode: 'billing', templateKey: 'slow', recipients }),
      signal: gone.signal,
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    gone.abort();
    await expect(asked).rejects.toThrow();
    // It waits in the same lane, behind all that the other one left there.
    const after = await send({ templateKey: 'slow', recipients: ['patient@example.com'] });
    expect(after.status).toBe(202);
    const { body } = await registry.root.get(`${LOG}?limit=200`);
    expect(body.data.filter(({ email }: { email: string }) => email.startsWith('slow'))).toEqual([]);
  });

  describe('inbox items, and mails without a template', () => {
    const hostile = `https://app.example.com/?a="><script>&b='x'`;

    test('the inbox item has body, url and icon as sent', async () => {
      const url = 'https://app.example.com/i/17';
      const order = {
        recipients: ['bea@example.com'],
        subject: 'Due <b>',
        body: 'One\n\nTwo & three',
        url,
        icon: '/i.png',
      };
      const [id = 0] = idsOf(await send(order));
      expect(await inboxOf(registry.as('bea'), '?limit=1')).toMatchObject([
        { id, subject: 'Due <b>', body: 'One\n\nTwo & three', url, icon: '/i.png' },
      ]);
      expect(await mailOf(id)).toMatchObject({
        text: `One\n\nTwo & three\n\n${url}`,
        html: [
          '<h1 dir="auto">Due &lt;b&gt;</h1>',
          '<p dir="auto">One</p>',
          '<p dir="auto">Two &amp; three</p>',
          `<p dir="ltr"><a href="${url}">${url}</a></p>`,
        ].join('\n'),
      });
    });

    test('without a body the mail has the subject, also in its text, and the item has no body', async () => {
      const [bare = 0] = idsOf(await send({ recipients: ['bea@example.com'], subject: 'Tea is ready' }));
      expect(await mailOf(bare)).toMatchObject({ text: 'Tea is ready', html: '<h1 dir="auto">Tea is ready</h1>' });
      expect(await inboxOf(registry.as('bea'), '?limit=1')).toMatchObject([
        { id: bare, body: null, url: null, icon: null },
      ]);
      const [named = 0] = idsOf(await send({ recipients: ['bea@example.com'], body: ' \n ' }));
      expect(await mailOf(named)).toMatchObject({ text: 'Generic', html: '<h1 dir="auto">Generic</h1>' });
    });

    test('a link in a mail is escaped, and only http or https', async () => {
      const answer = await send({ recipients: ['bea@example.com'], subject: 'S', body: 'B', url: encodeURI(hostile) });
      const { html } = await mailOf(idsOf(answer)[0] ?? 0);
      expect(html).not.toContain('<script');
      expect(html).toContain('&amp;b=&#39;x&#39;');
      const [path = 0] = idsOf(await send({ recipients: ['bea@example.com'], subject: 'S', body: 'B', url: '/i/17' }));
      expect((await mailOf(path)).html).not.toContain('href');
      expect(await inboxOf(registry.as('bea'), '?limit=1')).toMatchObject([{ url: '/i/17' }]);
    });

    test("with a template the item has the push's text, and the template's URL", async () => {
      const words = { locale: 'en', subject: 'Invoice {{ n }}', html: '<p>For {{ user.email }}: <b>{{ n }}</b></p>' };
      for (const more of [
        { type: 'generic', key: 'text' },
        {
          type: 'generic',
          key: 'push',
          pushBody: '{{ n }} for {{ user.email }}',
          url: 'https://app.example.com/{{ n }}',
        },
        { type: 'generic', key: 'wrong', url: 'javascript:{{ n }}' },
        { type: 'generic', key: 'long', text: '{% for i in (1..3000) %}{{ i }} {% endfor %}' },
      ]) {
        expect((await registry.root.post('/api/applications/billing/templates', { ...words, ...more })).status).toBe(
          201,
        );
      }
      const people = Array.from({ length: 9 }, (_, at) => `bell${at}@example.com`);
      for (const recipients of [people.slice(0, 1), people]) {
        const order = { recipients, payload: { n: 17 }, url: 'https://app.example.com/all' };
        const first = async () => (await inboxOf(registry.as('bell0'), '?limit=1'))[0];
        await send({ ...order, templateKey: 'text' });
        expect(await first()).toMatchObject({ body: 'For bell0@example.com: 17', url: 'https://app.example.com/all' });
        await send({ ...order, templateKey: 'push' });
        expect(await first()).toMatchObject({ body: '17 for bell0@example.com', url: 'https://app.example.com/17' });
        await send({ ...order, templateKey: 'wrong' });
        expect(await first()).toMatchObject({ url: 'https://app.example.com/all' });
        await send({ ...order, templateKey: 'long' });
        expect((await first()).body).toHaveLength(4000);
      }
    });

    test('the stream and the inbox have the same item', async () => {
      const stream = new AbortController();
      const response = await fetch(`${registry.usher.rest}${PREFERENCES}/stream`, {
        headers: { authorization: `Bearer ${await registry.usher.token('bea@example.com')}` },
        signal: stream.signal,
      });
      await send({ recipients: ['bea@example.com'], subject: 'S', body: 'Two\nlines', url: '/x', icon: '/y' });
      let text = '';
      for await (const piece of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (/event: notification\n[\s\S]*?\n\n/.test(text)) break;
      }
      stream.abort();
      const [, data = ''] = /event: notification\nid: \d+\ndata: (.*)\n/.exec(text) ?? [];
      const [item] = await inboxOf(registry.as('bea'), '?limit=1');
      expect(JSON.parse(data)).toEqual(item);
      expect(item).toMatchObject({ body: 'Two\nlines', url: '/x', icon: '/y' });
    });
  });
});
