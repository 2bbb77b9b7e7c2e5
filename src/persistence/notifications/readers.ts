import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** The recipient of a notification, as far as its texts depend on them. */
export interface ReaderRow
  extends Pick<Row<'profile'>, 'firstName' | 'lastName' | 'displayName' | 'locale' | 'timezone' | 'brandId'> {
  email: string;
}

/** Those of the addresses that have a profile. */
export async function findReaders(tx: Tx, emails: readonly string[]): Promise<Map<string, ReaderRow>> {
  const { rows } = await sql<ReaderRow>`
    select p.email, f.first_name as "firstName", f.last_name as "lastName", f.display_name as "displayName", f.locale, f.timezone,
      f.brand_id as "brandId"
    from person p join profile f on f.person_id = p.id
    where p.email = any(${emails}::text[])`.execute(tx.kysely);
  return new Map(rows.map((row) => [row.email, row]));
}

export async function findReader(tx: Tx, email: string): Promise<ReaderRow | undefined> {
  return (await findReaders(tx, [email])).get(email);
}
