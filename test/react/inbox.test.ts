import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { UsherClient } from '../../clients/react/src/client.ts';
import type { InboxState } from '../../clients/react/src/types.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { LineCutter } from '../support/proxy.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { closeClients, openClient, openShop, until } from './world.ts';

let storage: TestStorage;
let usher: RunningUsher;
let shop: Awaited<ReturnType<typeof openShop>>;
let line: LineCutter;
let email: string;
let people = 0;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage);
  shop = await openShop(usher);
}, 120_000);
beforeEach(async () => {
  line = await LineCutter.start(usher.rest);
  people++;
  email = `reader${people}@example.com`;
});
afterEach(async () => {
  closeClients();
  await line.close();
});
afterAll(async () => {
  await usher?.close();
  await storage?.remove();
});

/** A bell on the screen. */
async function openInbox(): Promise<{ client: UsherClient; state: () => InboxState; release: () => void }> {
  const token = await usher.token(email);
  const client = openClient({ url: line.url(usher.rest), getToken: () => token });
  const release = client.inbox.hold(() => undefined);
  const state = () => client.inbox.state;
  await until(() => state().known && state().unread !== null, state);
  return { client, state, release };
}

const subjects = ({ items }: InboxState): string[] => items.map(({ subject }) => subject);

test('what was there is listed newest first, and what comes is added and counted, once', async () => {
  await shop.send(email, 'first');
  await shop.send(email, 'second');
  const { state } = await openInbox();
  expect(subjects(state())).toEqual(['second', 'first']);
  expect(state()).toMatchObject({ unread: 2, arrived: null, hasMore: false, error: null });
  await shop.send(email, 'third');
  await until(() => state().unread === 3, state);
  expect(subjects(state())).toEqual(['third', 'second', 'first']);
  expect(state().arrived?.subject).toBe('third');
});

test('a notification that comes between the page and the stream is not missed', async () => {
  const { client, state } = await openInbox();
  const { promise, resolve } = Promise.withResolvers<void>();
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    if (new URL(input instanceof Request ? input.url : input).pathname.endsWith('/notifications/stream')) await promise;
    return await real(input, init);
  };
  try {
    client.retry();
    await shop.send(email, 'between');
    resolve();
    await until(() => subjects(state()).includes('between'), state);
  } finally {
    globalThis.fetch = real;
  }
});

test('a notification is marked read at once, and at the service', async () => {
  await shop.send(email, 'one');
  await shop.send(email, 'two');
  const { client, state } = await openInbox();
  const [newest] = state().items;
  const marked = client.inbox.markRead(newest?.id ?? 0);
  expect(state()).toMatchObject({ unread: 1, items: [{ readAt: expect.any(String) }, { readAt: null }] });
  await marked;
  const self = await Rest.as(usher, email);
  expect((await self.get('/api/profile/me/notifications/inbox?unreadOnly=true')).body.response).toMatchObject([
    { subject: 'one' },
  ]);
  await client.inbox.markAllRead();
  await until(() => state().unread === 0, state);
  expect(state().items.every(({ readAt }) => readAt !== null)).toBe(true);
  expect((await self.get('/api/profile/me/notifications/inbox/unread-count')).body.response).toEqual({ count: 0 });
});

test('what is read in another window is read here', async () => {
  await shop.send(email, 'one');
  await shop.send(email, 'two');
  const { state } = await openInbox();
  const self = await Rest.as(usher, email);
  await self.send('PATCH', `/api/profile/me/notifications/inbox/${state().items[1]?.id}/read`);
  await until(() => state().items[1]?.readAt !== null, state);
  expect(state()).toMatchObject({ unread: 1, items: [{ readAt: null }, { readAt: expect.any(String) }] });
});

test('older pages are read on demand, and what could not be marked is unread again', async () => {
  for (let at = 1; at <= 45; at++) await shop.send(email, `number ${at}`);
  const { client, state } = await openInbox();
  expect([state().items.length, state().hasMore]).toEqual([20, true]);
  await client.inbox.loadMore();
  await client.inbox.loadMore();
  expect([state().items.length, state().hasMore, subjects(state()).at(-1)]).toEqual([45, false, 'number 1']);
  // A new first page does not throw the older ones away.
  await client.inbox.refresh();
  expect(state().items).toHaveLength(45);

  line.down();
  await client.inbox.markRead(state().items[0]?.id ?? 0);
  expect(state().error).not.toBeNull();
  line.up();
  client.retry();
  await until(() => state().error === null && state().unread === 45, state, 20_000);
  expect(state().items[0]?.readAt).toBeNull();
});

test('what comes while the service is away is there when it is back, and nobody listens to a bell that is gone', async () => {
  const { state, release } = await openInbox();
  line.down();
  await shop.send(email, 'meanwhile');
  line.up();
  await until(() => subjects(state()).includes('meanwhile') && state().error === null, state, 20_000);
  await until(() => usher.app.streams.size > 0);
  release();
  await until(() => usher.app.streams.size === 0);
});

test('the inbox of one person is gone when somebody else has the page', async () => {
  await shop.send(email, 'private');
  let token = await usher.token(email);
  const client = openClient({ url: usher.rest, getToken: () => token });
  client.inbox.hold(() => undefined);
  await until(() => client.inbox.state.known);
  token = await usher.token('somebody.else@example.com');
  client.retry();
  await until(() => client.inbox.state.items.length === 0);
  await until(() => client.inbox.state.known && client.inbox.state.unread === 0);
});
