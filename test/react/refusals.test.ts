import { describe, expect, jest, test } from '@jest/globals';
import { BATCH, listen, openClient, pause, STREAM, show, until, useShop } from './world.ts';

const READ = { permission: 'read' };
const world = useShop();
const { hire } = world;

describe('a token', () => {
  test('that has expired is renewed once for all requests, and nothing is lost', async () => {
    const { email, token } = await hire();
    const expired = (await world.usher.app.localIssuer?.sign(email, {}, -3600)) ?? '';
    const asked: boolean[] = [];
    let given = expired;
    const client = openClient({
      url: world.usher.rest,
      getToken: async ({ renew }) => {
        asked.push(renew);
        if (renew) given = token;
        return given;
      },
    });
    const shown = show(client, READ);
    await until(() => shown.now.allowed);
    expect(asked.filter((renew) => renew)).toHaveLength(1);
  });

  test('that is refused and cannot be renewed denies everything at once, and the application is told once', async () => {
    const { email } = await hire();
    let token = await world.usher.token(email);
    const told = jest.fn();
    const client = openClient({ url: world.usher.rest, getToken: () => token, onUnauthenticated: told });
    const shown = show(client, READ);
    await until(() => shown.now.allowed);
    token = (await world.usher.app.localIssuer?.sign(email, {}, -3600)) ?? '';
    client.retry();
    await until(() => shown.now.error?.code === 'SIGNED_OUT');
    expect(shown.now.allowed).toBe(false);
    await pause(1_000);
    expect(told).toHaveBeenCalledTimes(1);
  });
});

test('an application that fails to give a token is trouble: what was answered lasts for its bound', async () => {
  const { token } = await hire();
  let fails = false;
  const client = openClient({
    url: world.usher.rest,
    maxStalenessMs: 1_500,
    getToken: () => {
      if (fails) throw new Error('the provider is away');
      return token;
    },
  });
  const shown = show(client, READ);
  await until(() => shown.now.allowed);
  fails = true;
  client.retry();
  await until(() => shown.now.error !== null);
  expect(shown.now.error?.message).toContain('the provider is away');
  await until(
    () => !shown.now.allowed,
    () => shown.now,
    5_000,
  );
  fails = false;
  await until(
    () => shown.now.allowed,
    () => shown.now,
    20_000,
  );
});

test('a service that refuses the person denies everything at once', async () => {
  const { token } = await hire();
  let isRefused = false;
  listen(async (path) =>
    isRefused && path === BATCH ? Response.json({ code: 'FORBIDDEN', message: 'no' }, { status: 403 }) : undefined,
  );
  const client = openClient({ url: world.usher.rest, getToken: () => token });
  const shown = show(client, READ);
  await until(() => shown.now.allowed);
  isRefused = true;
  client.permissions.refresh();
  await until(() => shown.now.error !== null);
  expect(shown.now).toMatchObject({ allowed: false, known: true, error: { status: 403, code: 'FORBIDDEN' } });
  isRefused = false;
  await until(() => shown.now.allowed);
});

test('a revision that the service does not know is not demanded again', async () => {
  const { email, token } = await hire();
  const event = 'event: permissions\nid: 999999999\ndata: {"revision":"999999999","apps":[]}\n\n';
  let isTold = false;
  listen(async (path) => {
    if (path !== STREAM) return undefined;
    const text = isTold ? ': here\n\n' : event;
    isTold = true;
    // It stays open, and tells nothing more.
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) });
    return new Response(body);
  });
  const client = openClient({ url: world.usher.rest, getToken: () => token });
  const shown = show(client, READ);
  await until(() => shown.now.allowed && isTold);
  await world.shop.take(email);
  client.permissions.refresh();
  await until(
    () => shown.now.known && !shown.now.allowed,
    () => shown.now,
    10_000,
  );
  expect(shown.now.error).toBeNull();
});
