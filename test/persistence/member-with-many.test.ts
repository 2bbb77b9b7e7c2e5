import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { readAccess } from '../../src/persistence/directory/access.ts';
import type { ClientPool } from '../../src/persistence/driver/postgresql.ts';
import { createFactsPool } from '../../src/persistence/facts/source.ts';
import { GROUNDS_SQL, MEMBER_SQL, MEMBERS_SQL } from '../../src/persistence/facts/sql.ts';
import { useDatabase } from '../support/databases.ts';
import { pagesOf } from '../support/plans.ts';

const PEOPLE = 5000;
const APPLICATIONS = 1000;
const MANY = 10_000;

/**
 * Everybody has ten overrides, each in another application, so that by all statistics a member has one. Person 1 has ten thousand more
 * in app1. As in life, the rows of one person lie all over the table.
 */
const LOAD = [
  `insert into person (id, email) overriding system value
    select i, 'user' || i || '@example.com' from generate_series(1, ${PEOPLE}) i`,
  `insert into application (id, code, name) overriding system value
    select i, 'app' || i, 'App' from generate_series(1, ${APPLICATIONS}) i`,
  `insert into permission (id, application_id, code, tiered) overriding system value
    select i, i, 'read', false from generate_series(1, ${APPLICATIONS}) i`,
  `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select p, (p * 7 + j * 13) % ${APPLICATIONS} + 1, 'document', 'r' || j, (p * 7 + j * 13) % ${APPLICATIONS} + 1, false, 1
      from generate_series(1, 10) j, generate_series(1, ${PEOPLE}) p
    union all
    select 1, 1, 'document', 'm' || i, 1, false, 1 from generate_series(1, ${MANY}) i
    order by 4`,
];
const QUESTION = ['user1@example.com', 'app1', 'document', 'm500'];

interface PlanNode {
  'Relation Name'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

describe('one record of a member who has ten thousand', () => {
  const fixture = useDatabase('postgresql');
  let facts: ClientPool;

  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx.kysely);
      for (const statement of LOAD) await sql.raw(statement).execute(tx.kysely);
      await sql`analyze`.execute(tx.kysely);
      return { result: undefined, scopes: ['*'] };
    });
    facts = createFactsPool({
      name: 'facts',
      url: fixture.storage.url ?? '',
      clock: systemClock,
      log: createLogger('silent'),
    });
  });
  afterAll(async () => {
    await facts?.close();
  });

  test.each<[string, string, unknown[]]>([
    ['a miss alone', MEMBER_SQL, QUESTION],
    ['a batch of misses', MEMBERS_SQL, [0, ...QUESTION.map((word) => [word])]],
    ['an explanation', GROUNDS_SQL, [0, ...QUESTION, 'read']],
  ])('%s touches a few pages, not those of all', async (_, statement, parameters) => {
    const { rows } = await facts.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
      text: `explain (analyze, buffers, format json) ${statement}`,
      values: parameters,
    });
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    expect(pagesOfOverrides(plan)).toBeGreaterThan(0);
    expect(pagesOfOverrides(plan)).toBeLessThan(10);
  });

  test('their access reads the overrides that it shows, and counts the others by an index', async () => {
    const client = new pg.Client({ connectionString: fixture.storage.url ?? '' });
    await client.connect();
    // What autovacuum does: then an index alone can count.
    await client.query('vacuum resource_override');
    await client.end();
    const access = (person: number) =>
      fixture.database.read(async (tx) => ({
        rows: await readAccess(tx, person, null, false),
        pages: await pagesOf(tx, (noting) => readAccess(noting, person, null, false)),
      }));
    const [many, few] = [await access(1), await access(2)];
    expect(many.rows.map(({ overrides }) => overrides.length)).toEqual([200, ...Array.from({ length: 10 }, () => 1)]);
    expect(many.rows[0]).toMatchObject({ code: 'app1', overrideCount: MANY });
    const shown = many.rows[0]?.overrides.map(({ resourceType, resourceId, permission, level }) => [
      resourceType,
      resourceId,
      permission,
      level,
    ]);
    const all = Array.from({ length: MANY }, (_, i) => `m${i + 1}`).toSorted();
    expect(shown).toEqual(all.slice(0, 200).map((id) => ['document', id, 'read', 1]));
    // Its index holds a hundred on a page.
    expect(many.pages - few.pages).toBeLessThan(200 + MANY / 20);
  });
});

function pagesOfOverrides(plan: PlanNode | undefined): number {
  if (plan === undefined) return 0;
  if (plan['Relation Name'] === 'resource_override') return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  return (plan.Plans ?? []).reduce((sum, part) => sum + pagesOfOverrides(part), 0);
}
