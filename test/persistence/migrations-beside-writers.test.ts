import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { migratePostgres } from '../../src/persistence/migrations/migrator.ts';
import { createMigratingDatabase, type MigratingDatabase } from './migrating.ts';

/** Migrations of a service that runs: its writes and they lock the same tables. */

const PENDING = ['0024-role-names', '0028-smtp-oauth'];

let database: MigratingDatabase;
let writer: pg.Client;

beforeEach(async () => {
  database = await createMigratingDatabase();
  await database.client.query(`
    alter table role drop column name;
    alter table brand drop column smtp_auth, drop column smtp_token_url, drop column smtp_client_id,
      drop column smtp_client_secret, drop column smtp_scope, drop column smtp_refresh_token;
    drop table brand_refresh;
    delete from mikro_orm_migrations where name in ('${PENDING.join("', '")}')`);
  writer = await database.connect();
  // The server ends the one that looks for a deadlock first.
  await writer.query(`set deadlock_timeout = '1min'; begin; lock table brand in access share mode`);
}, 60_000);

afterEach(async () => {
  await writer.end();
  await database.remove();
});

/** Resolves when a session waits for the table that the writer has locked. */
async function waitsForBrand(): Promise<void> {
  for (;;) {
    const { rowCount } = await database.client.query(
      `select from pg_locks where relation = 'brand'::regclass and not granted`,
    );
    if (rowCount !== 0) return;
  }
}

test('a migration that the server ends for a write which waits for it begins again', async () => {
  const migrating = database.migrate();
  await waitsForBrand();
  await writer.query('select from role');
  await writer.query('commit');
  expect(await migrating).toEqual(PENDING);
});

test('a migration waits a limited time for a table, changes nothing, and says so', async () => {
  const options = { clock: systemClock, log: createLogger('silent'), tableWaitMs: 100 };
  const migrating = migratePostgres({ ...options, url: database.url });
  await expect(migrating).rejects.toMatchObject({ name: 'Refused' });
  await expect(migrating).rejects.toThrow(/^A table was locked by another session .* nothing was migrated\./);
  await writer.query('commit');
  expect(await database.migrate()).toEqual(PENDING);
});
