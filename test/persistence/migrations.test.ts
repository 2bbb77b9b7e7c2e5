import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../src/clock.ts';
import { MIGRATIONS } from '../../src/persistence/migrations/list.ts';
import { migrate, openDatabase } from '../../src/persistence/open.ts';
import { createLogger } from '../../src/telemetry.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { createDatabase, freePort, type PostgresDatabase } from '../support/postgres.ts';

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

  test('pending ones refuse a start that may not apply them', async () => {
    const opening = openDatabase({ ...options, url: database.url, migrateOnStart: false });
    await expect(opening).rejects.toMatchObject({ name: 'Refused' });
    await expect(opening).rejects.toThrow(
      `lacks ${MIGRATIONS.length} migration(s) (${MIGRATIONS.map(({ name }) => name).join(', ')}). Run \`usher migrate\``,
    );
  });

  test('several instances that start at once all succeed, and each migration runs once', async () => {
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

  test('ping tells when the database is not migrated any more', async () => {
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

  test('a database of a newer version is refused, whatever a start may do', async () => {
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

  test('a server that is not there is refused with its place, and without its password', async () => {
    const url = `postgresql://somebody:canary@127.0.0.1:${await freePort()}/usher`;
    const attempts = [
      () => openDatabase({ ...options, url, migrateOnStart: true }),
      () => migrate({ ...options, url }),
    ];
    for (const start of attempts) {
      const attempt = start();
      await expect(attempt).rejects.toMatchObject({ name: 'Refused' });
      await expect(attempt).rejects.toThrow(
        /^The PostgreSQL at 127\.0\.0\.1:\d+, database usher, cannot be used: .*ECONNREFUSED/,
      );
      await expect(attempt).rejects.not.toThrow('canary');
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

  test('a second time there is nothing to do, and a newer one is refused and let go of', async () => {
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
