import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { durableCommit } from '../../src/persistence/barrier.ts';
import type { Committed, Database, Outcome, Scope, Tx } from '../../src/persistence/database.ts';
import { ClientPool } from '../../src/persistence/driver/postgresql.ts';
import { migrate, type OpenOptions, openDatabase } from '../../src/persistence/open.ts';
import { createDatabase } from '../support/postgres.ts';
import { type DataCopy, type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { LineCutter } from '../support/proxy.ts';
import { insertApplication, personId } from '../support/rows.ts';

/**
 * Early release of the lock of the numbering (docs/adr/0024-early-release.md) on a server that waits for a synchronous standby which
 * never comes, and where another takes its place between the commit and the barrier.
 */
const silent = { clock: systemClock, log: createLogger('silent') };
const OPTIONS: Omit<OpenOptions, 'url'> = {
  dataDir: '',
  poolSize: 5,
  migrateOnStart: false,
  earlyRelease: true,
  ...silent,
};

let server: PostgresServer;
let url: string;
let admin: pg.Client;
let database: Database;
let line: LineCutter;
const servers: PostgresServer[] = [];

beforeAll(async () => {
  server = await startPostgres({ maxConnections: 60 });
  servers.push(server);
  ({ url } = await createDatabase({ server, empty: true }));
  await migrate({ url, dataDir: '', ...silent });
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
  // The servers of tests are started with less.
  await admin.query('alter role postgres set synchronous_commit = on');
}, 60_000);

afterAll(async () => {
  await admin?.end();
  await Promise.all(servers.map((one) => one.close()));
}, 60_000);

beforeEach(async () => {
  line = await LineCutter.start(url);
  database = await openDatabase({ ...OPTIONS, url: line.url(url) });
});

afterEach(async () => {
  await standby(false);
  await database.close();
  await line.close();
});

/** A commit that waits for the standby. */
let probe: Promise<unknown> = Promise.resolve();

/** Whether every commit waits for a standby that never comes. */
async function standby(isAwaited: boolean): Promise<void> {
  await admin.query(`alter system set synchronous_standby_names = '${isAwaited ? 'nobody' : ''}'`);
  await admin.query('select pg_reload_conf()');
  // Another process of the server has to hear of it first.
  while (isAwaited && !(await isWaitedFor()));
  if (!isAwaited) await probe;
}

async function isWaitedFor(): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: 'probe' });
  await client.connect();
  let isOver = false;
  probe = client.query(`select pg_logical_emit_message(true, 'probe'::text, ''::text)`).finally(async () => {
    isOver = true;
    await client.end();
  });
  for (;;) {
    const { rows: found } = await admin.query(
      `select from pg_stat_activity where application_name = 'probe' and wait_event = 'SyncRep'`,
    );
    if (found.length > 0) return true;
    if (isOver) return false;
  }
}

const write = (scope: Scope, on = database): Promise<Committed<Scope>> =>
  on.change(async () => ({ result: scope, scopes: [scope] }));

async function rows(): Promise<{ number: string; scopes: string[] }[]> {
  return (await admin.query('select revision as number, scopes from policy_change order by revision')).rows;
}

