import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { MAX_LOG_ROWS } from '../../src/engine/types.ts';
import {
  IN_ORDER_SQL,
  REACHED_BY_SQL,
  RESOURCES_SQL,
  SPARE,
  SUBJECTS_SQL,
} from '../../src/persistence/facts/lists-sql.ts';
import { createDatabase, type PostgresDatabase } from '../support/postgres.ts';

/**
 * What a page of a list costs does not grow with those who do not qualify: read from the plans that the service's own statements
 * get, with 100,000 people.
 */
const PERSONS = 100_000;
const ADA = 'user7@example.com';

/** Permissions, each with the role of its number: `few` of every 10,000th person, `tenth` of every tenth, the others of everybody. */
const PERMISSIONS = ['few', 'tenth', 'everybody', 'denied', 'owned'] as const;
type Permission = (typeof PERMISSIONS)[number];

const LOAD = [
  `insert into person (id, email) overriding system value
    select i, 'user' || i || '@example.com' from generate_series(1, ${PERSONS}) i`,
  `insert into application (id, code, name) overriding system value values (1, 'app', 'App'), (2, 'other', 'Other')`,
  ...PERMISSIONS.flatMap((code, index) => [
    `insert into permission (id, application_id, code, tiered) overriding system value values (${index + 1}, 1, '${code}', true)`,
    `insert into role (id, application_id, code) overriding system value values (${index + 1}, 1, 'role-${code}')`,
    `insert into role_permission (application_id, role_id, permission_id, tiered, level)
      values (1, ${index + 1}, ${index + 1}, true, 2)`,
  ]),
  ...[10_000, 10, 1, 1].map(
    (step, index) => `insert into user_role (person_id, application_id, role_id)
      select i, 1, ${index + 1} from generate_series(1, ${PERSONS}, ${step}) i`,
  ),
  // Every tenth person also has a role that gives `denied`: one index of candidates reaches further than the other.
  `insert into role (id, application_id, code) overriding system value values (6, 1, 'more')`,
  `insert into role_permission (application_id, role_id, permission_id, tiered, level) values (1, 6, 4, true, 2)`,
  `insert into user_role (person_id, application_id, role_id) select i, 1, 6 from generate_series(1, ${PERSONS}, 10) i`,
  // Other people and other records, so that what is asked about is a small part of each table.
  `insert into role (id, application_id, code) overriding system value values (100, 2, 'other')`,
  `insert into user_role (person_id, application_id, role_id) select i, 2, 100 from generate_series(1, ${PERSONS}) i`,
  `insert into app_admin (person_id, application_id) select i, 2 from generate_series(1, ${PERSONS}, 10) i`,
  `insert into app_admin (person_id, application_id) values (5, 1)`,
  `insert into superadmin (person_id) values (3)`,
  // Of \`owned\` and the record 1: everybody is denied, but for ten. Of \`denied\`: everybody of the first half, who holds the role.
  `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select i, 1, 'document', '1', 5, true, case when i % 10000 = 1 then 3 else 0 end from generate_series(1, ${PERSONS}) i`,
  `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select i, 1, 'document', '1', 4, true, 0 from generate_series(1, ${PERSONS / 2}) i`,
  // Ada has 10,000 of her own, and 20 other people have the same.
  `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select p, 1, 'invoice', 'invoice-' || i, 2, true, case when i % 2 = 0 then 2 else 0 end
      from generate_series(7, 27) p, generate_series(1, 10000) i`,
  `insert into policy_change (revision, nonce, scopes)
    select i, 'nonce' || i, array['m:other:user' || i || '@example.com'] from generate_series(1, 5000) i`,
];

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

const nodes = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
const blocks = (plan: PlanNode) => (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);

/** The nodes that read a table otherwise than by probing an index: tables whose names begin a CTE's are none. */
function notProbes(plan: PlanNode): string[] {
  return nodes(plan)
    .filter((node) => {
      if (node['Node Type'].startsWith('Index'))
        return node['Index Cond'] === undefined && (node['Actual Rows'] ?? 0) > 1;
      return ['Seq Scan', 'Hash Join', 'Merge Join', 'Bitmap Heap Scan'].includes(node['Node Type']);
    })
    .map((node) => `${node['Node Type']} ${node['Relation Name'] ?? ''}`);
}

