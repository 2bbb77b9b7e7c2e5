import { cpSync } from 'node:fs';
import { describe, expect, jest, test } from '@jest/globals';
import { createStorage } from '../support/databases.ts';
import { LineCutter } from '../support/proxy.ts';
import { startUsher } from '../support/usher.ts';
import { BATCH, closeClients, listen, openClient, openShop, pause, STREAM, show, until, useShop } from './world.ts';

const READ = { permission: 'read' };

const world = useShop();
const { hire } = world;

describe('the questions of a page', () => {
  test('go in one request, are denied until it is answered, and are answered each', async () => {
    const { token } = await hire();
    const paths = listen();
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const order = { permission: 'order.access', resource: { type: 'order', id: 7 } };
    const shown = [READ, READ, { ...order, level: 'view' as const }, { ...order, level: 'edit' as const }].map((one) =>
      show(client, one),
    );
    expect(shown.map(({ now }) => now)).toEqual(
      shown.map(() => ({ allowed: false, known: false, level: null, error: null })),
    );
    await until(() => shown.every(({ now }) => now.known));
    expect(shown.map(({ now }) => [now.allowed, now.level])).toEqual([
      [true, 'allowed'],
      [true, 'allowed'],
      [true, 'view'],
      [false, 'view'],
    ]);
    expect(paths.filter((path) => path === BATCH)).toHaveLength(1);
  });

  test('beyond a thousand go in several requests', async () => {
    const { token } = await hire();
    const paths = listen();
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const shown = Array.from({ length: 1001 }, (_, at) =>
      show(client, { permission: 'order.access', resource: { type: 'order', id: at } }),
    );
    await until(() => shown.every(({ now }) => now.allowed));
    expect(paths.filter((path) => path === BATCH)).toHaveLength(2);
  });

  test.each([
    ['the stream tells of it', 'raed', 'read'],
    ['the stream begins later, and tells nothing', 'orders.access', 'order.access'],
  ])('are answered beside one that the service refuses until the policy knows it: %s', async (way, code, known) => {
    const { token } = await hire();
    const { promise, resolve } = Promise.withResolvers<void>();
    if (way.endsWith('tells of it')) resolve();
    listen(async (path) => {
      if (path === STREAM) await promise;
    });
    const said = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const [wrong, right] = [show(client, { permission: code }), show(client, READ)];
    await until(() => wrong.now.known && right.now.known);
    expect([right.now.allowed, wrong.now.allowed]).toEqual([true, false]);
    expect(wrong.now.error).toMatchObject({ code: 'UNKNOWN_CODE', details: { known } });
    expect(said.mock.calls.flat()).toEqual([expect.stringContaining(code)]);
    await world.shop.define(code);
    resolve();
    await until(() => wrong.now.error === null);
    expect(wrong.now).toMatchObject({ allowed: false, known: true });
  });

  test('are not asked for a person who is not there', async () => {
    const paths = listen();
    const client = openClient({ url: world.usher.rest, getToken: null });
    const shown = show(client, READ);
    await pause(200);
    expect(shown.now).toMatchObject({ allowed: false, known: true });
    expect(paths).toEqual([]);
  });
});

describe('a change', () => {
  test('of a role is seen within a second, in both directions', async () => {
    const { email, token } = await hire();
    const paths = listen();
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const shown = show(client, READ);
    await until(() => shown.now.allowed && paths.includes(STREAM));
    for (const [change, allowed] of [
      [world.shop.take, false],
      [world.shop.give, true],
    ] as const) {
      await change(email);
      const begun = performance.now();
      await until(() => shown.now.known && shown.now.allowed === allowed);
      expect(performance.now() - begun).toBeLessThan(1_000);
    }
    // By the stream, and not because the page asks again and again.
    expect(paths.filter((path) => path === BATCH)).toHaveLength(3);
  });

  test('between the first answer and the beginning of the stream is not missed', async () => {
    const { email, token } = await hire();
    const { promise, resolve } = Promise.withResolvers<void>();
    listen(async (path) => {
      if (path === STREAM) await promise;
    });
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const shown = show(client, READ);
    await until(() => shown.now.allowed);
    await world.shop.take(email);
    resolve();
    await until(
      () => shown.now.known && !shown.now.allowed,
      () => shown.now,
      5_000,
    );
  });

  test('while the stream is cut is seen when it goes on', async () => {
    const { email, token } = await hire();
    const line = await LineCutter.start(world.usher.rest);
    try {
      const client = openClient({ url: line.url(world.usher.rest), getToken: () => token });
      const shown = show(client, READ);
      await until(() => shown.now.allowed);
      line.down();
      await world.shop.take(email);
      line.up();
      await until(
        () => shown.now.known && !shown.now.allowed,
        () => shown.now,
        5_000,
      );
    } finally {
      await line.close();
    }
  });

  test('of the account, which is deactivated, takes everything away within a second', async () => {
    const { email, token } = await hire();
    const paths = listen();
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const shown = show(client, READ);
    await until(() => shown.now.allowed && paths.includes(STREAM));
    await world.shop.setActive(email, false);
    const begun = performance.now();
    await until(() => !shown.now.allowed);
    expect(performance.now() - begun).toBeLessThan(1_500);
    expect(shown.now.known).toBe(true);
  });
});

