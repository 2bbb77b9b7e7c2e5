/**
 * The same statements on a small and on a large database, in the same run: 100,000 and 1,000,000 users, with ten overrides
 * and ten notifications each (`--users` sets the small one, the large one is ten times as large). What grows with the data
 * shows in the ratio; sizes on disk tell what a row costs. docs/evidence/scaling.md reads this table.
 */
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import type { Database } from '../../src/persistence/database.ts';
import { countUnread, listInbox } from '../../src/persistence/notifications/inbox.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import type { Lab } from '../lab.ts';
import {
  appCode,
  email,
  firstPermission,
  firstRole,
  loadLargeRegistry,
  type RegistrySize,
  sizeOf,
} from '../large-registry.ts';
import { explainStatements, PlanLog, type Plans } from '../plan-log.ts';
import { Random } from '../random.ts';
import { median, percentile, type Row, row } from '../report.ts';
import { sendRight } from '../rest-calls.ts';
import { Service } from '../service.ts';

/** Tables of which there is one row a user, an override, a notification or a deed: those that grow. */
const TABLES = [
  'person',
  'person_search',
  'profile',
  'user_role',
  'resource_override',
  'notification',
  'delivery',
  'audit',
  'app_preference',
];
const WARM = 20;
/** Calls of a kind whose statements the server explains. */
const EXPLAINED = 9;

interface Asked {
  name: string;
  times: number;
  call: (random: Random) => Promise<unknown>;
}

function statements(database: Database, size: RegistrySize): Asked[] {
  const need = (random: Random) => {
    const at = 1 + random.below(size.users);
    return {
      email: email(at),
      app: appCode(1 + random.below(size.applications)),
      resourceType: 'document',
      resourceId: String(at),
    };
  };
  const needs = (random: Random, count: number) => Array.from({ length: count }, () => need(random));
  const since = Number.MAX_SAFE_INTEGER;
  const inbox = { limit: 51, after: null, unreadOnly: false, app: null };
  return [
    { name: 'a miss: facts of one', times: 1000, call: (random) => database.facts.members(since, needs(random, 1)) },
    { name: 'a miss: facts of 34', times: 500, call: (random) => database.facts.members(since, needs(random, 34)) },
    {
      name: 'a miss: the policy of an application',
      times: 300,
      call: (random) => database.facts.policy(since, appCode(1 + random.below(size.applications))),
    },
    {
      name: 'inbox, first page',
      times: 300,
      call: (random) => database.read((tx) => listInbox(tx, email(1 + random.below(size.users)), inbox)),
    },
    {
      name: 'inbox, unread count',
      times: 300,
      call: (random) => database.read((tx) => countUnread(tx, email(1 + random.below(size.users)))),
    },
  ];
}

function calls(service: Service, token: string, { users, applications }: RegistrySize): Asked[] {
  const get = (name: string, path: (random: Random) => string): Asked => ({
    name: `GET ${name}`,
    times: 60,
    call: (random) => sendRight(service.url, token, { method: 'GET', path: path(random) }),
  });
  const someone = (random: Random): string => email(1 + random.below(users));
  return [
    get('/users', () => '/api/users'),
    get('/users?q= of one', (random) => `/api/users?q=${encodeURIComponent(someone(random))}`),
    get('/users?q= of many', () => '/api/users?q=novak'),
    get('overrides of a user', (random) => `/api/users/${someone(random)}/apps/big/resources`),
    get('audit of an application', (random) => `/api/admin/audit?appCode=${appCode(1 + random.below(applications))}`),
    get('send log of an application', () => '/api/applications/big/notifications'),
    {
      name: 'PUT roles of a user',
      times: 60,
      call: (random) =>
        sendRight(service.url, token, {
          method: 'PUT',
          path: `/api/users/${someone(random)}/apps/big/roles`,
          body: { roleIds: [firstRole(1), firstRole(1) + 1 + random.below(7)] },
        }),
    },
    {
      name: 'PUT an override',
      times: 60,
      call: (random) =>
        sendRight(service.url, token, {
          method: 'PUT',
          path: `/api/users/${someone(random)}/apps/big/resources/document/r${random.below(1_000_000)}/permissions`,
          body: { permissions: [{ permissionId: firstPermission(1), granted: true }] },
        }),
    },
  ];
}

async function time({ call, times }: Asked): Promise<{ p50: number; p99: number }> {
  const random = new Random(7);
  const taken: number[] = [];
  for (let at = 0; at < times + WARM; at++) {
    const startedAt = performance.now();
    await call(random);
    if (at >= WARM) taken.push(performance.now() - startedAt);
  }
  return { p50: percentile(taken, 0.5), p99: percentile(taken, 0.99) };
}

interface Measured {
  rowsOf: Map<string, number>;
  bytesOf: Map<string, { heap: number; indexes: number }>;
  times: Map<string, { p50: number; p99: number }>;
  plans: Map<string, Pick<Plans, 'pages' | 'readWhole'>>;
}

