import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { BASE, email, loadLargeRegistry } from '../../bench/large-registry.ts';
import { explainStatements, PlanLog } from '../../bench/plan-log.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { pruneChangeLog } from '../../src/persistence/change-log.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { migrate } from '../../src/persistence/open.ts';
import { findExpired, listLacking, oldestRows } from '../../src/persistence/operations/partitions.ts';
import { pruneSeenEvents } from '../../src/persistence/people/seen-events.ts';
import { activePeople, knownPeople } from '../../src/persistence/provider/reconciliation.ts';
import { pruneRegistrationLocales } from '../../src/persistence/provider/registration-locales.ts';
import { pagesOf, plansOf, scannedTables } from '../support/plans.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { ADMINISTRATOR, CALLS, type ListCall, NO_LISTS, READER, ROOT, SMALL } from './list-calls.ts';

/**
 * Every list of the gateway on a database in which all that grows with people has 100,000 rows or more: PostgreSQL itself tells which
 * tables are read whole, and how many pages are touched.
 */
// One notification a minute: a day is a small part of them.
const SIZE = {
  users: 100_000,
  overrides: 200_000,
  applications: 2000,
  auditRecords: 100_000,
  notifications: 100_000,
  secondsApart: 60,
};
/** Tables of so many rows are read by their indexes alone. */
const LARGE = 50_000;
const OF_THE_READER = 1000;
const KEY = 'the-internal-key-of-a-backend';

const id = (address: string): string => `(select id from person where email = '${address}')`;
const MORE = [
  `insert into app_admin (person_id, application_id)
    select ${id(ADMINISTRATOR)}, ${BASE} + i from generate_series(1, 20) i on conflict do nothing`,
  `insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale, created_at)
    select ${BASE} + i % 300 + 1, ${BASE} + (i % 300 + 1) * 3 + 1, ${id(READER)}, 'Hello', '{}', 'sent', 'en', now()
      from generate_series(1, ${OF_THE_READER}) i`,
  `insert into app_event (person_id, application_id, event, actor)
    select ${BASE} + i, ${BASE} + i % ${SIZE.applications} + 1, 'login', 'user' from generate_series(1, ${SIZE.users}) i
    union all select ${id(READER)}, ${BASE + SMALL}, 'login', 'user' from generate_series(1, ${OF_THE_READER})`,
  `insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
    select ${BASE} + i, 'https://push.example/' || i, '', '', 'Browser', '' from generate_series(1, ${SIZE.users}) i`,
  `insert into notification_preference (person_id, notification_type_id, email)
    select ${BASE} + i, ${BASE} + (i % ${SIZE.applications} + 1) * 3 + 1, false from generate_series(1, ${SIZE.users}) i`,
  `insert into template (application_id, notification_type_id, locale, subject, html)
    select application_id, id, 'en', 'Hello', 'Hello' from notification_type where id > ${BASE}`,
  `insert into policy_change (revision, nonce, scopes, at)
    select (select max(revision) from policy_change) + i, 'nonce' || i, array['*'], now() - (100000 - i) * interval '10 seconds'
      from generate_series(1, 100000) i`,
  `insert into seen_event (source, key, at)
    select 'webhook', i::text, now() - i * interval '1 second' from generate_series(1, 100000) i`,
  `insert into registration_locale (email, org_id, locale, at)
    select 'new' || i || '@example.com', '1', 'en', now() - i * interval '1 second' from generate_series(1, 100000) i`,
  `insert into provider_event (source, outcome, event_type) select 'webhook', 'applied', 'user.updated' from generate_series(1, 5000)`,
  `insert into refused_mail (hash, reason, message, body) select i::text, 'UNKNOWN_ORGANIZATION', 'words', repeat('b', 4000)
    from generate_series(1, 1000) i`,
];

