import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createDatabase, databaseEnv, type PostgresDatabase } from '../support/postgres.ts';
import { usher } from './harness.ts';

/** The end of an upgrade (docs/reference/time.md#upgrade). */

const folder = mkdtempSync(join(tmpdir(), 'usher-finish-'));
const base = { DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'silent' };

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('usher migrate --finish', () => {
  let database: PostgresDatabase;
  let env: Record<string, string>;
  const sessions: pg.Client[] = [];

  beforeEach(async () => {
    database = await createDatabase();
    env = { ...base, ...databaseEnv(database.url) };
    const client = await connect('upgrade of a test');
    await client.query(`update setting set value = '1' where key = 'rules'`);
  });

  afterEach(async () => {
    for (const session of sessions.splice(0)) await session.end();
    await database.drop();
  });

  async function connect(name: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url, application_name: name });
    await client.connect();
    sessions.push(client);
    return client;
  }

  async function rules(): Promise<unknown> {
    const client = await connect('reader of a test');
    return (await client.query(`select value from setting where key = 'rules'`)).rows[0]?.value;
  }

  test('it ends the upgrade once', async () => {
    expect(await usher(['migrate'], { env })).toMatchObject({ code: 0, stdout: 'No pending migrations.\n' });
    expect(await rules()).toBe(1);
    const ended = await usher(['migrate', '--finish'], { env });
    expect(ended).toMatchObject({ code: 0, stdout: 'No pending migrations. The upgrade is finished.\n' });
    expect(await rules()).toBe(2);
    const again = await usher(['migrate', '--finish', '--json'], { env });
    expect(JSON.parse(again.stdout)).toEqual({ applied: [], finished: false });
  });

  test.each(['usher', 'usher-listen'])('it is refused while a session is named %s', async (name) => {
    const old = await connect(name);
    const refused = await usher(['migrate', '--finish'], { env });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^Processes of the version before are still there \(1 session .*--force/);
    expect(await rules()).toBe(1);
    await old.end();
    sessions.splice(sessions.indexOf(old), 1);
    expect(await usher(['migrate', '--finish'], { env })).toMatchObject({ code: 0 });
    expect(await rules()).toBe(2);
  });

  test('with --force sessions of that name are passed over', async () => {
    await connect('usher');
    expect(await usher(['migrate', '--finish', '--force'], { env })).toMatchObject({ code: 0 });
    expect(await rules()).toBe(2);
  });

  test('--force alone is refused', async () => {
    expect(await usher(['migrate', '--force'], { env })).toMatchObject({
      code: 1,
      stderr: '--force belongs to --finish.\n',
    });
  });
});

test('an embedded database needs no end of its upgrade', async () => {
  const env = { ...base, DATA_DIR: join(folder, 'embedded') };
  const done = await usher(['migrate', '--finish', '--json'], { env });
  expect(JSON.parse(done.stdout)).toMatchObject({ finished: false });
}, 60_000);
