import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { AccountRefusals } from '../../src/directory/account-refusals.ts';
import { Profiles } from '../../src/directory/profiles.ts';
import { WorkQueue } from '../../src/directory/work-queue.ts';
import type { Database } from '../../src/persistence/database.ts';
import { createStorage, type TestStorage, useDatabase } from '../support/databases.ts';
import { BY, caller, claims, FakeDirectory, NOW, profilesOn } from './name-directory.ts';
import { prepareBrands } from './people.ts';

describe('names and the identity provider', () => {
  const fixture = useDatabase('postgresql');
  let directory: FakeDirectory;
  let now = NOW;
  let profiles: Profiles;
  beforeAll(async () => {
    directory = new FakeDirectory(fixture.database);
    await prepareBrands(fixture.database);
    await fixture.database.change(async (tx) => {
      await tx.kysely.insertInto('language').values({ code: 'cs', name: 'Czech', nativeName: 'Čeština' }).execute();
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
      policy: { binding: null, allowHttp: false, ownNames: true },
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
