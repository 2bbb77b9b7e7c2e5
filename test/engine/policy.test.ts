import { expect, test } from '@jest/globals';
import { compilePolicy } from '../../src/engine/policy.ts';
import { Level } from '../../src/engine/types.ts';

const row = (id: number, code: string, groupName: string | null) => ({
  id,
  code,
  tiered: false,
  global: false,
  groupName,
});

test('permissions are sorted by group (those without a group last), then by code, by UTF-16 code units', () => {
  // U+FFFF stands after every emoji by code units, before it by code points; upper case before lower; no locale.
  const groups = ['', '10', '9', 'Z', 'a', 'ä', '😀', '\uffff', null];
  const codes = ['A', 'Z', 'a', 'a-b', 'a.b', 'a_b', 'ab', 'constructor', 'toString'].sort();
  const expected = groups.flatMap((group) =>
    codes.map((code, index) => [group, `${code}${groups.indexOf(group)}${index}`]),
  );
  const rows = expected.map(([group, code], index) => row(index + 1, code as string, group as string | null));
  const shuffled = rows.map((_, index) => rows[(index * 37) % rows.length] as (typeof rows)[number]);
  const { ordered } = compilePolicy({
    app: 'a',
    appId: 1,
    strictCodes: false,
    resourceTypes: [],
    permissions: shuffled,
    rolePermissions: [],
  });
  const sortedByCode = groups.flatMap((group) =>
    rows.filter(({ groupName }) => groupName === group).sort((a, b) => (a.code < b.code ? -1 : 1)),
  );
  expect(ordered.map(({ id }) => id)).toEqual(sortedByCode.map(({ id }) => id));
});

test('codes that exist on every object are ordinary codes', () => {
  const { permissions } = compilePolicy({
    app: 'constructor',
    appId: 1,
    strictCodes: false,
    resourceTypes: [],
    permissions: [row(1, 'constructor', null), row(2, 'toString', 'valueOf')],
    rolePermissions: [
      { roleId: 7, permissionId: 1, level: Level.ALLOWED },
      { roleId: 8, permissionId: 1, level: Level.ALLOWED },
    ],
  });
  expect([...permissions.keys()]).toEqual(['toString', 'constructor']);
  expect([...(permissions.get('constructor')?.levels ?? [])]).toEqual([
    [7, Level.ALLOWED],
    [8, Level.ALLOWED],
  ]);
  expect(permissions.get('hasOwnProperty')).toBeUndefined();
  expect(permissions.get('toString')?.levels.size).toBe(0);
});

test('an unknown application defines nothing', () => {
  const policy = compilePolicy({
    app: 'nowhere',
    appId: null,
    strictCodes: false,
    resourceTypes: [],
    permissions: [],
    rolePermissions: [],
  });
  expect([policy.appId, policy.permissions.size, policy.ordered]).toEqual([null, 0, []]);
});
