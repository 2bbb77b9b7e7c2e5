import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CompiledQuery, sql } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import type { Database, Tx } from '../../src/persistence/database.ts';
import { findUserIds } from '../../src/persistence/directory/users.ts';
import type { ClientPool } from '../../src/persistence/driver/postgresql.ts';
import { createFactsPool } from '../../src/persistence/facts/source.ts';
import { CHANGES_SQL, GROUNDS_SQL, MEMBERS_SQL, POLICY_SQL } from '../../src/persistence/facts/sql.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import { useDatabase } from '../support/databases.ts';
import { createDatabase, type PostgresDatabase } from '../support/postgres.ts';

/** The statements that make a database of the given size. Ids are those of generate_series. */
function load(persons: number, overrides: number, changes: number): string[] {
  const apps = 10;
  const each = overrides / persons;
  return [
    `insert into person (id, email) overriding system value
      select i, 'user' || i || '@example.com' from generate_series(1, ${persons}) i`,
    `insert into application (id, code, name) overriding system value
      select i, 'app' || i, 'App' from generate_series(1, ${apps}) i`,
    `insert into permission (id, application_id, code, tiered) overriding system value
      select i, (i - 1) / 50 + 1, 'permission.' || i, false from generate_series(1, ${apps * 50}) i`,
    `insert into role (id, application_id, code) overriding system value
      select i, (i - 1) / 20 + 1, 'role' || i from generate_series(1, ${apps * 20}) i`,
    `insert into role_permission (application_id, role_id, permission_id, tiered, level)
      select r.application_id, r.id, p.id, false, 1 from role r join permission p using (application_id)`,
    `insert into user_role (person_id, application_id, role_id)
      select i, i % ${apps} + 1, (i % ${apps}) * 20 + 1 from generate_series(1, ${persons}) i`,
    `insert into app_admin (person_id, application_id) select i, i % ${apps} + 1 from generate_series(1, ${persons}, 10) i`,
    `insert into superadmin (person_id) select i from generate_series(1, ${persons}, 1000) i`,
    `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
      select (i - 1) / ${each} + 1, i % ${apps} + 1, 'document', i::text, (i % ${apps}) * 50 + 1, false, i % 2
        from generate_series(1, ${overrides}) i`,
    `insert into policy_change (revision, nonce, scopes)
      select i, 'nonce' || i, array['m:app1:user' || i || '@example.com'] from generate_series(1, ${changes}) i`,
  ];
}

/**
 * What people are searched by, for `persons` people, and applications beside the ten, of which everybody is: 11 of every second
 * person, 12 of a hundred, 13 of nobody. Of the texts, `company.example` is everybody's, `kim` and `lee` half of them each have,
 * `grace` one in a hundred has; `odd` one in ten, none of whom is of application 11; `late` the last tenth; one alone `xena`.
 */
function loadSearched(persons: number): string[] {
  return [
    `insert into person_search (person_id, searched)
      select i, folded_search('user' || i || '@company.example', case when i % 4 < 2 then 'Kim' else 'Lee' end
        || case when i % 100 = 7 then ' Grace' else '' end || case when i % 10 = 1 then ' Oddfellow' else '' end
        || case when i > ${persons} * 0.9 then ' Latecomer' else '' end || case when i = ${persons} - 7 then ' Xena' else '' end, null, null)
      from generate_series(1, ${persons}) i`,
    `insert into application (id, code, name) overriding system value select i, 'app' || i, 'App' from generate_series(11, 13) i`,
    `insert into role (id, application_id, code) overriding system value select i + 1000, i, 'member' from generate_series(11, 13) i`,
    `insert into user_role (person_id, application_id, role_id) select i, 11, 1011 from generate_series(2, ${persons}, 2) i`,
    `insert into user_role (person_id, application_id, role_id)
      select i, 12, 1012 from generate_series(1, ${persons}, ${persons / 100}) i`,
  ];
}

/** Drops a table's indexes, for loading it; the answer makes them again as they were. */
async function withoutIndexes(client: pg.Client, table: string): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ drop: string; make: string }>(
    `select case when c.oid is null then format('drop index %I', i.relname)
                 else format('alter table %I drop constraint %I', $1::text, c.conname) end as drop,
            case when c.oid is null then pg_get_indexdef(i.oid)
                 else format('alter table %I add constraint %I %s', $1::text, c.conname, pg_get_constraintdef(c.oid)) end as make
       from pg_index x join pg_class i on i.oid = x.indexrelid
       left join pg_constraint c on c.conindid = i.oid and c.contype = 'p'
      where x.indrelid = $1::text::regclass`,
    [table],
  );
  for (const { drop } of rows) await client.query(drop);
  return async () => {
    await client.query(`set maintenance_work_mem = '256MB'`);
    for (const { make } of rows) await client.query(make);
  };
}

