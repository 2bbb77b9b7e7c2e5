import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { accept, insertType, settled, stateOf, until, type Wanted } from './rows.ts';

const webPush = createRequire(import.meta.url)('web-push') as {
  generateVAPIDKeys(): { publicKey: string; privateKey: string };
};

describe.each(KINDS)('a changed VAPID pair (%s)', (kind) => {
  let storage: TestStorage;
  let push: PushService;
  let usher: RunningUsher;
  let type: { app: number; type: number };

  const start = async ({ publicKey, privateKey } = webPush.generateVAPIDKeys()) => {
    const keys = { PUSH_PUBLIC_KEY: publicKey, PUSH_PRIVATE_KEY: privateKey, PUSH_SUBJECT: 'mailto:ops@example.com' };
    usher = await startUsher(storage, { env: { PUSH_ALLOWED_HOSTS: push.host, ...keys } });
    return { publicKey, privateKey };
  };
  beforeAll(async () => {
    [storage, push] = await Promise.all([createStorage(kind), startPushService()]);
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await Promise.all([push?.close(), storage?.remove()]);
  }, 60_000);

  const subscribe = async (name: string, vapid: string) => {
    const rest = await Rest.as(usher, 'bea@example.com');
    const subscription = push.browser(name, vapid);
    const { status } = await rest.post('/api/profile/me/push/subscribe', { subscription, deviceLabel: name });
    expect(status).toBe(201);
    return new URL(subscription.endpoint).pathname;
  };
  const labels = async () => {
    const { body } = await (await Rest.as(usher, 'bea@example.com')).get('/api/profile/me/push/subscriptions');
    return body.response.map(({ deviceLabel }: { deviceLabel: string }) => deviceLabel);
  };
  const outcomeOf = async (wanted: Partial<Wanted> = {}) => {
    const [id = 0] = await accept(usher.app.database, type, [{ to: 'bea@example.com', push: {}, ...wanted }]);
    usher.app.bell.ring();
    const { status, deliveries } = await until(() => stateOf(usher.app.database, id), settled);
    return { status, errors: deliveries.map(({ error }) => error) };
  };

  test('pushes with a changed VAPID pair fail with a reason, no browser is removed, and the old pair restores all', async () => {
    const first = await start();
    type = await insertType(usher.app.database, 'billing');
    const old = [await subscribe('desktop', first.publicKey), await subscribe('tablet', first.publicKey)];
    expect(await outcomeOf()).toEqual({ status: 'sent', errors: [null] });
    expect(push.pushes.map(({ path }) => path).toSorted()).toEqual(old.toSorted());
    await usher.close();

    const second = await start();
    const key = await (await Rest.as(usher, 'bea@example.com')).get('/api/profile/me/push/vapid-key');
    expect(key.body.data.vapidPublicKey).toBe(second.publicKey);
    expect(await outcomeOf()).toEqual({ status: 'failed', errors: ['push_key_changed'] });
    expect(await labels()).toEqual(['desktop', 'tablet']);

    // A browser that subscribes with the new key gets its pushes; the others are left alone.
    const phone = await subscribe('phone', second.publicKey);
    expect(await outcomeOf()).toEqual({ status: 'sent', errors: [null] });
    expect(push.pushes.slice(2).map(({ path }) => path)).toEqual([phone]);
    expect(old.map((path) => push.asked.get(path))).toEqual([1, 1]);
    expect(await labels()).toEqual(['desktop', 'tablet', 'phone']);
    await usher.close();

    await start(first);
    expect(await outcomeOf()).toEqual({ status: 'sent', errors: [null] });
    expect(old.map((path) => push.asked.get(path))).toEqual([2, 2]);
    expect(push.faults).toEqual([]);
  }, 60_000);

  test.each([401, 403])('a push service that answers %i removes no subscription', async (status) => {
    const before = await labels();
    push.answers.set('*', { status });
    expect(await outcomeOf()).toEqual({ status: 'failed', errors: ['push_unauthorized'] });
    push.answers.clear();
    expect(await labels()).toEqual(before);
  });
});
