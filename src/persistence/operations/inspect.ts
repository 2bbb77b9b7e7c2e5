/** What `usher doctor` reads of a PostgreSQL, in read-only transactions on connections of its own. */

import pg from 'pg';
import { END_TURN_SQL, TAKE_TURN_SQL, type Turn } from '../brands/refresh-turns.ts';
import { SESSION_SETTINGS } from '../driver/session-settings.ts';
import { cannotBeUsed } from '../driver/start-failures.ts';
import { APPLIED_SQL, compare } from '../migrations/migrator.ts';
import { KNOWN_ORGANIZATIONS_SQL } from '../people/token-organizations.ts';

export interface ServerFacts {
  /** `170002` for 17.2. */
  readonly version: number;
  readonly role: string;
  readonly superuser: boolean;
  readonly mayCreate: boolean;
  readonly standby: boolean;
  readonly maxConnections: number;
  readonly extensions: readonly string[];
  /** Settings of Usher's own whose defaults here are others: `DateStyle=German, DMY`. */
  readonly otherSettings: readonly string[];
  /** The server's clock minus this one, and how far off that may be. */
  readonly skewMs: number;
  readonly skewWithinMs: number;
  readonly pending: readonly string[];
  readonly unknown: readonly string[];
  /** Null: no pooler in between. */
  readonly pooler: 'session' | 'transaction' | null;
}

/** A brand that has a server of its own. */
export interface BrandServer {
  readonly slug: string;
  readonly id: number;
  readonly isDefault: boolean;
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly allowInsecure: boolean;
  readonly user: string | null;
  readonly password: string | null;
  readonly key: string | null;
  readonly auth: 'password' | 'oauth2';
  readonly tokenUrl: string | null;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  readonly scope: string | null;
  readonly refreshToken: string | null;
}

/** Whether a table is not there: the database was never migrated. */
function lacksTables(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '42P01';
}

const CONNECT_MS = 5000;
const STATEMENT_MS = 5000;

