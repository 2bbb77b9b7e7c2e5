import { beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { countRegistry } from '../../src/persistence/administration/overview.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { forEachDatabase } from '../support/databases.ts';
import { plansOf, scannedTables } from '../support/plans.ts';

const MOST = 100_000;

const people = async (tx: Tx) => {
  const { people: count, morePeople } = await countRegistry(tx, null);
  return { count, morePeople };
};

forEachDatabase('people in the overview of those who see everybody', (fixture) => {
  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      // Without the triggers, which make what is searched of each.
      await sql`set local session_replication_role = replica`.execute(tx.kysely);
      await sql`delete from person`.execute(tx.kysely);
      await sql`insert into person (email) select 'user' || i || '@example.com' from generate_series(1, ${MOST}::int) i`.execute(
        tx.kysely,
      );
      await sql`analyze person`.execute(tx.kysely);
      return { result: undefined, scopes: ['*'] };
    });
  });

  test('are counted exactly up to a hundred thousand, and no further', async () => {
    expect(await fixture.database.read(people)).toEqual({ count: MOST, morePeople: false });
    await fixture.database.change(async (tx) => {
      await sql`insert into person (email) select 'more' || i || '@example.com' from generate_series(1, 2) i`.execute(
        tx.kysely,
      );
      return { result: undefined, scopes: ['*'] };
    });
    expect(await fixture.database.read(people)).toEqual({ count: MOST, morePeople: true });
  });

  test('are not read from beginning to end', async () => {
    await fixture.database.read(async (tx) => {
      const plans = await plansOf(tx, (noted) => countRegistry(noted, null));
      expect(plans.flatMap(scannedTables)).not.toContain('person');
    });
  });
});
