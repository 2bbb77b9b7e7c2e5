import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { type AuditFilter, readAudit } from '../../src/persistence/audit.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { forEachDatabase, useDatabase } from '../support/databases.ts';
import { plansOf, scannedTables } from '../support/plans.ts';

interface Row {
  id: number;
  at: Date;
  actor: string;
  action: string;
  appCode: string | null;
  subject: string | null;
  after: unknown;
}

const PEOPLE = ['eva@example.com', 'adam@example.com', 'eva@example.com.org'];
const ACTIONS = [
  'role.created',
  'role.removed',
  'role_users.changed',
  'override.created',
  'user.blocked',
  'user.blocked.refused',
];
/** As manifests name what they change; an earlier version named an assignment and an override so, beside the person. */
const things = (person: string): string[] => [
  person,
  `${person}:reader`,
  `${person}:document.access:document:contract-77`,
  'reader',
  'auth_idp:cs',
];

/** By the number of a record: several share a moment. */
function rowOf(id: number): Row {
  const person = PEOPLE[id % 3] ?? '';
  const actor = id % 4 === 0 ? `user:${PEOPLE[(id + 1) % 3]}` : id % 5 === 0 ? 'key:ci' : 'user:root@example.com';
  return {
    id,
    at: new Date(Date.UTC(2026, 0, 1, 0, Math.floor(id / 4))),
    actor,
    action: ACTIONS[(id * 7) % ACTIONS.length] ?? '',
    appCode: [null, 'billing', 'shop'][id % 7 === 0 ? 0 : (id % 2) + 1] ?? null,
    subject: id % 11 === 0 ? null : (things(person)[(id * 5) % 13] ?? 'Šárka'),
    after: id % 6 === 0 ? { note: `a "quoted" \\ Line\nof Žofie ${id}` } : null,
  };
}

const ROWS = Array.from({ length: 120 }, (_, index) => rowOf(index + 1));

/** By definition: the records that the filter lets through, the newest first. */
function naive({ person, actionPrefix = '', search = '', appCode, actor, subject, from, to }: AuditFilter): number[] {
  const has = ({ actor: by, action, appCode: app, subject: of, after }: Row): boolean => {
    const texts = [by, action, app ?? '', of ?? '', JSON.stringify((after as { note?: string })?.note ?? '')];
    const sought = [search, JSON.stringify(search).slice(1, -1)].map((text) => text.toLowerCase());
    return texts.some((text) => sought.some((one) => text.toLowerCase().includes(one)));
  };
  return ROWS.filter((row) => {
    const isAbout = row.subject === person || row.subject?.startsWith(`${person}:`);
    if (person !== undefined && !isAbout && row.actor !== `user:${person}`) return false;
    if (appCode !== undefined && row.appCode !== appCode) return false;
    if (actor !== undefined && row.actor !== actor) return false;
    if (subject !== undefined && row.subject !== subject) return false;
    if (from !== undefined && row.at < from) return false;
    if (to !== undefined && row.at > to) return false;
    return row.action.startsWith(actionPrefix) && has(row);
  })
    .toSorted((one, other) => Number(other.at) - Number(one.at) || other.id - one.id)
    .map(({ id }) => id);
}

const filters: fc.Arbitrary<AuditFilter> = fc.record(
  {
    person: fc.constantFrom(...PEOPLE, 'nobody@example.com'),
    actionPrefix: fc.constantFrom('role', 'role.', 'user.blocked', 'ROLE', 'r%', 'x'),
    search: fc.constantFrom(
      'EVA',
      'contract-77',
      '"quoted" \\',
      'line\nof',
      'Žofie',
      'Šár',
      '%',
      'ole',
      'billing',
      'zzz',
    ),
    appCode: fc.constantFrom('billing', 'nowhere'),
    actor: fc.constantFrom('key:ci', 'user:root@example.com'),
    subject: fc.constantFrom('reader', 'eva@example.com'),
    from: fc.constant(new Date(Date.UTC(2026, 0, 1, 0, 5))),
    to: fc.constant(new Date(Date.UTC(2026, 0, 1, 0, 25))),
  },
  { requiredKeys: [] },
);

