import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { DeliveryThread, type DeliveryThreadParts } from '../../src/app/delivery-thread.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { DeliveryBell } from '../../src/delivery/queue.ts';
import { accept, insertType, settled, stateOf, until, type Wanted } from '../delivery/rows.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const NICE = 10;

/** Threads of this process that give way to the others. */
function lowered(): number {
  return readdirSync('/proc/self/task').filter((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]) === NICE;
  }).length;
}

describe('the delivery thread', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let smtp: SmtpSink;
  let type: { app: number; type: number };
  const threads: DeliveryThread[] = [];

  beforeAll(async () => {
    [storage, smtp] = await Promise.all([createStorage('postgresql'), startSmtp()]);
    usher = await startUsher(storage, { env: { USHER_ROLES: 'rpc,gateway', LOG_LEVEL: 'silent' } });
    const root = await Rest.as(usher, 'admin@example.com');
    const { body } = await root.get('/api/admin/brands');
    const brand = body.data.find(({ isDefault }: { isDefault: boolean }) => isDefault);
    const server = { host: '127.0.0.1', port: smtp.port, secure: false };
    const set = await root.put(`/api/admin/brands/${brand.id}`, { emailFrom: 'news@example.com', smtp: server });
    expect(set.status).toBe(200);
    type = await insertType(usher.app.database, 'billing');
  }, 60_000);
  afterEach(async () => {
    smtp.fault = null;
    await Promise.all(threads.splice(0).map((thread) => thread.close()));
  });
  afterAll(async () => {
    await usher?.close();
    await Promise.all([smtp?.close(), storage?.remove()]);
  }, 60_000);

  const send = async (wanted: Wanted) => (await accept(usher.app.database, type, [wanted]))[0] ?? 0;
  const end = (id: number) => until(() => stateOf(usher.app.database, id), settled);
  const counted: string[] = [];
  const started = async (parts: Partial<DeliveryThreadParts> = {}) => {
    const bell = new DeliveryBell();
    const thread = new DeliveryThread({
      config: usher.app.config,
      database: usher.app.database,
      clock: systemClock,
      log: createLogger('silent'),
      bell,
      metrics: { count: (channel, outcome) => counted.push(`${channel} ${outcome}`) },
      ...parts,
    });
    threads.push(thread);
    await thread.start();
    return { thread, bell };
  };

  test('the delivery thread starts with the first delivery, is counted in metrics, and ends on close', async () => {
    const { thread, bell } = await started();
    expect(thread.running).toBe(false);
    const before = lowered();
    const id = await send({ to: 'ada@example.com', email: {} });
    bell.ring();
    expect(thread.running).toBe(true);
    expect((await smtp.next()).to).toEqual(['ada@example.com']);
    expect((await end(id)).status).toBe('sent');
    expect(lowered()).toBeGreaterThan(before);
    await until(
      () => counted,
      (all) => all.includes('email sent'),
    );
    await thread.close();
    expect([thread.running, lowered()]).toEqual([false, before]);
  });

  test('the delivery thread finds waiting deliveries without a signal', async () => {
    const id = await send({ to: 'bea@example.com', email: {} });
    const { thread } = await started();
    expect((await end(id)).status).toBe('sent');
    expect(thread.running).toBe(true);
    await smtp.next();
  });

  test('closing the delivery thread finishes deliveries in progress', async () => {
    const { thread, bell } = await started();
    smtp.fault = { at: 'slow', ms: 1500 };
    const before = smtp.connections;
    const id = await send({ to: 'cid@example.com', email: {} });
    bell.ring();
    await until(
      () => smtp.connections,
      (connections) => connections > before,
    );
    expect((await stateOf(usher.app.database, id)).status).toBe('queued');
    await thread.close();
    expect(await stateOf(usher.app.database, id)).toMatchObject({ status: 'sent', deliveries: [{ attempts: 1 }] });
    await smtp.next();
  });

  test('a failed delivery thread is logged and replaced', async () => {
    // Nowhere to keep a key.
    const config = { ...usher.app.config, dataDir: '/dev/null/none' };
    let skip = 0;
    const told: string[] = [];
    const log = createLogger('error', { write: (line) => told.push(line) });
    const id = await send({ to: 'dan@example.com', email: {} });
    const { thread } = await started({
      config,
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + skip },
      log,
    });
    await until(
      () => told,
      (lines) => lines.some((line) => line.includes('exited')),
    );
    expect(thread.running).toBe(false);
    expect(told.join('')).toContain('delivery thread failed');
    config.dataDir = usher.app.config.dataDir;
    // Not at once.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(thread.running).toBe(false);
    skip = 5000;
    expect((await end(id)).status).toBe('sent');
    await smtp.next();
  });
});

describe.each(KINDS)('a service with a delivery thread (%s)', (kind) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let push: PushService;

  beforeAll(async () => {
    [storage, push] = await Promise.all([createStorage(kind), startPushService()]);
    usher = await startUsher(storage, {
      env: { PUSH_ALLOWED_HOSTS: push.host, LOG_LEVEL: 'silent' },
      parts: { threads: true },
    });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await Promise.all([push?.close(), storage?.remove()]);
  }, 60_000);

  test('a send reaches browser and mailbox, and appears in the metrics', async () => {
    const root = await Rest.as(usher, 'admin@example.com');
    const { vapidPublicKey } = (await root.get('/api/profile/me/push/vapid-key')).body.data;
    const subscription = push.browser('desktop', vapidPublicKey);
    expect((await root.post('/api/profile/me/push/subscribe', { subscription, deviceLabel: 'x' })).status).toBe(201);
    const type = await insertType(usher.app.database, 'billing');
    const wanted = { to: 'admin@example.com', email: { subject: 'Hello' }, push: { body: 'Číslo 7' } };
    const [id = 0] = await accept(usher.app.database, type, [wanted]);
    usher.app.bell.ring();
    // On a busy machine the first attempt may come to nothing; then there is another.
    const { deliveries } = await until(() => stateOf(usher.app.database, id), settled, 60_000);
    expect(deliveries.map(({ status }) => status)).toEqual(['sent', 'sent']);
    expect(push.pushes.map(({ payload }) => payload)).toMatchObject([{ body: 'Číslo 7' }]);
    expect(await (await fetch(`${usher.rest}/dev/mail`)).text()).toContain('Hello');
    expect(lowered() > 0).toBe(kind === 'postgresql');
    const sent = /^usher_deliveries_total\{channel="(?:email|push)",outcome="sent"\} 1$/gm;
    const scraped = () => fetch(`${usher.rest}/metrics`).then((answer) => answer.text());
    await until(scraped, (text) => text.match(sent)?.length === 2);
  });
});
