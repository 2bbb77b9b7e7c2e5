import { beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findPeople, type PageBounds, type PeopleFilter } from '../../src/persistence/people/person-search.ts';
import { forEachDatabase } from '../support/databases.ts';
import { ALL_TABLES, filters, LOAD, naive } from './people-world.ts';

const RUNS = process.env.USHER_LONG ? 1000 : 100;
const bounds: fc.Arbitrary<PageBounds> = fc.record({
  examined: fc.integer({ min: 5, max: 60 }),
  probed: fc.integer({ min: 5, max: 60 }),
  apps: fc.integer({ min: 1, max: 5 }),
});

forEachDatabase('people in pages', (fixture) => {
  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      for (const statement of LOAD) await statement.execute(tx.kysely);
      return { result: null, scopes: ['*'] };
    });
  });

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
  });

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
  });

  test('criteria that hardly ever coincide end a page at the last person examined', async () => {
    const filter = { search: 'oddfellow', active: null, members: { tables: ALL_TABLES, apps: [1] } };
    const page = await fixture.database.read((tx) =>
      findPeople(tx, filter, { limit: 51, after: 10 }, { examined: 20, probed: 20, apps: 1 }),
    );
    // Twenty of every second one: the next who is one of them is 52.
    expect(page).toEqual({ ids: [], behind: 51 });
  });
});
