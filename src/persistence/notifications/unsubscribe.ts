import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** What one may unsubscribe from, for a page that says so. */
export interface Subscription {
  appName: string;
  typeName: string;
}

/** Undefined when the person or the type is no more. */
export async function findSubscription(tx: Tx, person: number, type: number): Promise<Subscription | undefined> {
  const { rows } = await sql<Subscription>`
    select a.name as "appName", t.name as "typeName"
    from notification_type t join application a on a.id = t.application_id
    where t.id = ${type} and exists (select from person where id = ${person})`.execute(tx.kysely);
  return rows[0];
}
