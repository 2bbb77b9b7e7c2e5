import { describe, expect, test } from '@jest/globals';
import { configText, isWanted } from '../../panel/src/places/settings/config-text.ts';
import { chainOf, fallbacksOf } from '../../panel/src/places/settings/language-draft.ts';
import { changesOf, isChanged, type Profile, shownOf } from '../../panel/src/places/settings/profile-draft.ts';

const PROFILE: Profile = {
  id: 1,
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: null,
  displayName: 'Ada',
  avatarUrl: null,
  locale: 'cs',
  theme: 'system',
  timezone: null,
  brand: 'default',
  identityProfileUrl: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

describe('the form of a profile', () => {
  test('sends only what differs, and null for what was emptied', () => {
    const draft = { firstName: ' Ada ', lastName: 'Byron', displayName: '', locale: 'cs' };
    expect(changesOf(PROFILE, draft)).toEqual({ lastName: 'Byron', displayName: null });
    expect(isChanged(PROFILE, { firstName: 'Ada', lastName: '' })).toBe(false);
  });

  test('shows what was typed over what is stored', () => {
    expect(shownOf(PROFILE, { firstName: '' }, 'firstName')).toBe('');
    expect(shownOf(PROFILE, {}, 'firstName')).toBe('Ada');
    expect(shownOf(PROFILE, {}, 'timezone')).toBe('');
  });
});

describe('fallbacks of languages', () => {
  const language = (code: string, fallback: string | null) => ({ code, name: code, nativeName: code, fallback });
  const all = [
    language('en', null),
    language('pt', 'en'),
    language('pt-br', 'pt'),
    language('x', 'y'),
    language('y', 'x'),
  ];

  test('are tried one after the other, a loop only once', () => {
    expect(chainOf('pt-br', all)).toEqual(['pt-br', 'pt', 'en']);
    expect(chainOf('x', all)).toEqual(['x', 'y']);
    expect(chainOf('unknown', all)).toEqual(['unknown']);
  });

  test('never lead back', () => {
    expect(fallbacksOf('pt', all).map(({ code }) => code)).toEqual(['en', 'x', 'y']);
    expect(fallbacksOf('new', all)).toHaveLength(5);
  });
});

describe('the configuration', () => {
  const value = { key: 'http.port', variable: 'HTTP_PORT', value: 8080, source: 'default' };

  test('is shown as text, whatever it is', () => {
    expect([null, '', 'a', 0, false, ['a'], { a: 1 }].map(configText)).toEqual([
      '–',
      '–',
      'a',
      '0',
      'false',
      '["a"]',
      '{"a":1}',
    ]);
  });

  test('is found by key, variable, value and source', () => {
    const found = (q: string, source = '') => isWanted(value, { q, source });
    expect([found('http_'), found('8080'), found('PORT', 'default'), found('port', 'file'), found('grpc')]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