async function until(reached: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 10_000; !(await reached()); ) {
    if (performance.now() > end) throw new Error('it did not come to pass');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What has been settled so far, by name. */
function watch(): { settled: string[]; see: (name: string, work: Promise<unknown>) => Promise<void> } {
  const settled: string[] = [];
  const see = async (name: string, work: Promise<unknown>): Promise<void> => {
    try {
      await work;
      settled.push(name);
    } catch (error) {
      settled.push(`${name}: ${error instanceof UsherError ? (error.reason ?? error.code) : String(error)}`);
    }
  };
  return { settled, see };
}

describe('while no standby confirms', () => {
  test('writes release the numbering to each other, and none is acknowledged', async () => {
    const before = (await rows()).length;
    await standby(true);
    const { settled, see } = watch();
    const all = Array.from({ length: 8 }, (_, i) => see(`${i}`, write(`u:w${i}@example.com`)));
    await until(async () => (await rows()).length === before + 8);
    expect(settled).toEqual([]);
    await standby(false);
    await Promise.all(all);
    expect(settled).toHaveLength(8);
    expect(settled.filter((one) => one.includes(':'))).toEqual([]);
  });

  test.each(['the same instance', 'an instance without the key'])(
    '%s tells nobody of a state that may still be lost: a repeated revocation, a record that is gone, a send',
    async (who) => {
      const other = who === 'the same instance' ? null : await openDatabase({ ...OPTIONS, url, earlyRelease: false });
      const asked = other ?? database;
      await standby(true);
      const { settled, see } = watch();
      const before = (await rows()).length;
      const revoking = see('revoked', write('u:gone@example.com'));
      await until(async () => (await rows()).length === before + 1);
      let ran = 0;
      const asking = <T>(name: string, work: (tx: Tx) => Promise<Outcome<T>>): Promise<void> =>
        see(
          name,
          asked.change((tx) =>
            work(tx).finally(() => {
              ran++;
            }),
          ),
        );
      const later = [
        asking('nothing left to revoke', async () => ({ result: 0, scopes: [] })),
        asking('not found', () => Promise.reject(new UsherError('NOT_FOUND', 'It was deleted.'))),
        asking('written without a revision', async (tx) => ({
          result: await personId(tx, `sent-by-${who.length}@example.com`),
          scopes: [],
        })),
        asking('audited', async () => ({
          result: 0,
          scopes: [],
          records: [{ actor: 'cli', action: 'thing.refused' }],
        })),
      ];
      // On a busy machine a transaction takes long to begin. What it has to do then is a round trip or two.
      await until(async () => ran === later.length);
      for (let trips = 0; trips < 20; trips++) await admin.query('select 1');
      await new Promise((resolve) => setTimeout(resolve, 400));
      expect(settled).toEqual([]);
      await standby(false);
      await Promise.all([revoking, ...later]);
      expect(settled.toSorted()).toEqual([
        'audited',
        'not found: NOT_FOUND',
        'nothing left to revoke',
        'revoked',
        'written without a revision',
      ]);
      await other?.close();
    },
  );

  test('closing waits for what is being made durable', async () => {
    const before = (await rows()).length;
    await standby(true);
    const { settled, see } = watch();
    const writing = see('written', write('u:late@example.com'));
    await until(async () => (await rows()).length === before + 1);
    const closing = see('closed', database.close());
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(settled).toEqual([]);
    await standby(false);
    await Promise.all([writing, closing]);
    expect(settled).toEqual(['written', 'closed']);
  });

  test('a write without the key holds the numbering until a standby confirms', async () => {
    const late = await openDatabase({ ...OPTIONS, url, earlyRelease: false });
    try {
      const before = (await rows()).length;
      await standby(true);
      const { settled, see } = watch();
      const writing = [see('one', write('u:one@example.com', late)), see('two', write('u:two@example.com', late))];
      await new Promise((resolve) => setTimeout(resolve, 400));
      expect((await rows()).length).toBe(before);
      await standby(false);
      await Promise.all(writing);
      expect(settled.toSorted()).toEqual(['one', 'two']);
    } finally {
      await late.close();
    }
  });

  test('a write without the key that changes nothing waits for nobody, where the newest one was not released early', async () => {
    const late = await openDatabase({ ...OPTIONS, url, earlyRelease: false });
    try {
      const { revision } = await write('u:durable@example.com', late);
      await standby(true);
      const nothing = late.change(async () => ({ result: 0, scopes: [] }));
      await expect(nothing).resolves.toMatchObject({ revision });
      const gone = late.change(() => Promise.reject(new UsherError('NOT_FOUND', 'It was deleted.')));
      await expect(gone).rejects.toMatchObject({ code: 'NOT_FOUND' });
    } finally {
      await standby(false);
      await late.close();
    }
  });
});

describe('between the commit and the barrier', () => {
  const dropped: string[] = [];
  let atCommit: (() => Promise<unknown>) | undefined;
  let failing: Database;

  beforeEach(async () => {
    dropped.length = 0;
    failing = await openDatabase({
      ...OPTIONS,
      url: line.url(url),
      failpoints: {
        hit: async (name) => {
          if (name !== 'after-commit') return;
          const act = atCommit;
          atCommit = undefined;
          await act?.();
        },
      },
    });
    failing.follow({ reach: () => Promise.resolve(), dropAll: () => dropped.push('all') });
  });

  afterEach(async () => {
    await failing.close();
  });

  /** The data as they are now, on a server of its own. */
  async function another(copy: DataCopy): Promise<{ url: string }> {
    const started = await startPostgres({ maxConnections: 60, from: copy });
    servers.push(started);
    return { url: url.replace(`:${server.port}/`, `:${started.port}/`) };
  }

  test('a lost connection is replaced, and the revision found again', async () => {
    await write('u:warm@example.com', failing);
    atCommit = () => Promise.resolve(line.lead(url));
    const { number } = await write('u:found@example.com', failing);
    expect((await rows()).at(-1)).toEqual({ number: `${number}`, scopes: ['u:found@example.com'] });
    expect(dropped).toEqual([]);
  });

  test('another server without the revision takes over: OUTCOME_UNKNOWN, and everything known is forgotten', async () => {
    await write('u:warm@example.com', failing);
    const there = await another(await server.copy());
    atCommit = () => Promise.resolve(line.lead(there.url));
    await expect(write('u:lost@example.com', failing)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      reason: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(/may have been lost/),
    });
    expect(dropped).toEqual(['all']);
    // It goes on there, and the number is used again.
    await expect(write('u:next@example.com', failing)).resolves.toMatchObject({ result: 'u:next@example.com' });
  });

  test('another server gives the same number to another change: OUTCOME_UNKNOWN', async () => {
    const { number } = await write('u:warm@example.com', failing);
    const there = await another(await server.copy());
    atCommit = async () => {
      const elsewhere = await openDatabase({ ...OPTIONS, url: there.url });
      expect((await write('u:elsewhere@example.com', elsewhere)).number).toBe(number + 1);
      await elsewhere.close();
      line.lead(there.url);
    };
    await expect(write('u:lost@example.com', failing)).rejects.toMatchObject({ reason: 'OUTCOME_UNKNOWN' });
  });

  test('a deletion that was seen and is lost is not told as one: UNAVAILABLE', async () => {
    const there = await another(await server.copy());
    // Once the transaction has read the log, and before the barrier.
    void line.cutOn('rollback', 'before').then(() => line.lead(there.url));
    const gone = failing.change(async (tx) => {
      await sql`select 1`.execute(tx.kysely);
      await write('u:deleted@example.com');
      throw new UsherError('NOT_FOUND', 'It was deleted.');
    });
    await expect(gone).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/have been lost/) });
  });

  test('closing waits for a write that has committed and not begun to wait', async () => {
    let closing: Promise<void> | undefined;
    atCommit = () => {
      closing = failing.close();
      return new Promise((resolve) => setTimeout(resolve, 300));
    };
    await expect(write('u:closing@example.com', failing)).resolves.toMatchObject({ result: 'u:closing@example.com' });
    await closing;
  });

  test('a line that swallows the barrier holds up nobody for longer than a second', async () => {
    await write('u:warm@example.com', failing);
    atCommit = async () => {
      line.swallow();
      setTimeout(() => line.up(), 300);
    };
    const began = performance.now();
    await expect(write('u:swallowed@example.com', failing)).resolves.toMatchObject({ number: expect.any(Number) });
    expect(performance.now() - began).toBeLessThan(5000);
    await expect(write('u:later@example.com', failing)).resolves.toMatchObject({ number: expect.any(Number) });
    expect(performance.now() - began).toBeLessThan(8000);
  });

  test('where the database stays away nobody is told that it is done', async () => {
    await write('u:warm@example.com', failing);
    atCommit = () => Promise.resolve(line.down());
    const began = performance.now();
    await expect(write('u:away@example.com', failing)).rejects.toMatchObject({ reason: 'OUTCOME_UNKNOWN' });
    expect(performance.now() - began).toBeLessThan(6000);
    expect(dropped).toEqual(['all']);
    line.up();
  });
});

