import { afterEach, describe, expect, test } from '@jest/globals';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { setCaller } from '../../panel/src/api/call.ts';
import { queryClient } from '../../panel/src/api/queries.ts';
import { onDemand } from '../../panel/src/parts/on-demand.ts';
import { askAhead } from '../../panel/src/places/ahead.ts';
import { isWhole, queryOf } from '../../panel/src/places/applications/registry.ts';
import { loadPlaceWords, loadWords } from '../../panel/src/words/words.ts';

describe('the first questions of an address', () => {
  const { fetch: real } = globalThis;
  afterEach(() => {
    globalThis.fetch = real;
    queryClient.clear();
  });

  /** What is asked before anything is answered. */
  async function askedAt(path: string, search = ''): Promise<string[]> {
    const asked: string[] = [];
    globalThis.fetch = (url) => {
      asked.push(url instanceof Request ? url.url : url.toString());
      return new Promise(() => {});
    };
    setCaller({ token: async () => 'token', renewed: async () => undefined, note: () => undefined });
    queryClient.clear();
    askAhead(path, search);
    await new Promise((resolve) => setTimeout(resolve));
    return asked;
  }
  const STATUS = '/api/profile/me/admin-status';

  test('are asked together with the rights, none after another', async () => {
    expect(await askedAt('/applications')).toEqual(['/api/applications?limit=200&sort=name', STATUS]);
    expect(await askedAt('/applications/shop/matrix')).toEqual(['/api/applications/shop', STATUS]);
    expect(await askedAt('/people/ada%40example.com')).toEqual([
      '/api/users/ada%40example.com',
      '/api/users/ada%40example.com/access',
      STATUS,
    ]);
    expect(await askedAt('/people/ada%40example.com/logins')).toEqual(['/api/users/ada%40example.com', STATUS]);
    expect(await askedAt('/settings')).toEqual([STATUS]);
  });

  test('are those of the filters in the address', async () => {
    const [people] = await askedAt('/people', '?q=ada&active=true&other=x');
    expect(people).toBe('/api/users?q=ada&active=true');
  });
});

describe('a long list of applications', () => {
  test('is narrowed and sorted by the service', () => {
    expect(queryOf({ q: '', sort: 'name' })).toEqual({ limit: 200, sort: 'name' });
    expect(queryOf({ q: ' shop ', sort: 'changed' })).toEqual({ limit: 200, q: 'shop', sort: 'updatedAt' });
    expect(queryOf({ q: 'x'.repeat(300), sort: 'size' })).toEqual({ limit: 200, q: 'x'.repeat(200), sort: 'name' });
  });

  test('is one that a page does not hold', () => {
    expect([isWhole([], false), isWhole([], true), isWhole(Array.from({ length: 201 }), false)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

test('a place brings its words in every language that was shown, and another language those of every place', async () => {
  const english = await loadWords('en');
  expect(english.people).toBeUndefined();
  await loadPlaceWords(['people']);
  expect(english.people.title).toBe('People');
  const czech = await loadWords('cs');
  expect([czech.people.title, czech.ask]).toEqual(['Lidé', undefined]);
  await loadPlaceWords(['ask']);
  expect([english.ask.title, czech.ask.title]).toEqual(['Ask', 'Dotazy']);
});

test('a view that was loaded before is drawn at once', async () => {
  const View = onDemand(async () => ({ default: ({ name }: { name: string }) => name }), 'home');
  await View.preload();
  expect(renderToString(createElement(View, { name: 'here' }))).toBe('here');
});
