import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';
import { PARTITION_IDS } from '../../src/persistence/migrations/partitioned.ts';
import { createMigratingDatabase, type MigratingDatabase } from './migrating.ts';

const INSERT = `insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
  select 1, 1, 1, 's', '{}', case n % 10 when 0 then 'failed' else 'sent' end, 'en' from generate_series(1, $1::int) n`;

let database: MigratingDatabase;
let client: pg.Client;

/** A database of the version before, with rows in two partitions. */
beforeEach(async () => {
  database = await createMigratingDatabase();
  ({ client } = database);
  // Nobody is told of rows that nothing has read.
  await client.query(`
    set session_replication_role = replica;
    drop index notification_unsent;
    delete from mikro_orm_migrations where name = '0016-unsent';
    create table notification_p2 (like notification including all excluding identity);
    alter table notification attach partition notification_p2 for values from (${PARTITION_IDS}) to (${2 * PARTITION_IDS});
    insert into application (id, code, name) overriding system value values (1, 'shop', 'Shop');
    insert into notification_type (id, application_id, code, name) overriding system value values (1, 1, 'generic', 'G');
    insert into person (id, email) overriding system value values (1, 'ann@example.com');
    set session_replication_role = origin`);
  await client.query(INSERT, [20_000]);
  await client.query(`select setval(pg_get_serial_sequence('notification', 'id'), ${PARTITION_IDS})`);
  await client.query(INSERT, [20_000]);
}, 60_000);

afterEach(async () => {
  await database.remove();
});

/** Of the whole table and of each partition: whether it is valid and belongs to the whole. */
async function indexes(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname || case when not x.indisvalid then ' (invalid)' else '' end || case when c.relispartition then ' of it' else '' end as name
       from pg_index x join pg_class c on c.oid = x.indexrelid where c.relname like 'notification_unsent%' order by c.relname`,
  );
  return rows.map(({ name }) => name);
}
const WHOLE = ['notification_unsent', 'notification_unsent_p1 of it', 'notification_unsent_p2 of it'];

test('writers go on while a long report keeps the index from being made, and the partitions have it in the end', async () => {
  const report = await database.connect();
  await report.query('begin isolation level repeatable read');
  await report.query('select count(*) from notification');
  const migrating = database.migrate();
  // Made of the first partition, as far as that goes while the report is there.
  while (!(await indexes()).includes('notification_unsent_p1 (invalid)'))
    await new Promise((resolve) => setTimeout(resolve, 20));
  for (let writes = 0; writes < 5; writes++) {
    const began = performance.now();
    await client.query(INSERT, [10]);
    expect(performance.now() - began).toBeLessThan(2000);
  }
  await report.query('commit');
  await report.end();
  await expect(migrating).resolves.toEqual(['0016-unsent']);
  expect(await indexes()).toEqual(WHOLE);
  const { rows } = await client.query(`select count(*)::int as count from notification where status = 'failed'`);
  expect(rows).toEqual([{ count: 4005 }]);
}, 60_000);

test('an index of a migration that was ended half-way is made anew', async () => {
  await client.query("create index notification_unsent_p1 on notification_p1 (status, id) where status <> 'sent'");
  await client.query(`update pg_index set indisvalid = false where indexrelid = 'notification_unsent_p1'::regclass`);
  await expect(database.migrate()).resolves.toEqual(['0016-unsent']);
  expect(await indexes()).toEqual(WHOLE);
  await expect(database.migrate()).resolves.toEqual([]);
}, 60_000);

test('of several that begin at once, one migrates', async () => {
  const done = await Promise.all([1, 2, 3].map(() => database.migrate()));
  expect(done.flat()).toEqual(['0016-unsent']);
  expect(await indexes()).toEqual(WHOLE);
}, 60_000);
