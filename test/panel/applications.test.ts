import { describe, expect, test } from '@jest/globals';
import { type Counted, narrowed } from '../../panel/src/places/applications/registry.ts';
import { isSystemPermission, isSystemRole } from '../../panel/src/places/applications/system-records.ts';

describe('the list of applications', () => {
  const application = (code: string, name: string, people: number): Counted => ({
    id: people,
    code,
    name,
    description: null,
    supportedLanguages: [],
    strictCodes: false,
    tellEndings: true,
    createdAt: '2026-01-05T08:30:00.000Z',
    updatedAt: `2026-01-0${people}T08:30:00.000Z`,
    counts: { people, roles: 0, permissions: 0, admins: 0 },
  });
  const all = [application('b', 'Zoo', 1), application('a', 'shop 10', 3), application('c', 'Shop 9', 2)];
  const codes = (q: string, sort: Parameters<typeof narrowed>[2]) => narrowed(all, q, sort).map(({ code }) => code);

  test('is filtered by code and name, and sorted as a reader would', () => {
    expect(codes('', 'name')).toEqual(['c', 'a', 'b']);
    expect(codes('SHOP', 'code')).toEqual(['a', 'c']);
    expect([codes('', 'people'), codes('', 'changed'), codes('', 'roles')]).toEqual([
      ['a', 'c', 'b'],
      ['a', 'c', 'b'],
      ['c', 'a', 'b'],
    ]);
  });
});

test('records of the service itself are those of its own application', () => {
  expect([isSystemRole('auth', 'panel_admin'), isSystemRole('shop', 'panel_admin')]).toEqual([true, false]);
  expect([isSystemPermission('auth', 'panel.access'), isSystemPermission('auth', 'other')]).toEqual([true, false]);
});
