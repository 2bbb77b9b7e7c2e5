import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Tx } from '../../src/persistence/database.ts';
import { searchCodes, searchUsers } from '../../src/persistence/directory/search.ts';
import {
  findUserIds,
  findUsersInOrder,
  type PeopleOrder,
  readRolesOf,
  type UserFilter,
} from '../../src/persistence/directory/users.ts';
import { useDatabase } from '../support/databases.ts';
import { plansOf, scannedTables } from '../support/plans.ts';

const PERSONS = 100_000;

/**
 * Roles make nearly everybody a member of application 1, every tenth of 2, and a hundred of 3. Role 11 of application 1 is held by
 * many, 12 by few. One in twenty-five is inactive, two in three have a profile, and every other has logged in.
 */
const LOAD = [
  `insert into person (id, email, blocked, created_at) overriding system value
    select i, 'user' || i || '@example.com', i % 25 = 1, '2020-01-01Z'::timestamptz + (i::bigint * 7919 % ${PERSONS}) * interval '1 minute'
    from generate_series(1, ${PERSONS}) i`,
  `insert into person_search (person_id, searched)
    select i, folded_search('user' || i || '@example.com', case when i % 2 = 0 then 'Kim' else 'Lee' end
      || case when i = 777 then ' Xena' else '' end, null, null) from generate_series(1, ${PERSONS}) i`,
  `insert into profile (person_id, created_at)
    select i, '2021-01-01Z'::timestamptz + (i::bigint * 104729 % ${PERSONS}) * interval '1 minute' from generate_series(1, ${PERSONS}) i where i % 3 <> 0`,
  `insert into application (id, code, name) overriding system value select i, 'app' || i, 'App' from generate_series(1, 3) i`,
  `insert into permission (id, application_id, code, tiered) overriding system value select i, i, 'read', false from generate_series(1, 3) i`,
  `insert into role (id, application_id, code) overriding system value
    values (11, 1, 'all'), (12, 1, 'few'), (21, 2, 'some'), (31, 3, 'all')`,
  `insert into role_permission (application_id, role_id, permission_id, tiered, level) values (1, 11, 1, false, 1), (1, 12, 1, false, 1)`,
  `insert into user_role (person_id, application_id, role_id)
    select i, 1, 11 from generate_series(1, ${PERSONS}) i where i % 100 <> 0
    union all select i, 1, 12 from generate_series(1, ${PERSONS}, 997) i
    union all select i, 2, 21 from generate_series(1, ${PERSONS}, 10) i
    union all select i, 3, 31 from generate_series(1, ${PERSONS}, 1000) i`,
  `insert into app_admin (person_id, application_id) select i, 1 from generate_series(5, ${PERSONS}, 20000) i`,
  `insert into superadmin (person_id) select i from generate_series(7, ${PERSONS}, 30000) i`,
  `insert into app_preference (person_id, application_id, last_login_at)
    select i, i % 2 + 1, '2026-01-01Z'::timestamptz + (i::bigint * 7919 % ${PERSONS}) * interval '1 second' from generate_series(2, ${PERSONS}, 2) i
    union all select i, i % 2 + 1, null from generate_series(1, ${PERSONS}, 2) i`,
];

const ALL: UserFilter = { search: null, active: null, apps: null };
const FILTERS: [name: string, filter: UserFilter, found: number][] = [
  ['everybody', ALL, 51],
  ['a common text', { ...ALL, search: 'kim' }, 51],
  ['one of a rare text', { ...ALL, search: 'xena' }, 1],
  ['the active', { ...ALL, active: true }, 51],
  ['the inactive', { ...ALL, active: false }, 51],
  ['a large application', { ...ALL, apps: [1] }, 51],
  ['a small application', { ...ALL, apps: [3] }, 51],
  ['several applications', { ...ALL, apps: [1, 2, 3] }, 51],
  ['a role of many', { ...ALL, apps: [1], roles: [11] }, 51],
  ['a role of few', { ...ALL, apps: [1], roles: [12] }, 51],
  ['a permission of many', { ...ALL, apps: [1], allowedBy: [11, 12] }, 51],
  ['a permission of few', { ...ALL, apps: [1], allowedBy: [12] }, 51],
  ['a permission of nobody but administrators', { ...ALL, apps: [1], allowedBy: [] }, 9],
  ['orphans', { ...ALL, orphansOf: null }, 51],
  ['orphans of an application', { ...ALL, apps: [1], orphansOf: [1] }, 51],
  ['a common text in an application', { ...ALL, search: 'kim', apps: [1] }, 51],
];
const GROW = ['person', 'person_search', 'profile', 'user_role', 'app_admin', 'app_preference', 'resource_override'];

