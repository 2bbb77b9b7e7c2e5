/** A million notifications, a thousand a user: database time of the statements behind inbox, unread count and preferences. */
import { CompiledQuery, type KyselyPlugin, type RootOperationNode } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { readApplication } from '../../src/persistence/catalog/applications.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { countUnread, listInbox } from '../../src/persistence/notifications/inbox.ts';
import { listPreferences } from '../../src/persistence/notifications/preferences.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import type { Lab } from '../lab.ts';
import { APP, Newsroom, reader } from '../newsroom.ts';
import { percentile, type Row, row } from '../report.ts';

interface Explained {
  'Planning Time': number;
  'Execution Time': number;
}

/** What PostgreSQL says it took for the statements of `work`, planned and executed, in ms. */
async function databaseTime(tx: Tx, work: (tx: Tx) => Promise<unknown>): Promise<number> {
  const statements: RootOperationNode[] = [];
  const listener: KyselyPlugin = {
    transformQuery: ({ node }) => {
      statements.push(node);
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  await work({ kysely: tx.kysely.withPlugin(listener) });
  let ms = 0;
  for (const node of statements) {
    const { sql: text, parameters } = tx.kysely.getExecutor().compileQuery(node, { queryId: 'time' });
    const { rows } = await tx.kysely.executeQuery<{ 'QUERY PLAN': [Explained] }>(
      CompiledQuery.raw(`explain (analyze, timing off, format json) ${text}`, [...parameters]),
    );
    for (const { 'QUERY PLAN': plan } of rows) ms += plan[0]['Planning Time'] + plan[0]['Execution Time'];
  }
  return ms;
}

export async function inbox(lab: Lab): Promise<Row[]> {
  const { quick } = lab.settings;
  const [readers, each] = [quick ? 100 : 1000, 1000];
  const room = await Newsroom.open(lab, { readers, roles: 'rpc,gateway' });
  try {
    await room.admin('POST', `/api/applications/${APP}/notification-types`, { code: 'offer', name: 'Offer' });
    lab.say(`inbox: storing ${(readers * each).toLocaleString('en-US')} notifications`);
    await room.sql.query('begin');
    await room.sql.query('set local session_replication_role = replica');
    await room.sql.query(
      `insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale, read_at)
       select t.application_id, t.id, p.id, 'Invoice ' || n, jsonb_build_object('number', n), 'sent', 'en',
         case when n % 10 = 0 then null else now() end
       from generate_series(1, $1::int) n cross join person p
       join application a on a.code = $2 join notification_type t on t.application_id = a.id and t.code = 'invoice'
       where p.email like 'reader%'`,
      [each, APP],
    );
    await room.sql.query('commit');
    await room.sql.query('vacuum analyze');
    const log = createLogger('silent');
    const database = await openDatabase({
      url: room.databaseUrl,
      dataDir: '',
      poolSize: 2,
      migrateOnStart: false,
      clock: systemClock,
      log,
    });
    try {
      const page = { limit: 51, after: null, unreadOnly: false, app: null };
      const application = await database.read((tx) => readApplication(tx, APP));
      if (application === undefined) throw new Error(`${APP} is gone`);
      const asked: [string, (tx: Tx, email: string) => Promise<unknown>][] = [
        ['first page', (tx, email) => listInbox(tx, email, page)],
        ['first page of the unread', (tx, email) => listInbox(tx, email, { ...page, unreadOnly: true })],
        ['unread count', (tx, email) => countUnread(tx, email)],
        ['preferences', (tx, email) => listPreferences(tx, application.id, email)],
      ];
      const rows: Row[] = [];
      for (const [what, work] of asked) {
        const times: number[] = [];
        for (let at = 1; at <= 200; at++) {
          const email = reader(((at * 37) % readers) + 1);
          times.push(await database.read((tx) => databaseTime(tx, (listened) => work(listened, email))));
        }
        rows.push(
          row('inbox', `${what}, database time, p50`, 'ms', [percentile(times, 0.5)], { atMost: 5 }),
          row('inbox', `${what}, database time, p99`, 'ms', [percentile(times, 0.99)]),
        );
      }
      return rows;
    } finally {
      await database.close();
    }
  } finally {
    await room.close();
  }
}
