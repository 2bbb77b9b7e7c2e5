import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import type { CheckResult } from '../../src/gen/api.ts';
import { MIGRATIONS } from '../../src/persistence/migrations/list.ts';
import { migrate } from '../../src/persistence/open.ts';
import { SHOP } from '../faults/shop.ts';
import { describeApplications, sendBySystem } from '../notifications/support.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { EventReader } from '../support/event-reader.ts';
import { PgBouncer, WORKING_LINES } from '../support/pgbouncer.ts';
import { createDatabase, type PostgresDatabase, SERVER_VARIABLE } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { fatal, startRefusingPostgres } from '../support/refusing-postgres.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * A real PgBouncer in transaction mode, with the lines that docs/guides/postgresql.md gives, and without them. Not part of `npm test`:
 * PgBouncer 1.21 or newer must be installed, or named in PGBOUNCER.
 */
const ADA = 'ada@example.com';
const GRANT: Operation = { kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'] };
const REVOKE: Operation = { kind: 'roles-of-user', app: 'shop', email: ADA, roles: [] };
const options = { dataDir: '', clock: systemClock, log: createLogger('silent'), migrationWaitMs: 10_000 };

const server = process.env[SERVER_VARIABLE] ?? '';
const directories: string[] = [];
let database: PostgresDatabase;
let admin: pg.Client;

beforeAll(async () => {
  database = await createDatabase({ empty: true });
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
});

afterAll(async () => {
  await admin.end();
  await database.drop();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

async function instance(url: string, directUrl?: string): Promise<RunningUsher> {
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-pooler-'));
  directories.push(dataDir);
  const env: Record<string, string> = directUrl === undefined ? {} : { DATABASE_DIRECT_URL: directUrl };
  return await startUsher({ url, dataDir }, { env });
}

async function write({ app }: RunningUsher, operation: Operation): Promise<{ revision: string; number: number }> {
  return await app.database.change((tx) => carryOut(tx, operation));
}

async function check({ app, rest }: RunningUsher, minRevision = ''): Promise<{ status: number; allowed?: boolean }> {
  const response = await fetch(`${rest}/api/check`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-internal-api-key': app.localKey ?? '',
      ...(minRevision === '' ? {} : { 'usher-min-revision': minRevision }),
    },
    body: JSON.stringify({ email: ADA, app: 'shop', permission: 'read' }),
  });
  const { data } = (await response.json()) as { data?: CheckResult };
  return { status: response.status, ...data };
}

/** How long after its acknowledgement the other one sees a write: of many, in ms, in ascending order. */
async function delays(writer: RunningUsher, reader: RunningUsher, writes: number): Promise<number[]> {
  const found: number[] = [];
  for (let left = writes; left > 0; left--) {
    const { number } = await write(writer, left % 2 === 0 ? GRANT : REVOKE);
    const began = performance.now();
    while (reader.app.engine.cursor < number) await new Promise((resolve) => setTimeout(resolve, 1));
    found.push(performance.now() - began);
  }
  return found.sort((a, b) => a - b);
}

/** How long after a send's 202 an open stream of the other one tells it: likewise. */
async function streamDelays(sender: RunningUsher, reader: RunningUsher, sends: number): Promise<number[]> {
  const url = `${reader.rest}/api/profile/me/notifications/stream`;
  const stream = await EventReader.open(url, await reader.token(ADA));
  const found: number[] = [];
  try {
    await stream.until(() => stream.counts().length === 1);
    while (found.length < sends) {
      const subject = `${found.length}`;
      const { status } = await sendBySystem(sender, { appCode: 'billing', recipients: [ADA], subject, payload: {} });
      expect(status).toBe(202);
      const began = performance.now();
      const told = found.length + 1;
      await stream.until(() => stream.subjects().length === told);
      found.push(performance.now() - began);
    }
  } finally {
    stream.close();
  }
  return found.sort((a, b) => a - b);
}

const at = (share: number, sorted: readonly number[]): number => sorted[Math.floor(share * sorted.length)] ?? 0;

describe('PgBouncer as it is installed', () => {
  test('is refused with the lines that it needs', async () => {
    const bouncer = await PgBouncer.start(server, { max_prepared_statements: 0 });
    try {
      await expect(migrate({ ...options, url: bouncer.url(database.url) })).rejects.toMatchObject({
        name: 'Refused',
        message: expect.stringMatching(/08P01.*ignore_startup_parameters = .*max_prepared_statements = 500/),
      });
    } finally {
      await bouncer.close();
    }
  });

  test('is refused where it keeps no prepared statements', async () => {
    // One connection to the server, so that one client finds what another one prepared.
    const bouncer = await PgBouncer.start(server, {
      ...WORKING_LINES,
      max_prepared_statements: 0,
      default_pool_size: 1,
    });
    const own = await createDatabase();
    const running: RunningUsher[] = [];
    const started = async () => {
      for (let starts = 3; starts > 0; starts--) running.push(await instance(bouncer.url(own.url)));
    };
    try {
      await expect(started()).rejects.toMatchObject({
        name: 'Refused',
        message: expect.stringMatching(
          /does not keep prepared statements.*max_prepared_statements = 500.*\((?:26000|42P05)\)/,
        ),
      });
    } finally {
      await Promise.all(running.map((usher) => usher.close()));
      await bouncer.close();
      await own.drop();
    }
  });
});

describe('PgBouncer without a server', () => {
  test.each([
    ['is away since the pooler was started', false, 'away'],
    ['is away since a moment', true, 'away'],
    ['starts since the pooler was started', false, 'starting'],
    ['starts since a moment', true, 'starting'],
  ])('where the server %s, a start waits for it', async (_, wasThere, state) => {
    const line = await LineCutter.start(server);
    const starting = await startRefusingPostgres(fatal('57P03', 'the database system is starting up'));
    const bouncer = await PgBouncer.start(line.url(server), { ...WORKING_LINES, server_login_retry: 1 });
    const own = await createDatabase();
    const dataDir = mkdtempSync(join(tmpdir(), 'usher-pooler-'));
    directories.push(dataDir);
    const lines: string[] = [];
    const log = createLogger('info', { write: (text) => void lines.push(text) });
    const begin = () =>
      startUsher({ url: bouncer.url(own.url), dataDir }, { env: { DATABASE_WAIT_MS: '60000' }, parts: { log } });
    try {
      if (wasThere) await (await begin()).close();
      if (state === 'starting') line.lead(starting.url);
      else line.down();
      const began = begin();
      const saidWhy = async () => {
        while (!lines.some((text) => text.includes('no connection to the server (08P01)'))) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      };
      // A start that does not wait rejects here.
      await Promise.race([began, saidWhy()]);
      line.lead(server);
      line.up();
      const running = await began;
      expect((await check(running)).status).toBe(200);
      await running.close();
    } finally {
      await bouncer.close();
      await starting.close();
      await line.close();
      await own.drop();
    }
  });
});

describe('PgBouncer with these lines', () => {
  let bouncer: PgBouncer;
  let url: string;

  beforeAll(async () => {
    bouncer = await PgBouncer.start(server, { ...WORKING_LINES, default_pool_size: 5 });
    url = bouncer.url(database.url);
  });

  afterAll(async () => {
    await bouncer?.close();
  });

  test('lets two migrate at once, and nothing of it stays on its connections', async () => {
    const applied = await Promise.all([migrate({ ...options, url }), migrate({ ...options, url })]);
    expect(applied.toSorted((a, b) => a.length - b.length)).toEqual([[], MIGRATIONS.map(({ name }) => name)]);
    const { rows } = await admin.query(`select from pg_locks where locktype = 'advisory'`);
    expect(rows).toEqual([]);
    // Its connections are still there, and whoever gets one finds it as it was made.
    const clients = Array.from({ length: 5 }, () => new pg.Client({ connectionString: url }));
    const seen = new Set<number>();
    await Promise.all(clients.map((client) => client.connect()));
    await Promise.all(
      clients.map(async (client) => {
        await client.query('begin');
        const found = await client.query(`select pg_backend_pid() as pid, current_setting('lock_timeout') as lock,
          current_setting('statement_timeout') as statement, pg_sleep(0.5)`);
        await client.query('commit');
        expect(found.rows).toMatchObject([{ lock: '0', statement: '0' }]);
        seen.add(found.rows[0].pid);
      }),
    );
    await Promise.all(clients.map((client) => client.end()));
    expect(seen.size).toBe(5);
    expect(await migrate({ ...options, url })).toEqual([]);
  });

  test('two instances answer alike, and with a direct line one sees the writes of the other sooner', async () => {
    const writer = await instance(url);
    const polling = await instance(url);
    const listening = await instance(url, database.url);
    try {
      for (const operation of SHOP) await write(writer, operation);
      for (const operation of [GRANT, REVOKE, GRANT]) {
        const { revision } = await write(writer, operation);
        for (const asked of [writer, polling, listening]) {
          expect(await check(asked, revision)).toMatchObject({ status: 200, allowed: operation === GRANT });
        }
      }
      const direct = at(0.5, await delays(writer, listening, 40));
      const pooled = at(0.5, await delays(writer, polling, 20));
      expect(pooled).toBeLessThan(1000);
      expect(2 * direct).toBeLessThan(pooled);
    } finally {
      await Promise.all([writer, polling, listening].map((running) => running.close()));
    }
  });

  test('with direct lines another instance sees writes, and its streams tell sends, about as soon as without a pooler', async () => {
    const pooled = [await instance(url, database.url), await instance(url, database.url)] as const;
    const plain = [await instance(database.url), await instance(database.url)] as const;
    try {
      await describeApplications(pooled[0]);
      const many = process.env.USHER_TABLE === undefined ? 40 : 400;
      const table = [];
      for (const [by, [here, there]] of [
        ['PgBouncer, direct lines', pooled],
        ['PostgreSQL itself', plain],
      ] as const) {
        const [writes, sends] = [await delays(here, there, many), await streamDelays(here, there, many / 2)];
        const [write, send] = [writes, sends].map((of) => ({ p50: at(0.5, of), p99: at(0.99, of) }));
        table.push({ by, write, send });
      }
      if (process.env.USHER_TABLE !== undefined) console.info(JSON.stringify(table, null, 1));
      // By the polls of instances that hear nothing it would be 125 ms and 2.5 s.
      expect(table[0]?.write?.p50).toBeLessThan(100);
      expect(table[0]?.send?.p50).toBeLessThan(1000);
    } finally {
      await Promise.all([...pooled, ...plain].map((running) => running.close()));
    }
  });

  test('may be restarted under a running instance', async () => {
    const running = await instance(url, database.url);
    try {
      await write(running, GRANT);
      expect(await check(running)).toMatchObject({ status: 200, allowed: true });
      await bouncer.restart();
      const { revision } = await write(running, REVOKE);
      expect(await check(running, revision)).toMatchObject({ status: 200, allowed: false });
    } finally {
      await running.close();
    }
  });
});
