import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { SHOP } from '../faults/shop.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { createDatabase, freePort } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * A failover behind HAProxy, with the configuration of docs/guides/postgresql.md: a primary with a synchronous standby, each beside a
 * responder that says what Patroni's would, and two services: one writes and the other checks while the primary ends and the standby is
 * promoted. (One whose write has an unknown outcome forgets what it knows, and answers again with the new primary.)
 * Not part of `npm test`: HAProxy must be installed, or named in HAPROXY.
 */
const ADA = 'ada@example.com';

/** What Patroni answers at /primary. */
async function startResponder(url: string): Promise<{ port: number; server: Server }> {
  const isPrimary = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 300, query_timeout: 300 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query('select pg_is_in_recovery() as standby')).rows[0]?.standby === false;
    } catch {
      return false; // it is not there, which is an answer too
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  const server = createServer((_, response) => {
    void isPrimary().then((yes) => response.writeHead(yes ? 200 : 503).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

const folder = mkdtempSync(join(tmpdir(), 'usher-haproxy-'));
const responders: Server[] = [];
let primary: PostgresServer;
let standby: PostgresServer;
let proxy: ChildProcess;
let writing: RunningUsher;
let checking: RunningUsher;
let there: pg.Client;

beforeAll(async () => {
  primary = await startPostgres({ maxConnections: 100 });
  const { url } = await createDatabase({ server: primary, empty: true });
  standby = await startPostgres({ maxConnections: 100, standbyOf: primary });
  const admin = new pg.Client({ connectionString: primary.url });
  await admin.connect();
  await admin.query(`alter system set synchronous_standby_names = '*'`);
  // Stronger than the setting that the servers of tests are started with.
  await admin.query('alter role postgres set synchronous_commit = on');
  await admin.query('select pg_reload_conf()');
  await admin.end();
  const lines: string[] = [];
  for (const [name, server] of Object.entries({ a: primary, b: standby })) {
    const responder = await startResponder(server.url);
    responders.push(responder.server);
    lines.push(`  server ${name} 127.0.0.1:${server.port} check port ${responder.port}`);
  }
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h

listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${lines.join('\n')}
`,
  );
  proxy = spawn(process.env.HAPROXY ?? 'haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  await once(proxy, 'spawn');
  // Both count as up until the first checks.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const through = url.replace(`:${primary.port}/`, `:${port}/`);
  writing = await startUsher({ url: through, dataDir: join(folder, 'writing') });
  checking = await startUsher({ url: through, dataDir: join(folder, 'checking') });
  there = new pg.Client({ connectionString: url.replace(`:${primary.port}/`, `:${standby.port}/`) });
  await there.connect();
  for (const operation of SHOP) await write(operation);
}, 120_000);

afterAll(async () => {
  await checking?.close();
  await writing?.close();
  await there?.end();
  proxy?.kill('SIGKILL');
  for (const responder of responders) responder.close();
  await Promise.all([standby?.close(), primary?.close()]);
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

async function write(operation: Operation): Promise<string> {
  return (await writing.app.database.change((tx) => carryOut(tx, operation))).revision;
}

async function isAllowed({ app, rest }: RunningUsher, minRevision?: string): Promise<boolean> {
  const response = await fetch(`${rest}/api/check`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-internal-api-key': app.localKey ?? '',
      ...(minRevision === undefined ? {} : { 'usher-min-revision': minRevision }),
    },
    body: JSON.stringify({ email: ADA, app: 'shop', permission: 'read' }),
  });
  if (response.status !== 200) throw new CheckRefused(`${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { allowed: boolean } }).data.allowed;
}

class CheckRefused extends Error {}

describe('a failover behind HAProxy', () => {
  test('answers no check wrongly, loses no acknowledged write, and takes writes again by itself', async () => {
    const granted = await write({ kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'] });
    expect(await isAllowed(checking, granted)).toBe(true);
    const acknowledged: string[] = [];
    const refused = new Set<string>();
    let checks = 0;
    const unanswered: CheckRefused[] = [];
    let going = true;
    let lastRefusal = 0;
    let goodAgain = 0;
    const writer = async (email: string): Promise<void> => {
      for (let n = 0; going; n++) {
        try {
          const roles = n % 2 === 0 ? ['reader'] : [];
          acknowledged.push(await write({ kind: 'roles-of-user', app: 'shop', email, roles }));
          if (lastRefusal > 0 && goodAgain === 0) goodAgain = performance.now();
        } catch (error) {
          refused.add((error as { code?: string }).code ?? String(error));
          lastRefusal = performance.now();
          goodAgain = 0;
        }
      }
    };
    const asker = async (): Promise<void> => {
      for (; going; checks++) {
        try {
          expect(await isAllowed(checking)).toBe(true);
        } catch (error) {
          if (!(error instanceof CheckRefused)) throw error;
          unanswered.push(error);
        }
      }
    };
    const load = Promise.all([writer('one@example.com'), writer('two@example.com'), asker()]);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const before = acknowledged.length;
    const ended = performance.now();
    await primary.close();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await there.query('select pg_promote()');
    while (goodAgain === 0 && performance.now() < ended + 30_000)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    going = false;
    await load;
    expect(before).toBeGreaterThan(0);
    expect(acknowledged.length).toBeGreaterThan(before);
    expect(checks).toBeGreaterThan(0);
    // What this instance wrote when the connections were cut touched no policy, so its cache stayed.
    expect(unanswered.map(({ message }) => message)).toEqual([]);
    const { rows } = await there.query<{ name: string }>(`select revision || '.' || nonce as name from policy_change`);
    const kept = new Set(rows.map(({ name }) => name));
    expect(acknowledged.filter((revision) => !kept.has(revision))).toEqual([]);
    for (const code of refused) expect(['UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(code);
    expect(goodAgain - ended).toBeLessThan(15_000);
    for (const usher of [writing, checking]) expect(await isAllowed(usher, acknowledged.at(-1))).toBe(true);
    if (process.env.USHER_TABLE !== undefined) {
      console.info({
        acknowledged: acknowledged.length,
        checks,
        unanswered: unanswered.length,
        refused,
        writesAgainAfterMs: goodAgain - ended,
      });
    }
  }, 120_000);
});