describe('lists of 100,000 users', () => {
  const fixture = useDatabase('postgresql');

  beforeAll(async () => {
    await fixture.database.change(async ({ kysely }) => {
      await sql`set local session_replication_role = replica`.execute(kysely);
      for (const statement of [...LOAD, 'analyze']) await sql.raw(statement).execute(kysely);
      return { result: null, scopes: ['*'] };
    });
  }, 120_000);

  /** The rows that a statement reads of any table, by scanning it or by an index; an index's count beside its table's. */
  const rowsRead = (read: (tx: Tx) => Promise<number>): Promise<{ found: number; rows: number }> =>
    fixture.database.read(async (tx) => {
      const count = async () => {
        const { rows } = await sql<{ total: number }>`
          select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as total from pg_stat_xact_user_tables`.execute(
          tx.kysely,
        );
        return rows[0]?.total ?? 0;
      };
      const before = await count();
      const found = await read(tx);
      return { found, rows: (await count()) - before };
    });

  const orders: (PeopleOrder | null)[] = [null, 'email', 'createdAt', 'lastLoginAt'];
  const cases = FILTERS.flatMap(([name, filter, found]) =>
    orders.map((order): [string, string, UserFilter, PeopleOrder | null, number] => [
      name,
      order ?? 'first mention',
      filter,
      order,
      found,
    ]),
  );
  const page = { apps: null, limit: 51, after: null };
  const list = async (tx: Tx, filter: UserFilter, order: PeopleOrder | null): Promise<number> =>
    order === null
      ? (await findUserIds(tx, filter, page)).ids.length
      : (await findUsersInOrder(tx, filter, { ...page, order })).places.length;

  test.each(cases)('%s by %s: a page reads a bounded number of rows by indexes', async (...drawn) => {
    const [, , filter, order, found] = drawn;
    const cost = await rowsRead((tx) => list(tx, filter, order));
    expect(cost.found).toBe(found);
    // At most 2,000 people are examined, or sorted, and each is looked up in a few tables.
    expect(cost.rows).toBeLessThan(20_000);
    const plans = await fixture.database.read((tx) => plansOf(tx, (noting) => list(noting, filter, order)));
    expect(plans.length).toBeGreaterThan(0);
    expect(plans.flatMap(scannedTables).filter((table) => GROW.includes(table))).toEqual([]);
  });

  test('the roles of a page of people in an application are read by indexes, those of nobody else', async () => {
    // 1 to 200: of application 1 each has the first role but two, and one has the second as well.
    const ids = Array.from({ length: 200 }, (_, at) => at + 1);
    const read = async (tx: Tx) => [...(await readRolesOf(tx, ids, 1)).values()].flatMap(({ roles }) => roles).length;
    const cost = await rowsRead(read);
    expect(cost.found).toBe(199);
    // Two rows for each that is found: of who holds it, and of the role.
    expect(cost.rows).toBeLessThan(3 * cost.found);
    const plans = await fixture.database.read((tx) => plansOf(tx, read));
    expect(plans.length).toBeGreaterThan(0);
    expect(plans.flatMap(scannedTables).filter((table) => GROW.includes(table))).toEqual([]);
  });

  test.each<[string, number[] | null, number]>([
    ['user500', null, 5],
    ['user777@example.com', null, 1],
    ['kim', null, 5],
    ['lee', [3], 5],
    ['xena', [3], 0],
    ['nobody is so called', null, 0],
  ])('a search of people for %j in %j reads a bounded number of rows by indexes', async (text, apps, found) => {
    const search = async (tx: Tx) => (await searchUsers(tx, text, apps, 5)).length;
    const cost = await rowsRead(search);
    expect(Math.min(cost.found, 5)).toBe(found);
    expect(cost.rows).toBeLessThan(40_000);
    const plans = await fixture.database.read((tx) => plansOf(tx, search));
    expect(plans.flatMap(scannedTables).filter((table) => GROW.includes(table))).toEqual([]);
  });

  test.each(['role', 'permission'] as const)('a search of every %s is by the index of its parts', async (table) => {
    const plans = await fixture.database.read((tx) =>
      plansOf(tx, (noting) => searchCodes(noting, table, 'rea', null, 5)),
    );
    expect(JSON.stringify(plans)).toContain(`"Index Name":"${table}_pieces"`);
    expect(plans.flatMap(scannedTables)).not.toContain(table);
  });
});
