import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { connectFailed } from './connecting.ts';
import { ConnectFailed, type ConnectReason, StatementFailed } from './failures.ts';
import { Refused, Unready } from './refused.ts';

/** The server in a URL, without its password. */
export interface Server {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

export function serverOf(url: string): Server {
  const { host, port, database, user } = new pg.Client({ connectionString: url });
  return { host, port, database: database ?? 'postgres', user: user ?? 'postgres' };
}

/** What is wrong, and what would be right. `name` quotes the names of the server for SQL. */
type Words = (server: Server, name: (text: string) => string) => string;

/** What usually passes by itself. A wrong host name looks like one that is not known yet. */
const PASSING: ReadonlySet<ConnectReason> = new Set([
  'refused',
  'unknown-host',
  'unreachable',
  'timeout',
  'closed',
  'full',
  'not-ready',
  'no-server',
]);

const CHECK_URL = 'check database.url (DATABASE_URL)';

const WORDS: Readonly<Record<ConnectReason, Words>> = {
  refused: ({ host, port }) => `nothing listens at ${host}:${port}. Start PostgreSQL there, or ${CHECK_URL}.`,
  'unknown-host': ({ host }) => `the host name ${host} is unknown. Look for a typing error: ${CHECK_URL}.`,
  unreachable: ({ host }) => `${host} is unreachable. Check the network, or ${CHECK_URL}.`,
  timeout: ({ host, port }) => `${host}:${port} did not answer in time. Check firewalls, or ${CHECK_URL}.`,
  closed: ({ host, port }) =>
    `${host}:${port} closed the connection without an answer. Check that it is a PostgreSQL, and whether it requires TLS (append ?sslmode=verify-full to database.url, DATABASE_URL).`,
  'tls-refused': () =>
    'the server does not support TLS, and database.url requires it. Remove sslmode from database.url (DATABASE_URL), or enable `ssl` in the server.',
  'tls-required': ({ user, database }) =>
    `the server accepts the role ${user} and the database ${database} over TLS only. Append ?sslmode=verify-full to database.url (DATABASE_URL).`,
  'tls-untrusted': () =>
    'the certificate of the server is not trusted. Append sslrootcert=FILE with the authority that signed it to database.url (DATABASE_URL), and use the host name in the certificate.',
  password: ({ user }) =>
    `the password of the role ${user} is wrong, or the role does not exist. Correct it: ${CHECK_URL}.`,
  'no-password': ({ user }) =>
    `the server requires a password for the role ${user}, and none is configured. Add it to database.url (DATABASE_URL): postgresql://${user}:PASSWORD@…`,
  role: ({ user }, name) =>
    `there is no role ${user} that may log in. Create it (\`create role ${name(user)} login password '…'\`), or ${CHECK_URL}.`,
  'not-admitted': ({ user, database }) =>
    `pg_hba.conf of the server has no line that admits the role ${user} to the database ${database} from this host. Add one, and reload the server.`,
  'no-database': ({ database, user }, name) =>
    `there is no database ${database}. Create it (\`create database ${name(database)} owner ${name(user)}\`), or ${CHECK_URL}.`,
  'no-right': ({ database, user }, name) =>
    `the role ${user} may not connect to it. Allow it: \`grant connect on database ${name(database)} to ${name(user)}\`.`,
  'not-accepting': ({ database }, name) =>
    `it does not accept connections. Allow them: \`alter database ${name(database)} allow_connections true\`.`,
  full: () =>
    'every connection of the server is in use. Lower database.poolSize (DATABASE_POOL_SIZE), or raise max_connections of the server.',
  'not-ready': () => 'the server is starting, stopping or recovering. Try again when it is ready.',
  pooler: () =>
    'a pooler in front of it refused the start of the connection (08P01). PgBouncer needs `ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,options` and, from version 1.21 on, `max_prepared_statements = 500`; see docs/guides/postgresql.md.',
  'no-server': () =>
    'the pooler in front of it has no connection to the server (08P01). Its log says why: the server is away, or refuses its role or password.',
  other: () => `connecting failed. Check the log of the server, and ${CHECK_URL}.`,
};

/** The error of reaching a server, for the operator; never with the URL, which may contain a password. */
export function cannotBeUsed(url: string, error: unknown): Refused {
  if (error instanceof Refused) return error;
  const server = serverOf(url);
  const { host, port, database } = server;
  const failed = causeOf(error);
  const why = failed instanceof StatementFailed ? wordsOf(failed, server) : 'see the cause in the log.';
  const message = `The PostgreSQL at ${host}:${port}, database ${database}, cannot be used: ${why}`;
  const passes = failed instanceof ConnectFailed && PASSING.has(failed.reason);
  return passes ? new Unready(message, error) : new Refused(message, error);
}

function wordsOf(failed: StatementFailed, server: Server): string {
  if (failed instanceof ConnectFailed) {
    const code = failed.sqlState ?? /\((E[A-Z]+)\)/.exec(failed.what)?.[1];
    const words = WORDS[failed.reason](server, quoted);
    return code === undefined || words.includes(code) ? words : `${words} (${code})`;
  }
  const { user, database } = server;
  if (failed.sqlState === '42501') {
    return `the role ${user} may not create tables in it. Make it the owner: \`alter database ${quoted(database)} owner to ${quoted(user)}\`, or \`grant create on schema public to ${quoted(user)}\` in that database. (42501)`;
  }
  // A pooler reports like this that it could not connect to the server itself.
  if (failed.sqlState === '08P01') return WORDS.pooler(server, quoted);
  if (failed.sqlState === '26000' || failed.sqlState === '42P05') {
    return `a pooler in front of it does not keep prepared statements. PgBouncer 1.21 or newer does, with \`max_prepared_statements = 500\`; see docs/guides/postgresql.md. (${failed.sqlState})`;
  }
  return `${failed.what}. Check the log of the server.`;
}

/** MikroORM and our own wrappers hide the error of a statement in their causes. */
function causeOf(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof StatementFailed) return at;
  // A driver's own error, of a client outside the pools.
  return error instanceof Error && 'code' in error ? connectFailed(error) : error;
}

