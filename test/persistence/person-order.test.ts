import { beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { findPeopleInOrder, type PeopleOrder, type PersonPlace } from '../../src/persistence/people/person-order.ts';
import { forEachDatabase } from '../support/databases.ts';
import { emailOf, filters, LOAD, naive, people } from './people-world.ts';

const RUNS = process.env.USHER_LONG ? 1000 : 100;

/** Days since the start of 2026; several people share each. */
const day = (days: number): Date => new Date(Date.UTC(2026, 0, 1 + days));
/** Every fourth person has no profile; profiles are younger than their people, in another order. */
const mentionedAt = (person: number): Date => day(person % 20);
const profileAt = (person: number): Date | null => (person % 4 === 3 ? null : day(20 + ((person * 7) % 30)));
/** Logins in the applications 1 to 3; two thirds of the people have some, and some the same in two applications. */
const loginAt = (person: number, app: number): Date | null =>
  (person + app) % 3 === 0 || person % 3 === 1 ? null : day(((person * 11) % 25) + (person % 5 === 0 ? 0 : app));

const APPS = [1, 2, 3];
const rows = people.flatMap((person) => APPS.map((app) => ({ person, app, at: loginAt(person, app) })));
const DATES = [
  sql`delete from app_preference`,
  sql`update person p set created_at = d.at from unnest(${people}::bigint[], ${people.map(mentionedAt)}::timestamptz[]) d (id, at)
    where p.id = d.id`,
  sql`delete from profile where person_id = any(${people.filter((person) => profileAt(person) === null)}::bigint[])`,
  sql`update profile f set created_at = d.at
    from unnest(${people}::bigint[], ${people.map(profileAt)}::timestamptz[]) d (id, at) where f.person_id = d.id`,
  sql`insert into app_preference (person_id, application_id, last_login_at) select * from unnest(
    ${rows.map(({ person }) => person)}::bigint[], ${rows.map(({ app }) => app)}::bigint[],
    ${rows.map(({ at }) => at)}::timestamptz[])`,
];

/** By definition: what a person is sorted by. */
function keyOf(person: number, order: PeopleOrder, apps: readonly number[] | null): string | number {
  if (order === 'email') return emailOf(person);
  if (order === 'createdAt') return Number(profileAt(person) ?? mentionedAt(person));
  const logins = APPS.filter((app) => apps === null || apps.includes(app)).map((app) => loginAt(person, app));
  return Math.max(...logins.map((at) => (at === null ? -1 : Number(at))), -1);
}

function inOrder(ids: readonly number[], order: PeopleOrder, apps: readonly number[] | null): number[] {
  const keyed = ids.map((id) => ({ id, key: keyOf(id, order, apps) }));
  const isAddress = order === 'email';
  return keyed
    .toSorted((one, other) => {
      if (one.key === other.key) return other.id - one.id;
      return one.key < other.key === isAddress ? -1 : 1;
    })
    .map(({ id }) => id);
}

/** Here the members are those of roles, overrides and administrations: the preferences are for the logins. */
const sought = filters.map((filter) => {
  const { members } = filter;
  if (members === null) return filter;
  return { ...filter, members: { ...members, tables: members.tables.filter((table) => table !== 'app_preference') } };
});
const orders = fc.constantFrom<PeopleOrder>('email', 'createdAt', 'lastLoginAt');
const seen = fc.option(fc.subarray(APPS, { minLength: 1 }));
/** Sorted whole, along the indexes, and both by what is sought. */
const bounds = fc.constantFrom(
  { few: 1000, examined: 50 },
  { few: 0, examined: 7 },
  { few: 0, examined: 200 },
  { few: 30, examined: 40 },
);

/** With the example below, the last entry that a page examines is one of two logins of one moment. */
const EVERYBODY = { search: null, active: null, members: null };

forEachDatabase('people in order', (fixture) => {
  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      for (const statement of [...LOAD, ...DATES]) await statement.execute(tx.kysely);
      return { result: null, scopes: ['*'] };
    });
  });

  test('the pages list everybody once and in the order asked for, however few rows a page may examine', async () => {
    await fc.assert(
      fc.asyncProperty(sought, orders, seen, fc.integer({ min: 2, max: 40 }), bounds, async (...drawn) => {
        const [filter, order, apps, limit, most] = drawn;
        const read: number[] = [];
        await fixture.database.read(async (tx) => {
          for (let after: PersonPlace | null = null, pages = 0; ; pages++) {
            expect(pages).toBeLessThan(200);
            const page = { order, apps, limit: limit + 1, after };
            const { places, behind }: Awaited<ReturnType<typeof findPeopleInOrder>> = await findPeopleInOrder(
              tx,
              filter,
              page,
              most,
            );
            expect(places.length).toBeLessThanOrEqual(limit + 1);
            read.push(...places.slice(0, limit).map(({ id }) => id));
            after = places.length > limit ? (places[limit - 1] ?? null) : behind;
            if (after === null) return;
          }
        });
        expect(read).toEqual(inOrder(naive(filter), order, apps));
      }),
      { numRuns: RUNS, examples: [[EVERYBODY, 'lastLoginAt', [2], 3, { few: 0, examined: 7 }]] },
    );
  });

  test('a page is full where only few may match', async () => {
    const filter = { search: 'kim', active: null, members: null };
    const page = { order: 'lastLoginAt' as const, apps: null, limit: 51, after: null };
    const { places, behind } = await fixture.database.read((tx) => findPeopleInOrder(tx, filter, page));
    expect(places.map(({ id }) => id)).toEqual(inOrder(naive(filter), 'lastLoginAt', null).slice(0, 51));
    expect(behind).toBeNull();
  });
});
