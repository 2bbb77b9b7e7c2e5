import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import webPush from 'web-push';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { Settling } from '../../src/delivery/settling.ts';
import { claimDue, renewLeases } from '../../src/persistence/delivery/claims.ts';
import { settleDeliveries } from '../../src/persistence/delivery/settle.ts';
import { createStorage, type TestStorage, useDatabase } from '../support/databases.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { accept, hurry, insertType, type NotificationState, settled, stateOf, until, type Wanted } from './rows.ts';

const SENT = { sent: true, againInMs: null, attempted: true, error: null, pushDone: [] };

describe('claims', () => {
  const fixture = useDatabase('postgresql');
  const claim = async (limit = 100, perLane = 100, free = new Map<string, number>()) =>
    (
      await fixture.database.change(async (tx) => ({
        result: await claimDue(tx, { limit, perLane: { brand: perLane, push: perLane }, free, leaseMs: 20_000 }),
        scopes: [],
      }))
    ).result;
  const make = async (app: string, wanted: Wanted[]) =>
    await accept(fixture.database, await insertType(fixture.database, app), wanted);
  const clear = () =>
    fixture.database.change(async (tx) => {
      await tx.kysely.deleteFrom('delivery').execute();
      return { result: null, scopes: [] };
    });
  const expire = () =>
    fixture.database.change(async (tx) => {
      await tx.kysely.updateTable('delivery').set({ dueAt: sql`now()` }).where('dueAt', 'is not', null).execute();
      return { result: null, scopes: [] };
    });
  afterEach(async () => {
    await clear();
  });

  test('two concurrent workers never hold the same delivery', async () => {
    await make(
      'once',
      Array.from({ length: 60 }, (_, index) => ({ to: `p${index}@example.com`, email: {} })),
    );
    const claims = await Promise.all(Array.from({ length: 6 }, () => claim(10, 10)));
    const ids = claims.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await claim()).toHaveLength(60 - ids.length);
    expect(await claim()).toEqual([]);
  });

  test('lanes take turns, so a lane with thousands of deliveries does not delay another', async () => {
    const brands = await fixture.database.change(async (tx) => {
      const { rows } = await sql<{ id: number }>`
        insert into brand (slug, name) values ('a', 'A'), ('b', 'B') returning id`.execute(tx.kysely);
      return { result: rows.map(({ id }) => id), scopes: [] };
    });
    const [busy = 0, quiet = 0] = brands.result;
    const mails = (brandId: number, count: number): Wanted[] =>
      Array.from({ length: count }, (_, index) => ({ to: `q${index}@example.com`, email: { brandId } }));
    await make('lanes', [...mails(busy, 1500), ...mails(quiet, 3)]);
    const claimed = await claim(10, 6);
    const count = (brandId: number) => claimed.filter((one) => one.brandId === brandId).length;
    expect([count(busy), count(quiet)]).toEqual([6, 3]);
    // What is held is not claimed, and what is nearly full only as far as there is room.
    expect(await claim(10, 6, new Map([[`brand:${busy}`, 0]]))).toEqual([]);
    expect(await claim(10, 6, new Map([[`brand:${busy}`, 2]]))).toHaveLength(2);
  });

  test('a worker leaves lanes of an unknown channel to workers of a newer version', async () => {
    const [known = 0, unknown = 0] = await make('unknown', [
      { to: 'known@example.com', email: {} },
      { to: 'unknown@example.com', email: {} },
    ]);
    await fixture.database.change(async (tx) => {
      await tx.kysely.updateTable('delivery').set({ lane: 'fax:1' }).where('notificationId', '=', unknown).execute();
      return { result: null, scopes: [] };
    });
    expect((await claim()).map(({ notificationId }) => notificationId)).toEqual([known]);
    expect((await stateOf(fixture.database, unknown)).deliveries).toMatchObject([{ status: 'queued', attempts: 0 }]);
  });

  test("a dead worker's deliveries are due again after the lease, and its late outcome is ignored", async () => {
    const [id = 0] = await make('lease', [{ to: 'ada@example.com', email: {} }]);
    const [first] = await claim();
    if (first === undefined) throw new Error('nothing was claimed');
    const held = await stateOf(fixture.database, id);
    expect(held.deliveries[0]).toMatchObject({ status: 'sending', attempts: 1 });
    expect(held.deliveries[0]?.dueIn).toBeGreaterThan(15);
    await expire();
    // A lease that is still held is renewed.
    await fixture.database.change(async (tx) => ({ result: await renewLeases(tx, [first], 20_000), scopes: [] }));
    expect(await claim()).toEqual([]);
    await expire();
    const [second] = await claim();
    if (second === undefined) throw new Error('nothing was claimed');
    expect([second.id, second.attempts]).toEqual([first.id, 2]);
    const settle = async (claimed: typeof first, error: string | null) =>
      (
        await fixture.database.change(async (tx) => ({
          result: await settleDeliveries(tx, [{ claimed, settlement: { ...SENT, sent: error === null, error } }]),
          scopes: [],
        }))
      ).result.written.has(claimed.id);
    expect(await settle(first, 'smtp_rejected')).toBe(false);
    await fixture.database.change(async (tx) => ({ result: await renewLeases(tx, [first], 60_000), scopes: [] }));
    expect((await stateOf(fixture.database, id)).deliveries[0]?.dueIn).toBeLessThan(21);
    expect(await settle(second, null)).toBe(true);
    expect(await stateOf(fixture.database, id)).toMatchObject({ status: 'sent', deliveries: [{ attempts: 2 }] });
    expect(await settle(second, 'smtp_rejected')).toBe(false);
  });

  test('many deliveries settle together with their own outcomes, and lost claims stay unchanged', async () => {
    const subscribed = 'both@example.com';
    const [first = 0, second = 0, third = 0] = await make('together', [
      { to: subscribed, email: {}, push: {} },
      { to: 'later@example.com', email: {} },
      { to: 'lost@example.com', email: {} },
    ]);
    const all = await claim();
    const of = (notification: number, channel: string) =>
      all.find((one) => one.notificationId === notification && one.channel === channel) as (typeof all)[0];
    const lost = of(third, 'email');
    const { result } = await fixture.database.change(async (tx) => ({
      result: await settleDeliveries(tx, [
        { claimed: of(first, 'email'), settlement: { ...SENT, pushDone: [7, 8] } },
        { claimed: of(first, 'push'), settlement: { ...SENT, sent: false, error: 'push_gone' } },
        { claimed: of(second, 'email'), settlement: { ...SENT, sent: false, againInMs: 4000, error: 'smtp_deferred' } },
        { claimed: { ...lost, attempts: lost.attempts + 1 }, settlement: SENT },
      ]),
      scopes: [],
    }));
    expect(result.written).toEqual(
      new Set([of(first, 'email'), of(first, 'push'), of(second, 'email')].map(({ id }) => id)),
    );
    expect(await stateOf(fixture.database, first)).toMatchObject({
      status: 'partial',
      reason: 'push_gone',
      deliveries: [
        { channel: 'email', status: 'sent', sent: true, dueIn: null },
        { channel: 'push', status: 'failed', sent: false, dueIn: null },
      ],
    });
    const waiting = await stateOf(fixture.database, second);
    expect(waiting).toMatchObject({ status: 'queued', deliveries: [{ status: 'queued', error: 'smtp_deferred' }] });
    expect(waiting.deliveries[0]?.dueIn).toBeLessThan(5);
    expect(await stateOf(fixture.database, third)).toMatchObject({
      status: 'queued',
      deliveries: [{ status: 'sending' }],
    });
  });

  test('a delivery that cannot be settled does not prevent the others', async () => {
    const to = Array.from({ length: 6 }, (_, index) => `poison${index}@example.com`);
    const ids = await make(
      'poison',
      to.map((one) => ({ to: one, email: {} })),
    );
    const all = await claim();
    let changes = 0;
    const settling = new Settling({
      database: {
        change: (fn) => {
          changes++;
          return fixture.database.change(fn);
        },
      },
      clock: systemClock,
      log: createLogger('silent'),
      busy: () => changes === 0,
      refused: () => undefined,
    });
    const outcomes = await Promise.allSettled(
      all.map((claimed, at) =>
        settling.settle(claimed, at === 2 ? { ...SENT, sent: false, error: 'no database takes \0' } : SENT),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(all.map((_, at) => (at === 2 ? 'rejected' : 'fulfilled')));
    // All together, then one by one.
    expect(changes).toBe(7);
    const states = await Promise.all(ids.map((id) => stateOf(fixture.database, id)));
    expect(states.filter(({ status }) => status === 'sent')).toHaveLength(5);
  });

  test('deliveries of a deleted application are gone, even in progress', async () => {
    const [id = 0] = await make('deleted', [{ to: 'ada@example.com', email: {} }]);
    const [claimed] = await claim();
    await fixture.database.change(async (tx) => {
      await sql`delete from notification where id = ${id}`.execute(tx.kysely);
      return { result: null, scopes: [] };
    });
    if (claimed === undefined) throw new Error('nothing was claimed');
    const { result } = await fixture.database.change(async (tx) => ({
      result: await settleDeliveries(tx, [{ claimed, settlement: SENT }]),
      scopes: [],
    }));
    expect(result.written).toEqual(new Set());
  });
});

describe('a worker beside failing brands and origins', () => {
  const people = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}@example.com`);
  const { publicKey: vapid, privateKey } = webPush.generateVAPIDKeys();
  let storage: TestStorage;
  let usher: RunningUsher;
  let good: SmtpSink;
  let bad: SmtpSink;
  let pushes: PushService;
  let slow: PushService;
  let type: { app: number; type: number };
  let goodBrand: number;
  let badBrand: number;

  const start = () =>
    startUsher(storage, {
      env: {
        PUSH_ALLOWED_HOSTS: `${pushes.host},${slow.host}`,
        PUSH_PUBLIC_KEY: vapid,
        PUSH_PRIVATE_KEY: privateKey,
        PUSH_SUBJECT: 'mailto:ops@example.com',
      },
    });
  const send = async (wanted: Wanted[]) => {
    const ids = await accept(usher.app.database, type, wanted);
    usher.app.bell.ring();
    return ids;
  };
  const subscribe = async (email: string, service: PushService) => {
    const { endpoint, keys } = service.browser(email, vapid);
    await usher.app.database.change(async (tx) => {
      await sql`insert into person (email) values (${email}) on conflict do nothing`.execute(tx.kysely);
      await sql`
        insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
        select id, ${endpoint}, ${keys.p256dh}, ${keys.auth}, 'x', ${vapid} from person where email = ${email}`.execute(
        tx.kysely,
      );
      return { result: null, scopes: [] };
    });
    return new URL(endpoint).pathname;
  };
  const allSettled = async (ids: readonly number[]) => {
    for (const id of ids) await until(() => stateOf(usher.app.database, id), settled);
  };

  beforeAll(async () => {
    [storage, good, bad, pushes, slow] = await Promise.all([
      createStorage('postgresql'),
      startSmtp(),
      startSmtp({ login: { user: 'u', password: 'right' } }),
      startPushService(),
      startPushService(),
    ]);
    usher = await start();
    type = await insertType(usher.app.database, 'billing');
    const { result } = await usher.app.database.change(async (tx) => {
      const { rows } = await sql<{ id: number }>`
        insert into brand (slug, name, smtp_host, smtp_port, smtp_user)
        values ('good', 'Good', '127.0.0.1', ${good.port}, null), ('bad', 'Bad', '127.0.0.1', ${bad.port}, 'u')
        returning id`.execute(tx.kysely);
      return { result: rows.map(({ id }) => id), scopes: [] };
    });
    [goodBrand = 0, badBrand = 0] = result;
  }, 60_000);
  afterEach(() => {
    bad.fault = null;
    good.fault = null;
    for (const service of [pushes, slow]) service.answers.clear();
  });
  afterAll(async () => {
    await usher?.close();
    await Promise.all([good?.close(), bad?.close(), pushes?.close(), slow?.close(), storage?.remove()]);
  }, 60_000);

  test('a brand whose server refuses mail is paused, and the other brands go on', async () => {
    bad.fault = { at: 'greeting' };
    const stuck = await send(people('stuck', 40).map((to) => ({ to, email: { brandId: badBrand } })));
    const ids = await send(people('fine', 20).map((to) => ({ to, email: { brandId: goodBrand } })));
    await allSettled(ids);
    for (const id of ids) expect((await stateOf(usher.app.database, id)).status).toBe('sent');
    // What was under way found out for the rest, which has used up no attempt.
    const states = await Promise.all(stuck.map((id) => stateOf(usher.app.database, id)));
    expect(states.every(({ status }) => status === 'queued')).toBe(true);
    const untouched = states.filter(({ deliveries }) => deliveries[0]?.attempts === 0);
    expect(untouched.length).toBeGreaterThanOrEqual(20);
  });

  test('a brand with refused credentials is tried once, not once per mail', async () => {
    const { result: lockedBrand } = await usher.app.database.change(async (tx) => {
      const { rows } = await sql<{ id: number }>`
        insert into brand (slug, name, smtp_host, smtp_port) values ('locked', 'Locked', '127.0.0.1', ${bad.port})
        returning id`.execute(tx.kysely);
      return { result: rows[0]?.id ?? 0, scopes: [] };
    });
    // It wants a login, and the brand has none.
    const stuck = await send(people('locked', 40).map((to) => ({ to, email: { brandId: lockedBrand } })));
    const states = () => Promise.all(stuck.map((id) => stateOf(usher.app.database, id)));
    const refused = (all: readonly NotificationState[]) =>
      all.filter(({ deliveries }) => deliveries[0]?.error === 'smtp_auth').length;
    await until(states, (all) => refused(all) > 0);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const all = await states();
    expect(refused(all)).toBeLessThanOrEqual(12);
    expect(all.filter(({ deliveries }) => deliveries[0]?.attempts === 0).length).toBeGreaterThanOrEqual(28);
  });

  test('a slow push service does not delay another', async () => {
    slow.answers.set('*', { status: 201, delayMs: 6000 });
    const [slowOnes, quickOnes] = [people('slow', 30), people('quick', 30)];
    for (const email of slowOnes) await subscribe(email, slow);
    for (const email of quickOnes) await subscribe(email, pushes);
    const late = await send(slowOnes.map((to) => ({ to, push: {} })));
    const began = Date.now();
    const ids = await send(quickOnes.map((to) => ({ to, push: {} })));
    await allSettled(ids);
    const arrived = pushes.pushes.filter(({ path }) => path.includes('/quick')).map(({ at }) => at);
    expect(arrived).toHaveLength(30);
    expect(Math.max(...arrived) - began).toBeLessThan(6000);
    slow.answers.clear();
    await allSettled(late);
    expect(slow.pushes).toHaveLength(30);
  }, 60_000);

  test('a push service that throttles a crowd is paused, then gets every push once', async () => {
    const crowd = people('crowd', 10);
    const paths = new Set<string>();
    for (const email of crowd) paths.add(await subscribe(email, pushes));
    pushes.answers.set('*', { status: 429, headers: { 'retry-after': '3' } });
    const ids = await send(crowd.map((to) => ({ to, push: {} })));
    const asked = () => [...paths].reduce((sum, path) => sum + (pushes.asked.get(path) ?? 0), 0);
    await until(asked, (count) => count > 0);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const first = asked();
    const more = await send(crowd.map((to) => ({ to, push: {} })));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(asked()).toBe(first);
    pushes.answers.clear();
    // Pauses end with their process.
    await usher.close();
    usher = await start();
    await hurry(usher.app.database);
    usher.app.bell.ring();
    await allSettled([...ids, ...more]);
    const got = pushes.pushes.filter(({ path }) => paths.has(path));
    expect(got).toHaveLength(20);
  }, 60_000);

  test('two workers send everything once', async () => {
    const second = await start();
    try {
      const before = good.mails.length;
      const ids = await send(people('twice', 40).map((to) => ({ to, email: { brandId: goodBrand } })));
      second.app.bell.ring();
      await allSettled(ids);
      const got = good.mails.slice(before).map(({ to }) => to[0] ?? '');
      expect(got.toSorted()).toEqual(people('twice', 40).toSorted());
    } finally {
      await second.close();
    }
  }, 60_000);

  test('a stopping worker finishes its deliveries, and releases those that take too long', async () => {
    const second = await start();
    await usher.close();
    usher = second;
    good.fault = { at: 'slow', ms: 1500 };
    const stays = 'stays@example.com';
    await subscribe(stays, slow);
    slow.answers.set('*', { status: 201, delayMs: 20_000 });
    const before = good.mails.length;
    const [mail = 0, push = 0] = await send([
      { to: 'goes@example.com', email: { brandId: goodBrand } },
      { to: stays, push: {} },
    ]);
    await until(
      async () => await Promise.all([mail, push].map((id) => stateOf(usher.app.database, id))),
      (states) => states.every(({ deliveries }) => deliveries[0]?.status === 'sending'),
    );
    await usher.close();
    expect(good.mails.length).toBe(before + 1);
    const database = await storage.open();
    expect(await stateOf(database, mail)).toMatchObject({ status: 'sent' });
    const back = await stateOf(database, push);
    expect(back).toMatchObject({ status: 'queued', deliveries: [{ status: 'queued', attempts: 0 }] });
    expect(back.deliveries[0]?.dueIn).toBeLessThan(1);
    slow.answers.clear();
    usher = await start();
    await until(() => stateOf(usher.app.database, push), settled);
  }, 60_000);
});
