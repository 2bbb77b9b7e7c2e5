import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { keepAssertion, readAssertions } from '../../panel/src/places/ask/assertions.ts';
import { keepTyped, readTyped } from '../../panel/src/places/ask/playground/typed.ts';
import { NO_QUESTION } from '../../panel/src/places/ask/question.ts';
import { type SignInWay, session } from '../../panel/src/session/session.ts';
import { recents, remember } from '../../panel/src/shell/recents.ts';

/** The storage of a browser, in memory. */
function storage(): Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'clear'> & { readonly all: () => string } {
  const kept = new Map<string, string>();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, value),
    removeItem: (name) => void kept.delete(name),
    clear: () => kept.clear(),
    all: () => JSON.stringify([...kept]),
  };
}

const [local, ofTab] = [storage(), storage()];
const before = ['localStorage', 'sessionStorage'].map((name) => [
  name,
  Object.getOwnPropertyDescriptor(globalThis, name),
]) as [string, PropertyDescriptor | undefined][];
Object.defineProperty(globalThis, 'localStorage', { value: local, configurable: true });
Object.defineProperty(globalThis, 'sessionStorage', { value: ofTab, configurable: true });
afterAll(() => {
  for (const [name, descriptor] of before) {
    if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
    else Object.defineProperty(globalThis, name, descriptor);
  }
});

const way: SignInWay = {
  kind: 'oidc',
  renew: async () => null,
  again: async () => null,
  signOut: async () => undefined,
};
const signIn = (email: string) =>
  session.begin(way, { value: `token of ${email}`, expiresAt: Date.now() + 3_600_000, email });
const kim = { kind: 'people', href: '/people/kim%40example.com', label: 'kim@example.com' } as const;
const asked = { email: 'kim@example.com', permission: 'order.read', expect: 'denied' } as const;

beforeEach(async () => {
  await session.signOut();
  local.clear();
  ofTab.clear();
});
afterAll(() => session.signOut());

describe('what the browser keeps', () => {
  test('of the last views is for who opened them, until they sign out', async () => {
    signIn('ann@example.com');
    remember(kim);
    expect(recents()).toEqual([kim]);
    await session.signOut();
    expect(local.all()).toBe('[]');
    signIn('bob@example.com');
    expect(recents()).toEqual([]);
  });

  test('of expected answers is for who wrote them, also when they come back', async () => {
    signIn('ann@example.com');
    keepAssertion('shop', asked);
    await session.signOut();
    signIn('bob@example.com');
    expect(readAssertions('shop')).toEqual([]);
    await session.signOut();
    signIn('ann@example.com');
    expect(readAssertions('shop')).toEqual([asked]);
  });

  test('of the playground is what was typed there, and nothing that was opened from the service', async () => {
    signIn('ann@example.com');
    const shared = { text: 'application: { code: shop }', question: { ...NO_QUESTION, email: 'kim@example.com' } };
    keepTyped(shared, false);
    expect(readTyped()).toEqual(shared);
    keepTyped(shared, true);
    expect([readTyped(), ofTab.all()]).toEqual([null, '[]']);
    keepTyped(shared, false);
    await session.signOut();
    expect(ofTab.all()).toBe('[]');
  });
});
