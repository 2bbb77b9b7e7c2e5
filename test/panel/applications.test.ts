import { describe, expect, test } from '@jest/globals';
import { addressesOf } from '../../panel/src/places/applications/addresses.ts';
import { type Counted, narrowed } from '../../panel/src/places/applications/registry.ts';
import { isSystemPermission, isSystemRole } from '../../panel/src/places/applications/system-records.ts';

describe('addresses that are pasted', () => {
  test('are read from lines, lists and address books, once each', () => {
    const text = 'ada@example.com, BEN@example.com;\n"Clara, Dr." <clara@example.com>\tada@example.com';
    expect(addressesOf(text)).toEqual({
      addresses: ['ada@example.com', 'ben@example.com', 'clara@example.com'],
      wrong: [],
    });
  });

  test('name what is no address', () => {
    expect(addressesOf('ada@example.com ben')).toEqual({ addresses: ['ada@example.com'], wrong: ['ben'] });
    expect(addressesOf(' \n ')).toEqual({ addresses: [], wrong: [] });
  });

  test('are read in linear time', () => {
    const started = performance.now();
    addressesOf('<'.repeat(50_000));
    addressesOf('"'.repeat(50_000));
    addressesOf('a '.repeat(50_000));
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe('the list of applications', () => {
  const application = (code: string, name: string, people: number): Counted => ({
    id: people,
    code,
    name,
    description: null,
    supportedLanguages: [],
    strictCodes: false,
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
