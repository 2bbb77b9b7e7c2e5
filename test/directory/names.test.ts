import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { AccountRefusals } from '../../src/directory/account-refusals.ts';
import type { NameDirectory, Names } from '../../src/directory/names.ts';
import type { SignedIn } from '../../src/directory/presence.ts';
import { Profiles } from '../../src/directory/profiles.ts';
import { WorkQueue } from '../../src/directory/work-queue.ts';
import type { Database } from '../../src/persistence/database.ts';
import type { AdminApi } from '../../src/provider/admin-api.ts';
import { ProviderLocks } from '../../src/provider/administration.ts';
import { IdpNames } from '../../src/provider/names.ts';
import { createStorage, type TestStorage, useDatabase } from '../support/databases.ts';
import { prepareBrands } from './people.ts';

const LONG = process.env.USHER_LONG === '1';

/** An identity provider that keeps names, can be slow, and can refuse or be away; its turns are the real ones. */
class FakeDirectory implements NameDirectory {
  readonly kept = new Map<string, Partial<Names>>();
  readonly written: Partial<Names>[] = [];
  readonly inTurn: NameDirectory['inTurn'];
  fault: UsherError | null = null;
  delayMs = (): number => 0;
  /** What it waits for after it has taken names, before it says so. */
  answering: Promise<void> | null = null;

  constructor(database: Database, clock: Pick<Clock, 'bytes' | 'monotonic'> = systemClock) {
    const real = new IdpNames({} as AdminApi, new ProviderLocks({ database, clock }));
    this.inTurn = (...turn) => real.inTurn(...turn);
  }

  async writeNames(email: string, names: Partial<Names>): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.delayMs()));
    if (this.fault) throw this.fault;
    this.written.push(names);
    this.kept.set(email, { ...this.kept.get(email), ...names });
    await this.answering;
  }
}

function caller(email: string, issuedAt: number, names: Partial<Names> = {}): SignedIn {
  return {
    email,
    issuer: 'https://idp.example.com',
    subject: `sub-${email}`,
    issuedAt,
    picture: null,
    givenName: names.firstName ?? null,
    familyName: names.lastName ?? null,
    name: names.displayName ?? null,
  };
}

function profilesOn(database: Database, names: NameDirectory | null, now: () => number): Profiles {
  return new Profiles({
    database,
    clock: { now },
    policy: { bindSubject: false, allowHttp: true, ownNames: names === null },
    turns: new WorkQueue({ permits: 8, clock: systemClock }),
    refusals: new AccountRefusals(database),
    names,
    idpPublicUrl: null,
  });
}

const BY = { requestId: 'r', signal: new AbortController().signal };
const NOW = Date.UTC(2026, 0, 1, 10, 0, 0);

