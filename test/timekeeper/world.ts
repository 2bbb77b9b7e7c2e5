/** Grants with windows, as they stand in the tables, and what is left of them. */

import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import type { Database, Tx } from '../../src/persistence/database.ts';
import { Timekeeper } from '../../src/timekeeper/timekeeper.ts';

export const write = async (database: Database, work: (tx: Tx) => Promise<unknown>): Promise<void> => {
  await database.change(async (tx) => {
    await work(tx);
    return { result: null, scopes: ['*'] };
  });
};

/** The application `shop` with the role `reader` and the permission `ticket.read`, and `people` people. */
export async function makeShop(database: Database, people = 1): Promise<void> {
  await write(database, async ({ kysely }) => {
    for (const statement of [
      `insert into application (code, name) values ('shop', 'Shop')`,
      `insert into role (application_id, code) select id, 'reader' from application`,
      `insert into permission (application_id, code, tiered) select id, 'ticket.read', true from application`,
      `insert into notification_type (application_id, code, name, system) select id, 'generic', 'Generic', true from application`,
      `insert into person (email) select 'p' || n || '@example.com' from generate_series(1, ${people}) n`,
    ]) {
      await sql.raw(statement).execute(kysely);
    }
  });
}

/** Seconds from now, on the clock of the database; null for no bound. */
export interface Window {
  from?: number | null;
  to?: number | null;
}

const at = (seconds: number | null | undefined) =>
  seconds === null || seconds === undefined
    ? sql`null::timestamptz`
    : sql`clock_timestamp() + ${seconds}::float8 * interval '1 second'`;

/** Gives the role to everybody from the person `low` to `high`. */
export async function giveRoles(tx: Tx, low: number, high: number, { from, to }: Window): Promise<void> {
  await sql`insert into user_role (person_id, application_id, role_id, starts_at, ends_at)
    select p.id, r.application_id, r.id, ${at(from)}, ${at(to)} from role r
      join person p on p.email = any(array(select 'p' || n || '@example.com' from generate_series(${low}::int, ${high}::int) n))`.execute(
    tx.kysely,
  );
}

export async function giveOverride(tx: Tx, person: number, record: string, { from, to }: Window): Promise<void> {
  await sql`insert into resource_override
      (person_id, application_id, resource_type, resource_id, permission_id, tiered, level, starts_at, ends_at)
    select p.id, c.application_id, 'ticket', ${record}, c.id, true, 2, ${at(from)}, ${at(to)}
      from permission c join person p on p.email = ${`p${person}@example.com`}`.execute(tx.kysely);
}

export async function giveSeat(tx: Tx, person: number, { from, to }: Window): Promise<void> {
  await sql`insert into app_admin (person_id, application_id, starts_at, ends_at)
    select p.id, a.id, ${at(from)}, ${at(to)} from application a
      join person p on p.email = ${`p${person}@example.com`}`.execute(tx.kysely);
}

export function timekeeperOf(database: Database, { clock = systemClock, tell = async () => false } = {}) {
  const registry = createRegistry();
  const timekeeper = new Timekeeper({ database, clock, log: createLogger('silent'), registry, tell });
  const metric = async (name: string): Promise<number> => {
    const found = (await registry.metrics()).split('\n').find((line) => line.startsWith(`${name} `));
    return Number(found?.slice(name.length));
  };
  return { timekeeper, metric };
}

export interface Told {
  action: string;
  subject: string;
  actor: string;
  app: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** What the audit says of ends and beginnings. */
export async function toldOf(database: Database): Promise<Told[]> {
  return await database.read(async (tx) => {
    const { rows } = await sql<Told>`
      select action, subject, actor, app_code as app, before, after from audit
       where action like '%.ended' or action like '%.began' order by id`.execute(tx.kysely);
    return rows;
  });
}

/** Revisions after the first `count`, the oldest first. */
export async function revisionsAfter(database: Database, count: number) {
  return await database.read(async (tx) => {
    const { rows } = await sql<{ revision: number; scopes: string[]; actor: string | null; at: Date }>`
      select revision, scopes, actor, at from policy_change where revision > ${count} order by revision`.execute(
      tx.kysely,
    );
    return rows;
  });
}

export async function newest(database: Database): Promise<number> {
  return (await revisionsAfter(database, 0)).at(-1)?.revision ?? 0;
}

export async function countOf(database: Database, table: string): Promise<number> {
  return await database.read(async (tx) => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${sql.table(table)}`.execute(
      tx.kysely,
    );
    return rows[0]?.count ?? 0;
  });
}
