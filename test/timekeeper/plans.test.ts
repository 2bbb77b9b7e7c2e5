import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Tx } from '../../src/persistence/database.ts';
import { findEndings, takeEndings } from '../../src/persistence/notifications/endings.ts';
import { readBoundaries, takeTurn } from '../../src/persistence/timekeeper/turn.ts';
import { useDatabase } from '../support/databases.ts';
import { pagesOf, plansOf, scannedTables } from '../support/plans.ts';
import { makeShop, write } from './world.ts';

const PEOPLE = 100_000;

/** Every grant has a window, as if all were given for a year: the worst that these tables can hold. */
describe(`with ${PEOPLE} roles and ${PEOPLE} overrides that end some day`, () => {
  const fixture = useDatabase('postgresql');

  beforeAll(async () => {
    const { database } = fixture;
    await makeShop(database, PEOPLE);
    await write(database, async ({ kysely }) => {
      // A few have ended, or end soon; the others run for a year.
      const end = sql`now() + case when p.id % 1000 = 0 then interval '-1 minute' else interval '365 days' end`;
      await sql`insert into user_role (person_id, application_id, role_id, starts_at, ends_at)
        select p.id, r.application_id, r.id, now() - interval '9 days', ${end} from person p, role r`.execute(kysely);
      await sql`insert into resource_override
          (person_id, application_id, resource_type, resource_id, permission_id, tiered, level, ends_at)
        select p.id, c.application_id, 'ticket', p.id::text, c.id, true, 2, ${end} from person p, permission c`.execute(
        kysely,
      );
      await sql`update grant_moment set at = now() - interval '1 second' where person_id % 999 = 0`.execute(kysely);
      await sql`insert into grant_moment (kind, person_id, application_id, object_id, resource_type, resource_id, what, at)
        select 'role', person_id, application_id, role_id, '', '', 'begin', now() from user_role where person_id % 998 = 0`.execute(
        kysely,
      );
    });
    await write(database, async ({ kysely }) => {
      await sql`analyze user_role, resource_override, app_admin, grant_moment, person`.execute(kysely);
    });
  }, 120_000);

  const big = (tables: readonly string[]) =>
    tables.filter((table) => ['user_role', 'resource_override', 'grant_moment', 'person'].includes(table));
  const whole = (run: (tx: Tx) => Promise<unknown>) =>
    fixture.database.rehearse(async (tx) => big((await plansOf(tx, run)).flatMap(scannedTables)));

  test('a look touches the ends of indexes alone', async () => {
    expect(await whole(readBoundaries)).toEqual([]);
    expect(await fixture.database.read((tx) => pagesOf(tx, readBoundaries))).toBeLessThan(100);
  });

  test('a turn reads no table whole', async () => {
    expect(await whole((tx) => takeTurn(tx, 1000))).toEqual([]);
  });

  test('nor does telling people', async () => {
    expect(await whole((tx) => findEndings(tx, 50, 'access-ending'))).toEqual([]);
    const due = await fixture.database.read((tx) => findEndings(tx, 50, 'access-ending'));
    expect(due.length).toBeGreaterThan(50);
    expect(await whole((tx) => takeEndings(tx, due.slice(0, 3)))).toEqual([]);
  });
});
