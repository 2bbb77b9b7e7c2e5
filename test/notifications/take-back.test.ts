import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Claimed, claimDue } from '../../src/persistence/delivery/claims.ts';
import { settleDeliveries } from '../../src/persistence/delivery/settle.ts';
import { settled, stateOf, until } from '../delivery/rows.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { describeApplications } from './support.ts';

const BILLING = '/api/applications/billing/notifications';
const COUNTS = { notifications: 0, cancelled: 0, leaving: 0, left: 0, withdrawn: 0 };

for (const kind of KINDS) {
  describe(`taking back what has not left (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let nora: Rest;
    let count = 0;

    beforeAll(async () => {
      storage = await createStorage(kind);
      // Without a worker: the tests claim as one does.
      usher = await startUsher(storage, { env: { USHER_ROLES: 'gateway,rpc' } });
      await describeApplications(usher);
      nora = await Rest.as(usher, 'nora@example.com');
    }, 120_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);
    beforeEach(async () => {
      await usher.app.database.change(async (tx) => {
        await sql`update delivery set due_at = null, status = 'sent' where due_at is not null`.execute(tx.kysely);
        await sql`update notification set status = 'sent' where status = 'queued'`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
    });

    /** Sends to new people; their addresses and the ids of their notifications. */
    const send = async (people = 1): Promise<{ ids: number[]; emails: string[] }> => {
      const recipients = Array.from({ length: people }, () => `p${++count}@example.com`);
      const { status, body } = await nora.post(BILLING, { recipients, subject: 'Oops' });
      expect(status).toBe(202);
      return { ids: body.data.notifications.map(({ id }: { id: number }) => id), emails: recipients };
    };
    const claim = async (limit = 100): Promise<Claimed[]> => {
      const request = { limit, perLane: { brand: limit, push: limit }, free: new Map(), leaseMs: 20_000 };
      return (await usher.app.database.change(async (tx) => ({ result: await claimDue(tx, request), scopes: [] })))
        .result;
    };
    const settle = (claimed: Claimed, outcome: { sent?: boolean; againInMs?: number; error?: string }) => {
      const { sent = false, againInMs = null, error = null } = outcome;
      const settlement = { sent, againInMs, attempted: true, error, pushDone: [] };
      return usher.app.database.change(async (tx) => ({
        result: await settleDeliveries(tx, [{ claimed, settlement }]),
        scopes: [],
      }));
    };
    const cancel = async (ids: readonly number[], query = '') => {
      const { status, body } = await nora.post(`${BILLING}/cancel${query}`, { ids });
      return { status, ...body.data };
    };
    const inbox = async (email: string): Promise<number[]> => {
      const { body } = await (await Rest.as(usher, email)).get('/api/profile/me/notifications/inbox');
      return body.response.map(({ id }: { id: number }) => id);
    };
    const state = (id: number) => stateOf(usher.app.database, id);
    const audits = async (): Promise<{ subject: string | null; after: unknown }[]> =>
      (await nora.get('/api/applications/billing/audit?action=notification.cancelled')).body.data;

    test('what waits is skipped, and its notification stays in the inbox', async () => {
      const { ids, emails } = await send(2);
      const [first = 0, second = 0] = ids;
      const answer = await nora.post(`${BILLING}/${first}/cancel`);
      expect([answer.status, answer.body.data]).toEqual([200, { ...COUNTS, notifications: 1, cancelled: 1 }]);
      expect(await state(first)).toEqual({
        status: 'sent',
        reason: 'cancelled',
        deliveries: [
          { channel: 'email', status: 'skipped', error: 'cancelled', attempts: 0, sent: false, dueIn: null },
        ],
      });
      expect(await state(second)).toMatchObject({ status: 'queued' });
      expect(await inbox(emails[0] as string)).toEqual([first]);
      expect((await claim()).map(({ notificationId }) => notificationId)).toEqual([second]);
    });

    test('with withdraw unread items leave the inbox, and read ones stay', async () => {
      const { ids, emails } = await send(2);
      const [read = '', unread = ''] = emails;
      const reader = await Rest.as(usher, read);
      expect((await reader.send('PATCH', `/api/profile/me/notifications/inbox/${ids[0]}/read`)).status).toBe(204);
      expect(await cancel(ids, '?withdraw=true')).toEqual({
        status: 200,
        ...COUNTS,
        notifications: 2,
        cancelled: 2,
        withdrawn: 1,
        more: false,
      });
      expect([await inbox(read), await inbox(unread)]).toEqual([[ids[0]], []]);
      expect(await state(ids[1] as number)).toMatchObject({ status: 'suppressed', reason: 'withdrawn' });
      const { body } = await (await Rest.as(usher, unread)).get('/api/profile/me/notifications/inbox/unread-count');
      expect(body.response.count).toBe(0);
      // Nothing brings it back.
      expect((await nora.post(`${BILLING}/${ids[1]}/retry`)).body.data).toMatchObject({ status: 'suppressed' });
    });

    test('what has left counts as left, and stays as it is', async () => {
      const { ids } = await send(2);
      const [held] = await claim(1);
      if (held === undefined) throw new Error('nothing was claimed');
      await settle(held, { sent: true });
      const left = { notifications: 1, cancelled: 1, leaving: 0, left: 1 };
      expect(await cancel(ids)).toMatchObject(left);
      expect(await state(held.notificationId)).toMatchObject({ status: 'sent', reason: null });
      expect(await cancel(ids)).toMatchObject({ notifications: 0, cancelled: 0, left: 1 });
    });

    test('a delivery that a worker has claimed leaves now, or never', async () => {
      const { ids } = await send(3);
      const [sent, refused, dead] = await claim();
      if (sent === undefined || refused === undefined || dead === undefined) throw new Error('nothing was claimed');
      expect(await cancel(ids)).toMatchObject({ cancelled: 0, leaving: 3, left: 0 });
      await settle(sent, { sent: true });
      await settle(refused, { againInMs: 1000, error: 'smtp_deferred' });
      expect(await state(sent.notificationId)).toMatchObject({ status: 'sent', reason: null });
      expect(await state(refused.notificationId)).toMatchObject({
        status: 'sent',
        reason: 'cancelled',
        deliveries: [{ status: 'skipped', error: 'cancelled', dueIn: null }],
      });
      // A killed worker's lease ends: whoever claims it next is told.
      await usher.app.database.change(async (tx) => {
        await sql`update delivery set due_at = now() where due_at is not null`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
      const again = await claim();
      expect(again).toMatchObject([{ notificationId: dead.notificationId, cancelled: true, expired: true }]);
      expect(await cancel(ids)).toMatchObject({ cancelled: 0, leaving: 1, left: 1 });
    });

    test('failed deliveries are ended, too: no retry sends them', async () => {
      const { ids } = await send();
      const [held] = await claim();
      if (held === undefined) throw new Error('nothing was claimed');
      await settle(held, { error: 'smtp_rejected' });
      expect(await cancel(ids)).toMatchObject({ cancelled: 1, left: 0 });
      expect((await nora.post(`${BILLING}/${ids[0]}/retry`)).status).toBe(202);
      expect(await state(ids[0] as number)).toMatchObject({ status: 'sent', reason: 'cancelled' });
      expect(await claim()).toEqual([]);
    });

    test('of two calls at once each delivery is counted by one, and audited with it', async () => {
      const { ids } = await send(30);
      const before = (await audits()).length;
      const answers = await Promise.all([cancel(ids), cancel([...ids].reverse()), cancel(ids)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(answers.map(({ cancelled }) => cancelled).sort((a, b) => a - b)).toEqual([0, 0, 30]);
      const made = (await audits()).slice(0, (await audits()).length - before);
      expect(made).toMatchObject([{ subject: null, after: { cancelled: 30, leaving: 0, left: 0, withdrawn: 0 } }]);
    });

    test('a claim that comes at the same moment gets only what is not taken back', async () => {
      const { ids } = await send(40);
      const [taken, claimed] = await Promise.all([cancel(ids), claim(40)]);
      expect(taken.cancelled + taken.leaving).toBe(40);
      const live = claimed.filter((one) => !one.cancelled).map(({ notificationId }) => notificationId);
      expect(live.length).toBe(taken.leaving);
      for (const id of ids) {
        const [delivery] = (await state(id)).deliveries;
        expect(delivery?.status).toBe(live.includes(id) ? 'sending' : 'skipped');
      }
    });

    test('all that wait are taken back, or those of a type or a person', async () => {
      const { ids, emails } = await send(3);
      const waiting = async (filter: object) => (await nora.post(`${BILLING}/cancel`, { waiting: filter })).body.data;
      expect(await waiting({ type: 'nothing' })).toMatchObject({ cancelled: 0, more: false });
      expect(await waiting({ email: emails[1] })).toMatchObject({ cancelled: 1 });
      expect((await audits())[0]).toMatchObject({ subject: emails[1], after: { cancelled: 1 } });
      expect(await waiting({ type: 'generic' })).toMatchObject({ cancelled: 2 });
      expect(await state(ids[0] as number)).toMatchObject({ reason: 'cancelled' });
      expect(await waiting({})).toMatchObject({ cancelled: 0 });
    });

    test('bad requests change nothing', async () => {
      const { ids } = await send();
      const olga = await Rest.as(usher, 'olga@example.com');
      const theirs = await olga.post('/api/applications/shop/notifications', { recipients: ['x@example.com'] });
      const foreign = theirs.body.data.notifications[0].id;
      for (const body of [{}, { ids, waiting: {} }, { ids: [] }, { id: ids }, { waiting: { mail: 'x' } }, undefined]) {
        expect((await nora.post(`${BILLING}/cancel`, body)).status).toBe(400);
      }
      const unknown = await nora.post(`${BILLING}/cancel`, { ids: [...ids, foreign] });
      expect([unknown.status, unknown.body.details]).toEqual([
        400,
        expect.objectContaining({ code: 'UNKNOWN_REFERENCE', path: 'ids.1' }),
      ]);
      expect((await nora.post(`${BILLING}/${foreign}/cancel`)).status).toBe(404);
      expect((await nora.post(`${BILLING}/${ids[0]}/cancel?withdraw=yes`)).status).toBe(400);
      expect((await nora.post('/api/applications/shop/notifications/cancel', { waiting: {} })).status).toBe(403);
      expect(await state(ids[0] as number)).toMatchObject({ status: 'queued' });
    });

    test('statistics do not count what was taken back', async () => {
      const { ids } = await send();
      const [held] = await claim();
      if (held === undefined) throw new Error('nothing was claimed');
      await settle(held, { againInMs: 60_000, error: 'smtp_deferred' });
      const failing = async () =>
        (await nora.get('/api/admin/notifications/stats')).body.data.filter(
          ({ reason }: { reason: string | null }) => reason === 'smtp_deferred' || reason === 'cancelled',
        );
      expect(await failing()).toHaveLength(1);
      await cancel(ids);
      expect(await failing()).toEqual([]);
    });
  });
}

describe('taking back beside a worker that sends', () => {
  let storage: TestStorage;
  let smtp: SmtpSink;
  let usher: RunningUsher;

  beforeAll(async () => {
    [storage, smtp] = await Promise.all([createStorage('postgresql'), startSmtp()]);
    usher = await startUsher(storage);
    await describeApplications(usher);
    const root = await Rest.as(usher, 'admin@example.com');
    const [{ id }] = (await root.get('/api/admin/brands')).body.data;
    const server = { host: '127.0.0.1', port: smtp.port };
    expect((await root.put(`/api/admin/brands/${id}`, { emailFrom: 'hi@example.com', smtp: server })).status).toBe(200);
  }, 120_000);
  afterAll(async () => {
    await usher?.close();
    await Promise.all([smtp?.close(), storage?.remove()]);
  });

  test('each mail arrives once, or was taken back', async () => {
    const nora = await Rest.as(usher, 'nora@example.com');
    const recipients = Array.from({ length: 300 }, (_, at) => `r${at}@example.com`);
    const { body } = await nora.post(BILLING, { recipients, subject: 'Oops' });
    const ids: number[] = body.data.notifications.map(({ id }: { id: number }) => id);
    await until(
      () => smtp.mails.length,
      (mails) => mails > 5,
    );
    const taken = (await nora.post(`${BILLING}/cancel`, { ids })).body.data;
    expect(taken.cancelled + taken.leaving + taken.left).toBe(300);
    expect(taken.cancelled).toBeGreaterThan(0);
    const states = await Promise.all(ids.map((id) => until(() => stateOf(usher.app.database, id), settled)));
    const skipped = states.filter(({ reason }) => reason === 'cancelled').length;
    expect(skipped).toBeGreaterThanOrEqual(taken.cancelled);
    const arrived = smtp.mails.map((mail) => mail.to[0]);
    expect(new Set(arrived).size).toBe(arrived.length);
    expect(arrived.length + skipped).toBe(300);
  }, 60_000);
});
