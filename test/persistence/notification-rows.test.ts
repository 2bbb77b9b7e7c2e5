import { describe, expect, test } from '@jest/globals';
import { type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../../src/persistence/database.ts';
import { holdRecipients } from '../../src/persistence/notifications/sends.ts';
import { accept, insertType } from '../delivery/rows.ts';
import { forEachDatabase, useDatabase } from '../support/databases.ts';

/** What holds notifications and deliveries to what they refer to, where others have foreign keys (docs/adr/0011). */

const wanted = (prefix: string) =>
  [1, 2, 3].map((n) => ({ to: `${prefix}${n}@example.com`, email: { subject: 'S' }, push: { title: 'T' } }));

async function by(database: Database, statement: RawBuilder<unknown>): Promise<void> {
  await database.change(async (tx) => ({ result: await statement.execute(tx.kysely), scopes: ['*'] }));
}

/** All rows, of all people. */
async function left(database: Database): Promise<{ notifications: number; deliveries: number } | undefined> {
  const { rows } = await database.read((tx) =>
    sql<{ notifications: number; deliveries: number }>`
      select (select count(*) from notification) as notifications, (select count(*) from delivery) as deliveries`.execute(
      tx.kysely,
    ),
  );
  return rows[0];
}

forEachDatabase('the rows of a send', (fixture) => {
  test('notification rows are deleted with their notification, and with their person', async () => {
    const { database } = fixture;
    const [first] = await accept(database, await insertType(database, 'going'), wanted('going'));
    expect(await left(database)).toEqual({ notifications: 3, deliveries: 6 });
    await by(database, sql`delete from notification where id = ${first}`);
    expect(await left(database)).toEqual({ notifications: 2, deliveries: 4 });
    await by(database, sql`delete from person where email in ('going2@example.com', 'going3@example.com')`);
    expect(await left(database)).toEqual({ notifications: 0, deliveries: 0 });
  });

  test('notification rows keep their type and their application', async () => {
    const { database } = fixture;
    const { app, type } = await insertType(database, 'keeping');
    await accept(database, { app, type }, wanted('keeping'));
    await expect(by(database, sql`delete from notification_type where id = ${type}`)).rejects.toThrow();
    await expect(by(database, sql`delete from application where id = ${app}`)).rejects.toThrow();
    expect(await left(database)).toEqual({ notifications: 3, deliveries: 6 });
    await by(database, sql`delete from notification where application_id = ${app}`);
    await by(database, sql`delete from application where id = ${app}`);
    expect(await left(database)).toEqual({ notifications: 0, deliveries: 0 });
  });
});

describe('concurrent sends and deletions (postgresql)', () => {
  const fixture = useDatabase('postgresql');

  /** Two sessions, each in a transaction that holds what a send holds, or deletes. */
  async function both(work: (send: pg.Client, deletion: pg.Client) => Promise<void>): Promise<void> {
    const clients = [0, 1].map(() => new pg.Client({ connectionString: fixture.storage.url ?? '' }));
    try {
      for (const client of clients) {
        await client.connect();
        await client.query('begin');
      }
      await work(clients[0] as pg.Client, clients[1] as pg.Client);
    } finally {
      for (const client of clients) await client.end();
    }
  }

  const store = (client: pg.Client, { app, type }: { app: number; type: number }, email: string) =>
    client.query(
      `insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
       select $1, $2, id, 'S', '{}', 'queued', 'en' from person where email = $3`,
      [app, type, email],
    );

  test('deleting a person waits for a send, and deletes what it stored', async () => {
    const of = await insertType(fixture.database, 'later');
    await by(fixture.database, sql`insert into person (email) values ('later@example.com')`);
    await both(async (send, deletion) => {
      await send.query(`select from person where email = 'later@example.com' for no key update`);
      const deleting = deletion.query(`delete from person where email = 'later@example.com'`);
      await store(send, of, 'later@example.com');
      await send.query('commit');
      expect((await deleting).rowCount).toBe(1);
      // As every change of people does.
      await deletion.query(
        `insert into policy_change (revision, nonce, scopes) select max(revision) + 1, 'nonce', array['*'] from policy_change`,
      );
      await deletion.query('commit');
    });
    expect(await left(fixture.database)).toEqual({ notifications: 0, deliveries: 0 });
  });

  test('a send holds its recipients against other sends, so that their notifications are numbered in commit order', async () => {
    const of = await insertType(fixture.database, 'ordered');
    await by(fixture.database, sql`insert into person (email, registered_at) values ('ordered@example.com', now())`);
    await both(async (other) => {
      const result = fixture.database.change(async (tx) => {
        await holdRecipients(tx, of, ['ordered@example.com']);
        const second = other.query(`select from person where email = 'ordered@example.com' for no key update nowait`);
        await expect(second).rejects.toMatchObject({ code: '55P03' });
        return { result: null, scopes: [] };
      });
      await result;
    });
  });

  test('a type held by a send is not deleted, and its new rows are seen', async () => {
    const of = await insertType(fixture.database, 'held');
    await by(fixture.database, sql`insert into person (email) values ('held@example.com')`);
    await both(async (send, deletion) => {
      await send.query('select from notification_type where id = $1 for key share', [of.type]);
      const deleting = deletion.query('delete from notification_type where id = $1', [of.type]);
      const refused = expect(deleting).rejects.toMatchObject({
        code: '23503',
        constraint: 'notification_type_is_used',
      });
      await store(send, of, 'held@example.com');
      await send.query('commit');
      await refused;
    });
    expect(await left(fixture.database)).toEqual({ notifications: 1, deliveries: 0 });
  });
});
