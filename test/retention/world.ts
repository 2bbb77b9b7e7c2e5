/** Rows of known ages in the partitioned tables. */

import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import type { Database, Tx } from '../../src/persistence/database.ts';
import { type Keep, listPartitions } from '../../src/persistence/operations/partitions.ts';
import { Retention } from '../../src/retention/retention.ts';

export const FOR_EVER: Keep = { audit: null, events: null, notifications: null, deliveries: null, unread: null };

const write = async (database: Database, work: (tx: Tx) => Promise<unknown>): Promise<void> => {
  await database.change(async (tx) => {
    await work(tx);
    return { result: null, scopes: ['*'] };
  });
};

/** The application `shop` with one type, and the person ann@example.com. */
export async function makeShop(database: Database): Promise<void> {
  await write(database, async ({ kysely }) => {
    await sql`insert into application (code, name) values ('shop', 'Shop')`.execute(kysely);
    await sql`insert into notification_type (application_id, code, name) select id, 'generic', 'G' from application`.execute(
      kysely,
    );
    await sql`insert into person (email, registered_at) values ('ann@example.com', now())`.execute(kysely);
  });
}

export interface Aged {
  /** In days. */
  age: number;
  unread?: boolean;
  /** Whether its delivery is not over. */
  waiting?: boolean;
}

/** An audit record, an event, and a notification with its delivery, each of that age. */
export async function insertAged(database: Database, { age, unread = false, waiting = false }: Aged): Promise<void> {
  const at = sql`now() - make_interval(days => ${age}::int)`;
  await write(database, async ({ kysely }) => {
    await sql`insert into audit (at, actor, action, subject) values (${at}, 'system', 'test.made', ${`age ${age}`})`.execute(
      kysely,
    );
    await sql`insert into app_event (at, person_id, application_id, event, actor)
      select ${at}, p.id, a.id, 'login', 'system' from person p, application a`.execute(kysely);
    await sql`
      with n as (
        insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale, read_at, created_at)
        select t.application_id, t.id, p.id, ${`age ${age}`}, '{}', 'sent', 'en', ${unread ? null : sql`now()`}, ${at}
        from notification_type t, person p returning id, created_at)
      insert into delivery (notification_id, channel, content, status, lane, due_at, created_at)
      select id, 'email', '{}', ${waiting ? 'queued' : 'sent'}, 'email:1', ${waiting ? sql`now() + interval '1 hour'` : null}, created_at from n`.execute(
      kysely,
    );
  });
}

export const TABLES = ['audit', 'app_event', 'notification', 'delivery'] as const;

/** How many rows each table has. */
export async function rowsOf(database: Database): Promise<Record<(typeof TABLES)[number], number>> {
  const counts = TABLES.map(
    (table) =>
      sql`${sql.lit(table)}, (select count(*)::int from ${sql.table(table)} ${table === 'audit' ? sql`where action = 'test.made'` : sql``})`,
  );
  const { rows } = await database.read((tx) =>
    sql<{
      counts: Record<(typeof TABLES)[number], number>;
    }>`select json_build_object(${sql.join(counts)}) as counts`.execute(tx.kysely),
  );
  return (rows[0] as { counts: Record<(typeof TABLES)[number], number> }).counts;
}

/** The numbers of a table's partitions. */
export async function numbersOf(database: Database, table: string): Promise<number[]> {
  return (await database.read(listPartitions)).filter((one) => one.table === table).map(({ number }) => number);
}

/** What a look left in the log, and the metrics. */
export interface Looked {
  readonly log: readonly { msg: string; partition?: string; reason?: string; err?: unknown }[];
  readonly metrics: string;
}

export async function look(database: Database, keep: Partial<Keep> = {}): Promise<Looked> {
  const lines: string[] = [];
  const log = createLogger('info', { write: (line: string) => void lines.push(line) });
  const registry = createRegistry();
  await new Retention({ database, clock: systemClock, log, registry, keep: { ...FOR_EVER, ...keep } }).look();
  return { log: lines.map((line) => JSON.parse(line)), metrics: await registry.metrics() };
}
