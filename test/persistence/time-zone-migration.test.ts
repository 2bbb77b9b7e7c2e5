import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MIGRATIONS } from '../../src/persistence/migrations/list.ts';
import { createMigratingDatabase, type MigratingDatabase } from './migrating.ts';

const NAME = '0023-time-zones';

let database: MigratingDatabase;
beforeEach(async () => {
  database = await createMigratingDatabase();
  await database.migrate();
});
afterEach(() => database.remove());

test('stored time zones become those of IANA, also where later migrations were applied before', async () => {
  const { client } = database;
  const stored: [string, string | null][] = [
    ['Europe/Prague', 'Europe/Prague'],
    ['EUROPE/PRAGUE', 'Europe/Prague'],
    ['asia/calcutta', 'Asia/Calcutta'],
    ['utc', 'UTC'],
    ['BST', null],
    ['SystemV/PST8', null],
  ];
  await client.query(
    `with p as (insert into person (email) select 'p' || n || '@example.com' from generate_series(1, $2::int) n returning id, email)
     insert into profile (person_id, timezone) select id, ($1::text[])[substring(email from '[0-9]+')::int] from p`,
    [stored.map(([before]) => before), stored.length],
  );
  await client.query('delete from mikro_orm_migrations where name = $1', [NAME]);
  expect(await database.migrate()).toEqual([NAME]);
  const { rows } = await client.query<{ timezone: string | null }>(
    `select timezone from profile f join person p on p.id = f.person_id order by substring(p.email from '[0-9]+')::int`,
  );
  expect(rows.map(({ timezone }) => timezone)).toEqual(stored.map(([, after]) => after));
  const names = (await client.query<{ name: string }>('select name from mikro_orm_migrations')).rows;
  expect(new Set(names.map(({ name }) => name))).toEqual(new Set(MIGRATIONS.map(({ name }) => name)));
  expect(await database.migrate()).toEqual([]);
});