async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    application_name: 'usher doctor',
  });
  // The statement under way rejects with it as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await use(client);
  } catch (error) {
    throw cannotBeUsed(url, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Rejects with Refused, whose message names the server and what to do, and no password. */
export async function inspectServer(url: string, now: () => number): Promise<ServerFacts> {
  return await connected(url, async (client) => {
    await client.query('begin transaction read only');
    const sent = now();
    const { rows } = await client.query<Row>(FACTS_SQL);
    const received = now();
    await client.query('rollback');
    const [row] = rows;
    if (row === undefined) throw new Error('the server answered no row');
    const { pending, unknown } = compare(await appliedTo(client));
    const { now: theirs, settings, ...facts } = row;
    return {
      ...facts,
      otherSettings: Object.entries(SESSION_SETTINGS).flatMap(([name, ours]) => {
        return settings[name] === ours ? [] : [`${name}=${settings[name]}`];
      }),
      skewMs: Number(theirs) - (sent + received) / 2,
      skewWithinMs: (received - sent) / 2,
      pending,
      unknown,
      pooler: await poolerBefore(url, client),
    };
  });
}

interface Row
  extends Omit<ServerFacts, 'skewMs' | 'skewWithinMs' | 'pending' | 'unknown' | 'pooler' | 'otherSettings'> {
  readonly now: string;
  readonly settings: Readonly<Record<string, string>>;
}

const FACTS_SQL = `select current_setting('server_version_num')::int as version, current_user::text as role,
  (select rolsuper from pg_roles where rolname = current_user) as superuser,
  has_schema_privilege(current_user, 'public', 'create') as "mayCreate",
  pg_is_in_recovery() as standby, current_setting('max_connections')::int as "maxConnections",
  (select json_object_agg(name, setting) from pg_settings
    where name in (${Object.keys(SESSION_SETTINGS)
      .map((name) => `'${name}'`)
      .join(', ')})) as settings,
  (select coalesce(array_agg(extname::text order by extname), '{}') from pg_extension) as extensions,
  (extract(epoch from clock_timestamp()) * 1000)::text as now`;

async function appliedTo(client: pg.Client): Promise<string[]> {
  try {
    return (await client.query<{ name: string }>(APPLIED_SQL)).rows.map(({ name }) => name);
  } catch (error) {
    if (lacksTables(error)) return [];
    throw error;
  }
}

/**
 * A pooler announces a process of its own. In transaction mode it gives a client another server when somebody else holds the one
 * of before, or takes its servers in turns.
 */
async function poolerBefore(url: string, client: pg.Client): Promise<ServerFacts['pooler']> {
  const { processID } = client as unknown as { processID: number };
  const first = await pidOf(client);
  return await connected(url, async (other) => {
    await other.query('begin transaction read only');
    const isShared = (await pidOf(other)) === first || (await pidOf(client)) !== first;
    await other.query('rollback');
    const later = [await pidOf(client), await pidOf(client), await pidOf(client)];
    if (isShared || later.some((pid) => pid !== first)) return 'transaction';
    return first === processID ? null : 'session';
  });
}

async function pidOf(client: pg.Client): Promise<number> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;
}

/** Empty where the database was never migrated. */
export async function brandServers(url: string): Promise<BrandServer[]> {
  return await connected(url, async (client) => {
    try {
      return (await client.query<BrandServer>(BRANDS_SQL)).rows;
    } catch (error) {
      if (lacksTables(error)) return [];
      throw error;
    }
  });
}

/** The organizations of the identity provider that are known, at most `limit`. Empty where the database was not migrated to this version. */
export async function organizationsOf(url: string, configured: readonly string[], limit: number): Promise<string[]> {
  return await connected(url, async (client) => {
    try {
      const { rows } = await client.query<{ id: string }>(KNOWN_ORGANIZATIONS_SQL, [configured, limit]);
      return rows.map(({ id }) => id);
    } catch (error) {
      if (lacksTables(error)) return [];
      throw error;
    }
  });
}

/** What a version before wrote of a brand has no columns of later ones. */
const BRANDS_SQL = `select id::int as id, slug, is_default as "isDefault", smtp_host as host, smtp_port as port,
  smtp_secure as secure, smtp_allow_insecure as "allowInsecure", smtp_user as "user", smtp_password as password, smtp_key as key,
  coalesce(row->>'smtp_auth', 'password') as auth, row->>'smtp_token_url' as "tokenUrl", row->>'smtp_client_id' as "clientId",
  row->>'smtp_client_secret' as "clientSecret", row->>'smtp_scope' as scope, row->>'smtp_refresh_token' as "refreshToken"
  from brand cross join lateral (select to_jsonb(brand) as row) r where smtp_host is not null and smtp_port is not null order by slug`;

/** What set-ups at the identity provider have stored; signing keys sealed. Null where one was never made. */
export interface ProviderSetUps {
  readonly mailKey: string | null;
  readonly target: { readonly id: string; readonly key: string; readonly complete: boolean } | null;
}

const MAIL_SETTING = 'idp.notification-provider';
const TARGET_SETTING = 'idp.event-target';

/** Nothing where the database was never migrated. */
export async function providerSetUps(url: string): Promise<ProviderSetUps> {
  return await connected(url, async (client) => {
    try {
      const { rows } = await client.query<{ key: string; value: Readonly<Record<string, unknown>> }>(
        'select key, value from setting where key = any($1)',
        [[MAIL_SETTING, TARGET_SETTING]],
      );
      const kept = new Map(rows.map(({ key, value }) => [key, value]));
      const [mails, target] = [kept.get(MAIL_SETTING), kept.get(TARGET_SETTING)];
      return {
        mailKey: mails === undefined ? null : String(mails.signingKey),
        target:
          target === undefined
            ? null
            : { id: String(target.targetId), key: String(target.signingKey), complete: target.complete === true },
      };
    } catch (error) {
      if (lacksTables(error)) return { mailKey: null, target: null };
      throw error;
    }
  });
}

/** The turns of refresh tokens (brands/refresh-turns.ts), on a connection of its own each: the one thing that the doctor writes. */
export function refreshTurnsAt(url: string): {
  take(brandId: number, ms: number): Promise<Turn | null>;
  end(brandId: number, refreshToken: string | null): Promise<void>;
} {
  return {
    take: (brandId, ms) =>
      connected(url, async (client) => (await client.query<Turn>(TAKE_TURN_SQL, [brandId, ms])).rows[0] ?? null),
    end: (brandId, refreshToken) =>
      connected(url, async (client) => void (await client.query(END_TURN_SQL, [brandId, refreshToken]))),
  };
}
