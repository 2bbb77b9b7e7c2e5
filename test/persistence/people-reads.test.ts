import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type AuditFilter, readAudit } from '../../src/persistence/audit.ts';
import { listHolders } from '../../src/persistence/catalog/assignments.ts';
import { listOverrides } from '../../src/persistence/catalog/overrides.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { findUserIds, readUsers, type UserFilter } from '../../src/persistence/directory/users.ts';
import { useDatabase } from '../support/databases.ts';

const PERSONS = 20_000;

/**
 * Every tenth person is of application 1, of each of the other nine one in a hundred; person 7 has a thousand overrides. One in
 * eighty is called Grace Hopper, one alone Xéna Q'uist.
 */
const LOAD = [
  // What triggers would make row by row is made at once, at the end.
  `set local session_replication_role = replica`,
  `drop index person_search_pieces`,
  `insert into person (id, email) overriding system value select i, 'user' || i || '@example.com' from generate_series(1, ${PERSONS}) i`,
  `insert into profile (person_id, display_name)
    select i, case when i % 80 = 0 then 'Grace Hopper' when i = ${PERSONS - 7} then 'Xéna Q''uist' else 'Ada Novak' end
    from generate_series(1, ${PERSONS}) i`,
  `insert into application (id, code, name) overriding system value select i, 'app' || i, 'App' from generate_series(1, 10) i`,
  `insert into permission (id, application_id, code, tiered) overriding system value select i, i, 'read', false from generate_series(1, 10) i`,
  `insert into role (id, application_id, code) overriding system value select i, i, 'reader' from generate_series(1, 10) i`,
  `insert into user_role (person_id, application_id, role_id) select i, 1, 1 from generate_series(10, ${PERSONS}, 10) i`,
  `insert into user_role (person_id, application_id, role_id)
    select i + a, a, a from generate_series(100, ${PERSONS} - 100, 100) i, generate_series(2, 10) a`,
  `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select 7, 1, 'document', i::text, 1, false, 1 from generate_series(1, 1000) i`,
  `insert into app_preference (person_id, application_id) select i, 1 from generate_series(1, ${PERSONS}, 3) i`,
  `insert into audit (actor, action, app_code, subject)
    select 'user:user' || i % 500 || '@example.com', 'role.created', 'app' || i % 10, 'role' || i from generate_series(1, ${PERSONS}) i`,
  `insert into person_search (person_id, searched)
    select p.id, folded_search(p.email, f.display_name, f.first_name, f.last_name) from person p join profile f on f.person_id = p.id order by p.id`,
  `create index person_search_pieces on person_search using gin (text_pieces(searched))`,
];