interface Loaded {
  named: string;
  size: RegistrySize;
  url: string;
  loadSeconds: number;
}

async function sizes(url: string): Promise<Pick<Measured, 'rowsOf' | 'bytesOf'>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; rows: number; heap: number; indexes: number }>(
      `select t as name, c.reltuples::float8 as rows, pg_table_size(c.oid)::float8 as heap, pg_indexes_size(c.oid)::float8 as indexes
       from unnest($1::text[]) t join pg_class c on c.oid = t::regclass`,
      [TABLES],
    );
    return {
      rowsOf: new Map(rows.map((r) => [r.name, r.rows])),
      bytesOf: new Map(rows.map(({ name, heap, indexes }) => [name, { heap, indexes }])),
    };
  } finally {
    await client.end();
  }
}

async function load(lab: Lab, users: number): Promise<Loaded> {
  const size = { ...sizeOf(users), notifications: users * 10 };
  const named = users.toLocaleString('en-US');
  const url = await lab.emptyDatabase();
  await (await Service.start({ databaseUrl: url, core: null })).stop();
  lab.say(
    `scale: loading ${named} users, ${size.overrides.toLocaleString('en-US')} overrides and as many notifications`,
  );
  const startedAt = performance.now();
  await loadLargeRegistry(url, size);
  const loadSeconds = (performance.now() - startedAt) / 1000;
  lab.say(`scale: loaded in ${Math.round(loadSeconds)} s`);
  return { named, size, url, loadSeconds };
}

/** Has `look` asked of everything: statements on a connection of our own, calls of a service that is started for it. */
async function askAll({ url, size }: Loaded, look: (asked: Asked) => Promise<void>): Promise<void> {
  const log = createLogger('silent');
  const database = await openDatabase({
    url,
    dataDir: '',
    poolSize: 2,
    migrateOnStart: false,
    clock: systemClock,
    log,
  });
  try {
    for (const asked of statements(database, size)) await look(asked);
  } finally {
    await database.close();
  }
  const service = await Service.start({ databaseUrl: url, core: null });
  try {
    const token = await service.adminToken();
    for (const asked of calls(service, token, size)) await look(asked);
  } finally {
    await service.stop();
  }
}

async function measure(lab: Lab, loaded: Loaded): Promise<Measured> {
  lab.say(`scale: asking of ${loaded.named} users`);
  const times: Measured['times'] = new Map();
  await askAll(loaded, async (asked) => {
    times.set(asked.name, await time(asked));
  });
  const plans: Measured['plans'] = new Map();
  await explainStatements(loaded.url);
  const log = new PlanLog(lab.logFile, TABLES);
  await askAll(loaded, async ({ name, call }) => {
    const random = new Random(11);
    const each: Plans[] = [];
    for (let at = 0; at < EXPLAINED; at++) {
      log.skip();
      await call(random);
      each.push(log.take());
    }
    plans.set(name, {
      pages: median(each.map(({ pages }) => pages)),
      readWhole: new Set(each.flatMap(({ readWhole }) => [...readWhole])),
    });
  });
  return { times, plans, ...(await sizes(loaded.url)) };
}

export async function scale(lab: Lab): Promise<Row[]> {
  const loaded = [await load(lab, lab.settings.users), await load(lab, lab.settings.users * 10)] as const;
  // One soon after the other, so that both are asked on the same machine in the same mood.
  const [small, large] = [await measure(lab, loaded[0]), await measure(lab, loaded[1])];
  const rows: Row[] = [];
  for (const { named, loadSeconds } of loaded) rows.push(row('scale', `${named} users: loaded in`, 's', [loadSeconds]));
  for (const [name, { heap, indexes }] of large.bytesOf) {
    const count = large.rowsOf.get(name) ?? Number.NaN;
    rows.push(
      row('scale', `${name}: rows`, '', [count]),
      row('scale', `${name}: a row, its indexes included`, 'bytes', [(heap + indexes) / count]),
      row('scale', `${name}: of which indexes`, 'bytes', [indexes / count]),
    );
  }
  for (const [name, after] of large.times) {
    const before = small.times.get(name);
    const plans = { before: small.plans.get(name), after: large.plans.get(name) };
    rows.push(
      row('scale', `${name}, p50`, 'ms', [after.p50]),
      row('scale', `${name}, p99`, 'ms', [after.p99]),
      row('scale', `${name}, p50 to that of a tenth of the data`, '', [after.p50 / (before?.p50 ?? Number.NaN)]),
      row('scale', `${name}, pages touched with a tenth of the data`, '', [plans.before?.pages ?? Number.NaN]),
      row('scale', `${name}, pages touched`, '', [plans.after?.pages ?? Number.NaN]),
      row('scale', `${name}, growing tables read whole`, '', [plans.after?.readWhole.size ?? Number.NaN], {
        atMost: 0,
      }),
    );
    if (plans.after !== undefined && plans.after.readWhole.size > 0)
      lab.say(`scale: ${name} reads whole: ${[...plans.after.readWhole].join(', ')}`);
  }
  return rows;
}
