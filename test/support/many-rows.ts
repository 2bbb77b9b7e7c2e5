import { type Kysely, sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';

/** An application with a tiered permission and that many overrides of different people, written past the service. */
export async function fillApplication(database: Database, code: string, rows: number): Promise<void> {
  await database.change(async (tx) => {
    const db = tx.kysely as unknown as Kysely<unknown>;
    await sql`insert into application (code, name) values (${code}, ${code})`.execute(db);
    await sql`insert into permission (application_id, code, tiered)
      select id, 'orders.read', true from application where code = ${code}`.execute(db);
    for (let at = 0; at < rows; at += 10_000) {
      const last = Math.min(rows, at + 10_000) - 1;
      await sql`insert into person (email)
        select ${code} || n || '@example.com' from generate_series(${at}::int, ${last}::int) n`.execute(db);
      await sql`insert into resource_override (application_id, person_id, permission_id, tiered, resource_type, resource_id, level)
        select a.id, x.id, p.id, true, 'order', 'o' || n, 2
          from generate_series(${at}::int, ${last}::int) n
          join person x on x.email = ${code} || n || '@example.com'
          join application a on a.code = ${code}
          join permission p on p.application_id = a.id`.execute(db);
    }
    return { result: null, scopes: ['*'] };
  });
}