describe('an "allowed"', () => {
  const BOUND_MS = 1_500;

  test.each([
    ['is cut off', (line: LineCutter) => line.down()],
    ['is silent', (line: LineCutter) => line.swallow()],
  ])('lasts no longer than its bound when the service %s, and comes back with it', async (_, fail) => {
    const { token } = await hire();
    const line = await LineCutter.start(world.usher.rest);
    try {
      const client = openClient({ url: line.url(world.usher.rest), getToken: () => token, maxStalenessMs: BOUND_MS });
      const shown = show(client, READ);
      await until(() => shown.now.allowed);
      // Over several bounds it is asked for again in time.
      await pause(2 * BOUND_MS);
      expect(shown.now.allowed).toBe(true);
      const before = shown.all.length;
      fail(line);
      const begun = performance.now();
      await until(() => !shown.now.allowed);
      expect(performance.now() - begun).toBeLessThan(BOUND_MS + 300);
      // The page is told, and need not read it again by itself.
      await until(() => shown.all.slice(before).some(({ allowed, known }) => !allowed && !known));
      line.up();
      client.retry();
      await until(
        () => shown.now.allowed,
        () => shown.now,
        30_000,
      );
      expect(shown.now.error).toBeNull();
    } finally {
      await line.close();
    }
  });

  test('is gone at the first look after the machine has slept', async () => {
    const { token } = await hire();
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const shown = show(client, READ);
    await until(() => shown.now.allowed);
    const later = Date.now() + 31_000;
    jest.spyOn(Date, 'now').mockReturnValue(later);
    expect(shown.now).toMatchObject({ allowed: false, known: false });
  });

  test('of one person is never shown to the next, nor after a sign-out', async () => {
    const [ann, ben] = [await hire(), await world.usher.token('stranger@example.com')];
    let token: string | null = ann.token;
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const shown = show(client, READ);
    await until(() => shown.now.allowed);
    token = ben;
    client.retry();
    await until(() => !shown.now.allowed);
    await until(() => shown.now.known);
    expect(shown.now.allowed).toBe(false);
    token = ann.token;
    client.retry();
    await until(() => shown.now.allowed);
    token = null;
    client.retry();
    await until(
      () => shown.now.error?.code === 'SIGNED_OUT',
      () => shown.now,
      2_000,
    );
    expect(shown.now.allowed).toBe(false);
  });

  test.each([Number.NaN, -1, 0, Number.NEGATIVE_INFINITY])(
    'has a bound where the application gives %p',
    async (maxStalenessMs) => {
      const { token } = await hire();
      const client = openClient({ url: world.usher.rest, getToken: () => token, maxStalenessMs });
      const shown = show(client, READ);
      await until(() => shown.now.allowed);
      jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 1_001);
      expect(shown.now.allowed).toBe(false);
    },
  );

  test('that was on its way is of nobody once the client has stopped', async () => {
    const { token } = await hire();
    const { promise, resolve } = Promise.withResolvers<void>();
    // The answer comes whether or not somebody waits for it.
    const paths = listen(() => promise, { isDeaf: true });
    const client = openClient({ url: world.usher.rest, getToken: () => token });
    const shown = show(client, READ);
    await until(() => paths.includes(BATCH));
    closeClients();
    resolve();
    await pause(300);
    expect(shown.all.filter(({ allowed }) => allowed)).toEqual([]);
    expect(shown.now.allowed).toBe(false);
  });
});

test('a page without questions has no stream', async () => {
  const { token } = await hire();
  const client = openClient({ url: world.usher.rest, getToken: () => token });
  const key = '{"app":"shop","permission":"read"}';
  const release = client.permissions.hold(key, () => undefined);
  await until(() => world.usher.app.permissionStreams.size > 0);
  release();
  client.permissions.refresh();
  await until(() => world.usher.app.permissionStreams.size === 0);
});

test('a service that was restored, and knows no revision of before, is followed like a new one', async () => {
  const { email, token } = await hire();
  const other = await createStorage('pglite');
  // The same key: tokens go on, revisions do not.
  cpSync(`${world.storage.dataDir}/local-issuer.jwk.json`, `${other.dataDir}/local-issuer.jwk.json`);
  const restored = await startUsher(other);
  const line = await LineCutter.start(world.usher.rest);
  try {
    const restoredShop = await openShop(restored);
    const client = openClient({ url: line.url(world.usher.rest), getToken: () => token });
    const shown = show(client, READ);
    await until(() => shown.now.allowed);
    await world.shop.take(email);
    await until(() => !shown.now.allowed);
    line.lead(restored.rest);
    await restoredShop.give(email);
    await until(
      () => shown.now.allowed,
      () => shown.now,
      20_000,
    );
    await restoredShop.take(email);
    await until(
      () => !shown.now.allowed,
      () => shown.now,
      5_000,
    );
  } finally {
    await line.close();
    await restored.close();
    await other.remove();
  }
}, 60_000);