describe('names and the identity provider', () => {
  const fixture = useDatabase('postgresql');
  let directory: FakeDirectory;
  let now = NOW;
  let profiles: Profiles;
  beforeAll(async () => {
    directory = new FakeDirectory(fixture.database);
    await prepareBrands(fixture.database);
    await fixture.database.change(async (tx) => {
      await tx.kysely.insertInto('language').values({ code: 'cs', name: 'Czech', native_name: 'Čeština' }).execute();
      return { result: null, scopes: [] };
    });
    profiles = profilesOn(fixture.database, directory, () => now);
  });

  test('names sent are written to the provider first, even unchanged ones', async () => {
    const ada = caller('ada@example.com', NOW / 1000, { firstName: 'Ada', displayName: 'Ada' });
    await profiles.mine(ada, 'r');
    now = NOW + 5400;
    const stored = await profiles.update(ada, { firstName: 'Ada', displayName: 'Ada L.', theme: 'dark' }, BY);
    expect(stored).toMatchObject({ firstName: 'Ada', displayName: 'Ada L.', theme: 'dark' });
    expect(directory.written).toEqual([{ firstName: 'Ada', displayName: 'Ada L.' }]);
    // Changed at the provider meanwhile, and not told here: the person sees the old name, and confirms it.
    directory.kept.set('ada@example.com', { displayName: 'Somebody else' });
    await profiles.update(ada, { displayName: 'Ada L.' }, BY);
    expect(directory.kept.get('ada@example.com')).toEqual({ displayName: 'Ada L.' });
    await profiles.update(ada, { theme: 'light' }, BY);
    expect(directory.written).toHaveLength(2);
    // The contract's own example: changed here at 10:00:05.4.
    expect(
      (await profiles.mine(caller('ada@example.com', NOW / 1000 + 5, { displayName: 'x' }), 'r')).displayName,
    ).toBe('Ada L.');
    expect(
      (await profiles.mine(caller('ada@example.com', NOW / 1000 + 6, { displayName: 'y' }), 'r')).displayName,
    ).toBe('y');
  });

  test.each(['IDP_UNREACHABLE', 'IDP_REJECTED'] as const)(
    'nothing is stored when the provider fails: %s',
    async (code) => {
      const bob = caller('bob@example.com', NOW / 1000, { displayName: 'Bob' });
      const before = await profiles.mine(bob, 'r');
      directory.fault = new UsherError(code, 'The provider failed.');
      const update = profiles.update(bob, { displayName: 'Robert', theme: 'dark', locale: 'cs' }, BY);
      await expect(update).rejects.toMatchObject({ reason: code, httpStatus: 502 });
      directory.fault = null;
      expect(await profiles.mine(bob, 'r')).toEqual(before);
    },
  );

  test('an invalid update is refused before the provider is called', async () => {
    const bob = caller('bob@example.com', NOW / 1000);
    const asked = directory.written.length;
    for (const [update, reason] of [
      [{ brand: 'nobody' }, 'UNKNOWN_REFERENCE'],
      [{ locale: 'xx' }, 'UNKNOWN_LANGUAGES'],
      [{ email: 'other@example.com' }, 'IMMUTABLE_FIELD'],
      [{ avatarUrl: 'ftp://example.com' }, 'VALIDATION_FAILED'],
    ] as const) {
      await expect(profiles.update(bob, { displayName: 'Rob', ...update }, BY)).rejects.toMatchObject({ reason });
    }
    expect(directory.written).toHaveLength(asked);
    expect((await profiles.mine(bob, 'r')).displayName).toBe('Bob');
  });

  test('a caller who gave up before their turn changes nothing', async () => {
    const cleo = caller('cleo@example.com', NOW / 1000, { displayName: 'Cleo' });
    await profiles.mine(cleo, 'r');
    directory.delayMs = () => 50;
    const asked = directory.written.length;
    const abort = new AbortController();
    const first = profiles.update(cleo, { displayName: 'First' }, BY);
    const second = profiles.update(cleo, { displayName: 'Second' }, { ...BY, signal: abort.signal });
    abort.abort(new UsherError('DEADLINE_EXCEEDED', 'This took too long.'));
    await expect(second).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect((await first).displayName).toBe('First');
    directory.delayMs = () => 0;
    expect(directory.written.slice(asked)).toEqual([{ displayName: 'First' }]);
    expect((await profiles.mine(cleo, 'r')).displayName).toBe('First');
  });

  test('production refuses an http picture', async () => {
    const strict = new Profiles({
      database: fixture.database,
      clock: { now: () => now },
      policy: { bindSubject: false, allowHttp: false, ownNames: true },
      turns: new WorkQueue({ permits: 8, clock: systemClock }),
      refusals: new AccountRefusals(fixture.database),
      names: null,
      idpPublicUrl: null,
    });
    const finn = { ...caller('finn@example.com', NOW / 1000), picture: 'http://example.com/f.png' };
    expect((await strict.mine(finn, 'r')).avatarUrl).toBeNull();
    const update = strict.update(finn, { avatarUrl: 'http://example.com/f.png' }, BY);
    await expect(update).rejects.toMatchObject({ reason: 'VALIDATION_FAILED' });
    const set = await strict.update(finn, { avatarUrl: 'https://example.com/f.png' }, BY);
    expect(set.avatarUrl).toBe('https://example.com/f.png');
  });

  test('the last of many concurrent changes at the provider is the last here', async () => {
    const dan = caller('dan@example.com', NOW / 1000, { displayName: 'Dan' });
    await profiles.mine(dan, 'r');
    directory.delayMs = () => Math.random() * 10;
    const changes = Array.from({ length: 20 }, (_, index) =>
      profiles.update(dan, index % 2 ? { displayName: `Dan ${index}` } : { firstName: `D${index}` }, BY),
    );
    await Promise.all(changes);
    directory.delayMs = () => 0;
    expect(await profiles.mine(dan, 'r')).toMatchObject({ ...directory.kept.get('dan@example.com') });
  });

  test('an instance that dies between provider and database delays others by half a minute', async () => {
    const eve = caller('eve@example.com', NOW / 1000, { displayName: 'Eve' });
    await profiles.mine(eve, 'r');
    const { promise, resolve: revive } = Promise.withResolvers<void>();
    directory.answering = promise;
    const dying = profiles.update(eve, { displayName: 'Dying', firstName: 'D' }, BY);
    while (directory.kept.get('eve@example.com') === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    directory.answering = null;

    // Another instance, and one that has waited for eight seconds.
    const other = await fixture.storage.open();
    const [here, impatient] = [systemClock, { ...systemClock, monotonic: eightSecondsEachTime() }].map((clock) => {
      const another = new FakeDirectory(other, clock);
      another.kept.set('eve@example.com', directory.kept.get('eve@example.com') ?? {});
      return { kept: another.kept, written: another.written, profiles: profilesOn(other, another, () => now) };
    });
    if (here === undefined || impatient === undefined) throw new Error('there are two');
    const late = impatient.profiles.update(eve, { displayName: 'Late' }, BY);
    await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE', httpStatus: 503 });
    const abort = new AbortController();
    const givenUp = here.profiles.update(eve, { displayName: 'Given up' }, { ...BY, signal: abort.signal });
    setTimeout(() => abort.abort(new UsherError('DEADLINE_EXCEEDED', 'This took too long.')), 50);
    await expect(givenUp).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect([impatient.written, here.written]).toEqual([[], []]);
    // An update without names does not wait.
    expect((await here.profiles.update(eve, { theme: 'dark' }, BY)).theme).toBe('dark');

    await age(28);
    const next = await here.profiles.update(eve, { displayName: 'Next', firstName: 'N' }, BY);
    expect(next).toMatchObject({ displayName: 'Next', firstName: 'N' });
    expect(here.kept.get('eve@example.com')).toMatchObject({ displayName: 'Next', firstName: 'N' });

    // Had it only slept, it would not store what is not the provider's any more.
    revive();
    await expect(dying).rejects.toMatchObject({ code: 'UNAVAILABLE', httpStatus: 503 });
    expect(await profiles.mine(eve, 'r')).toMatchObject({ displayName: 'Next', firstName: 'N' });
    expect(await claims(fixture.database)).toEqual([]);
  });

  /** Makes every claim that many seconds older. */
  async function age(seconds: number): Promise<void> {
    await fixture.database.change(async (tx) => {
      await sql`update setting set updated_at = updated_at - make_interval(secs => ${seconds})
        where key like 'idp.lock:names:%'`.execute(tx.kysely);
      return { result: null, scopes: [] };
    });
  }
});

function claims(database: Database): Promise<{ key: string }[]> {
  return database.read((tx) =>
    tx.kysely.selectFrom('setting').select('key').where('key', 'like', 'idp.lock:%').execute(),
  );
}

function eightSecondsEachTime(): () => number {
  let now = 0;
  return () => {
    now += 8000;
    return now;
  };
}

describe('names that the provider accepted but the database did not', () => {
  let storage: TestStorage;
  let database: Database;
  let failing = 0;
  beforeAll(async () => {
    storage = await createStorage('postgresql');
    database = await storage.open({
      failpoints: {
        hit: (name) => {
          if (name === 'before-log' && failing > 0 && --failing === 0) {
            throw new UsherError('UNAVAILABLE', 'The database is away.');
          }
        },
      },
    });
    await prepareBrands(database);
  }, 60_000);
  afterAll(() => storage?.remove(), 60_000);

  test.each(['token', 'push', 'retry'] as const)('a failed store is reported, and a %s repairs it', async (how) => {
    const email = `${how}@example.com`;
    const directory = new FakeDirectory(database);
    const profiles = profilesOn(database, directory, () => NOW + 5000);
    const user = caller(email, NOW / 1000, { displayName: 'Before' });
    await profiles.mine(user, 'r');
    // The third transaction is the one that stores; the others claim the turn, and prove what the update refers to.
    failing = 3;
    await expect(profiles.update(user, { displayName: 'After' }, BY)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(directory.kept.get(email)).toEqual({ displayName: 'After' });
    expect((await profiles.mine(user, 'r')).displayName).toBe('Before');
    if (how === 'token') {
      expect((await profiles.mine(caller(email, NOW / 1000 + 6, { displayName: 'After' }), 'r')).displayName).toBe(
        'After',
      );
    } else if (how === 'push') {
      expect(await profiles.push(email, { displayName: 'After', changedAt: new Date(NOW + 5000) })).toBe(true);
    } else {
      await profiles.update(user, { displayName: 'After' }, BY);
    }
    expect((await profiles.mine(user, 'r')).displayName).toBe('After');
  });
});

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

for (const kind of ['postgresql', 'pglite'] as const) {
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

    test('without a provider, names changed here belong to their owner, and tokens bring the others', async () => {
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
