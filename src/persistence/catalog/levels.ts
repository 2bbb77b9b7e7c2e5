import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Every application by code, and whether `email` is its AppAdmin. */
export async function applicationsOfAdmin(tx: Tx, email: string): Promise<{ code: string; admin: boolean }[]> {
  const { rows } = await sql<{ code: string; admin: boolean }>`
    select code, exists (
      select from app_admin where application_id = application.id and person_id = (select id from person where email = ${email})
    ) as admin
    from application order by code`.execute(tx.kysely);
  return rows;
}
