import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type pg from 'pg';
import { forEachDatabase } from '../support/databases.ts';
import { createMigratingDatabase, type MigratingDatabase } from './migrating.ts';

const NAME = '0202-windows';
const TABLES = ['user_role', 'app_admin', 'resource_override'];

let database: MigratingDatabase;
let client: pg.Client;
/** As a new database has them. */
let wanted: string[];

/** The indexes and checks of the three tables. */
async function definitions(): Promise<string[]> {
  const { rows } = await client.query<{ definition: string }>(
    `select pg_get_indexdef(indexrelid) || case when indisvalid then '' else ' (invalid)' end as definition
       from pg_index where indrelid = any($1::regclass[])
     union all
     select conname || ' ' || pg_get_constraintdef(oid) || case when convalidated then '' else ' (unchecked)' end
       from pg_constraint where conrelid = any($1::regclass[]) and contype = 'c' order by 1`,
    [TABLES],
  );
  return rows.map(({ definition }) => definition);
}

async function rules(): Promise<unknown> {
  return (await client.query(`select value from setting where key = 'rules'`)).rows[0]?.value;
}

/** A database of the version before, with grants. What this session writes needs no announcement. */
beforeEach(async () => {
  database = await createMigratingDatabase();
  ({ client } = database);
  wanted = await definitions();
  await client.query(`
    set session_replication_role = replica;
    ${TABLES.map((table) => `alter table ${table} drop column starts_at cascade, drop column ends_at cascade;`).join('\n')}
    drop index if exists user_role_role, app_admin_application, resource_override_subjects;
    create index user_role_role on user_role (application_id, role_id, person_id);
    create index app_admin_application on app_admin (application_id, person_id);
    create index resource_override_subjects
      on resource_override (application_id, permission_id, resource_type, resource_id, level, person_id);
    delete from setting where key = 'rules';
    delete from mikro_orm_migrations where name = '${NAME}';
    insert into application (id, code, name) overriding system value values (1, 'shop', 'Shop');
    insert into role (id, application_id, code) overriding system value values (1, 1, 'reader');
    insert into person (id, email) overriding system value
      select n, 'p' || n || '@example.com' from generate_series(1, 5000) n;
    insert into user_role (person_id, application_id, role_id) select n, 1, 1 from generate_series(1, 4000) n`);
}, 60_000);

afterEach(async () => {
  await database.remove();
});

/** As a process of the version before gives a role. */
const give = (person: number): Promise<unknown> =>
  client.query('insert into user_role (person_id, application_id, role_id) values ($1, 1, 1)', [person]);

test('writers of the version before go on while a long report keeps the indexes from being made', async () => {
  const report = await database.connect();
  await report.query('begin isolation level repeatable read');
  await report.query('select count(*) from person');
  const migrating = database.migrate();
  while (!(await definitions()).some((one) => one.includes('starts_at') && one.endsWith('(invalid)')))
    await setTimeout(20);
  for (let person = 4001; person <= 4005; person++) {
    const began = performance.now();
    await give(person);
    expect(performance.now() - began).toBeLessThan(2000);
  }
  await report.query('commit');
  await report.end();
  await expect(migrating).resolves.toEqual([NAME]);
  expect(await definitions()).toEqual(wanted);
  await give(4006);
  const { rows } = await client.query('select count(*)::int as roles, count(ends_at)::int as ends from user_role');
  expect(rows).toEqual([{ roles: 4006, ends: 0 }]);
  expect(await rules()).toBe(1);
}, 60_000);

test('a migration that was ended after any of its steps before is carried on', async () => {
  await client.query(`
    alter table user_role add column starts_at timestamptz(3), add column ends_at timestamptz(3),
      add constraint user_role_window check (starts_at < ends_at) not valid;
    create index user_role_role_windows on user_role (application_id, role_id, person_id) include (starts_at, ends_at);
    create index user_role_ends on user_role (ends_at) where ends_at is not null`);
  await client.query(`update pg_index set indisvalid = false where indexrelid = 'user_role_role_windows'::regclass`);
  await expect(database.migrate()).resolves.toEqual([NAME]);
  expect(await definitions()).toEqual(wanted);
  await expect(database.migrate()).resolves.toEqual([]);
}, 60_000);

test('of several that begin at once, one migrates', async () => {
  const done = await Promise.all([1, 2, 3].map(() => database.migrate()));
  expect(done.flat()).toEqual([NAME]);
  expect(await definitions()).toEqual(wanted);
}, 60_000);

forEachDatabase('windows of grants', (fixture) => {
  test('a new database decides by the rules of this version', async () => {
    const { rows } = await fixture.database.read((tx) =>
      sql<{ value: unknown }>`select value from setting where key = 'rules'`.execute(tx.kysely),
    );
    expect(rows).toEqual([{ value: 2 }]);
  });

  test.each(TABLES)('a grant of %s ends after it begins', async (table) => {
    const columns = {
      user_role: 'role_id',
      app_admin: null,
      resource_override: 'permission_id',
    }[table];
    const rows = (starts: string, ends: string) =>
      fixture.database.rehearse(async ({ kysely }) => {
        await sql`set local session_replication_role = replica`.execute(kysely);
        const [names, values] = [
          [
            'person_id',
            'application_id',
            columns,
            ...(table === 'resource_override' ? ['resource_type', 'resource_id', 'tiered', 'level'] : []),
          ],
          [
            '1',
            '1',
            columns === null ? null : '1',
            ...(table === 'resource_override' ? [`'doc'`, `'1'`, 'false', '1'] : []),
          ],
        ].map((list) => list.filter((one) => one !== null).join(', '));
        await sql
          .raw(`insert into ${table} (${names}, starts_at, ends_at) values (${values}, ${starts}, ${ends})`)
          .execute(kysely);
      });
    await expect(rows(`'2026-01-01Z'`, `'2026-01-01Z'`)).rejects.toThrow();
    await expect(rows(`'2026-01-02Z'`, `'2026-01-01Z'`)).rejects.toThrow();
    await rows(`'2026-01-01Z'`, `'2026-01-01 00:00:00.001Z'`);
    await rows('null', `'2026-01-01Z'`);
    await rows(`'2026-01-01Z'`, 'null');
  });
});
