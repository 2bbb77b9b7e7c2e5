import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { queryClient } from '../../panel/src/api/queries.ts';
import { session } from '../../panel/src/session/session.ts';
import { follow, live } from '../../panel/src/shell/live.ts';

const RETRY_MS = 3_000;
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

test('a stream goes on from the position that it began with, and asks for nothing again by itself', async () => {
  fetched
    .mockResolvedValueOnce(streamOf('id: 41.7\n\n'))
    .mockResolvedValueOnce(streamOf(''))
    .mockResolvedValueOnce(refused());
  const following = follow(new AbortController().signal);
  await jest.advanceTimersByTimeAsync(2 * RETRY_MS);
  await following;
  const positions = fetched.mock.calls.map(([, init]) => new Headers(init?.headers).get('last-event-id'));
  expect(positions).toEqual([null, '41.7', '41.7']);
  expect(askedAgain).not.toHaveBeenCalled();
});

test('a stream that gave no position asks for everything again', async () => {
  fetched.mockResolvedValueOnce(streamOf('')).mockResolvedValueOnce(streamOf('')).mockResolvedValueOnce(refused());
  const following = follow(new AbortController().signal);
  await jest.advanceTimersByTimeAsync(2 * RETRY_MS);
  await following;
  expect(askedAgain).toHaveBeenCalledTimes(1);
});

test('changes that come together are asked for together', async () => {
  const change =
    'event: change\nid: 41.8\ndata: {"revision":"41.8","scopes":[{"application":"shop"}],"actor":null}\n\n';
  fetched.mockResolvedValueOnce(streamOf(change.repeat(5))).mockResolvedValueOnce(refused());
  const following = follow(new AbortController().signal);
  await jest.advanceTimersByTimeAsync(RETRY_MS);
  await following;
  expect(askedAgain).toHaveBeenCalledTimes(1);
});

test('who may hear nothing any more is not told that the service is away', async () => {
  fetched.mockRejectedValueOnce(new TypeError('fetch failed')).mockResolvedValueOnce(refused());
  const following = follow(new AbortController().signal);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(live().connected).toBe(false);
  await jest.advanceTimersByTimeAsync(RETRY_MS);
  await following;
  expect(live().connected).toBe(true);
});
