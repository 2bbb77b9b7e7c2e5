import { expect, test } from '@jest/globals';
import type { EmailContent } from '../../src/delivery/channels.ts';
import { Rest } from '../support/rest.ts';
import type { RunningUsher } from '../support/usher.ts';
import { deliveriesOf, sendBySystem } from './support.ts';

const LOG = '/api/applications/billing/notifications';
const INBOX = '/api/profile/me/notifications/inbox';

/** What the tests of a service share; `usher`, `nora` and `ids` are there once it has started. */
export interface Room {
  readonly usher: RunningUsher;
  readonly nora: Rest;
  readonly ids: Readonly<Record<'generic' | 'due' | 'locked', number>>;
  /** A send of billing's. */
  send(body: Record<string, unknown>): ReturnType<typeof sendBySystem>;
  write(statement: Parameters<typeof writeBeside>[1]): Promise<unknown>;
}

/** Writes past the service. */
export async function writeBeside(
  usher: RunningUsher,
  statement: (tx: Parameters<Parameters<RunningUsher['app']['database']['change']>[0]>[0]) => Promise<unknown>,
): Promise<void> {
  await usher.app.database.change(async (tx) => {
    await statement(tx);
    return { result: null, scopes: ['*'] };
  });
}

export async function inboxOf(rest: Rest, query = '') {
  return (await rest.get(`${INBOX}${query}`)).body.response;
}

/** What ends the mails of its type for its reader, as it stands in the mail when that leaves. */
async function linkOf(room: Room, mail: { content: unknown } | undefined): Promise<URL> {
  const { unsubscribe = null } = (mail?.content ?? {}) as Partial<EmailContent>;
  if (unsubscribe === null) throw new Error('this mail cannot be switched off');
  return new URL(await room.usher.app.unsubscriptions.link(unsubscribe));
}

