import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { MIGRATIONS } from '../../src/persistence/migrations/list.ts';
import { migrate, openDatabase } from '../../src/persistence/open.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { createDatabase, freePort, type PostgresDatabase } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { TransactionPooler } from '../support/transaction-pooler.ts';

const log = createLogger('silent');
const clock = systemClock;
const options = { dataDir: join(tmpdir(), randomUUID()), poolSize: 2, clock, log };

describe('migrations of a PostgreSQL', () => {
  let database: PostgresDatabase;

  beforeAll(async () => {
    database = await createDatabase({ empty: true });
  });

  afterAll(async () => {
    await database.drop();
  });

  test('a start that may not apply pending migrations is refused', async () => {
    const opening = openDatabase({ ...options, url: database.url, migrateOnStart: false });
    await expect(opening).rejects.toMatchObject({ name: 'Refused' });
    const names = MIGRATIONS.map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(['0001-policy', '0002-people']);
    await expect(opening).rejects.toThrow(
      `lacks ${names.length} migrations (${names.join(', ')}). Run \`npm run --silent usher -- migrate\``,
    );
  });

  test('instances that start at once all succeed, and each migration runs once', async () => {
    const start = () => openDatabase({ ...options, url: database.url, migrateOnStart: true });
    const instances = await Promise.all([start(), start(), start(), migrate({ ...options, url: database.url })]);
    for (const instance of instances) if ('ping' in instance) await instance.ping();
    for (const instance of instances) if ('close' in instance) await instance.close();
    await expect(migrate({ ...options, url: database.url })).resolves.toEqual([]);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query('select name from mikro_orm_migrations order by id');
    await client.end();
    expect(rows).toEqual(MIGRATIONS.map(({ name }) => ({ name })));
  });

  test('ping reports when the database lacks migrations', async () => {
    const instance = await openDatabase({ ...options, url: database.url, migrateOnStart: false });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('begin; alter table mikro_orm_migrations rename to hidden; commit');
    await expect(instance.ping()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await client.query('alter table hidden rename to mikro_orm_migrations');
    await expect(instance.ping()).resolves.toBeUndefined();
    await client.query(`update mikro_orm_migrations set name = 'other' where name = '0001-policy'`);
    await expect(instance.ping()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await client.query(`update mikro_orm_migrations set name = '0001-policy' where name = 'other'`);
    await client.end();
    await instance.close();
  });

  test('a database of a newer version is refused by every start', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`insert into mikro_orm_migrations (name) values ('9999-tomorrow')`);
    await client.end();
    for (const migrateOnStart of [true, false]) {
      const opening = openDatabase({ ...options, url: database.url, migrateOnStart });
      await expect(opening).rejects.toMatchObject({ name: 'Refused' });
      await expect(opening).rejects.toThrow(/migrated by a newer Usher \(it has 9999-tomorrow, unknown to this one\)/);
    }
    await expect(migrate({ ...options, url: database.url })).rejects.toThrow('newer Usher');
  });

  test('an unreachable server is refused with its place, and without its password', async () => {
    const url = `postgresql://somebody:canary@127.0.0.1:${await freePort()}/usher`;
    const attempts = [
      () => openDatabase({ ...options, url, migrateOnStart: true }),
      () => migrate({ ...options, url }),
    ];
    for (const start of attempts) {
      const attempt = start();
      await expect(attempt).rejects.toMatchObject({ name: 'Refused' });
      await expect(attempt).rejects.toThrow(
        /^The PostgreSQL at 127\.0\.0\.1:\d+, database usher, cannot be used: nothing listens at .*ECONNREFUSED/,
      );
      await expect(attempt).rejects.not.toThrow('canary');
    }
  });
});

describe('the lock of the migrations', () => {
  const LOCK = 7_411_532_001;
  let database: PostgresDatabase;
  let client: pg.Client;

  beforeEach(async () => {
    database = await createDatabase({ empty: true });
    client = new pg.Client({ connectionString: database.url, application_name: 'old-usher' });
    await client.connect();
  });

  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const tables = async (): Promise<number> =>
    (await client.query(`select from pg_tables where schemaname = 'public'`)).rowCount ?? 0;

  test('the migration lock stays on no connection of a transaction pooler', async () => {
    const pooler = await TransactionPooler.start(database.url, { size: 4 });
    try {
      const first = await migrate({ ...options, url: pooler.url, migrationWaitMs: 500 });
      expect(first).toEqual(MIGRATIONS.map(({ name }) => name));
      // Other tests migrate databases of the same server.
      const { rows } = await client.query(`select from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`);
      expect(rows).toEqual([]);
      // Each of these is given other connections of the pooler.
      for (let again = 0; again < 5; again++) {
        await expect(migrate({ ...options, url: pooler.url, migrationWaitMs: 500 })).resolves.toEqual([]);
      }
      const kept = await client.query(`select from pg_stat_activity where datname = current_database()`);
      expect(kept.rowCount).toBeGreaterThan(1);
    } finally {
      await pooler.close();
    }
  });

  test('a start waits a limited time for the migration lock of an older version, and reports its holder', async () => {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    const [own] = (await client.query('select pg_backend_pid() as pid')).rows;
    const waiting = migrate({ ...options, url: database.url, migrationWaitMs: 200 });
    await expect(waiting).rejects.toMatchObject({ name: 'Refused' });
    await expect(waiting).rejects.toThrow(
      new RegExp(
        `process ${own.pid} of the server \\(old-usher, from 127\\.0\\.0\\.1, idle for \\d+ s\\).*pg_terminate_backend\\(${own.pid}\\)`,
      ),
    );
    expect(await tables()).toBe(0);
    await client.query('select pg_advisory_unlock($1)', [LOCK]);
    await expect(migrate({ ...options, url: database.url })).resolves.toHaveLength(MIGRATIONS.length);
  });

  test('the migration lock ends with a cut connection, and nothing of the migration stays', async () => {
    const line = await LineCutter.start(database.url);
    try {
      const cut = line.cutOn('create table policy_change', 'after');
      const migrating = migrate({ ...options, url: line.url(database.url) });
      await expect(migrating).rejects.toMatchObject({ name: 'Refused' });
      await cut;
      expect(await tables()).toBeLessThanOrEqual(1);
      await expect(migrate({ ...options, url: database.url })).resolves.toHaveLength(MIGRATIONS.length);
    } finally {
      await line.close();
    }
  });
});

describe('migrations of an embedded database', () => {
  let storage: TestStorage;

  beforeAll(async () => {
    storage = await createStorage('pglite');
  }, 60_000);

  afterAll(async () => {
    await storage.remove();
  });

  test('an embedded database has no migrations the second time, and a newer one is refused and released', async () => {
    const where = { ...options, url: null, dataDir: storage.dataDir };
    await expect(migrate(where)).resolves.toEqual([]);
    const database = await storage.open();
    await database.change(async (tx) => {
      await sql`insert into mikro_orm_migrations (name) values ('9999-tomorrow')`.execute(tx.kysely);
      return { result: undefined, scopes: [] };
    });
    await database.close();
    await expect(migrate(where)).rejects.toThrow('newer Usher');
    // Not "another process": the refusal has given the directory back.
    await expect(storage.open()).rejects.toThrow('newer Usher');
  });
});