test('a connection on which a revision was not found is not used again, since it may lead to a former primary', async () => {
  const pool = new ClientPool({ name: 'main', url, max: 1, statementTimeoutMs: 15_000, lockTimeoutMs: 0, ...silent });
  try {
    const commit = durableCommit(pool, systemClock);
    const pid = async () =>
      (await pool.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })).rows[0]?.pid;
    const { revision } = await write('u:there@example.com');
    const [number, nonce] = revision.split('.');
    const there = { number: Number(number), nonce: nonce ?? null };
    const first = await pid();
    expect([...(await commit([there, there]))]).toEqual([0, 1]);
    expect(await pid()).toBe(first);
    expect([...(await commit([{ ...there, nonce: 'other' }, there, { number: 1e9, nonce: '1' }]))]).toEqual([1]);
    expect(await pid()).not.toBe(first);
  } finally {
    await pool.close();
  }
});

test('a role without any rights of replication may do it', async () => {
  await admin.query(`create role plain login`);
  await admin.query('grant all on all tables in schema public to plain');
  await admin.query('grant all on all sequences in schema public to plain');
  const plain = new URL(url);
  plain.username = 'plain';
  const opened = await openDatabase({ ...OPTIONS, url: plain.href });
  try {
    const made = await opened.change(async (tx) => ({
      result: (await insertApplication(tx, 'plain')).id,
      scopes: ['p:plain'],
    }));
    expect((await rows()).at(-1)).toEqual({ number: `${made.number}`, scopes: ['p:plain'] });
  } finally {
    await opened.close();
  }
});
