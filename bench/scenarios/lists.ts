/**
 * Who can, and what somebody can reach: database time of a page where 10, 10,000 and all of a million users qualify, and of a
 * person with 10,000 overrides; by `explain analyze` of the service's own statements, under its own settings.
 */
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { MAX_LOG_ROWS } from '../../src/engine/types.ts';
import { IN_ORDER_SQL, REACHED_BY_SQL, RESOURCES_SQL, SUBJECTS_SQL } from '../../src/persistence/facts/lists-sql.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import type { Lab } from '../lab.ts';
import { percentile, type Row, row } from '../report.ts';

const PERSON = 7;
const OVERRIDES = 10_000;
const PAGES = 50;

/** How many qualify by the role of each permission. */
function permissionsOf(users: number): [code: string, holders: number][] {
  return [
    ['ten', 10],
    ['ten-thousand', Math.min(10_000, users)],
    ['all', users],
    // Everybody holds the role; all but ten are denied the record by an override.
    ['denied', users],
  ];
}

function load(users: number): string[] {
  return [
    `insert into person (id, email) overriding system value
      select i, 'user' || i || '@example.com' from generate_series(1, ${users}) i`,
    `insert into application (id, code, name) overriding system value values (1001, 'shop', 'Shop')`,
    ...permissionsOf(users).flatMap(([code, holders], index) => {
      const id = 1001 + index;
      return [
        `insert into permission (id, application_id, code, tiered) overriding system value values (${id}, 1001, '${code}', true)`,
        `insert into role (id, application_id, code) overriding system value values (${id}, 1001, '${code}')`,
        `insert into role_permission (application_id, role_id, permission_id, tiered, level)
          values (1001, ${id}, ${id}, true, 2)`,
        `insert into user_role (person_id, application_id, role_id)
          select i, 1001, ${id} from generate_series(1, ${users}, ${users / holders}) i`,
      ];
    }),
    `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
      select i, 1001, 'document', '1', 1004, true, 0 from generate_series(1, ${users}) i where i % ${users / 10} <> 1`,
    `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
      select ${PERSON}, 1001, 'invoice', 'invoice-' || i, 1001, true, case when i % 2 = 0 then 2 else 0 end
      from generate_series(1, ${OVERRIDES}) i`,
  ];
}

interface Explained {
  'Execution Time': number;
  'Planning Time': number;
  Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
}

class Session {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  async prepare(): Promise<void> {
    const log = 'text, text, text, text, bigint[], bigint, text[], bigint';
    await this.#client.query(
      `prepare subjects (text, text, text, text, int, bigint, int, bigint[]) as ${SUBJECTS_SQL}`,
    );
    await this.#client.query(`prepare reached_by (${log}) as ${REACHED_BY_SQL}`);
    await this.#client.query(
      `prepare resources (bigint, bigint, text, bigint, smallint[], text, int, int) as ${RESOURCES_SQL}`,
    );
  }

  /** Milliseconds that PostgreSQL took for the statements together, and the pages that it touched. */
  async time(...calls: readonly string[]): Promise<{ ms: number; blocks: number }> {
    await this.#client.query('begin read only');
    await this.#client.query(IN_ORDER_SQL);
    let [ms, blocks] = [0, 0];
    for (const call of calls) {
      const text = `explain (analyze, buffers, timing off, format json) execute ${call}`;
      const { rows } = await this.#client.query<{ 'QUERY PLAN': [Explained] }>(text);
      const plan = rows[0]?.['QUERY PLAN'][0];
      if (plan === undefined) throw new Error('PostgreSQL explains nothing');
      ms += plan['Planning Time'] + plan['Execution Time'];
      blocks += plan.Plan['Shared Hit Blocks'] + plan.Plan['Shared Read Blocks'];
    }
    await this.#client.query('commit');
    return { ms, blocks };
  }
}

export async function lists(lab: Lab): Promise<Row[]> {
  const users = lab.settings.quick ? 100_000 : 1_000_000;
  const url = await lab.emptyDatabase();
  const log = createLogger('silent');
  const options = { url, dataDir: '', poolSize: 1, migrateOnStart: true, clock: systemClock, log };
  await (await openDatabase(options)).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    lab.say(`lists: storing ${users.toLocaleString('en-US')} users`);
    await client.query('set session_replication_role = replica');
    for (const statement of load(users)) await client.query(statement);
    await client.query('vacuum analyze');
    const session = new Session(client);
    await session.prepare();
    const rows: Row[] = [];
    const measure = async (what: string, goal: number, calls: (page: number) => string[]) => {
      const times: number[] = [];
      const blocks: number[] = [];
      // The first round reads the pages from disk: the server's own memory is the default, an eighth of the data.
      for (let page = 0; page < PAGES; page++) await session.time(...calls(page));
      for (let page = 0; page < PAGES; page++) {
        const one = await session.time(...calls(page));
        times.push(one.ms);
        blocks.push(one.blocks);
      }
      rows.push(
        row('lists', `${what}, database time, p50`, 'ms', [percentile(times, 0.5)], { atMost: goal }),
        row('lists', `${what}, database time, p99`, 'ms', [percentile(times, 0.99)]),
        row('lists', `${what}, pages touched, most`, '', [Math.max(...blocks)]),
      );
    };
    for (const [code] of permissionsOf(users)) {
      const resource = code === 'denied' ? `'document', '1'` : `'', ''`;
      const name = code === 'denied' ? 'all but ten denied by override' : `${code} qualify`;
      await measure(`who can, page of 100, ${name}`, 10, (page) => [
        `subjects ('shop', '${code}', ${resource}, 0, ${Math.floor((users / PAGES) * page)}, 101, array[0, 0])`,
      ]);
    }
    const email = `user${PERSON}@example.com`;
    await measure('what somebody can reach, page of 1,000 of 10,000 overrides', 20, (page) => [
      `reached_by ('shop', 'ten', 'invoice', '${email}', array[0, 0], 0, array['*', 'u:${email}'], ${MAX_LOG_ROWS})`,
      `resources (${PERSON}, 1001, 'invoice', 1001, array[1, 2, 3]::smallint[], 'invoice-${page}', 1, 1001)`,
    ]);
    return rows;
  } finally {
    await client.end();
  }
}