const LISTED = Array.from({ length: 200 }, (_, i) => email(i * 400 + 1));
const KEPT = { audit: 30, events: 30, notifications: 30, deliveries: 30, unread: 60 };
/** What it does by itself, with the pages that reading takes; null for what it deletes. */
const WORK: readonly [name: string, work: (tx: Tx) => Promise<unknown>, most: number | null][] = [
  ['people whom the provider lists', (tx) => knownPeople(tx, LISTED, [BASE + 1, BASE + 2], 'urn:bench'), 4000],
  ['people whom the provider should list', (tx) => activePeople(tx, 'urn:bench', { after: 60_000, limit: 500 }), 4000],
  ['partitions that are over', (tx) => findExpired(tx, KEPT), 1000],
  ['partitions that are lacking', listLacking, 1000],
  ['the oldest rows', oldestRows, 1000],
  ['changes to be forgotten', ({ kysely }) => pruneChangeLog(kysely), null],
  ['events to be forgotten', ({ kysely }) => pruneSeenEvents(kysely), null],
  ['locales to be forgotten', ({ kysely }) => pruneRegistrationLocales(kysely), null],
];

describe('lists of a service with 100,000 people', () => {
  let directory: string;
  let server: PostgresServer;
  let usher: RunningUsher;
  let log: PlanLog;
  let large: string[];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'usher-lists-'));
    const logFile = join(directory, 'postgres.log');
    server = await startPostgres({ maxConnections: 40, logFile, settings: { shared_buffers: '256MB' } });
    const { url } = server;
    const dataDir = join(directory, 'data');
    await migrate({ url, dataDir: '', clock: systemClock, log: createLogger('silent') });
    const start = () =>
      startUsher({ url, dataDir }, { env: { SUPERADMINS: ROOT, INTERNAL_API_KEY: `backend:check:${KEY}` } });
    // A first start seeds it.
    await (await start()).close();
    await loadLargeRegistry(url, SIZE);
    await fillRest(url);
    await explainStatements(url);
    large = await largeTables(url);
    log = new PlanLog(logFile, large);
    usher = await start();
    for (const person of [ROOT, ADMINISTRATOR, READER])
      await ask({ route: '', path: '/api/profile/me', as: person, most: 0 });
  }, 300_000);

  afterAll(async () => {
    await usher?.close();
    await server?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  async function ask({ path, as, body, route }: ListCall): Promise<void> {
    const response = await fetch(new URL(path, usher.rest), {
      method: route.startsWith('POST') ? 'POST' : 'GET',
      headers: {
        'content-type': 'application/json',
        ...(as === null ? { 'x-internal-api-key': KEY } : { authorization: `Bearer ${await usher.token(as)}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect([response.status, response.status === 200 ? '' : text]).toEqual([200, '']);
  }

  test.each(CALLS.map((call) => [`${call.as} ${call.route}: ${call.path}`, call] as const))('%s', async (_, call) => {
    log.skip();
    await ask(call);
    const { pages, readWhole, heaviest } = log.take();
    expect([...readWhole]).toEqual([]);
    expect(pages).toBeGreaterThan(0);
    if (pages > call.most) throw new Error(`${pages} pages, of which ${heaviest.pages} in ${heaviest.text}`);
  });

  test.each(WORK)('%s', async (_, work, most) => {
    const { plans, pages } = await usher.app.database.rehearse(async (tx) => ({
      plans: await plansOf(tx, work),
      pages: most === null ? 0 : await pagesOf(tx, work),
    }));
    expect(plans.length).toBeGreaterThan(0);
    expect(plans.flatMap(scannedTables).filter((table) => large.includes(table))).toEqual([]);
    expect(pages).toBeLessThanOrEqual(most ?? 0);
  });
});

test('every route that reads is among them', () => {
  const paged = (name: string): boolean => /^paged|^optionallyPaged/.test(name);
  const reading = gatewayRoutes({ production: true })
    .filter(({ method, path, envelope }) => (method === 'get' && path.startsWith('/api/')) || paged(envelope.name))
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  const called = new Set(CALLS.map(({ route }) => route));
  expect(reading.filter((route) => !called.has(route)).toSorted()).toEqual(NO_LISTS);
});

async function fillRest(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('set session_replication_role = replica');
  for (const statement of MORE) await client.query(statement);
  await client.query('vacuum analyze');
  await client.end();
}

async function largeTables(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ relname: string }>(
    `select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and reltuples >= ${LARGE}`,
  );
  await client.end();
  return rows.map(({ relname }) => relname);
}
