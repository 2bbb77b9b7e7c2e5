import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { serve } from '../../src/app/serve.ts';
import { usherCommand } from '../../src/base/command.ts';
import { createDatabase, freePort, type PostgresDatabase, SERVER_VARIABLE } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { fatal, type RefusingPostgres, startRefusingPostgres } from '../support/refusing-postgres.ts';
import { type Outcome, usher, usherProcess } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'usher-start-'));
const base = { DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'silent', HTTP_PORT: '0', GRPC_PORT: '0' };

/** One line for the operator that says what is wrong and what would be right. */
function expectRefusal({ code, stdout, stderr }: Outcome, words: RegExp): void {
  expect(stderr).toMatch(words);
  expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 1, stdout: '', lines: 1 });
  expect(stderr).not.toMatch(/canary|\bat .*\.ts:/);
}

/** The length of a field, as it stands before it. */
const field = (length: number): string => String.fromCharCode(0, 0, 0, length);
/** The row of a version and of whether it is a standby. */
const RESULT = new RegExp(`${field(6)}(\\d{2})(\\d{4})${field(1)}f`);

const through = (url: string, change: (url: URL) => void): string => {
  const changed = new URL(url);
  change(changed);
  return changed.href;
};

describe('starts with an unusable database', () => {
  let server: RefusingPostgres;
  let database: PostgresDatabase;
  let admin: pg.Client;

  beforeAll(async () => {
    server = await startRefusingPostgres(null);
    database = await createDatabase({ empty: true });
    admin = new pg.Client({ connectionString: process.env[SERVER_VARIABLE] });
    await admin.connect();
    await admin.query('drop role if exists newcomer');
    await admin.query('create role newcomer login');
  }, 60_000);

  afterAll(async () => {
    await database?.drop();
    await admin?.query('drop role if exists newcomer');
    await admin?.end();
    await server?.close();
  });

  test.each([
    [fatal('28P01'), /password of the role somebody is wrong.*database\.url \(DATABASE_URL\).*\(28P01\)/],
    [fatal('28000', 'x', 'InitializeSessionUserId'), /no role somebody that may log in.*`create role somebody login/],
    [
      fatal('28000', 'no pg_hba.conf entry for host "canary", no encryption', 'ClientAuthentication'),
      /over TLS only\. Append \?sslmode=verify-full/,
    ],
    [
      fatal('28000', 'no pg_hba.conf entry for host "canary", SSL encryption', 'ClientAuthentication'),
      /pg_hba\.conf of the server has no line that admits the role somebody to the database usher/,
    ],
    [fatal('3D000'), /there is no database usher\..*`create database usher owner somebody`/],
    [fatal('42501'), /`grant connect on database usher to somebody`/],
    [fatal('53300'), /every connection of the server is in use.*DATABASE_POOL_SIZE.*max_connections/],
    [fatal('55000'), /`alter database usher allow_connections true`/],
    [fatal('57P03'), /starting, stopping or recovering/],
    [fatal('08P01', 'unsupported startup parameter: canary'), /pooler.*ignore_startup_parameters = statement_timeout,/],
    [fatal('XX000'), /connecting failed\. Check the log of the server.*\(XX000\)/],
    [null, /closed the connection without an answer.*sslmode=verify-full/],
  ])('a start explains the refusal %j and its fix', async (refusal, words) => {
    server.refusal = refusal;
    for (const command of ['migrate', 'serve']) {
      expectRefusal(await usher([command], { env: { ...base, DATABASE_URL: server.url }, serve }), words);
    }
  });

  test('a start explains missing TLS of the server', async () => {
    const env = { ...base, DATABASE_URL: `${server.url}?sslmode=verify-full` };
    expectRefusal(
      await usher(['migrate'], { env }),
      /the server does not support TLS.*Remove sslmode from database\.url/,
    );
  });

  test('a start explains a closed port and an unknown host', async () => {
    const nothing = `postgresql://somebody:canary@127.0.0.1:${await freePort()}/usher`;
    expectRefusal(
      await usher(['migrate'], { env: { ...base, DATABASE_URL: nothing } }),
      /nothing listens at 127\.0\.0\.1/,
    );
    const unknown = 'postgresql://somebody:canary@no-such-host.invalid/usher';
    expectRefusal(
      await usher(['migrate'], { env: { ...base, DATABASE_URL: unknown } }),
      /the host name no-such-host\.invalid is unknown/,
    );
  });

  test('a start explains a missing database, a missing role and missing rights on a real server', async () => {
    const cases: [(url: URL) => void, RegExp][] = [
      [
        (url) => (url.pathname = '/no-such-one'),
        /no database no-such-one\..*`create database "no-such-one" owner postgres`/,
      ],
      [(url) => (url.username = 'no_such_role'), /no role no_such_role that may log in/],
      [(url) => (url.username = 'newcomer'), /`grant create on schema public to newcomer`/],
    ];
    for (const [change, words] of cases) {
      const env = { ...base, DATABASE_URL: through(database.url, change) };
      expectRefusal(await usher(['migrate'], { env }), words);
    }
  });

  test('a start with an unusable database exits with 1 and one line on stderr', async () => {
    const url = through(database.url, (changed) => (changed.pathname = '/no-such-one'));
    const outcome = await usherProcess(['serve'], { ...base, DATABASE_URL: url });
    expectRefusal(
      outcome,
      /^The PostgreSQL at 127\.0\.0\.1:\d+, database no-such-one, cannot be used: there is no database/,
    );
  }, 30_000);

  test('a start refuses a server that is too old', async () => {
    const lie = (bytes: Buffer): Buffer =>
      Buffer.from(bytes.toString('latin1').replace(RESULT, `${field(6)}13$2${field(1)}f`), 'latin1');
    const line = await LineCutter.start(database.url, { answers: () => lie });
    try {
      for (const command of ['migrate', 'serve']) {
        expectRefusal(
          await usher([command], { env: { ...base, DATABASE_URL: line.url(database.url) }, serve }),
          /is version 13, and Usher needs 14 or newer\. Upgrade the server/,
        );
      }
    } finally {
      await line.close();
    }
  });
});

describe('misspelled variables', () => {
  test('misspelled variables are reported on stderr by every command without failing it', async () => {
    const env = { ...base, DATABASE_ULR: 'postgresql://x', LOG_LEVLE: 'debug' };
    const outcome = await usher(['config'], { env });
    expect(outcome).toMatchObject({
      code: 0,
      stderr:
        'DATABASE_ULR is not known; did you mean DATABASE_URL?\nLOG_LEVLE is not known; did you mean LOG_LEVEL?\n',
    });
    expect((await usher(['config', '--json'], { env })).stderr).toBe('');
  });

  test("misspelled variables appear in the service's log, and beside the error of a failed start", async () => {
    const told: unknown[] = [];
    const fake: typeof serve = async ({ warnings }) => void told.push(warnings);
    expect((await usher(['serve'], { env: { ...base, DATABASE_ULR: 'x' }, serve: fake })).code).toBe(0);
    expect(told).toEqual([['DATABASE_ULR is not known; did you mean DATABASE_URL?']]);
    const { code, stderr } = await usher(['serve'], {
      env: { ...base, NODE_ENV: 'production', DATABASE_ULR: 'x' },
      serve,
    });
    expect(code).toBe(1);
    expect(stderr).toContain('DATABASE_ULR is not known; did you mean DATABASE_URL?\n');
    expect(stderr).toMatch(/database\.url \(DATABASE_URL\): is required in production/);
  });
});

describe('the demonstration on PostgreSQL', () => {
  let database: PostgresDatabase;

  beforeAll(async () => {
    database = await createDatabase({ empty: true });
  });

  afterAll(async () => {
    await database?.drop();
  });

  test('the banner offers the demonstration, usher demo loads it, and the banner then mentions it', async () => {
    const env = { ...base, DATABASE_URL: database.url };
    const before = await usher(['serve'], { env, serve });
    expect(before.stderr).toBe('');
    expect(before.stdout).toContain(`  ${usherCommand('demo')}\n`);
    expect(before.stdout).not.toContain('clara@example.com');
    const first = await usher(['demo'], { env });
    expect(first).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Application atelier') });
    expect(first.stdout).toContain(usherCommand('check clara@example.com atelier project.access'));
    const second = await usher(['demo', '--json'], { env });
    expect(JSON.parse(second.stdout)).toMatchObject({ summary: { create: 0, change: 0, remove: 0 } });
    expect((await usher(['demo'], { env })).stdout).toContain('The demonstration is already loaded.');
    const after = await usher(['serve'], { env, serve });
    expect(after.stdout).toContain('may clara@example.com project.access?\n      allowed: a role grants');
    expect(after.stdout).toContain(usherCommand('effective ben@example.com atelier'));
    expect(after.stdout).not.toContain(usherCommand('demo'));
  }, 60_000);

  test('a modified demonstration is not mentioned, and does not prevent a start', async () => {
    const env = { ...base, DATABASE_URL: database.url };
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      for (const apart of [
        "delete from permission where code = 'project.access'",
        "delete from entity where code = 'project' and application_id = (select id from application where code = 'atelier')",
        "delete from application where code = 'atelier'",
      ]) {
        expect((await usher(['demo'], { env })).code).toBe(0);
        expect((await usher(['serve'], { env, serve })).stdout).toContain('may clara@example.com project.access?');
        await client.query(apart);
        const { code, stdout, stderr } = await usher(['serve'], { env, serve });
        expect({ apart, code, stderr }).toEqual({ apart, code: 0, stderr: '' });
        expect(stdout).not.toContain('clara@example.com');
      }
    } finally {
      await client.end();
    }
  }, 60_000);

  test('the demonstration is refused in production, and writes nothing', async () => {
    const env = {
      ...base,
      NODE_ENV: 'production',
      DATABASE_URL: database.url,
      AUTH_ISSUER: 'https://idp.example.com',
      AUTH_AUDIENCE: 'usher',
      INTERNAL_API_KEY: 'a-key-of-more-than-24-characters',
      PUBLIC_URL: 'https://usher.example.com',
    };
    expectRefusal(
      await usher(['demo'], { env }),
      /^The demonstration is for development only, and NODE_ENV is production/,
    );
  });
});

describe('the demonstration on an embedded database', () => {
  test('the demonstration is loaded into an embedded database that is not in use', async () => {
    const env = { ...base, DATA_DIR: join(folder, 'embedded') };
    const { code, stdout } = await usher(['demo'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Application atelier') });
    expect((await usher(['demo'], { env })).stdout).toContain('The demonstration is already loaded.');
  }, 60_000);
});
