import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { migrate } from '../../src/persistence/open.ts';
import { installAnnounceTrigger } from './announce-trigger.ts';
import type { PostgresServer } from './postgres-server.ts';

export { freePort, type PostgresServer, startPostgres } from './postgres-server.ts';

/** Where the workers find what global-setup.ts started: the server's URL, and a directory for templates. */
export const SERVER_VARIABLE = 'USHER_TEST_POSTGRES';
export const TEMPLATES_VARIABLE = 'USHER_TEST_TEMPLATES';

/** The same server through a PgBouncer, where services are to use one. */
export const POOLER_VARIABLE = 'USHER_TEST_POOLER';

/** How services reach a database of the server: as they are, or through the pooler with a direct line beside it. */
export function reached(url: string): { url: string; directUrl: string | null } {
  const pooler = process.env[POOLER_VARIABLE];
  if (pooler === undefined) return { url, directUrl: null };
  const through = new URL(url);
  const { host, username } = new URL(pooler);
  through.host = host;
  // Its own role has limits that a session cannot bring along; another one that a test makes stays.
  if (through.username === new URL(process.env[SERVER_VARIABLE] ?? url).username) through.username = username;
  return { url: through.href, directUrl: url };
}

/** Past the pooler: for a test that keeps a connection of the server to itself. */
export const straight = (url: string | null): { url: string; directUrl: null } => ({ url: url ?? '', directUrl: null });

/** Whether services go by the pooler. */
export const isPooled = (): boolean => process.env[POOLER_VARIABLE] !== undefined;

/** The environment of a service on that database, reached likewise; null is an embedded one, wherever DATA_DIR says. */
export function databaseEnv(url: string | null): Record<string, string> {
  if (url === null) return {};
  const { url: through, directUrl } = reached(url);
  return { DATABASE_URL: through, ...(directUrl === null ? {} : { DATABASE_DIRECT_URL: directUrl }) };
}

/** The options of opening it, likewise. */
export function opening(url: string | null): { url: string | null; directUrl?: string | null; earlyRelease?: boolean } {
  return url === null ? { url } : { ...reached(url), earlyRelease: isEarlyReleased() };
}

/** A proxy's own way to a database: before the pooler, where services use one, and then with a direct line past both. */
export function reachedBy(line: { url(url: string): string }, url: string): { url: string; directUrl: string | null } {
  const { url: through, directUrl } = reached(url);
  return { url: line.url(through), directUrl };
}

/** `DATABASE_EARLY_RELEASE=true npm test` runs every test on PostgreSQL with early release of the lock of the numbering. */
export const isEarlyReleased = (): boolean => process.env.DATABASE_EARLY_RELEASE === 'true';

const TEMPLATE = 'usher_template';

/** A database of one test's own, migrated, with the announce trigger. */
export interface PostgresDatabase {
  readonly url: string;
  readonly name: string;
  /** Ends every connection to it and deletes it. */
  drop(): Promise<void>;
}

/** Makes the database that `createDatabase` copies. Once a server. */
export async function prepareTemplate(server: PostgresServer): Promise<void> {
  await query(server.url, `create database ${TEMPLATE}`);
  const url = urlOf(server.url, TEMPLATE);
  await migrate({ url, dataDir: '', clock: systemClock, log: createLogger('silent') });
  await installAnnounceTrigger(url);
}

/**
 * A new database on the server that jest's global setup started (or on `server`, prepared before). `empty` gives one that
 * was never migrated.
 */
export async function createDatabase(
  options: { server?: PostgresServer; empty?: boolean } = {},
): Promise<PostgresDatabase> {
  const server = options.server?.url ?? process.env[SERVER_VARIABLE];
  if (server === undefined) throw new Error('There is no PostgreSQL: run under jest, or hand in a server.');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await query(server, `create database ${name}${options.empty === true ? '' : ` template ${TEMPLATE}`}`);
  return { url: urlOf(server, name), name, drop: () => query(server, `drop database if exists ${name} with (force)`) };
}

function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function query(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
