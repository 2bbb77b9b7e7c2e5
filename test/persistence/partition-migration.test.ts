import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { PARTITION_IDS } from '../../src/persistence/migrations/partitioned.ts';
import { createMigratingDatabase, type MigratingDatabase } from './migrating.ts';

/** As the version before left them: plain tables. The migration has made nothing else of these that it needs. */
const AS_BEFORE = ['audit', 'app_event', 'notification', 'delivery'].map(
  (table) => `
    alter table ${table} detach partition ${table}_p1;
    drop table ${table};
    alter table ${table}_p1 rename to ${table};
    alter table ${table} alter column id add generated always as identity`,
);
const TRIGGERS_BEFORE = `
  drop trigger if exists audit_append_only on audit;
  drop trigger if exists audit_pseudonyms_only on audit;
  create trigger audit_append_only before delete on audit for each statement execute function audit_is_append_only();
  create trigger audit_pseudonyms_only before update on audit for each row execute function audit_takes_pseudonyms();
  create trigger notification_takes_deliveries after delete on notification
    referencing old table as gone for each statement execute function take_deliveries_of_notification();
  alter table delivery validate constraint delivery_status_check;
  delete from mikro_orm_migrations where name = '0015-partitions'`;
const INSERT = `insert into audit (actor, action, subject) values ('system', 'test.made', $1) returning id::text as id`;

describe('the migration to partitions of a database with rows', () => {
  let database: MigratingDatabase;
  let client: pg.Client;

  beforeEach(async () => {
    database = await createMigratingDatabase();
    ({ client } = database);
    for (const statement of [...AS_BEFORE, TRIGGERS_BEFORE]) await client.query(statement);
    await client.query(
      `insert into audit (actor, action, subject) select 'system', 'test.made', n::text from generate_series(1, 20000) n`,
    );
  }, 60_000);

  afterEach(async () => {
    await database.remove();
  });

  test('writers go on meanwhile, ids go on behind it, and grants stay', async () => {
    await client.query('grant select on audit to public');
    const writer = await database.connect();
    let isOver = false;
    let slowest = 0;
    const ids: number[] = [];
    const writing = (async () => {
      while (!isOver) {
        const began = performance.now();
        // A statement that its connection has planned already, as those of the service are.
        const { rows } = await writer.query({ name: 'insert', text: INSERT, values: [`new ${ids.length}`] });
        slowest = Math.max(slowest, performance.now() - began);
        ids.push(Number(rows[0].id));
      }
    })();
    await expect(database.migrate()).resolves.toEqual(['0015-partitions']);
    const until = ids.length + 20;
    while (ids.length < until) await new Promise((resolve) => setTimeout(resolve, 5));
    isOver = true;
    await writing;
    await writer.end();
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => id > 20_000 && id < PARTITION_IDS)).toBe(true);
    const { rows } = await client.query('select count(*)::int as count from audit');
    expect(rows).toEqual([{ count: 20_000 + ids.length }]);
    const { rows: may } = await client.query(`select has_table_privilege('public', 'audit', 'select') as may`);
    expect(may).toEqual([{ may: true }]);
    expect(slowest).toBeLessThan(5000);
  }, 60_000);

  test('somebody who reads for long is not waited for while others wait: they go on in between', async () => {
    const reader = await database.connect();
    await reader.query('begin');
    await reader.query('select count(*) from audit');
    const migrating = database.migrate();
    for (let writes = 0; writes < 5; writes++) {
      const began = performance.now();
      await client.query(INSERT, ['beside']);
      // A quarter of a second, and what a busy machine adds.
      expect(performance.now() - began).toBeLessThan(2000);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await reader.query('commit');
    await reader.end();
    await expect(migrating).resolves.toEqual(['0015-partitions']);
  }, 60_000);

  test('a migration that ended half-way is made by the next', async () => {
    await client.query(`alter table audit add constraint audit_fits_p1 check (id < ${PARTITION_IDS}) not valid`);
    await expect(database.migrate()).resolves.toEqual(['0015-partitions']);
    const { rows } = await client.query(`select from pg_constraint where conname like '%_fits_p1'`);
    expect(rows).toEqual([]);
    await expect(database.migrate()).resolves.toEqual([]);
  }, 60_000);
});
