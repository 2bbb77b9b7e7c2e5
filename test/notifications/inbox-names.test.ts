import { beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Tx } from '../../src/persistence/database.ts';
import { listInbox, listNewer } from '../../src/persistence/notifications/inbox.ts';
import { forEachDatabase } from '../support/databases.ts';

const APPLICATIONS = 10_000;
/** Those that the inbox has notifications of. */
const NAMED = 20;
const EMAIL = 'ann@example.com';

const LOAD = [
  `insert into person (id, email) overriding system value values (1, '${EMAIL}')`,
  `insert into application (id, code, name) overriding system value
    select i, 'app' || i, 'Application ' || i from generate_series(1, ${APPLICATIONS}) i`,
  `insert into notification_type (id, application_id, code, name) overriding system value
    select i, i, 'generic', 'G' from generate_series(1, ${APPLICATIONS}) i`,
  `insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
    select 1 + n % ${NAMED} * 500, 1 + n % ${NAMED} * 500, 1, 's' || n, '{}', 'sent', 'en' from generate_series(1, 1000) n`,
  'analyze',
];

forEachDatabase('names in an inbox, with 10,000 applications', (fixture) => {
  beforeAll(async () => {
    await fixture.database.change(async ({ kysely }) => {
      await sql`set local session_replication_role = replica`.execute(kysely);
      for (const statement of LOAD) await sql.raw(statement).execute(kysely);
      return { result: null, scopes: ['*'] };
    });
  });

  /** Rows of applications and types that a statement reads, by whatever way. */
  async function namesRead(read: (tx: Tx) => Promise<unknown>): Promise<number> {
    return await fixture.database.read(async (tx) => {
      const count = async () => {
        const { rows } = await sql<{ total: number }>`
          select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as total from pg_stat_xact_user_tables
           where relname in ('application', 'notification_type')`.execute(tx.kysely);
        return rows[0]?.total ?? Number.NaN;
      };
      const before = await count();
      await read(tx);
      return (await count()) - before;
    });
  }

  test.each([
    ['a page', (tx: Tx) => listInbox(tx, EMAIL, { limit: 51, after: null, unreadOnly: false, app: null }), 51],
    ['what is new', (tx: Tx) => listNewer(tx, [{ email: EMAIL, cursor: 0 }], 200), 200],
  ])('%s looks up those that it names, once each', async (_what, read, count) => {
    const found = await fixture.database.read(read);
    expect(found).toHaveLength(count);
    for (const { subject, appCode, appName, type } of found) {
      const app = 1 + (Number(subject.slice(1)) % NAMED) * 500;
      expect([appCode, appName, type]).toEqual([`app${app}`, `Application ${app}`, 'generic']);
    }
    expect(await namesRead(read)).toBe(2 * NAMED);
  });
});
