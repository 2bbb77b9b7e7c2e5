/**
 * Settings of a session that change what statements mean, or how answers are written. Usher sets its own on every connection: no
 * default of a server, a database or a role changes an answer (docs/guides/postgresql.md#settings).
 */

import type pg from 'pg';

/**
 * What sessions are called, with the version of the rules that a process decides by (docs/reference/time.md#upgrade): who asks the
 * server sees which versions are there. Operators may name them otherwise in the URL.
 */
export const SESSION_NAME = 'usher/2';

/** The names of the sessions of processes that decide by the rules before. */
export const EARLIER_SESSION_NAMES: readonly string[] = ['usher', 'usher-listen'];

/** `search_path` is not among them: the operator's own counts. */
export const SESSION_SETTINGS = {
  // The driver reads dates in this form alone, and makes null of every other.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  bytea_output: 'hex',
  transform_null_equals: 'off',
} as const;

const entries = Object.entries(SESSION_SETTINGS);
const quoted = ([name, value]: readonly [string, string]): string => `set_config('${name}', '${value}', false)`;

/** Sets all of them, in one round trip, and answers who the server is. */
export const SET_SESSION_SQL = `select pg_backend_pid() as pid, ${entries.map(quoted).join(', ')}`;

/**
 * The same for one transaction, to which a pooler may have lent another server. PgBouncer carries some settings from one to the
 * next (those that PostgreSQL reports to its clients), and not all of these.
 */
export const SET_LOCAL_SQL = entries.map(([name, value]) => `set local ${name} = '${value}'`).join('; ');

const POOLED = new WeakSet<object>();

/** Called once for each new connection. */
export async function setSession(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ pid: number }>(SET_SESSION_SQL);
  // A pooler announces a process of its own.
  const { processID } = client as unknown as { processID: number | null };
  if (rows[0]?.pid !== processID) POOLED.add(client);
}

/** Whether a pooler stands between, which may lend another server to each transaction. */
export function isPooledConnection(client: object): boolean {
  return POOLED.has(client);
}
