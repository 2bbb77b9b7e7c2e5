import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { queryClient } from '../../panel/src/api/queries.ts';
import { session } from '../../panel/src/session/session.ts';
import { follow, live } from '../../panel/src/shell/live.ts';

const RETRY_MS = 3_000;
const REFUSED_MS = 30_000;
const fetched = jest.spyOn(globalThis, 'fetch');
const askedAgain = jest.spyOn(queryClient, 'invalidateQueries');

beforeEach(() => {
  jest.useFakeTimers();
  fetched.mockReset();
  askedAgain.mockClear();
  session.begin(null, { value: 't', expiresAt: Date.now() + 3_600_000, email: 'ann@example.com' });
});
afterEach(async () => {
  await session.signOut();
  jest.useRealTimers();
});

const streamOf = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
const refused = () => new Response('{}', { status: 403 });

/** Follows for so long. */
async function followFor(milliseconds: number): Promise<void> {
  const stop = new AbortController();
  const following = follow(stop.signal);
  await jest.advanceTimersByTimeAsync(milliseconds);
  stop.abort();
  await following;
}

test('a stream goes on from the position that it began with, and asks for nothing again by itself', async () => {
  fetched.mockResolvedValueOnce(streamOf('id: 41.7\n\n')).mockImplementation(async () => streamOf(''));
  await followFor(2.5 * RETRY_MS);
  const positions = fetched.mock.calls.map(([, init]) => new Headers(init?.headers).get('last-event-id'));
  expect(positions).toEqual([null, '41.7', '41.7']);
  expect(askedAgain).not.toHaveBeenCalled();
});

test('a stream that gave no position asks for everything again', async () => {
  fetched.mockImplementation(async () => streamOf(''));
  await followFor(1.5 * RETRY_MS);
  expect(askedAgain).toHaveBeenCalledTimes(1);
});

test('changes that come together are asked for together', async () => {
  const change =
    'event: change\nid: 41.8\ndata: {"revision":"41.8","scopes":[{"application":"shop"}],"actor":null}\n\n';
  fetched.mockImplementation(async () => streamOf(change.repeat(5)));
  await followFor(0.5 * RETRY_MS);
  expect(askedAgain).toHaveBeenCalledTimes(1);
});

test('who may hear nothing any more is not told that the service is away, and is offered only what they may do', async () => {
  fetched.mockRejectedValueOnce(new TypeError('fetch failed')).mockImplementation(async () => refused());
  const stop = new AbortController();
  const following = follow(stop.signal);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(live().connected).toBe(false);
  await jest.advanceTimersByTimeAsync(RETRY_MS);
  expect(live().connected).toBe(true);
  expect(askedAgain).toHaveBeenCalledTimes(1);
  const { predicate } = askedAgain.mock.calls[0]?.[0] ?? {};
  const isAsked = (key: string) => predicate?.({ queryKey: [key, {}] } as unknown as Parameters<typeof predicate>[0]);
  expect([isAsked('GET /api/profile/me/admin-status'), isAsked('GET /api/applications')]).toEqual([true, false]);
  stop.abort();
  await following;
});

test('a right that is given back is heard of', async () => {
  fetched.mockResolvedValueOnce(refused()).mockImplementation(async () => streamOf('id: 41.7\n\n'));
  await followFor(REFUSED_MS + 100);
  expect(fetched).toHaveBeenCalledTimes(2);
});