/** What EXPLAIN (FORMAT JSON) says of one node; only what is looked at here. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  'Actual Rows'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

/** Every way in which a plan reads a table otherwise than by probing an index. */
function notProbes(plan: PlanNode): string[] {
  return nodes(plan)
    .filter((node) => {
      const type = node['Node Type'];
      if (type === 'Index Scan' || type === 'Index Only Scan' || type === 'Bitmap Index Scan') {
        // The end of an index, which holds the newest revision, is found without a condition.
        return node['Index Cond'] === undefined && !(node['Actual Rows'] !== undefined && node['Actual Rows'] <= 1);
      }
      return type === 'Seq Scan' || type === 'Hash Join' || type === 'Merge Join';
    })
    .map((node) => `${node['Node Type']} ${node['Relation Name'] ?? ''}`);
}

const PERSONS = 100_000;

const NEEDS = Array.from({ length: 256 }, (_, i) => i * 7 + 1);
const MEMBER_PARAMETERS = [
  4000,
  NEEDS.map((i) => `user${i}@example.com`),
  NEEDS.map((i) => `app${(i % 10) + 1}`),
  NEEDS.map((i) => (i % 2 === 0 ? '' : 'document')),
  NEEDS.map((i) => (i % 2 === 0 ? '' : String((i - 1) * 10 + (i % 10)))),
];

const STATEMENTS: [name: string, sql: string, types: string, parameters: unknown[]][] = [
  ['members', MEMBERS_SQL, 'bigint, text[], text[], text[], text[]', MEMBER_PARAMETERS],
  ['policy', POLICY_SQL, 'bigint, text', [4000, 'app3']],
  ['changes', CHANGES_SQL, 'bigint', [4000]],
  [
    'grounds',
    GROUNDS_SQL,
    'bigint, text, text, text, text, text',
    [4000, 'user8@example.com', 'app9', 'document', '78', 'permission7'],
  ],
];

/**
 * A text, the application (all: everybody), the id behind which the page begins, who is found, the rows read for it, of the table and
 * of the index each, and behind whom a short page ends.
 */
const SEARCHES: [text: string, app: number | 'all', after: number, found: number, most: number, behind?: number][] = [
  // Common: a page of the next people.
  ...(['all', 1, 11] as const).flatMap((app): [string, number | 'all', number, number, number][] =>
    [0, 50_000].flatMap((after): [string, number | 'all', number, number, number][] => [
      ['e', app, after, 51, 10_000],
      ['Company.Example', app, after, 51, 10_000],
      ['kim', app, after, 51, 10_000],
    ]),
  ),
  ['oddfellow', 'all', 0, 51, 10_000],
  ['oddfellow', 1, 50_000, 51, 15_000],
  // One in a hundred, one, nobody: by the index of pieces.
  ['grace', 'all', 0, 51, 15_000],
  ['grace', 1, 0, 51, 12_000],
  ['grace', 1, 50_000, 51, 12_000],
  ['Xena', 'all', 0, 1, 10_000],
  ['xe', 1, 50_000, 1, 15_000],
  ['zq', 'all', 0, 0, 10_000],
  ['zzzyx', 1, 0, 0, 15_000],
  ['100%', 'all', 0, 0, 10_000],
  // Few members are looked at, and those who tell that the text is common.
  ['e', 12, 0, 51, 1000],
  ['oddfellow', 12, 0, 51, 1000],
  ['lee', 12, 0, 0, 1000],
  ['e', 13, 0, 0, 400],
  // Common among all, and never or late in the application or in the order: the page is short, or empty.
  ['oddfellow', 11, 0, 0, 8000, 2001],
  ['latecomer', 'all', 0, 0, 10_000, 4000],
  ['latecomer', 11, 0, 0, 8000, 2001],
];

