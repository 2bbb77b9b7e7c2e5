import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { queryClient } from '../../panel/src/api/queries.ts';
import { noteRequest, requestLog } from '../../panel/src/api/request-log.ts';
import { AnotherTab, handOver } from '../../panel/src/session/another-tab.ts';
import { furtherParameters } from '../../panel/src/session/oidc.ts';
import { onPersonChanged } from '../../panel/src/session/person.ts';
import { PopupBlocked, Session, type SignInWay, type Token } from '../../panel/src/session/session.ts';

const HOUR_MS = 3_600_000;

const tokenOf = (value: string, { email = 'ann@example.com', lifeMs = HOUR_MS } = {}): Token => ({
  value,
  expiresAt: Date.now() + lifeMs,
  email,
});

/** A way whose answers the test decides, one for each call. */
function startSession(renew: () => Promise<Token | null>, again: () => Promise<Token | null> = async () => null) {
  const way = { kind: 'oidc' as const, renew: jest.fn(renew), again: jest.fn(again), signOut: async () => undefined };
  const session = new Session();
  session.begin(way satisfies SignInWay, tokenOf('first'));
  return { session, way };
}

const isExpired = (session: Session) => session.state.kind === 'in' && session.state.expired;
const away = () => Promise.reject(new TypeError('fetch failed'));

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.clearAllTimers();
  jest.useRealTimers();
});

describe('the renewal of a token', () => {
  test('is one for the timer and for every request that was refused meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<Token>();
    const { session, way } = startSession(() => promise);
    await jest.advanceTimersByTimeAsync(HOUR_MS - 60_000);
    const renewed = Promise.all([session.renewed('first'), session.renewed('first')]);
    resolve(tokenOf('second'));
    await renewed;
    expect(way.renew).toHaveBeenCalledTimes(1);
    expect(await session.token()).toBe('second');
  });

  test('that ends after a sign-out signs nobody in', async () => {
    const { promise, resolve } = Promise.withResolvers<Token>();
    const { session } = startSession(() => promise);
    const renewed = session.renewed('first');
    const outcome = expect(renewed).rejects.toThrow('nobody is signed in');
    await session.signOut();
    resolve(tokenOf('second'));
    await outcome;
    expect(session.state).toEqual({ kind: 'out' });
    await expect(session.token()).rejects.toThrow('nobody is signed in');
  });

  test('is tried again where nobody answers, and fails as the service away, without asking to sign in', async () => {
    const { session, way } = startSession(away);
    const outcome = expect(session.renewed('first')).rejects.toMatchObject({ name: 'ApiError', code: 'UNREACHABLE' });
    await jest.advanceTimersByTimeAsync(2_500);
    await outcome;
    expect([way.renew.mock.calls.length, isExpired(session)]).toEqual([3, false]);
    way.renew.mockResolvedValue(tokenOf('second'));
    await session.renewed('first');
    expect(await session.token()).toBe('second');
  });

  test('by the timer goes on for as long as the token is valid', async () => {
    const { session, way } = startSession(away);
    await jest.advanceTimersByTimeAsync(HOUR_MS - 45_000);
    expect(way.renew.mock.calls.length).toBeGreaterThan(3);
    way.renew.mockImplementation(async () => tokenOf('second'));
    await jest.advanceTimersByTimeAsync(15_000);
    expect(await session.token()).toBe('second');
  });

  test('that the provider refuses asks to sign in again, once, and the request goes on with the new token', async () => {
    const { session, way } = startSession(
      async () => null,
      async () => tokenOf('second'),
    );
    const renewed = Promise.all([session.renewed('first'), session.renewed('first')]);
    await jest.advanceTimersByTimeAsync(0);
    expect(isExpired(session)).toBe(true);
    const later = session.renewed('first');
    await session.signInAgain();
    await Promise.all([renewed, later]);
    expect([await session.token(), isExpired(session), way.renew.mock.calls.length]).toEqual(['second', false, 1]);
  });

  test('whose token does not say whose it is belongs to the same person', async () => {
    const { session } = startSession(async () => tokenOf('second', { email: '' }));
    await session.renewed('first');
    expect(session.state).toEqual({ kind: 'in', email: 'ann@example.com', expired: false });
  });
});

describe('another person', () => {
  test('does not send what waited for the one before, nor sees what was kept of them', async () => {
    const forget = jest.fn();
    onPersonChanged(forget);
    const { session } = startSession(
      async () => null,
      async () => tokenOf('of bob', { email: 'bob@example.com' }),
    );
    queryClient.setQueryData(['GET /api/users', {}], 'of ann');
    noteRequest({ url: '/api/users' } as Parameters<typeof noteRequest>[0]);
    const outcome = expect(session.renewed('first')).rejects.toThrow('somebody else has signed in');
    await jest.advanceTimersByTimeAsync(0);
    expect(forget).not.toHaveBeenCalled();
    await session.signInAgain();
    await outcome;
    expect(forget).toHaveBeenCalledTimes(1);
    expect([queryClient.getQueryData(['GET /api/users', {}]), requestLog()]).toEqual([undefined, []]);
    expect(await session.token()).toBe('of bob');
    // A request of before may be refused later still.
    await expect(session.renewed('first')).rejects.toThrow('somebody else has signed in');
  });

  test('is not the same person with a new token, whose drafts stay', async () => {
    const forget = jest.fn();
    onPersonChanged(forget);
    const { session } = startSession(async () => tokenOf('second'));
    await session.renewed('first');
    expect(forget).not.toHaveBeenCalled();
    await session.signOut();
    expect(forget).toHaveBeenCalledTimes(1);
  });
});

describe('signing in again in another tab', () => {
  beforeEach(() => {
    jest.useRealTimers();
  });

  test('takes all that the tab hands over', async () => {
    const tab = new AnotherTab<{ refresh: string }>();
    const handed = tab.ask((name) => {
      setTimeout(() => handOver(name, { refresh: 'r' }));
      return true;
    });
    expect(await handed).toEqual({ refresh: 'r' });
  });

  test('begins anew with each press, and only the last tab is heard', async () => {
    const tab = new AnotherTab<string>();
    const names: string[] = [];
    const open = (name: string) => names.push(name) > 0;
    const first = tab.ask(open);
    const second = tab.ask(open);
    expect(await first).toBeNull();
    handOver(names[0] ?? '', 'of the first');
    handOver(names[1] ?? '', 'of the second');
    expect(await second).toBe('of the second');
  });

  test('says that the browser opened no tab, and ends with a sign-out', async () => {
    const tab = new AnotherTab<string>();
    await expect(tab.ask(() => false)).rejects.toBeInstanceOf(PopupBlocked);
    const waiting = tab.ask(() => true);
    tab.stop();
    expect(await waiting).toBeNull();
  });
});

describe('the request to the provider', () => {
  const offline = { scope: 'openid offline_access', authorizeParams: {} };

  test('asks for consent only after a press, and only where a refresh token is wanted', () => {
    expect(furtherParameters(offline, true)).toEqual({ prompt: 'consent' });
    expect(furtherParameters(offline, false)).toEqual({});
    expect(furtherParameters({ ...offline, scope: 'openid' }, true)).toEqual({});
  });

  test('carries what is configured; an empty value leaves its parameter out', () => {
    const authorizeParams = { prompt: '', resource: 'usher' };
    expect(furtherParameters({ ...offline, authorizeParams }, true)).toEqual({ resource: 'usher' });
  });
});
