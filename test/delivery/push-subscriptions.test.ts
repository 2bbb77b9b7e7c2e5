import { createECDH, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { toConfig } from '../../src/config/config.ts';
import { createEndpointRules } from '../../src/delivery/endpoints.ts';
import { openVapidKeys } from '../../src/delivery/push-keys.ts';
import { PushSubscriptions } from '../../src/delivery/subscriptions.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const PUSH = '/api/profile/me/push';
const NORA = 'nora@example.com';
const OLGA = 'olga@example.com';

function keys() {
  const p256dh = createECDH('prime256v1').generateKeys('base64url');
  return { p256dh, auth: randomBytes(16).toString('base64url') };
}

function subscription(name = randomBytes(8).toString('hex')) {
  return { endpoint: `https://fcm.googleapis.com/fcm/send/${name}`, keys: keys() };
}

for (const kind of KINDS) {
  describe(`push subscriptions (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let nora: Rest;
    let olga: Rest;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env: { PUSH_ALLOWED_HOSTS: 'push.example.com,localhost:9443' } });
      nora = await Rest.as(usher, NORA);
      olga = await Rest.as(usher, OLGA);
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const subscribe = (who: Rest, sub: object, deviceLabel = 'Firefox on Linux') =>
      who.post(`${PUSH}/subscribe`, { subscription: sub, deviceLabel });
    const mine = async (who: Rest) => (await who.get(`${PUSH}/subscriptions`)).body.response;

    test('push subscriptions are created, listed and deleted, and the key is public', async () => {
      const key = await nora.get(`${PUSH}/vapid-key`);
      expect([key.status, key.body]).toEqual([200, { success: true, data: { vapidPublicKey: expect.any(String) } }]);
      expect(Buffer.from(key.body.data.vapidPublicKey, 'base64url')).toHaveLength(65);

      const sub = subscription();
      // As browsers send it, and with what they may add one day.
      const made = await subscribe(nora, { ...sub, expirationTime: null, keys: { ...sub.keys, more: 'x' } });
      expect([made.status, made.body]).toEqual([
        201,
        {
          success: true,
          data: {
            id: expect.any(Number),
            endpoint: sub.endpoint,
            deviceLabel: 'Firefox on Linux',
            lastUsedAt: null,
            createdAt: expect.any(String),
            updatedAt: expect.any(String),
          },
        },
      ]);
      const { id } = made.body.data;
      expect(made.headers.get('location')).toBe(`${PUSH}/subscriptions/${id}`);
      const listed = await nora.get(`${PUSH}/subscriptions`);
      expect([listed.status, listed.body]).toEqual([200, { code: 'OK', response: [made.body.data] }]);
      expect(listed.headers.get('cache-control')).toBe('no-store');

      // The same endpoint again: the same subscription, as it is now.
      const again = await subscribe(nora, { ...sub, keys: keys() }, 'Firefox, renamed');
      expect([again.status, again.body.data]).toMatchObject([200, { id, deviceLabel: 'Firefox, renamed' }]);
      expect(await mine(nora)).toHaveLength(1);

      const off = await nora.post(`${PUSH}/unsubscribe`, { endpoint: sub.endpoint });
      expect([off.status, off.body]).toEqual([200, { success: true, data: { removed: true } }]);
      expect((await nora.post(`${PUSH}/unsubscribe`, { endpoint: sub.endpoint })).body.data).toEqual({
        removed: false,
      });
      expect(await mine(nora)).toEqual([]);

      const other = (await subscribe(nora, subscription())).body.data.id;
      expect((await nora.delete(`${PUSH}/subscriptions/${other}`)).status).toBe(204);
      expect((await nora.delete(`${PUSH}/subscriptions/${other}`)).status).toBe(404);
    });

    test("nobody lists or deletes another person's push subscriptions", async () => {
      const sub = subscription();
      const { id } = (await subscribe(nora, sub)).body.data;
      expect((await olga.delete(`${PUSH}/subscriptions/${id}`)).status).toBe(404);
      expect((await olga.post(`${PUSH}/unsubscribe`, { endpoint: sub.endpoint })).body.data).toEqual({
        removed: false,
      });
      expect(await mine(olga)).toEqual([]);
      expect(await mine(nora)).toHaveLength(1);

      const taken = await subscribe(olga, { ...sub, keys: keys() });
      expect([taken.status, taken.body.code, taken.body.details.code]).toEqual([409, 'CONFLICT', 'ENDPOINT_TAKEN']);
      expect((await mine(nora))[0].deviceLabel).toBe('Firefox on Linux');

      // Who has both keys has the browser: one machine, two people.
      const moved = await subscribe(olga, sub, "Olga's");
      expect([moved.status, moved.body.data]).toMatchObject([200, { id, deviceLabel: "Olga's", lastUsedAt: null }]);
      expect(await mine(nora)).toEqual([]);
      expect((await olga.delete(`${PUSH}/subscriptions/${id}`)).status).toBe(204);
    });

    test('an invalid push subscription is refused with its field, and stores nothing', async () => {
      const good = subscription();
      const p256dh = Buffer.from(good.keys.p256dh, 'base64url');
      const offCurve = Buffer.from(p256dh);
      offCurve[64] = (offCurve[64] ?? 0) ^ 1;
      const withKeys = (change: object) => ({ ...good, keys: { ...good.keys, ...change } });
      const cases: [object, string][] = [
        [{ keys: good.keys }, 'subscription.endpoint'],
        [{ endpoint: good.endpoint }, 'subscription.keys'],
        [{ ...good, endpoint: 7 }, 'subscription.endpoint'],
        [withKeys({ p256dh: offCurve.toString('base64url') }), 'subscription.keys.p256dh'],
        [withKeys({ p256dh: p256dh.subarray(0, 64).toString('base64url') }), 'subscription.keys.p256dh'],
        [withKeys({ p256dh: Buffer.alloc(65, 4).toString('base64url') }), 'subscription.keys.p256dh'],
        [withKeys({ p256dh: 'no base64!' }), 'subscription.keys.p256dh'],
        [withKeys({ auth: randomBytes(15).toString('base64url') }), 'subscription.keys.auth'],
        [withKeys({ auth: randomBytes(17).toString('base64url') }), 'subscription.keys.auth'],
        [withKeys({ auth: '' }), 'subscription.keys.auth'],
        [{ ...good, endpoint: 'https://evil.example/push' }, 'subscription.endpoint'],
      ];
      for (const [sub, path] of cases) {
        const { status, body } = await subscribe(nora, sub);
        expect([status, body.code, body.details?.code]).toEqual([400, 'BAD_REQUEST', 'VALIDATION_FAILED']);
        expect(body.details.issues[0].path).toBe(path);
      }
      for (const body of [
        { subscription: good },
        { subscription: good, deviceLabel: 'x'.repeat(201) },
        { subscription: good, deviceLabel: 'x', email: OLGA },
        { ...good, deviceLabel: 'x' },
      ]) {
        expect((await nora.post(`${PUSH}/subscribe`, body)).status).toBe(400);
      }
      expect((await nora.post(`${PUSH}/unsubscribe`, {})).status).toBe(400);
      expect((await nora.delete(`${PUSH}/subscriptions/seven`)).status).toBe(400);
      expect(await mine(nora)).toEqual([]);
    });

    test('push subscriptions require a token of an active user', async () => {
      const nobody = await Rest.as(usher);
      const paths: [string, string, object?][] = [
        ['GET', 'vapid-key'],
        ['GET', 'subscriptions'],
        ['POST', 'subscribe', { subscription: subscription(), deviceLabel: 'x' }],
        ['POST', 'unsubscribe', { endpoint: 'https://fcm.googleapis.com/x' }],
        ['DELETE', 'subscriptions/1'],
      ];
      const ivan = await Rest.as(usher, 'ivan@example.com');
      await usher.app.database.change(async (tx) => {
        await tx.kysely.insertInto('person').values({ email: 'ivan@example.com', blocked: true }).execute();
        return { result: null, scopes: ['u:ivan@example.com'] };
      });
      for (const [method, path, body] of paths) {
        const open = await nobody.send(method, `${PUSH}/${path}`, body);
        expect([open.status, open.body.code]).toEqual([401, 'UNAUTHENTICATED']);
        const inactive = await ivan.send(method, `${PUSH}/${path}`, body);
        expect([inactive.status, inactive.body.details.code]).toEqual([403, 'USER_INACTIVE']);
      }
    });

    test('beyond 20 push subscriptions the least recently used is removed, even under concurrency', async () => {
      const first = (await subscribe(olga, subscription('first'))).body.data.id;
      const second = (await subscribe(olga, subscription('second'))).body.data.id;
      await usher.app.database.change(async (tx) => {
        const long = new Date(Date.now() - 3_600_000);
        const past = { createdAt: long, updatedAt: long };
        await tx.kysely.updateTable('push_subscription').set(past).where('id', 'in', [first, second]).execute();
        // The first was made earlier, but it took a push since.
        await tx.kysely
          .updateTable('push_subscription')
          .set({ lastUsedAt: new Date(Date.now() + 60_000) })
          .where('id', '=', first)
          .execute();
        return { result: null, scopes: [] };
      });
      const all = await Promise.all(Array.from({ length: 24 }, () => subscribe(olga, subscription())));
      expect(all.map(({ status }) => status)).toEqual(all.map(() => 201));
      const left = (await mine(olga)).map(({ id }: { id: number }) => id);
      expect(left).toHaveLength(20);
      expect([left.includes(first), left.includes(second)]).toEqual([true, false]);
    });

    test('one endpoint subscribed by two users at once belongs to exactly one of them', async () => {
      for (let round = 0; round < 5; round++) {
        const { endpoint } = subscription();
        const answers = await Promise.all([nora, olga].map((who) => subscribe(who, { endpoint, keys: keys() })));
        expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
      }
      // And from one user twice at once: one subscription.
      const sub = subscription();
      const twice = await Promise.all([subscribe(nora, sub), subscribe(nora, sub)]);
      expect(twice.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 201]);
      expect(twice[0]?.body.data.id).toBe(twice[1]?.body.data.id);
    });
  });
}

describe('pushes in production without keys', () => {
  test('subscribing without VAPID keys is refused with the settings to set, and existing subscriptions are listed', async () => {
    const storage = await createStorage('postgresql');
    // A production start has no local issuer to ask in whose name; the feature itself is asked.
    const config = { ...toConfig({ env: {} }), production: true };
    const keep = () => {
      throw new Error('production keeps no pair');
    };
    const publicKey = openVapidKeys(config, keep)?.publicKey ?? null;
    const database = await storage.open();
    const feature = new PushSubscriptions({ database, rules: createEndpointRules([], true), publicKey });
    expect(() => feature.vapidKey()).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    await expect(feature.subscribe(NORA, { subscription: subscription(), deviceLabel: 'x' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('PUSH_PUBLIC_KEY'),
    });
    expect(await feature.list(NORA)).toEqual([]);
    await storage.remove();
  }, 60_000);
});
