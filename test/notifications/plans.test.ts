import { beforeAll, describe, expect, test } from '@jest/globals';
import { CompiledQuery, type KyselyPlugin, type RootOperationNode, sql } from 'kysely';
import { isTypeInUse } from '../../src/persistence/catalog/notification-types.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { takeBackOf } from '../../src/persistence/delivery/take-back.ts';
import { PARTITION_IDS } from '../../src/persistence/migrations/partitioned.ts';
import { findFailed, listAllSends } from '../../src/persistence/notifications/all-sends.ts';
import {
  countUnread,
  countUnreadOf,
  listInbox,
  listNewer,
  markAllRead,
  markRead,
  newestIn,
} from '../../src/persistence/notifications/inbox.ts';
import { findWaiting, listLog } from '../../src/persistence/notifications/log.ts';
import {
  countByStatus,
  countOutcomes,
  findFailingBrands,
  firstSince,
  oldestQueued,
} from '../../src/persistence/notifications/recent.ts';
import { makePartitions, moveOn } from '../../src/persistence/operations/partitions.ts';
import { useDatabase } from '../support/databases.ts';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

/** How each statement of `work` reads the big tables: the index, or that there is none. Nothing is written. */
async function readsOf(tx: Tx, work: (tx: Tx) => Promise<unknown>): Promise<string[]> {
  const statements: RootOperationNode[] = [];
  const listener: KyselyPlugin = {
    transformQuery: ({ node }) => {
      statements.push(node);
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  await work({ kysely: tx.kysely.withPlugin(listener) });
  const reads: string[] = [];
  for (const node of statements) {
    const { sql: text, parameters } = tx.kysely.getExecutor().compileQuery(node, { queryId: 'plan' });
    const { rows } = await tx.kysely.executeQuery<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      CompiledQuery.raw(`explain (format json) ${text}`, [...parameters]),
    );
    for (const found of rows.flatMap((row) => nodes(row['QUERY PLAN'][0].Plan))) {
      const table = found['Relation Name'];
      const scanned = found['Node Type'] === 'Seq Scan';
      if (scanned && /^(notification|delivery)_p\d+$/.test(table ?? '')) reads.push(`all of ${table}`);
      // Of whichever partition.
      if (found['Index Name'] !== undefined) reads.push(found['Index Name'].replace(/_p\d+$/, ''));
    }
  }
  return reads.filter(
    (name) => name.startsWith('notification_') || name.startsWith('delivery') || name.startsWith('all'),
  );
}

/** The next partitions of notifications and deliveries; new ones go there. */
async function nextPartition(tx: Tx, part: number): Promise<void> {
  await sql`update notification set created_at = '2001-01-01Z' where id = (
    select min(id) from notification where id >= ${(part - 1) * PARTITION_IDS})`.execute(tx.kysely);
  await makePartitions(tx, 'notifications');
  expect(await moveOn(tx, 'notifications', 'month')).toBe(true);
}

describe.each([1, 5])('inbox and log with 40,000 notifications of 400 people in %d partitions', (partitions) => {
  const fixture = useDatabase('postgresql');
  let app: number;
  let rare: number;
  /** The id that is the `count`th, by the order of time. */
  const place = (count: number): number => {
    const each = 40_000 / partitions;
    const before = Math.min(Math.floor(count / each), partitions - 1);
    return before * PARTITION_IDS + (count - before * each);
  };

  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      const run = async (statement: string) => await sql.raw(statement).execute(tx.kysely);
      await run(`insert into application (code, name) values ('one', 'One'), ('two', 'Two')`);
      await run(
        `insert into notification_type (application_id, code, name) select id, 'generic', 'G' from application`,
      );
      await run(`insert into notification_type (application_id, code, name) select id, 'rare', 'R' from application`);
      await run(`insert into person (email) select 'p' || n || '@example.com' from generate_series(1, 400) n`);
      for (let part = 0; part < partitions; part++) {
        if (part > 0) await nextPartition(tx, part);
        const [from, to] = [part, part + 1].map((count) => (count * 40_000) / partitions);
        await run(`insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale, read_at)
        select t.application_id, t.id, p.id, 's', '{}', case when n % 500 = 0 then 'failed' else 'sent' end, 'en',
          case when n % 10 = 0 then null else now() end
        from generate_series(${from} + 1, ${to}) n
        join (select id, row_number() over (order by id) as at from person) p on p.at = n % 400 + 1
        join (select id, application_id, row_number() over (order by id) as at from notification_type where code = 'generic') t
          on t.at = n % 2 + 1`);
      }
      await run(
        `insert into delivery (notification_id, channel, content, status, lane) select id, 'email', '{}', 'sent', 'x' from notification`,
      );
      const found = await tx.kysely
        .selectFrom('application')
        .select('id')
        .where('code', '=', 'one')
        .executeTakeFirstOrThrow();
      app = found.id;
      const row = await tx.kysely
        .selectFrom('notification_type')
        .select('id')
        .where('applicationId', '=', app)
        .where('code', '=', 'rare')
        .executeTakeFirstOrThrow();
      rare = row.id;
      return { result: null, scopes: ['*'] };
    });
    await fixture.database.change(async (tx) => {
      // One a minute: the last day is a small part of them.
      const minutes = 'select id, row_number() over (order by id desc) as at from notification';
      await sql
        .raw(
          `update notification n set created_at = now() - make_interval(mins => m.at::int) from (${minutes}) m where m.id = n.id`,
        )
        .execute(tx.kysely);
      await sql.raw('analyze notification, delivery, person, application, notification_type').execute(tx.kysely);
      return { result: null, scopes: [] };
    });
  }, 120_000);

  const email = 'p7@example.com';
  const page = { limit: 51, after: null, unreadOnly: false, app: null };
  const failed = { statuses: ['failed', 'partial'], type: null, brand: null, except: 'auth_idp' };
  const filters = { status: null, type: null, email: null, limit: 51, after: null };

  test.each<[string, (tx: Tx) => Promise<unknown>, RegExp]>([
    ['the first page of an inbox', (tx) => listInbox(tx, email, page), /^notification_inbox$/],
    ['a later page', (tx) => listInbox(tx, email, { ...page, after: place(20_000) }), /^notification_inbox$/],
    ['the unread', (tx) => listInbox(tx, email, { ...page, unreadOnly: true }), /^notification_(unread|inbox)$/],
    ['of one application', (tx) => listInbox(tx, email, { ...page, app: 'one' }), /^notification_inbox$/],
    ['how many are unread', (tx) => countUnread(tx, email), /^notification_unread$/],
    ['of several readers', (tx) => countUnreadOf(tx, [email, 'p8@example.com']), /^notification_unread$/],
    ['the newest', (tx) => newestIn(tx, email), /^notification_inbox$/],
    [
      'what came behind a position',
      (tx) => listNewer(tx, [{ email, cursor: place(39_000) }], 200),
      /^notification_(inbox|pkey)$/,
    ],
    ['reading one', (tx) => markRead(tx, email, 7), /^notification_(pkey|inbox)$/],
    ['reading all', (tx) => markAllRead(tx, email, null), /^notification_unread$/],
    ['the log', (tx) => listLog(tx, app, filters), /^(notification_(log|pkey)|delivery_notification_id_channel_key)$/],
    [
      'the log, failed ones',
      (tx) => listLog(tx, app, { ...filters, status: 'failed' }),
      /^(notification_log_status|delivery_.*)$/,
    ],
    [
      'the log, a rare type',
      (tx) => listLog(tx, app, { ...filters, type: 'rare' }),
      /^(notification_(log|log_type)|notification_type_.*|delivery_.*)$/,
    ],
    ['the log, one address', (tx) => listLog(tx, app, { ...filters, email }), /^(notification_inbox|delivery_.*)$/],
    ['the log of all applications', (tx) => listAllSends(tx, null, filters), /^(notification_pkey|delivery_.*)$/],
    [
      'the log of some applications',
      (tx) => listAllSends(tx, [app], { ...filters, after: place(30_000) }),
      /^(notification_(log|pkey)|delivery_.*)$/,
    ],
    [
      'the log of all applications, failed ones',
      (tx) => listAllSends(tx, null, { ...filters, status: 'failed' }),
      /^(notification_(unsent|pkey)|delivery_.*)$/,
    ],
    [
      'the log of some applications, failed ones',
      (tx) => listAllSends(tx, [app], { ...filters, status: 'failed' }),
      /^(notification_(log_status|pkey)|delivery_.*)$/,
    ],
    [
      'the log of all applications, sent ones',
      (tx) => listAllSends(tx, null, { ...filters, status: 'sent' }),
      /^(notification_pkey|delivery_.*)$/,
    ],
    [
      'the log of all applications, a rare type',
      (tx) => listAllSends(tx, null, { ...filters, type: 'rare' }),
      /^(notification_(log|log_type|pkey)|delivery_.*)$/,
    ],
    [
      'the log of some applications, one address',
      (tx) => listAllSends(tx, [app], { ...filters, email }),
      /^(notification_(inbox|pkey)|delivery_.*)$/,
    ],
    ['the first of the last day', (tx) => firstSince(tx, 24), /^notification_pkey$/],
    ['how many of each status', (tx) => countByStatus(tx, null, place(39_000)), /^notification_pkey$/],
    [
      'how many of each status, of some applications',
      (tx) => countByStatus(tx, [app], place(39_000)),
      /^notification_log$/,
    ],
    [
      'what can be taken back',
      (tx) => findWaiting(tx, app, { type: null, email: null }, 1000),
      /^notification_(log_status|unsent)$/,
    ],
    [
      'what can be taken back, of a type and a person',
      (tx) => findWaiting(tx, app, { type: 'generic', email }, 1000),
      /^notification_(inbox|log_status|unsent|type_.*)$/,
    ],
    ['taking back', (tx) => takeBackOf(tx, [place(7), place(39_000)], true), /^(notification_pkey|delivery_.*)$/],
    ['the oldest that waits', (tx) => oldestQueued(tx, [app]), /^notification_log_status$/],
    ['the oldest that waits, of all applications', (tx) => oldestQueued(tx, null), /^notification_unsent$/],
    [
      'brands that fail, of all applications',
      (tx) => findFailingBrands(tx, null, place(39_000)),
      /^(notification_unsent|delivery_notification_id_channel_key)$/,
    ],
    [
      'brands that fail',
      (tx) => findFailingBrands(tx, [app], place(39_000)),
      /^(notification_log_status|delivery_notification_id_channel_key)$/,
    ],
    [
      'outcomes of all applications',
      (tx) => countOutcomes(tx, null, { from: place(39_000), limit: 500 }),
      /^(notification_pkey|delivery_notification_id_channel_key)$/,
    ],
    [
      'outcomes of some applications',
      (tx) => countOutcomes(tx, [app], { from: place(39_000), limit: 500 }),
      /^(notification_log|delivery_notification_id_channel_key)$/,
    ],
    [
      'failed notifications to be sent again',
      (tx) => findFailed(tx, [app], failed, 1000),
      /^(notification_log_status|delivery_notification_id_channel_key)$/,
    ],
    [
      'failed notifications of all applications to be sent again',
      (tx) => findFailed(tx, null, failed, 1000),
      /^(notification_unsent|delivery_notification_id_channel_key)$/,
    ],
    ['whether a type without notifications is in use', (tx) => isTypeInUse(tx, rare), /^notification_log_type$/],
  ])('the statement uses an index: %s', async (_what, work, wanted) => {
    const { result: reads } = await fixture.database.change(async (tx) => ({
      result: await readsOf(tx, work),
      scopes: [],
    }));
    expect(reads.filter((name) => !wanted.test(name) && !name.startsWith('notification_type'))).toEqual([]);
    expect(reads.length).toBeGreaterThan(0);
  });
});