/** Defines the tests of a send's views for readers and administrators: inbox, preferences, log, unsubscription. */
export function testReading(room: Room): void {
  test('the inbox has pages, unread filter and application filter, and marks one or all as read', async () => {
    const ivy = await Rest.as(room.usher, 'ivy@example.com');
    expect((await ivy.get(INBOX)).body).toEqual({ code: 'OK', response: [], page: { nextCursor: null } });
    for (let n = 1; n <= 5; n++) await room.send({ recipients: ['ivy@example.com'], subject: `n${n}` });
    await sendBySystem(room.usher, { appCode: 'shop', recipients: ['ivy@example.com'], subject: 'shop' });
    const subjects = (items: { subject: string }[]) => items.map(({ subject }) => subject);
    const first = await ivy.get(`${INBOX}?limit=4`);
    expect(subjects(first.body.response)).toEqual(['shop', 'n5', 'n4', 'n3']);
    const second = await ivy.get(`${INBOX}?limit=4&cursor=${first.body.page.nextCursor}`);
    expect(second.body).toMatchObject({
      response: [{ subject: 'n2' }, { subject: 'n1' }],
      page: { nextCursor: null },
    });
    expect(subjects(await inboxOf(ivy, '?appCode=shop'))).toEqual(['shop']);
    expect(await inboxOf(ivy, '?appCode=no-such')).toEqual([]);
    for (const bad of [
      '?limit=0',
      '?limit=201',
      '?limit=x',
      '?cursor=x',
      '?unreadOnly=maybe',
      '?appCode=',
      '?nope=1',
      '?limit=1&limit=2',
    ]) {
      expect((await ivy.get(INBOX + bad)).status).toBe(400);
    }

    const [newest] = first.body.response;
    const path = `${INBOX}/${newest.id}/read`;
    expect((await ivy.get(`${INBOX}/unread-count`)).body).toEqual({ code: 'OK', response: { count: 6 } });
    expect((await (await Rest.as(room.usher, 'ben@example.com')).send('PATCH', path)).status).toBe(404);
    expect((await ivy.send('PATCH', path)).status).toBe(204);
    const { readAt } = (await inboxOf(ivy))[0];
    expect(readAt).not.toBeNull();
    expect((await ivy.send('PATCH', path)).status).toBe(204);
    expect((await inboxOf(ivy))[0].readAt).toBe(readAt);
    expect((await ivy.send('PATCH', `${INBOX}/999999999/read`)).status).toBe(404);
    expect((await ivy.send('PATCH', `${INBOX}/abc/read`)).status).toBe(400);
    expect(await inboxOf(ivy, '?unreadOnly=true')).toHaveLength(5);
    expect((await ivy.post(`${INBOX}/read-all`, { appCode: 'no-such' })).body).toEqual({ updated: 0 });
    expect((await ivy.post(`${INBOX}/read-all`, { appCode: 'shop' })).body).toEqual({ updated: 0 });
    expect((await ivy.post(`${INBOX}/read-all`)).body).toEqual({ updated: 5 });
    expect((await ivy.post(`${INBOX}/read-all`, {})).body).toEqual({ updated: 0 });
    expect((await ivy.get(`${INBOX}/unread-count`)).body.response).toEqual({ count: 0 });
  });

  test('preferences list every type, and change one, several, all or nothing', async () => {
    const pia = await Rest.as(room.usher, 'pia@example.com');
    const list = await pia.get('/api/profile/me/notifications/billing');
    expect([list.status, list.body.code]).toEqual([200, 'OK']);
    expect(list.body.response).toEqual([
      {
        notificationTypeId: room.ids.due,
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
        notificationTypeId: room.ids.generic,
        code: 'generic',
        name: 'Generic',
        description: null,
        emailEnabled: true,
        pushEnabled: true,
        userCanDisable: true,
        email: true,
        push: true,
      },
      {
        notificationTypeId: room.ids.locked,
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
        { notificationTypeId: room.ids.generic, push: false },
        { notificationTypeId: room.ids.due, push: true, email: false },
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
      [room.ids.locked, 403, 'PREFERENCE_LOCKED'],
      [999_999, 400, 'UNKNOWN_REFERENCE'],
    ] as const) {
      const answer = await pia.put(bulk, {
        updates: [
          { notificationTypeId: room.ids.generic, email: false },
          { notificationTypeId: id, email: false },
        ],
      });
      expect([answer.status, answer.body.details.code]).toEqual([status, code]);
    }
    const one = (id: number | string) => `/api/profile/me/notifications/preferences/${id}`;
    expect((await pia.put(one(room.ids.locked), { email: false })).body.details.code).toBe('PREFERENCE_LOCKED');
    expect((await pia.put(one(999_999), { email: false })).status).toBe(404);
    expect((await pia.put(one(room.ids.generic), { email: 'no' })).status).toBe(400);
    // An item may come back as it was read, but as no other type's.
    const { notificationTypeId: id, ...item } = (await pia.get('/api/profile/me/notifications/billing')).body
      .response[1];
    expect((await pia.put(bulk, { updates: [{ ...item, notificationTypeId: id }] })).status).toBe(200);
    for (const answer of [
      await pia.put(one(id), { ...item, code: 'due', email: !item.email }),
      await pia.put(one(id), { ...item, notificationTypeId: room.ids.due, email: !item.email }),
      await pia.put(bulk, { updates: [{ ...item, notificationTypeId: room.ids.due, email: !item.email }] }),
    ])
      expect([answer.status, answer.body.details.code]).toEqual([400, 'IMMUTABLE_FIELD']);
    expect(
      (
        await pia.put(bulk, {
          updates: [{ notificationTypeId: room.ids.generic }, { notificationTypeId: room.ids.generic }],
        })
      ).status,
    ).toBe(400);
    const after = (await pia.get('/api/profile/me/notifications/billing')).body.response;
    expect(after.map(({ email, push }: { email: boolean; push: boolean }) => [email, push])).toEqual([
      [false, true],
      [true, false],
      [true, true],
    ]);
    // Nobody else's.
    expect(
      (await (await Rest.as(room.usher, 'ann@example.com')).get('/api/profile/me/notifications/billing')).body
        .response[1],
    ).toMatchObject({ push: true });
  });

  test('the log is newest first, paged, filtered by status, type and address, and retries failed ones', async () => {
    const sent = await room.send({ type: 'due', recipients: ['log@example.com'], payload: { number: 1 } });
    const [{ id }] = sent.body.data.notifications;
    await room.send({ recipients: ['log@example.com'] });
    const all = await room.nora.get(`${LOG}?email=LOG@example.com`);
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
    expect((await room.nora.get(`${LOG}?email=log@example.com&type=due`)).body.data).toMatchObject([{ id }]);
    expect((await room.nora.get(`${LOG}?type=no-such`)).body.data).toEqual([]);
    const suppressed = (await room.nora.get(`${LOG}?status=suppressed`)).body.data;
    expect(suppressed.length).toBeGreaterThan(0);
    expect(suppressed.every((row: { status: string }) => row.status === 'suppressed')).toBe(true);
    const page = await room.nora.get(`${LOG}?limit=2`);
    expect(page.body.data).toHaveLength(2);
    const next = await room.nora.get(`${LOG}?limit=2&cursor=${page.body.page.nextCursor}`);
    expect(next.body.data[0].id).toBeLessThan(page.body.data[1].id);
    expect((await room.nora.get(`${LOG}?status=nope`)).status).toBe(400);

    await room.write(async (tx) => {
      await tx.kysely
        .updateTable('delivery')
        .set({ status: 'failed', error: 'smtp_550', dueAt: null, attempts: 8 })
        .where('notificationId', '=', id)
        .execute();
      await tx.kysely.updateTable('notification').set({ status: 'failed' }).where('id', '=', id).execute();
    });
    const retried = await room.nora.post(`${LOG}/${id}/retry`);
    expect([retried.status, retried.body.data]).toMatchObject([
      202,
      { id, status: 'queued', deliveries: [{ status: 'queued' }] },
    ]);
    expect((await room.nora.post(`${LOG}/999999999/retry`)).status).toBe(404);
  });

  test('an unsubscription needs the button and a genuine token, and a GET changes nothing', async () => {
    const sent = await room.send({ type: 'due', recipients: ['una@example.com'], payload: { number: 1 } });
    const [mail] = await deliveriesOf(room.usher, sent.body.data.notifications[0].id);
    const link = await linkOf(room, mail);
    const url = `${room.usher.rest}${link.pathname}${link.search}`;
    const una = await Rest.as(room.usher, 'una@example.com');
    const email = async () => (await una.get('/api/profile/me/notifications/billing')).body.response[0].email;

    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toMatch(/<form method="post"><button>/);
    expect(await email()).toBe(true);
    for (const tampered of [
      `${url}x`,
      url.replace(/token=\d+/, 'token=1'),
      url.replace(/(token=\d+)\.\d+/, `$1.${room.ids.generic}`),
      `${room.usher.rest}${link.pathname}?token=`,
      `${room.usher.rest}${link.pathname}`,
    ]) {
      expect([(await fetch(tampered)).status, (await fetch(tampered, { method: 'POST' })).status]).toEqual([400, 400]);
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
    const quiet = await room.send({ type: 'due', recipients: ['una@example.com'], payload: { number: 1 } });
    expect(quiet.body.data.notifications).toMatchObject([{ status: 'sent' }]);
  });

  test('an unsubscription from a locked type is refused, and changes nothing', async () => {
    const sent = await room.send({ type: 'due', recipients: ['uri@example.com'], payload: { number: 1 } });
    const [mail] = await deliveriesOf(room.usher, sent.body.data.notifications[0].id);
    const link = await linkOf(room, mail);
    const url = `${room.usher.rest}${link.pathname}${link.search}`;
    const type = `/api/applications/billing/notification-types/${room.ids.due}`;
    const uri = await Rest.as(room.usher, 'uri@example.com');
    const email = async () => (await uri.get('/api/profile/me/notifications/billing')).body.response[0].email;

    expect((await room.nora.put(type, { userCanDisable: false })).status).toBe(200);
    const refused = await fetch(url, { method: 'POST' });
    expect([refused.status, await refused.json()]).toMatchObject([403, { details: { code: 'PREFERENCE_LOCKED' } }]);
    expect((await room.nora.put(type, { userCanDisable: true })).status).toBe(200);
    expect(await email()).toBe(true);
  });
}
