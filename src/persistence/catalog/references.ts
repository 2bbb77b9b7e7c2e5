import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** The ids of an application's roles or permissions by their codes; unknown codes are left out. */
export async function idsByCode(
  tx: Tx,
  table: 'role' | 'permission',
  app: string,
  codes: readonly string[],
): Promise<Map<string, number>> {
  if (codes.length === 0) return new Map();
  const rows = await tx.kysely
    .selectFrom(table)
    .select(['id', 'code'])
    .where('applicationId', '=', (eb) => eb.selectFrom('application').select('id').where('code', '=', app))
    .where('code', 'in', [...new Set(codes)])
    .execute();
  return new Map(rows.map(({ id, code }) => [code, id]));
}

/** Codes that a suggestion is looked for among. */
const MOST_CODES = 5000;

/** The codes of an application's own things. */
export async function codesOf(tx: Tx, table: 'role' | 'permission' | 'entity', app: string): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select t.code from ${sql.table(table)} t join application a on a.id = t.application_id
    where a.code = ${app} order by t.code limit ${MOST_CODES}`.execute(tx.kysely);
  return rows.map(({ code }) => code);
}

/** The codes of all applications, or of those with these ids. */
export async function applicationCodes(tx: Tx, ids: readonly number[] | null): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select code from application where ${ids === null ? sql`true` : sql`id = any(${ids}::bigint[])`}
    order by code limit ${MOST_CODES}`.execute(tx.kysely);
  return rows.map(({ code }) => code);
}
