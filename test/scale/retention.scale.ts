/**
 * Drops a month of audit records, and one of notifications with their deliveries, beside writers, of which none fails or waits for a
 * second: `npm run test:scale -- --testPathPatterns=scale/retention`. USHER_ROWS is how many records, notifications and deliveries the
 * month has (500,000 of each). The server is one of tests, in memory where that has room; USHER_RETENTION_DIR names a directory on a disk
 * for a durable one. What is dropped was written out, and is in the memory of the system all the same.
 */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import type { Database } from '../../src/persistence/database.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import { look, makeShop, numbersOf } from '../retention/world.ts';
import { createDatabase, type PostgresServer, prepareTemplate, startPostgres } from '../support/postgres.ts';

const ROWS = Number(process.env.USHER_ROWS ?? 500_000);
const PIECE = 100_000;
const WRITERS = 2;
const DISK = process.env.USHER_RETENTION_DIR;
const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  max_wal_size: '8GB',
};
const OLD = `now() - interval '400 days'`;
const RECORDS = `
  insert into audit (at, actor, action, subject, after)
  select ${OLD}, 'user:' || n % 1000 || '@example.com', 'role.assigned', n::text, '{"role": "reader"}' from generate_series(1, $1::int) n`;
/** Of a subject and words of the length of a usual message. */
const notifications = (at: string, one: string): string => `
  with n as (
    insert into notification (application_id, notification_type_id, person_id, subject, body, payload, status, locale, read_at, created_at)
    select t.application_id, t.id, p.id, 'Invoice ' || n || ' is due', repeat('Please have a look at it. ', 6), '{"number": 1}', 'sent', 'en', now(), ${at}
      from ${one} n, notification_type t, person p returning id, created_at)
  insert into delivery (notification_id, channel, content, status, lane, due_at, created_at)
  select id, 'email', '{}', 'sent', 'email:1', null, created_at from n`;

interface Case {
  readonly what: string;
  readonly fill: string;
  readonly write: string;
  readonly keep: { audit?: number; notifications?: number };
  readonly tables: readonly string[];
}

const CASES: readonly Case[] = [
  {
    what: 'audit records',
    fill: RECORDS,
    write: `insert into audit (actor, action, subject) values ('user:ann@example.com', 'test.made', 'now')`,
    keep: { audit: 90 },
    tables: ['audit'],
  },
  {
    what: 'notifications with their deliveries',
    fill: notifications(OLD, 'generate_series(1, $1::int)'),
    write: notifications('now()', 'generate_series(1, 1)'),
    keep: { notifications: 90 },
    tables: ['notification', 'delivery'],
  },
];

let server: PostgresServer;
let url: string;
let database: Database;
let client: pg.Client;

beforeAll(async () => {
  server = await startPostgres({
    dir: mkdtempSync(join(DISK ?? tmpdir(), 'usher-retention-')),
    settings: DISK === undefined ? {} : DURABLE,
  });
  await prepareTemplate(server);
  url = (await createDatabase({ server })).url;
  const log = createLogger('silent');
  database = await openDatabase({ url, dataDir: '', poolSize: 10, migrateOnStart: false, clock: systemClock, log });
  await makeShop(database);
  client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const { fill } of CASES) {
    for (let done = 0; done < ROWS; done += PIECE) await client.query(fill, [Math.min(PIECE, ROWS - done)]);
  }
  // As an operator's server has it by then.
  await client.query('checkpoint');
  await look(database);
}, 3_600_000);

afterAll(async () => {
  await client?.end();
  await database?.close();
  await server?.close();
});

/** When, by this clock, the first partition of each table was gone for whoever asks. */
async function goneAt(tables: readonly string[]): Promise<number> {
  for (;;) {
    const there = await Promise.all(tables.map((table) => numbersOf(database, table)));
    if (there.every((numbers) => !numbers.includes(1))) return performance.now();
    await delay(5);
  }
}

/** What each connection of the service has computed so far, in ms; waits are not in it. */
async function computedMs(): Promise<Map<number, number>> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name = 'usher/2'`,
  );
  const computed = new Map<number, number>();
  for (const { pid } of rows) {
    // The 14th and 15th field of the line, behind the name in parentheses: hundredths of a second in user and kernel mode.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    computed.set(pid, (Number(fields[11]) + Number(fields[12])) * 10);
  }
  return computed;
}

test.each(CASES)(
  `a month of ${ROWS} $what is dropped beside writers`,
  async ({ what, write, keep, tables }) => {
    const sizes = tables.map((table) => `pg_total_relation_size('${table}_p1')`).join(' + ');
    const { rows: size } = await client.query<{ mb: number }>(`select ((${sizes}) / 1048576)::int as mb`);
    let isOver = false;
    const waits: number[] = [];
    const writers = Array.from({ length: WRITERS }, async (): Promise<void> => {
      const writer = new pg.Client({ connectionString: url });
      await writer.connect();
      while (!isOver) {
        const began = performance.now();
        await writer.query(write);
        waits.push(performance.now() - began);
      }
      await writer.end();
    });
    const before = await computedMs();
    const began = performance.now();
    const [{ log }, gone] = await Promise.all([look(database, keep), goneAt(tables)]);
    const took = performance.now() - began;
    // A connection that was closed meanwhile had been idle.
    const computed = [...(await computedMs())].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0);
    isOver = true;
    await Promise.all(writers);
    expect(log.map(({ msg }) => msg)).toEqual(tables.map(() => 'expired partition dropped'));
    for (const table of tables) {
      expect(await numbersOf(database, table)).toEqual([2, 3]);
      const { rows } = await client.query(`select count(*)::int as count from ${table}`);
      expect(rows).toEqual([{ count: waits.length }]);
    }
    const slowest = Math.max(...waits);
    process.stdout.write(
      `${ROWS} ${what} (${size[0]?.mb} MB) gone after ${(gone - began).toFixed(0)} ms, dropped in a look of ${took.toFixed(0)} ms of which the server computed ${computed} ms, beside ${waits.length} writes, the slowest of ${slowest.toFixed(0)} ms\n`,
    );
    expect(slowest).toBeLessThan(1000);
  },
  600_000,
);