describe('plans of the lists, with 100,000 people', () => {
  let storage: PostgresDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    storage = await createDatabase();
    client = new pg.Client({ connectionString: storage.url });
    await client.connect();
    await client.query('set session_replication_role = replica');
    for (const statement of LOAD) await client.query(statement);
    await client.query('vacuum analyze');
    await client.query(`prepare subjects (text, text, text, text, int, bigint, int, bigint[]) as ${SUBJECTS_SQL}`);
    const log = 'text, text, text, text, bigint[], bigint, text[], bigint';
    await client.query(`prepare reached_by (${log}) as ${REACHED_BY_SQL}`);
    await client.query(
      `prepare resources (bigint, bigint, text, bigint, smallint[], text, int, int) as ${RESOURCES_SQL}`,
    );
  }, 180_000);

  afterAll(async () => {
    await client?.end();
    await storage?.drop();
  });

  async function inOrder<T>(work: () => Promise<T>): Promise<T> {
    await client.query('begin read only');
    try {
      await client.query(IN_ORDER_SQL);
      return await work();
    } finally {
      await client.query('rollback');
    }
  }

  async function explain(call: string): Promise<PlanNode> {
    return await inOrder(async () => {
      const { rows } = await client.query(`explain (analyze, buffers, format json) execute ${call}`);
      return rows[0]['QUERY PLAN'][0].Plan as PlanNode;
    });
  }

  const page = (permission: Permission, record: string, after: number, limit = 101) =>
    `subjects ('app', '${permission}', '${record === '' ? '' : 'document'}', '${record}', 0, ${after}, ${limit}, array[0, 5000])`;

  /** The people of a page, and where the next one begins. */
  async function read(call: string): Promise<{ ids: number[]; until: number | null }> {
    return await inOrder(async () => {
      const { rows } = await client.query<{ subjects: [number][] | null; until: string | null }>(`execute ${call}`);
      const { subjects, until } = rows[0] ?? { subjects: null, until: null };
      return { ids: (subjects ?? []).map(([id]) => id), until: until === null ? null : Number(until) };
    });
  }

  test.each([
    ['few', '', 0, 12],
    ['few', '', 50_000, 5],
    ['tenth', '', 0, 101],
    ['tenth', '', 50_000, 101],
    ['everybody', '', 0, 101],
    ['everybody', '', 99_000, 101],
    ['everybody', '2', 50_000, 101],
    // By override: ten of 100,000 who have one for the record.
    ['owned', '1', 0, 12],
    // Everybody is denied in the first half: there a page is short, and costs no more for it.
    ['denied', '1', 0, 2],
    ['denied', '1', 49_900, 101],
    ['denied', '1', 60_000, 101],
  ] as const)('%s for record %j after %j reads a bounded number of pages by index', async (...asked) => {
    const [permission, record, after, count] = asked;
    const call = page(permission, record, after);
    expect((await read(call)).ids).toHaveLength(count);
    const plan = await explain(call);
    expect(notProbes(plan)).toEqual([]);
    // A page and what is looked at beside it, some ten probes each; the tables have some thousands of pages, the indexes more.
    expect(blocks(plan)).toBeLessThan(count < 101 ? 7000 : 3000);
  });

  test('a page in which everybody is denied has the position of the next one', async () => {
    const { ids, until } = await read(page('denied', '1', 10));
    expect(ids).toEqual([]);
    // Behind the last person of whom every index has told.
    expect(until).toBe(10 + 101 + SPARE);
  });

  test('overrides of other records do not change the rows that a page reads', async () => {
    const few = blocks(await explain(page('few', '', 0)));
    const among = blocks(await explain(page('owned', '1', 0)));
    expect(among).toBeLessThan(few + 200);
  });

  test.each(['', 'invoice-5'])('the resources among 10,000 overrides are read by index after %j', async (from) => {
    const scopes = `array['*', 'a:app', 'p:app', 'u:${ADA}', 'm:app:${ADA}']`;
    const reached = `reached_by ('app', 'tenth', 'invoice', '${ADA}', array[0, 5000], 10, ${scopes}, ${MAX_LOG_ROWS})`;
    expect(notProbes(await explain(reached))).toEqual([]);
    const resources = `resources (7, 1, 'invoice', 2, array[1, 2, 3]::smallint[], '${from}', 0, 1001)`;
    const plan = await explain(resources);
    expect(notProbes(plan)).toEqual([]);
    expect(nodes(plan).map((node) => node['Index Name'])).toContain('resource_override_pkey');
    // Denials lie between what is granted: twice the rows, and no more.
    const looked = nodes(plan).map((node) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0));
    expect(Math.max(...looked)).toBeLessThan(2100);
  });
});