describe('lists of people cost what their page has, not what the tables have', () => {
  const fixture = useDatabase('postgresql');

  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      for (const statement of LOAD) await sql.raw(statement).execute(tx.kysely);
      for (const table of [
        'person',
        'person_search',
        'profile',
        'user_role',
        'resource_override',
        'app_preference',
        'audit',
      ]) {
        await sql`analyze ${sql.table(table)}`.execute(tx.kysely);
      }
      return { result: null, scopes: ['*'] };
    });
  }, 60_000);

  /** Rows that a statement read of any table, by scanning it or by an index. */
  const rowsRead = (read: (tx: Tx) => Promise<{ length: number }>): Promise<{ found: number; rows: number }> =>
    fixture.database.read(async (tx) => {
      const count = async () => {
        const { rows } = await sql<{ total: number }>`
          select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as total from pg_stat_xact_user_tables
          where relname in ('person', 'person_search', 'profile', 'user_role', 'resource_override', 'app_preference', 'app_admin', 'audit', 'superadmin')`.execute(
          tx.kysely,
        );
        return rows[0]?.total ?? 0;
      };
      const before = await count();
      const { length } = await read(tx);
      return { found: length, rows: (await count()) - before };
    });
  const all = { search: null, active: null, apps: null };
  const users = async (tx: Tx, filter: UserFilter, page: { limit: number; after: number | null }) =>
    (await findUserIds(tx, filter, page)).ids;
  const audit = async (tx: Tx, filter: AuditFilter, after: number | null = null) =>
    (await readAudit(tx, filter, { limit: 51, after })).rows;
  const holders = async (tx: Tx, page: Parameters<typeof listHolders>[3]) => (await listHolders(tx, 1, 1, page)).rows;

  test.each<[string, number, (tx: Tx) => Promise<{ length: number }>]>([
    ['users, first page', 51, (tx) => users(tx, all, { limit: 51, after: null })],
    ['users, in the middle', 51, (tx) => users(tx, all, { limit: 51, after: 15_000 })],
    ['users of a large application', 51, (tx) => users(tx, { ...all, apps: [1] }, { limit: 51, after: 9000 })],
    ['users of a small one', 51, (tx) => users(tx, { ...all, apps: [5] }, { limit: 51, after: null })],
    ['users of several', 51, (tx) => users(tx, { ...all, apps: [1, 2, 3] }, { limit: 51, after: 100 })],
    ['inactive users', 0, (tx) => users(tx, { ...all, active: false }, { limit: 51, after: null })],
    [
      'users of several, searched',
      51,
      (tx) => users(tx, { search: 'USER1', active: true, apps: [1, 2, 3] }, { limit: 51, after: 10_000 }),
    ],
    [
      'users, one of all searched',
      1,
      (tx) => users(tx, { ...all, search: `ER${PERSONS - 1}@` }, { limit: 51, after: null }),
    ],
    ['one of a rare character', 1, (tx) => users(tx, { ...all, search: 'q' }, { limit: 51, after: null })],
    ['one of two rare characters', 1, (tx) => users(tx, { ...all, search: "Q'" }, { limit: 51, after: null })],
    ['nobody of a character', 0, (tx) => users(tx, { ...all, search: '\\' }, { limit: 51, after: null })],
    ['nobody of two, and operators', 0, (tx) => users(tx, { ...all, search: '|&' }, { limit: 51, after: null })],
    ['one by another alphabet', 1, (tx) => users(tx, { ...all, search: 'XÉN' }, { limit: 51, after: null })],
    [
      'one of a rare character in a large application',
      1,
      (tx) => users(tx, { ...all, search: 'q', apps: [1] }, { limit: 51, after: null }),
    ],
    [
      'users of a large application, nobody searched',
      0,
      (tx) => users(tx, { ...all, search: 'zzz', apps: [1] }, { limit: 51, after: null }),
    ],
    [
      'inactive users of a large application',
      0,
      (tx) => users(tx, { ...all, active: false, apps: [1] }, { limit: 51, after: null }),
    ],
    ['one of many who hold a role', 1, (tx) => holders(tx, { limit: 51, after: null, search: `user${PERSONS}@` })],
    ['who of many holds a role', 51, (tx) => holders(tx, { limit: 51, after: 5000, search: '0' })],
    [
      'what is told of a page',
      50,
      (tx) =>
        readUsers(
          tx,
          Array.from({ length: 50 }, (_, at) => at + 1),
          [1, 2],
        ),
    ],
    ['who holds a role', 51, (tx) => holders(tx, { limit: 51, after: 5000, search: null })],
    [
      'overrides of somebody',
      51,
      (tx) => {
        const after = { resourceType: 'document', resourceId: '500', permissionId: 1 };
        return listOverrides(tx, 1, 7, { limit: 51, after, search: null });
      },
    ],
    ['the audit', 51, (tx) => audit(tx, {}, 9000)],
    ['the audit of an application', 51, (tx) => audit(tx, { appCode: 'app3' })],
    ['the audit of somebody', 40, (tx) => audit(tx, { actor: 'user:user77@example.com' })],
    [
      'the audit of a person in a foreign application',
      0,
      (tx) => audit(tx, { appCode: 'app3', actor: 'user:user77@example.com' }),
    ],
    ['the audit before all', 0, (tx) => audit(tx, { to: new Date('2020-01-01') })],
  ])('the list reads a bounded number of rows: %s', async (name, found, read) => {
    const cost = await rowsRead(read);
    expect(cost.found).toBe(found);
    // A search examines 1,000 members and 4,000 people at most, however many there are (100,000 in plans.test.ts); an index's rows count
    // beside its table's.
    expect(cost.rows).toBeLessThan(/^(one|nobody|who of)|searched|inactive/.test(name) ? 9000 : 4000);
  });

  test('a search for a name that one in eighty has reads a bounded number of rows', async () => {
    const search = 'Grace Hopper';
    const cost = await rowsRead((tx) => users(tx, { ...all, search }, { limit: 51, after: null }));
    expect(cost.found).toBe(51);
    // Both tables as far as the page reaches, and the sample before it.
    expect(cost.rows).toBeLessThan(2 * 51 * 80 + 3000);
  });
});
