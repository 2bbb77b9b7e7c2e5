import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KINDS, useDatabase } from '../support/databases.ts';
import { BY, caller, claims, FakeDirectory, NOW, profilesOn } from './name-directory.ts';
import { prepareBrands } from './people.ts';

const LONG = process.env.USHER_LONG === '1';

/** A source of names: when it says they were so, in tenths of a second after a fixed moment, and how it says it. */
type Source =
  | { kind: 'token'; at: number }
  | { kind: 'push'; at: number }
  /** A change made here, or a push without a time: now. Time advances by this much before it. */
  | { kind: 'own' | 'unsaid'; after: number };

const timed = fc.oneof(
  fc.record({ kind: fc.constant('token' as const), at: fc.nat({ max: 20 }).map((second) => second * 10) }),
  fc.record({ kind: fc.constant('push' as const), at: fc.nat({ max: 200 }) }),
);
const source: fc.Arbitrary<Source> = fc.oneof(
  timed,
  fc.record({ kind: fc.constantFrom('own' as const, 'unsaid' as const), after: fc.nat({ max: 30 }) }),
);

for (const kind of KINDS) {
  describe(`the newest source of names wins (${kind})`, () => {
    const fixture = useDatabase(kind);
    let people = 0;
    beforeAll(() => prepareBrands(fixture.database));

    test('a change of names holds a lease and releases it', async () => {
      const directory = new FakeDirectory(fixture.database);
      const profiles = profilesOn(fixture.database, directory, () => NOW);
      const gil = caller('gil@example.com', NOW / 1000, { displayName: 'Gil' });
      await profiles.mine(gil, 'r');
      const both = await Promise.all(
        ['Gil A.', 'Gil B.'].map((displayName) => profiles.update(gil, { displayName }, BY)),
      );
      expect(both.map(({ displayName }) => displayName)).toEqual(['Gil A.', 'Gil B.']);
      expect(directory.written).toEqual([{ displayName: 'Gil A.' }, { displayName: 'Gil B.' }]);
      expect(await claims(fixture.database)).toEqual([]);
    });

    /** Tells the sources one after the other, each with a name of its own; answers which was taken each time. */
    async function tell(
      sources: readonly Source[],
    ): Promise<{ taken: boolean[]; last: string | null; times: number[] }> {
      let now = 0;
      const profiles = profilesOn(fixture.database, null, () => NOW + now * 100);
      const email = `p${kind}${people++}@example.com`;
      await profiles.mine(caller(email, NOW / 1000 - 1, { displayName: 'start' }), 'r');
      const taken: boolean[] = [];
      const times: number[] = [];
      let last = 'start' as string | null;
      for (const [index, one] of sources.entries()) {
        const displayName = `name ${index}`;
        if ('after' in one) now += one.after;
        const at = 'at' in one ? one.at : now;
        if (one.kind === 'token') await profiles.mine(caller(email, (NOW + at * 100) / 1000, { displayName }), 'r');
        if (one.kind === 'own') await profiles.update(caller(email, 0), { displayName }, BY);
        if (one.kind === 'unsaid') await profiles.push(email, { displayName });
        if (one.kind === 'push') await profiles.push(email, { displayName, changedAt: new Date(NOW + at * 100) });
        last = (await profiles.find(email)).displayName;
        taken.push(last === displayName);
        times.push(at);
      }
      return { taken, last, times };
    }

    test('a name is stored exactly when no newer one was stored before', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(source, { minLength: 1, maxLength: 12 }), async (sources) => {
          const { taken, last, times } = await tell(sources);
          const expected: boolean[] = [];
          sources.forEach(({ kind: how }, index) => {
            const time = times[index] ?? 0;
            const before = times.filter((_, earlier) => earlier < index && expected[earlier]);
            const owned = sources.slice(0, index).some((earlier) => earlier.kind === 'own');
            if (how === 'token') expected.push(!owned && before.every((known) => Math.floor(known / 10) < time / 10));
            else if (how === 'push') expected.push(before.every((known) => known <= time));
            else expected.push(true);
          });
          expect(taken).toEqual(expected);
          const winner = expected.lastIndexOf(true);
          expect(last).toBe(winner < 0 ? 'start' : `name ${winner}`);
        }),
        { numRuns: LONG ? 2000 : kind === 'postgresql' ? 30 : 6 },
      );
    });

    test('without a provider, a changed name takes precedence, and tokens set the other names', async () => {
      const profiles = profilesOn(fixture.database, null, () => NOW);
      const named = (name: string) => ({ firstName: name, lastName: name, displayName: name });
      const at = (second: number, name: string) => caller('own@example.com', NOW / 1000 + second, named(name));
      const names = async () => {
        const { firstName, lastName, displayName } = await profiles.find('own@example.com');
        return [firstName, lastName, displayName];
      };
      await profiles.mine(at(0, 'a'), 'r');
      // The name that is sent as it is here is not changed here.
      await profiles.update(at(0, 'a'), { firstName: 'Own', lastName: 'a' }, BY);
      await profiles.mine(at(10, 'b'), 'r');
      expect(await names()).toEqual(['Own', 'b', 'b']);
      await profiles.update(at(10, 'b'), { displayName: null }, BY);
      await profiles.mine(at(20, 'c'), 'r');
      expect(await names()).toEqual(['Own', 'c', null]);
      // Of the tokens only: who pushes names knows them.
      expect(await profiles.push('own@example.com', { firstName: 'Pushed' })).toBe(true);
      await profiles.update(at(20, 'c'), { lastName: 'L' }, BY);
      await profiles.mine(at(30, 'd'), 'r');
      expect(await names()).toEqual(['Pushed', 'L', null]);

      // With a provider, names are its own again.
      const withProvider = profilesOn(fixture.database, new FakeDirectory(fixture.database), () => NOW);
      await withProvider.mine(at(40, 'e'), 'r');
      expect(await names()).toEqual(['e', 'e', 'e']);
    });

    test('a push clears a name, and reports whether it was applied', async () => {
      const profiles = profilesOn(fixture.database, null, () => NOW);
      const email = 'pushed@example.com';
      const names = { firstName: 'A', lastName: 'B', displayName: 'C' };
      await profiles.mine(caller(email, NOW / 1000 - 10, names), 'r');
      const early = new Date(NOW - 20_000);
      expect(await profiles.push(email, { firstName: null, changedAt: early })).toBe(false);
      expect(await profiles.push(email, { changedAt: early })).toBe(false);
      expect(await profiles.push(email, { changedAt: new Date(NOW - 10_000) })).toBe(true);
      expect(await profiles.push(email, {})).toBe(true);
      expect(await profiles.find(email)).toMatchObject(names);
      expect(await profiles.push(email, { firstName: null, lastName: '', changedAt: new Date(NOW) })).toBe(true);
      expect(await profiles.find(email)).toMatchObject({ firstName: null, lastName: null, displayName: 'C' });
      expect(await profiles.push('nobody@example.com', { firstName: null })).toBe(false);
    });

    test('the newest source of names wins in every order of arrival', async () => {
      const distinct = fc.uniqueArray(timed, { minLength: 2, maxLength: 8, selector: ({ at }) => Math.floor(at / 10) });
      await fc.assert(
        fc.asyncProperty(distinct, async (sources) => {
          const newest = Math.max(...sources.map(({ at }) => at));
          for (const order of [sources, sources.toReversed(), sources.toSorted((a, b) => a.at - b.at)]) {
            const { last } = await tell(order);
            expect(last).toBe(`name ${order.findIndex(({ at }) => at === newest)}`);
          }
        }),
        { numRuns: LONG ? 500 : 6 },
      );
    });
  });
}