forEachDatabase('filters of audit records', (fixture) => {
  beforeAll(async () => {
    await fixture.database.change(async ({ kysely }) => {
      await sql`insert into audit (id, at, actor, action, app_code, subject, after) overriding system value
        select id, at, actor, action, "appCode", subject, after from jsonb_to_recordset(${JSON.stringify(ROWS)}::jsonb)
          as r (id bigint, at timestamptz, actor text, action text, "appCode" text, subject text, after jsonb)`.execute(
        kysely,
      );
      return { result: null, scopes: [] };
    });
  });

  test('the pages have every matching record once and in order, however few records a page may examine', async () => {
    const examined = fc.constantFrom(5, 17, 200);
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 30 }), examined, async (filter, limit, most) => {
        const read: number[] = [];
        await fixture.database.read(async (tx) => {
          for (let after: number | null = null, pages = 0; ; pages++) {
            expect(pages).toBeLessThan(200);
            const page: Awaited<ReturnType<typeof readAudit>> = await readAudit(
              tx,
              filter,
              { limit: limit + 1, after },
              most,
            );
            read.push(...page.rows.slice(0, limit).map(({ id }) => id));
            after = page.rows.length > limit ? (page.rows[limit - 1]?.id ?? null) : page.behind;
            if (after === null) return;
          }
        });
        expect(read).toEqual(naive(filter));
      }),
      { numRuns: process.env.USHER_LONG ? 1000 : 150 },
    );
  });
});

const RECORDS = 100_000;

describe('filters of 100,000 audit records', () => {
  const fixture = useDatabase('postgresql');

  beforeAll(async () => {
    await fixture.database.change(async ({ kysely }) => {
      // One administrator made most of them; one record in a thousand is of the rare action, ten are of an earlier version.
      await sql`insert into audit (at, actor, action, app_code, subject, after)
        select '2026-01-01Z'::timestamptz + i * interval '1 second',
          case when i % 10 = 0 then 'user:p' || i % 500 || '@example.com' else 'user:root@example.com' end,
          case when i % 1000 = 7 then 'brand.created' else 'assignment.' || (array['created', 'removed'])[i % 2 + 1] end,
          'app' || i % 10, 'p' || i % 700 || '@example.com' || case when i % 10000 = 77 then ':read:document:7' else '' end,
          '{"role": "reader"}'::jsonb from generate_series(1, ${RECORDS}::int) i`.execute(kysely);
      await sql`analyze audit`.execute(kysely);
      return { result: null, scopes: [] };
    });
  });

  test.each<[string, AuditFilter, number]>([
    ['no filter', {}, 51],
    ['a person', { person: 'p70@example.com' }, 51],
    ['a person in an application', { person: 'p70@example.com', appCode: 'app0' }, 51],
    ['a person named with a thing alone', { person: 'p77@example.com', to: new Date('2026-01-01T00:02:00Z') }, 1],
    ['an administrator', { person: 'root@example.com' }, 51],
    ['nobody', { person: 'nobody@example.com' }, 0],
    ['common actions', { actionPrefix: 'assignment.' }, 51],
    ['a rare action', { actionPrefix: 'brand' }, 51],
    ['a rare action of an application', { actionPrefix: 'brand.', appCode: 'app7' }, 51],
    ['a rare action of a person', { actionPrefix: 'brand.', person: 'root@example.com' }, 51],
    ['no action', { actionPrefix: 'nothing' }, 0],
    ['a common text', { search: 'READER' }, 51],
    ['a text that nothing has', { search: 'zzz' }, 0],
    ['a text in rare actions', { search: 'p707@', actionPrefix: 'brand.' }, 0],
    ['a text about a person', { search: 'created', person: 'p70@example.com' }, 51],
  ])('%s: a page reads a bounded number of records by indexes', async (_name, filter, found) => {
    const read = (tx: Tx) => readAudit(tx, filter, { limit: 51, after: null });
    const { rows, cost } = await fixture.database.read(async (tx) => {
      const count = async () => {
        const counted = await sql<{ total: number }>`select (seq_tup_read + idx_tup_fetch)::int as total
          from pg_stat_xact_user_tables where relname = 'audit'`.execute(tx.kysely);
        return counted.rows[0]?.total ?? 0;
      };
      const before = await count();
      return { rows: (await read(tx)).rows, cost: (await count()) - before };
    });
    expect(rows).toHaveLength(found);
    // A search examines 4,000 at most, each found by one index and read by another, and looks where it stopped.
    expect(cost).toBeLessThan(15_000);
    const plans = await fixture.database.read((tx) => plansOf(tx, read));
    expect(plans.flatMap(scannedTables)).not.toContain('audit');
  });
});