/** Quotes a name for SQL if necessary. */
function quoted(text: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

const OLDEST_VERSION = 14;

/** Throws Refused when the server is older than the statements require. Resolves to whether it is a standby. */
export async function refuseUnfit(url: string, db: Kysely<unknown>): Promise<{ standby: boolean }> {
  const { rows } = await sql<{ version: number; standby: boolean }>`
    select current_setting('server_version_num')::int as version, pg_is_in_recovery() as standby`.execute(db);
  const [{ version, standby } = { version: 0, standby: false }] = rows;
  const { host, port } = serverOf(url);
  const major = Math.floor(version / 10_000);
  if (major < OLDEST_VERSION) {
    throw new Refused(
      `The PostgreSQL at ${host}:${port} is version ${major}, and Usher needs ${OLDEST_VERSION} or newer. Upgrade the server, or choose another one with database.url (DATABASE_URL).`,
    );
  }
  return { standby };
}

/** The refusal to migrate a standby. */
export function isNoPrimary(url: string): Unready {
  const { host, port } = serverOf(url);
  // During a failover the address may lead to the server that is about to be promoted.
  return new Unready(
    `The PostgreSQL at ${host}:${port} is a standby, which cannot be migrated. Migrate its primary: set database.url (DATABASE_URL) to it, or to an address that leads to it.`,
  );
}

/** The error of a start after the first connection, in the operator's words where it is about the database. */
export function startFailure(url: string | null, error: unknown): unknown {
  const failed = causeOf(error);
  if (url === null || !(failed instanceof StatementFailed)) return error;
  return OF_THE_SET_UP.has(failed.sqlState ?? '') ? cannotBeUsed(url, error) : error;
}

const OF_THE_SET_UP: ReadonlySet<string> = new Set(['08P01', '26000', '42P05', '42501']);
