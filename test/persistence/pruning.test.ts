import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';
import { claimEvent, pruneSeenEvents } from '../../src/persistence/people/seen-events.ts';
import { pruneRegistrationLocales } from '../../src/persistence/provider/registration-locales.ts';
import { forEachDatabase } from '../support/databases.ts';

/** More than one statement deletes. */
const OLD = 1201;

async function run<T>(database: Database, work: Parameters<Database['change']>[0]): Promise<T> {
  return (await database.change(work)).result as T;
}

forEachDatabase('what is kept for 24 hours', (fixture) => {
  test('an event counts once, again after 24 hours, and separately for each source', async () => {
    const claim = (source: 'application-event' | 'webhook') =>
      run<boolean>(fixture.database, async (tx) => ({ result: await claimEvent(tx, source, 'k'), scopes: [] }));
    expect([await claim('webhook'), await claim('webhook'), await claim('application-event')]).toEqual([
      true,
      false,
      true,
    ]);
    expect((await Promise.all([1, 2, 3, 4].map(() => claim('webhook')))).includes(true)).toBe(false);
    await run(fixture.database, async (tx) => {
      await sql`update seen_event set at = now() - interval '24 hours' where source = 'webhook'`.execute(tx.kysely);
      return { result: null, scopes: [] };
    });
    expect((await Promise.all([1, 2, 3, 4].map(() => claim('webhook')))).filter(Boolean)).toHaveLength(1);
  });

  test('a write that is rolled back remembers no event', async () => {
    const failing = fixture.database.change(async (tx) => {
      await claimEvent(tx, 'webhook', 'rolled back');
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    const again = await run(fixture.database, async (tx) => ({
      result: await claimEvent(tx, 'webhook', 'rolled back'),
      scopes: [],
    }));
    expect(again).toBe(true);
  });

  test('old rows are deleted, and fresh ones stay', async () => {
    const left = await run(fixture.database, async (tx) => {
      await sql`delete from seen_event`.execute(tx.kysely);
      await sql`insert into seen_event (source, key, at) select 'webhook', n::text,
        now() - make_interval(hours => case when n <= ${OLD} then 25 else 23 end) from generate_series(1, ${OLD + 10}) n`.execute(
        tx.kysely,
      );
      await sql`insert into registration_locale (email, org_id, locale, at) select n || '@example.com', '1', 'en',
        now() - make_interval(hours => case when n <= ${OLD} then 25 else 23 end) from generate_series(1, ${OLD + 10}) n`.execute(
        tx.kysely,
      );
      const deleted = [await pruneSeenEvents(tx.kysely), await pruneRegistrationLocales(tx.kysely)];
      const { rows } = await sql`select (select count(*)::int from seen_event) as events,
        (select count(*)::int from registration_locale) as locales`.execute(tx.kysely);
      return { result: { deleted, rows }, scopes: [] };
    });
    expect(left).toEqual({ deleted: [OLD, OLD], rows: [{ events: 10, locales: 10 }] });
  });
});