describe('query plans of a miss with 100,000 people and 1,000,000 overrides', () => {
  let database: PostgresDatabase;
  let pool: ClientPool;
  let registry: Database;

  beforeAll(async () => {
    database = await createDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    // Triggers and foreign keys are not what is looked at here.
    await client.query('set session_replication_role = replica');
    const restore = [await withoutIndexes(client, 'resource_override'), await withoutIndexes(client, 'person_search')];
    for (const statement of [...load(PERSONS, 1_000_000, 5000), ...loadSearched(PERSONS)])
      await client.query(statement);
    for (const again of restore) await again();
    await client.end();
    const options = { clock: systemClock, log: createLogger('silent') };
    pool = createFactsPool({ name: 'facts', url: database.url, ...options });
    registry = await openDatabase({ url: database.url, dataDir: '', poolSize: 1, migrateOnStart: false, ...options });
  }, 180_000);

  afterAll(async () => {
    await registry.close();
    await pool.close();
    await database.drop();
  });

  /** The plan that the facts' own session makes of the prepared statement, carried out. */
  async function explain(name: string, text: string, types: string, parameters: unknown[]): Promise<PlanNode> {
    const lease = await pool.acquire();
    try {
      await lease.query({ text: `prepare ${name}_${types.length} (${types}) as ${text}` });
      const values = parameters.map(literal).join(', ');
      const { rows } = await lease.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
        text: `explain (analyze, buffers, format json) execute ${name}_${types.length} (${values})`,
      });
      return rows[0]?.['QUERY PLAN'][0].Plan as PlanNode;
    } finally {
      lease.discard();
      lease.release();
    }
  }

  function literal(value: unknown): string {
    if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]::text[]`;
    return typeof value === 'number' ? String(value) : pg.escapeLiteral(String(value));
  }

  /** Who is found by a search, and how many rows were read for that. */
  async function searched(
    text: string,
    apps: number[] | null,
    after: number,
    planned: 'force_custom_plan' | 'force_generic_plan',
  ): Promise<{ found: number; behind: number | null; rows: number }> {
    return await registry.read(async (tx) => {
      await sql`set local plan_cache_mode = ${sql.raw(planned)}`.execute(tx.kysely);
      const count = async () => {
        const { rows } = await sql<{ total: number }>`
          select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as total from pg_stat_xact_user_tables`.execute(
          tx.kysely,
        );
        return rows[0]?.total ?? 0;
      };
      const before = await count();
      const { ids, behind } = await findUserIds(tx, { search: text, active: null, apps }, { limit: 51, after });
      return { found: ids.length, behind, rows: (await count()) - before };
    });
  }

  for (const statistics of ['without statistics', 'with statistics']) {
    describe(statistics, () => {
      beforeAll(async () => {
        if (statistics === 'without statistics') return;
        const client = new pg.Client({ connectionString: database.url });
        await client.connect();
        await client.query('analyze');
        await client.end();
      }, 180_000);

      test.each(STATEMENTS)('%s probes indexes only', async (name, text, types, parameters) => {
        const plan = await explain(name, text, types, parameters);
        expect(notProbes(plan)).toEqual([]);
        // 256 needs of some ten probes each, a thousand log rows: far from the tens of thousands of pages of the tables.
        expect((plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)).toBeLessThan(12_000);
      });
    });
  }

  // Behind the suites above: with statistics.
  test.each(SEARCHES)('people by %j of %j after %j: %j found, of at most %j rows', async (...search) => {
    const [text, app, after, found, most, behind] = search;
    // For these values, and for any, as a connection plans it that was asked often.
    for (const planned of ['force_custom_plan', 'force_generic_plan'] as const) {
      const cost = await searched(text, app === 'all' ? null : [app], after, planned);
      expect([cost.found, cost.behind]).toEqual([found, behind ?? null]);
      expect(cost.rows).toBeLessThan(most);
    }
  });
});

describe('query plans of a miss on PGlite', () => {
  const fixture = useDatabase('pglite');

  const explain = async (database: Database, text: string, parameters: unknown[]): Promise<PlanNode> => {
    const read = (tx: Tx) =>
      tx.kysely.executeQuery<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        CompiledQuery.raw(`explain (format json) ${text}`, parameters),
      );
    const { rows } = await database.read(read);
    return rows[0]?.['QUERY PLAN'][0].Plan as PlanNode;
  };

  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx.kysely);
      for (const statement of load(5000, 20_000, 5000)) await sql.raw(statement).execute(tx.kysely);
      await sql`analyze`.execute(tx.kysely);
      return { result: undefined, scopes: ['*'] };
    });
  }, 180_000);

  test.each(STATEMENTS)('%s probes the indexes of growing tables', async (_name, text, _types, parameters) => {
    const grow = ['person', 'user_role', 'resource_override', 'app_admin', 'policy_change'];
    const scans = nodes(await explain(fixture.database, text, parameters))
      .filter((node) => node['Node Type'] === 'Seq Scan')
      .map((node) => node['Relation Name'] ?? '');
    expect(scans.filter((table) => grow.includes(table))).toEqual([]);
  });
});
