import { beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { findPeople, type Members, type PageBounds, type PeopleFilter } from '../../src/persistence/person-search.ts';
import { forEachDatabase } from '../support/databases.ts';

const PERSONS = 150;
const RUNS = process.env.USHER_LONG ? 1000 : 100;
const ALL_TABLES: Members['tables'] = ['user_role', 'resource_override', 'app_preference', 'app_admin'];
/** Application 1 is of every second person, 2 of the first, 3 of the last, 4 of one in forty, 5 of nobody; by which table goes by the person. */
const OF_APP: readonly ((person: number) => boolean)[] = [
  (person) => person % 2 === 0,
  (person) => person <= 60,
  (person) => person > 90,
  (person) => person % 40 === 7,
  () => false,
];
const TEXTS = ['@', 'kim', 'Oddfellow', 'late', 'xena', 'e', 'nobody is so called', 'Şule', '9', '99'];

/** Half are Kim; one in ten is Oddfellow, none of whom is of application 1; the last ones are late, one is Xena, one of another alphabet. */
function nameOf(person: number): string {
  const parts = [person % 4 < 2 ? 'Kim' : 'Lee'];
  if (person % 10 === 1) parts.push('Oddfellow');
  if (person > 100) parts.push('Latecomer');
  if (person === 77) parts.push('Xena');
  if (person === 120) parts.push('Şule');
  return parts.join(' ');
}

const emailOf = (person: number): string => `user${person}@example.com`;
const isActive = (person: number): boolean => person % 3 !== 0 && person < 140;
const tableOf = (person: number, app: number): number => (person + app) % ALL_TABLES.length;
const people = Array.from({ length: PERSONS }, (_, at) => at + 1);

/** By definition: everybody whom the filter lets through, in order. */
function naive({ search, active, members }: PeopleFilter): number[] {
  return people.filter((person) => {
    const texts = [emailOf(person), nameOf(person)].map((text) => text.toLowerCase());
    if (search !== null && !texts.some((text) => text.includes(search.toLowerCase()))) return false;
    if (active !== null && isActive(person) !== active) return false;
    if (members === null) return true;
    return members.apps.some((app) => {
      const table = ALL_TABLES[tableOf(person, app)];
      return OF_APP[app - 1]?.(person) === true && table !== undefined && members.tables.includes(table);
    });
  });
}

const members = fc.oneof(
  fc.record({ tables: fc.constant(ALL_TABLES), apps: fc.subarray([1, 2, 3, 4, 5]) }),
  fc.constantFrom(1, 2, 3).map((app) => ({ tables: ['user_role'] as const, apps: [app], role: app })),
);
const filters: fc.Arbitrary<PeopleFilter> = fc.record({
  search: fc.option(fc.constantFrom(...TEXTS)),
  active: fc.constantFrom(null, true, false),
  members: fc.option(members, { freq: 3 }),
});
const bounds: fc.Arbitrary<PageBounds> = fc.record({
  examined: fc.integer({ min: 5, max: 60 }),
  probed: fc.integer({ min: 5, max: 60 }),
  apps: fc.integer({ min: 1, max: 5 }),
});

/** Who is of an application by one of the tables: two columns. */
function membersBy(table: number) {
  const rows = people.flatMap((person) =>
    OF_APP.flatMap((isOf, at) => (isOf(person) && tableOf(person, at + 1) === table ? [{ person, app: at + 1 }] : [])),
  );
  return sql`unnest(${rows.map(({ person }) => person)}::bigint[], ${rows.map(({ app }) => app)}::bigint[]) as r (person, app)`;
}

const LOAD = [
  sql`insert into person (id, email, blocked) overriding system value select * from unnest(
    ${people}::bigint[], ${people.map(emailOf)}::text[], ${people.map((person) => !isActive(person))}::boolean[])`,
  sql`insert into profile (person_id, display_name) select * from unnest(${people}::bigint[], ${people.map(nameOf)}::text[])`,
  sql`insert into application (id, code, name) overriding system value
    select i, 'app' || i, 'App' from generate_series(1, ${OF_APP.length}::int) i`,
  sql`insert into permission (id, application_id, code, tiered) overriding system value
    select i, i, 'read', false from generate_series(1, ${OF_APP.length}::int) i`,
  sql`insert into role (id, application_id, code) overriding system value
    select i, i, 'reader' from generate_series(1, ${OF_APP.length}::int) i`,
  sql`insert into user_role (person_id, application_id, role_id) select person, app, app from ${membersBy(0)}`,
  // Several of each: a person is one of the members nevertheless.
  sql`insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select person, app, 'document', i::text, app, false, 1 from ${membersBy(1)}, generate_series(1, 3) i`,
  sql`insert into app_preference (person_id, application_id) select person, app from ${membersBy(2)}`,
  sql`insert into app_admin (person_id, application_id) select person, app from ${membersBy(3)}`,
];

forEachDatabase('people in pages', (fixture) => {
  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      for (const statement of LOAD) await statement.execute(tx.kysely);
      return { result: null, scopes: ['*'] };
    });
  }, 60_000);

  /** All pages, as read by a caller that requests one row more than it displays. */
  const pages = (filter: PeopleFilter, limit: number, most?: PageBounds): Promise<number[][]> =>
    fixture.database.read(async (tx) => {
      const read: number[][] = [];
      for (let after: number | null = 0; after !== null; ) {
        const { ids, behind } = await findPeople(tx, filter, { limit: limit + 1, after }, most);
        read.push(ids.slice(0, limit));
        const next: number | null = ids.length > limit ? (ids[limit - 1] ?? null) : behind;
        if (next !== null) expect(next).toBeGreaterThan(after);
        after = next;
      }
      return read;
    });

  test('the pages list everybody once and in order, however few rows a page may examine', async () => {
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 3, max: 40 }), bounds, async (filter, limit, most) => {
        const read = await pages(filter, limit, most);
        expect(read.flat()).toEqual(naive(filter));
        expect(Math.max(...read.map(({ length }) => length))).toBeLessThanOrEqual(limit);
      }),
      { numRuns: RUNS },
    );
  }, 60_000);

  test('pages are full while people are left, and none is empty after another', async () => {
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 3, max: 40 }), async (filter, limit) => {
        const expected = naive(filter);
        const read = await pages(filter, limit);
        expect(read.flat()).toEqual(expected);
        expect(read).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)));
      }),
      { numRuns: RUNS / 2 },
    );
  }, 60_000);

  test('criteria that hardly ever coincide end a page at the last person examined', async () => {
    const filter = { search: 'oddfellow', active: null, members: { tables: ALL_TABLES, apps: [1] } };
    const page = await fixture.database.read((tx) =>
      findPeople(tx, filter, { limit: 51, after: 10 }, { examined: 20, probed: 20, apps: 1 }),
    );
    // Twenty of every second one: the next who is one of them is 52.
    expect(page).toEqual({ ids: [], behind: 51 });
  });
});
